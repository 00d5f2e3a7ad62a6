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
SECONDS = 1.0


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
    """Structure alone: memory in proportion to the file, a second for each megabyte at most."""
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
    """Four times the keys take less than eight times the time; ggml takes sixteen times."""

    def made(count: int) -> bytes:
        if kind == "tensors":
            return bombs.tensors(count)
        plain = (b"k%d" % number for number in range(count))
        return bombs.keys(bombs.colliding(count) if kind == "colliding" else plain)

    files = [Hostile(str(n), "", lambda n=n: made(n)) for n in (30_000, 120_000)]  # type: ignore[misc]
    few, many = (cost for _, cost in _costs(files, tmp_path, "--structure"))
    assert many.seconds < 8 * max(few.seconds, 0.05), (few, many)
