"""The kept corpus: every file gives a result or a GGUFError, soon and in little memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpus import BIG, Hostile, bombs, hostile, prefixes
from corpus.verdicts import PATH, verdict
from corpus.worker import MEMORY
from ggufspec.validation import validate
from support.costs import Cost, measure
from support.reading import read_all

FILES = {file.name: file for file in hostile()}
USUAL = [file for name, file in FILES.items() if name not in BIG]
SHARES = 4  # of the usual files, so that no test takes long
SECONDS = 5.0  # catches what is not linear on a busy machine; the slowest takes half a second
SOME = 4000  # keys that take some milliseconds


def test_names_and_reasons() -> None:
    assert len(FILES) == sum(1 for _ in hostile())
    assert all(file.reason for file in FILES.values())
    assert set(FILES) >= BIG


def test_verdicts_stay() -> None:
    """Rule and offset of the first error, as kept in verdicts.json."""
    kept = json.loads(PATH.read_text(encoding="utf-8"))
    found = {file.name: verdict(file.make()) for file in USUAL}
    assert found == kept


@pytest.mark.parametrize("share", range(SHARES))
def test_within_limits(share: int, tmp_path: Path) -> None:
    for file, cost in _costs(USUAL[share::SHARES], tmp_path):
        assert not cost.failures, file.name
        assert cost.peak <= MEMORY, (file.name, cost)
        assert cost.seconds <= SECONDS, (file.name, cost)


def test_big_files(tmp_path: Path) -> None:
    """Structure alone: memory in proportion to the file, five seconds for each megabyte at most."""
    files = [FILES[name] for name in sorted(BIG)]
    for number, (file, cost) in enumerate(_costs(files, tmp_path, "--structure")):
        size = (tmp_path / f"{number}.gguf").stat().st_size
        assert not cost.failures, file.name
        assert cost.peak <= MEMORY / 2 + 24 * size, (file.name, size, cost)
        assert cost.seconds <= SECONDS * max(1, size / (1 << 20)), (file.name, size, cost)


def _costs(files: list[Hostile], folder: Path, *options: str) -> Iterator[tuple[Hostile, Cost]]:
    paths = [folder / f"{number}.gguf" for number in range(len(files))]
    for file, path in zip(files, paths, strict=True):
        path.write_bytes(file.make())
    for file, cost in zip(files, measure(paths, *options), strict=True):
        assert cost is not None, f"the process ended at or before {file.name!r}"
        yield file, cost


def test_prefixes() -> None:
    """No beginning of a valid file reads as a whole one."""
    for name, data in prefixes():
        assert read_all(data) != "ok", name
        assert not validate(data, "strict").ok, name


@pytest.mark.parametrize("kind", ["colliding", "ordinary", "tensors"])
def test_time_is_linear(kind: str, tmp_path: Path) -> None:
    """Sixteen times the keys take less than 64 times the time; in ggml it is 256 times.

    Of processor time, and the least of three runs, so that a busy machine changes little.
    """

    def made(count: int) -> bytes:
        if kind == "tensors":
            return bombs.tensors(count)
        plain = (b"k%d" % number for number in range(count))
        return bombs.keys(bombs.colliding(count) if kind == "colliding" else plain)

    contents = {count: made(count) for count in (SOME, 16 * SOME)}
    files = [Hostile(str(n), "", lambda n=n: contents[n]) for n in [*contents] * 3]  # type: ignore[misc]
    seconds: dict[str, list[float]] = {}
    for file, cost in _costs(files, tmp_path, "--structure"):
        seconds.setdefault(file.name, []).append(cost.seconds)
    few, many = map(min, seconds.values())
    assert many < 64 * few, seconds
