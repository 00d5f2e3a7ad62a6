"""``quantize`` in bounded memory: as the kernel reports it, mapped pages included."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec.files.plans import TensorPlan
from ggufspec.files.writer import Writer, planned_size
from support import imatrix, models

Run = Callable[..., Any]

PEAK = """
import atexit
def tell():
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    open({!r}, "w").write(status["VmHWM"].split()[0])
atexit.register(tell)
"""


@pytest.fixture
def peak(spawn: Run, tmp_path: Path) -> Callable[..., int]:
    """The most bytes that a command had in memory."""

    def measured(*arguments: Any) -> int:
        told = tmp_path / "peak"
        result = spawn(*arguments, script=PEAK.format(str(told)))
        assert result.code == 0, result.err
        return int(told.read_text()) << 10

    return measured


def sparse(path: Path, shapes: dict[str, tuple[int, ...]], keys: dict[str, Any]) -> int:
    """A model of F16 zeros that takes no room; its bytes."""
    plans = [TensorPlan.of(name, "F16", shape) for name, shape in shapes.items()]
    with Writer(path, keys, plans) as output:
        for _ in plans:
            output.skip()
    with path.open("r+b") as file:
        file.truncate(planned_size(keys, plans))
    return path.stat().st_size


def seconds_of_children() -> float:
    """Processor time of the processes that were started and ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_a_model_of_40_gigabytes_is_planned_in_seconds(
    spawn: Run, peak: Callable[..., int], tmp_path: Path
) -> None:
    path, layers = tmp_path / "huge.gguf", 80
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (128256, 8192)}
    for layer in range(layers):
        shapes |= {
            f"blk.{layer}.attn_q.weight": (8192, 8192),
            f"blk.{layer}.attn_k.weight": (1024, 8192),
            f"blk.{layer}.attn_v.weight": (1024, 8192),
            f"blk.{layer}.attn_output.weight": (8192, 8192),
            f"blk.{layer}.ffn_up.weight": (8192, 8192),
        }
    shapes |= {"output.weight": (128256, 8192)}
    size = sparse(path, shapes, models.metadata(layers))
    assert size > 38e9
    assert path.stat().st_blocks * 512 < 1e6
    before = seconds_of_children()
    result = spawn("quantize", path, "Q4_K_M", "--plan", "--json")
    assert seconds_of_children() - before < 20  # a hang, not a speed
    told = json.loads(result.out)
    assert len(told["tensors"]) == len(shapes)
    assert 10e9 < told["size"] < 14e9
    assert peak("quantize", path, "Q4_K_M", "--plan") < 150e6


@pytest.mark.parametrize("option", [(), ("--imatrix",), ("--verify",), ("--resume",)], ids=str)
def test_peak_is_bounded_by_the_largest_tensor(
    peak: Callable[..., int], tmp_path: Path, option: tuple[str, ...]
) -> None:
    """Here far below the bound: tensors are worked on in tiles."""
    path, shape = tmp_path / "wide.gguf", (24_000, 1024)
    shapes = {f"blk.{n}.ffn_up.weight": shape for n in range(3)}
    sparse(path, shapes, models.metadata(3))
    if option == ("--imatrix",):
        sums = np.ones((1, 1024), np.float32)
        matrix = tmp_path / "m.gguf"
        matrix.write_bytes(imatrix.gguf_form({name: (sums, [1]) for name in shapes}))
        option = ("--imatrix", str(matrix))
    used = peak("quantize", path, tmp_path / "out.gguf", "Q4_K", *option)
    assert used < 200e6, f"{used / 1e6:.0f} MB; the bound is {200 + 2.5 * 24 * 4.096:.0f} MB"


def test_max_memory_is_kept(peak: Callable[..., int], run: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "in.gguf", tmp_path / "{type}.gguf"
    sparse(path, {"blk.0.ffn_up.weight": (40_000, 1024)}, models.metadata(1))
    used = peak("quantize", path, out, "Q4_K_M,Q8_0,F32", "--max-memory", "110M", "--threads", "2")
    assert used < 110e6
    with ggufspec.open(tmp_path / "Q8_0.gguf") as file:
        assert not np.any(file.tensors["blk.0.ffn_up.weight"].data)
    result = run("quantize", path, tmp_path / "o", "Q8_0", "--max-memory", "20M")
    assert result.code == 2
    assert "--max-memory is 20 MB, and one row at a time takes" in result.err
    least = result.err.split("the least that works is --max-memory ")[1].strip()
    done = run("quantize", path, tmp_path / "o", "Q8_0", "--max-memory", least)
    assert done.code == 0, done.err


def test_space_is_checked_before_anything_is_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from collections import namedtuple

    path = tmp_path / "in.gguf"
    models.write_llama(path)
    needed = run("quantize", path, "Q8_0", "--plan", "--json").json["size"]
    usage = namedtuple("usage", "total used free")  # noqa: PYI024
    for spare, code in ((-1, 4), (0, 0)):
        free = needed + spare + (1 << 20)
        monkeypatch.setattr("shutil.disk_usage", lambda _, free=free: usage(free, 0, free))
        assert run("quantize", path, tmp_path / "out.gguf", "Q8_0").code == code
        assert (tmp_path / "out.gguf").exists() == (code == 0)
