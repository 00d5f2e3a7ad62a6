"""Bytes from file to file: shared where the file system can, copied in little memory elsewhere."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from ggufspec.edits import Draft, EditError, Transferred, carry_out, plan_edit
from ggufspec.edits import transfer as module
from ggufspec.edits.moves import Move

BLOCK = 4096


def write_model(path: Path, megabytes: int = 8) -> bytes:
    rng = np.random.default_rng(3)
    tensors = {f"t{n}": rng.standard_normal((512, 512), np.float32) for n in range(megabytes)}
    ggufspec.write(path, {"general.name": "x" * 100}, tensors)
    return path.read_bytes()


def rename(path: Path, name: str) -> Transferred:
    with Draft.open(path) as draft:
        draft.set("general.name", Value("STRING", name))
        return carry_out(plan_edit(draft))


def moved(source: bytes, move: Move, folder: Path) -> tuple[bytes, Transferred]:
    (folder / "source").write_bytes(source)
    (folder / "target").write_bytes(b"")
    told: list[int] = []
    with (
        module.opened(folder / "source", os.O_RDONLY) as old,
        module.opened(folder / "target", os.O_RDWR) as new,
    ):
        done = module.transfer(old, new, move, told.append)
    assert sum(told) == move.count == done.cloned + done.copied
    return (folder / "target").read_bytes(), done


@pytest.mark.parametrize("refused", [(), ("copy_file_range",), ("copy_file_range", "absent")])
@pytest.mark.parametrize(
    "move", [Move(0, 0, 0), Move(0, 0, 9), Move(5, 100, 3 * BLOCK), Move(BLOCK, 0, 2 * BLOCK + 7)]
)
def test_every_way_moves_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, move: Move, refused: tuple[str, ...]
) -> None:
    source = bytes(np.random.default_rng(1).integers(0, 256, 4 * BLOCK, np.uint8))
    if "absent" in refused:
        monkeypatch.delattr(os, "copy_file_range")
    elif refused:

        def refuse(*_: Any) -> int:
            raise OSError(errno.EXDEV, "no")

        monkeypatch.setattr(os, "copy_file_range", refuse)
    monkeypatch.setattr(module, "_CHUNK", 1000)
    monkeypatch.setattr(module, "_STEP", 1500)
    target, _ = moved(source, move, tmp_path)
    expected = bytes(move.target) + source[move.source : move.source + move.count]
    assert target == (expected if move.count else b"")


@pytest.mark.parametrize("in_kernel", [True, False])
def test_short_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_kernel: bool) -> None:
    """The system may do less than it was asked for, and stop in the middle."""
    copy, write = os.copy_file_range, os.pwrite
    calls = 0

    def short_copy(source: int, target: int, count: int, first: int, second: int) -> int:
        nonlocal calls
        calls += 1
        if not in_kernel or calls > 3:
            return 0
        return copy(source, target, min(count, 100), first, second)

    monkeypatch.setattr(os, "copy_file_range", short_copy)
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: write(file, data[:100], at))
    source = bytes(range(256)) * 8
    assert moved(source, Move(3, 0, 2000), tmp_path)[0] == source[3:2003]


def test_failures_of_the_system_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.gguf"
    before = write_model(path, 1)

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "copy_file_range", full)
    with pytest.raises(OSError, match="no space left"):
        rename(path, "y")
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.gguf"]


def test_a_file_that_is_cut_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.gguf"
    write_model(path, 1)
    copy = os.copy_file_range

    def cut(*arguments: Any) -> int:
        os.truncate(path, 5000)
        return copy(*arguments)

    monkeypatch.setattr(os, "copy_file_range", cut)
    with pytest.raises(EditError, match="has changed since it was read"):
        rename(path, "y")
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.gguf"]


def test_a_file_that_is_written_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.gguf"
    write_model(path, 1)
    with Draft.open(path) as draft:
        draft.set("general.name", Value("STRING", "y"))
        plan = plan_edit(draft)
        os.utime(path, ns=(1, 1))
        for in_place in (False, True):
            with pytest.raises(EditError, match="has changed since"):
                carry_out(plan_edit(draft, in_place=in_place))
    other = tmp_path / "other.gguf"
    data = write_model(other, 1)
    copy = os.copy_file_range

    def replace(*arguments: Any) -> int:
        (tmp_path / "new").write_bytes(b"other")
        (tmp_path / "new").replace(other)
        monkeypatch.setattr(os, "copy_file_range", copy)
        return copy(*arguments)

    monkeypatch.setattr(os, "copy_file_range", replace)
    assert plan.way == "beside"
    with pytest.raises(EditError, match="has changed since"):
        rename(other, "y")
    assert other.read_bytes() == b"other"
    assert len(data) > 5


MEMORY = """
import resource, sys, os
from ggufspec import Value
from ggufspec.edits import Draft, carry_out, plan_edit
if sys.argv[2] == "plain":
    del os.copy_file_range
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
with Draft.open(sys.argv[1]) as draft:
    draft.set("general.name", Value("STRING", "y"))
    draft.set("general.alignment", Value("UINT32", int(sys.argv[3])))
    plan = plan_edit(draft)
    before = peak()
    carry_out(plan)
