"""``quantize``: several types in one pass, and --verify."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ggufspec
from ggufspec.blocks import tiles as tile_module
from ggufspec.jobs import tensors
from support import models

Run = Callable[..., Any]

KINDS = ["Q4_K_M", "Q4_K_S", "Q8_0", "F16", "COPY"]


def test_several_types_are_each_types_file(
    run: Run, llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[str] = []
    tiles = tensors.tiles

    def counted(tensor: Any, **options: Any) -> Any:
        decoded.append(tensor.name)
        return tiles(tensor, **options)

    monkeypatch.setattr(tensors, "tiles", counted)
    assert tiles is tile_module.tiles
    result = run("quantize", llama, tmp_path / "all-{type}.gguf", ",".join(KINDS), "--json")
    assert result.code == 0, result.err
    assert len(decoded) == len(set(decoded)) == 30  # every matrix once
    told = result.json["outputs"]
    assert [one["file_type"] for one in told] == KINDS
    for kind, one in zip(KINDS, told, strict=True):
        alone = tmp_path / "alone.gguf"
        assert run("quantize", llama, alone, kind, "--force").code == 0
        made = tmp_path / f"all-{kind}.gguf"
        assert made.read_bytes() == alone.read_bytes(), kind
        assert (one["output"], one["size"]) == (str(made), made.stat().st_size)


def test_for_people(run: Run, llama: Path, tmp_path: Path) -> None:
    result = run("quantize", llama, tmp_path / "{type}", "Q4_0, q8_0")
    assert result.code == 0
    for kind in ("Q4_0", "Q8_0"):
        assert f"\n{tmp_path / kind}: " in result.out
    assert run("quantize", llama, "Q4_0,Q8_0", "--plan").out.count("bits per weight") == 2


@pytest.mark.parametrize(
    ("out", "kinds", "told"),
    [
        ("out.gguf", "Q4_0,Q8_0", "several types need several files"),
        ("out-{type}", "Q4_K,Q4_K_M", "the type Q4_K_M is asked for twice"),
        ("out-{type}", "Q4_K,", "unknown file type ''"),
    ],
)
def test_wrong_use(run: Run, llama: Path, tmp_path: Path, out: str, kinds: str, told: str) -> None:
    result = run("quantize", llama, tmp_path / out, kinds)
    assert result.code == 2
    assert told in result.err
    assert not list(tmp_path.iterdir())


def test_one_that_exists_stops_all(run: Run, llama: Path, tmp_path: Path) -> None:
    (tmp_path / "out-Q8_0").write_text("precious")
    result = run("quantize", llama, tmp_path / "out-{type}", "Q4_0,Q8_0")
    assert result.code == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["out-Q8_0"]


def test_one_that_fails_stops_all(run: Run, tmp_path: Path) -> None:
    weights = models.llama(1)
    weights["blk.0.ffn_up.weight"][3, 5] = 1e6
    path = tmp_path / "in.gguf"
    ggufspec.write(path, models.metadata(1), weights)
    result = run("quantize", path, tmp_path / "out-{type}", "Q8_0,F16")
    assert result.code == 1
    assert "F16" in result.err
    assert [entry.name for entry in tmp_path.iterdir()] == ["in.gguf"]


def test_verify_is_compare(run: Run, llama: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.gguf"
    told = run("quantize", llama, out, "Q3_K_M", "--verify", "--json").json
    measured = run("compare", llama, out, "--json").json
    errors = {one["name"]: one["rmse"] for one in measured["tensors"] if one["type"] != "F32"}
    assert {one["name"]: one["rmse"] for one in told["verified"]} == errors
    assert all(error > 0 for error in errors.values())
    shown = run("quantize", llama, out, "Q3_K_M", "--verify", "--force").out
    assert "Read again:" in shown
    assert "SNR dB" in shown


def test_verify_of_a_set(run: Run, tmp_path: Path) -> None:
    first = models.write_set(tmp_path / "in", models.llama(), models.metadata(), 9)
    told = run("quantize", first, tmp_path / "o", "Q8_0", "--keep-split", "--verify", "--json").json
    assert len(told["verified"]) == 30


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_verify_finds_other_bytes(
    run: Run, llama: Path, tmp_path: Path, resume: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that does not keep what it was given; the file does not get its name."""
    from ggufspec.files.writer import Writer

    flush = Writer.flush

    def spoiling(self: Any) -> None:
        flush(self)
        path = self._output.temporary
        data = bytearray(path.read_bytes())
        data[-5] ^= 1
        path.write_bytes(data)

    monkeypatch.setattr(Writer, "flush", spoiling)
    out = tmp_path / "out.gguf"
    result = run("quantize", llama, out, "Q8_0", "--verify", *resume)
    assert result.code == 1
    assert "verification failed: tensor 'blk.3.ffn_up.weight' (Q8_0)" in result.err
    assert "what the file holds is not what was written" in result.err
    assert not out.exists()
