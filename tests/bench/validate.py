"""Validating: the structure of the 16 MB vocabulary, and all bytes of a model beside reading it."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import ggufspec
from bench.opening import NAME, best
from support import realfiles

ROUNDS = 8
PIECE = 4 << 20  # bytes


def show() -> None:
    """Print milliseconds (target: 50) and GB/s (target: half of the speed of reading)."""
    vocabulary = next(file for file in realfiles.vocabularies() if file.name == NAME)
    structure = partial(ggufspec.validate, vocabulary, checks=("structure",))
    whole = partial(ggufspec.validate, vocabulary)
    print(f"\nvalidate {NAME}: structure {best(structure, 20) * 1e3:.1f} ms", end="")
    print(f" (target: 50 beyond start-up), all checks {best(whole, 3) * 1e3:.0f} ms")

    model = realfiles.gemma3()
    stored = np.fromfile(model, np.uint8)
    print(f"validate --data {model.name}, {len(stored) / 1e6:.0f} MB, GB/s:")
    contenders: dict[str, Callable[[], object]] = {
        "read: sum of the mapped file": lambda: _sum_mapped(model),
        "read: sum of bytes in memory": lambda: stored[: len(stored) // 8 * 8].view("u8").sum(),
        "data of the mapped file, 1 thread": partial(_data, model, 1),
        "data of the mapped file, all threads": partial(_data, model, None),
        "data of bytes in memory, 1 thread": partial(_data, stored, 1),
        "data in NumPy, 1 thread": partial(_data_in_numpy, model),
    }
    times = dict.fromkeys(contenders, float("inf"))
    for number in range(ROUNDS):
        for name, work in contenders.items():
            if number < 2 or "NumPy" not in name:
                times[name] = min(times[name], best(work, 1))
    of_file, of_memory = (times[name] for name in list(contenders)[:2])
    for name, seconds in times.items():
        reading = of_memory if "in memory" in name else of_file
        rate = len(stored) / seconds / 1e9
        print(f"  {name}: {rate:.2f}, {reading / seconds:.2f} of reading it (target: 0.5)")


def _data(source: Path | np.ndarray, threads: int | None) -> None:  # type: ignore[type-arg]
    report = ggufspec.validate(source, data=True, checks=(), threads=threads)
    assert report.verdict == "valid"


def _data_in_numpy(source: Path) -> None:
    from ggufspec.blocks import kernels

    chosen = kernels.chosen
    kernels.chosen = lambda *_: False
    try:
        _data(source, 1)
    finally:
        kernels.chosen = chosen


def _sum_mapped(path: Path) -> int:
    """Read a file as a validator without anything to do would."""
    total = 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        words = np.frombuffer(mapped, np.uint64, len(mapped) // 8)
        for start in range(0, len(words), PIECE // 8):
            total += int(words[start : start + PIECE // 8].sum())
        del words
    return total