print(peak() - before)
"""


@pytest.mark.parametrize("way", ["kernel", "plain"])
@pytest.mark.parametrize("alignment", [32, 4096])
def test_memory_is_bounded(tmp_path: Path, way: str, alignment: int) -> None:
    path = tmp_path / "m.gguf"
    write_model(path, 128)
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, path, way, str(alignment)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(done.stdout) < 40 << 20


@pytest.fixture(params=["xfs", "btrfs"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A small file system that shares blocks."""
    maker = shutil.which(f"mkfs.{request.param}", path=os.defpath + ":/sbin:/usr/sbin")
    if maker is None or os.geteuid():
        pytest.skip(f"needs root and mkfs.{request.param}")
    image, folder = tmp_path / "image", tmp_path / "disk"
    with image.open("wb") as file:
        file.truncate(400 << 20)
    folder.mkdir()
    subprocess.run([maker, "-q", image], check=True)
    mounted = subprocess.run(["mount", "-o", "loop", image, folder], check=False)
    if mounted.returncode:
        pytest.skip("needs to mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.slow
def test_blocks_are_shared(disk: Path) -> None:
    path = disk / "m.gguf"
    before = write_model(path, 32)
    data = before[-(32 << 20) :]
    done = rename(path, "y" * 100)
    assert done.cloned > (31 << 20)
    assert done.copied < 2 * BLOCK
    after = path.read_bytes()
    assert after == before.replace(b"x" * 100, b"y" * 100)
    assert rename(path, "y" * 1000).cloned == 0  # the data moves by no whole block
    assert path.read_bytes()[-(32 << 20) :] == data
    with Draft.open(path) as draft:
        draft.set("general.name", Value("STRING", "y" * 333))
        assert carry_out(plan_edit(draft, room=100)).cloned > (31 << 20)
    assert path.read_bytes()[-(32 << 20) :] == data


@pytest.mark.parametrize("broken", [1, 2])
def test_an_edit_in_place_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: int
) -> None:
    """It is taken back; where the disk does not let us, the undo file stays."""
    from ggufspec.edits import in_place, recover
    from ggufspec.files.undo import undo_path

    path = tmp_path / "m.gguf"
    before = write_model(path, 1)
    put, calls = in_place.put, 0

    def fail(file: int, start: int, data: bytes, size: int) -> None:
        nonlocal calls
        calls += 1
        if calls > broken:
            put(file, start, data, size)
            return
        if calls == 1:
            os.pwrite(file, data[: len(data) // 2], start)
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(in_place, "put", fail)
    with Draft.open(path) as draft:
        draft.set("general.name", Value("STRING", "y" * 100))
        plan = plan_edit(draft, in_place=True)
        stays = (EditError, r"could not be taken back: m\.gguf\.undo stays")
        error, message = stays if broken == 2 else (OSError, "input/output error")
        with pytest.raises(error, match=message):
            carry_out(plan)
    assert undo_path(path).exists() == (broken == 2)
    if broken == 2:
        assert path.read_bytes() != before
        recover(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.gguf"]
