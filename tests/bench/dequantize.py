"""Dequantization speed, everybody in one run: GB/s of float32 written, and whether targets hold.

Two outputs, both reused: 256 KB, which stays in the second-level cache, where kernels differ,
and 128 MB, where memory decides. Contenders take turns, many times, and each one's best time
counts: a busy neighbour slows a round, not the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from bench import contenders as C
from bench.table import show
from ggufspec.registry import TensorType, types

CACHE, MEMORY = 1 << 16, 1 << 25
"""Elements of the two outputs: 256 KB and 128 MB."""

SAMPLE = 2e-4
"""Seconds that one sample takes at least: short, so that some fall between interruptions."""

GEOMETRIC_MEAN, SLOWEST, OF_STORES = 6.0, 1.0, 0.85

Contender = Callable[[C.Buffers], "C.Timer | None"]

SMALL: Mapping[str, Contender] = {
    "NumPy": C.ours_numpy,
    "C": C.ours,
    "stores": C.stores,
    "ggml": C.ggml,
    "libgguf": C.libgguf,
    "gguf-py": C.gguf_py,
    "copy": C.copy,
}
BIG: Mapping[str, Contender] = {
    "threads": C.ours_threads,
    "C": C.ours,
    "stores": C.stores,
    "ggml": C.ggml,
    "libgguf": C.libgguf,
    "copy": C.copy,
}
SLOW = frozenset({"NumPy", "gguf-py"})
SELDOM = SLOW | {"ggml", "libgguf", "threads", "copy"}
"""Measured once a pass: the slow ones always, all but the two compared when output is big."""

SHARE = "C/stores"

Table = dict[str, dict[str, float]]
"""Type, contender: GB/s."""


def run(chosen: Sequence[TensorType], *, markdown: bool) -> None:
    """Measure, print both tables, say which targets hold."""
    small = measure(chosen, CACHE, SMALL, passes=10, rounds=20)
    _table("256 KB, reused, one thread", small, SMALL, markdown)
    big = measure(chosen, MEMORY, BIG, passes=2, rounds=20)
    _table("128 MB, reused; all threads in the column `threads`", big, BIG, markdown)
    verdict(small, big)


def measure(
    chosen: Sequence[TensorType],
    n: int,
    contenders: Mapping[str, Contender],
    passes: int,
    rounds: int,
) -> Table:
    """The best of all rounds; passes spread a type's rounds over the whole run.

    What we make of plain stores is the median of rounds: both are measured side by side, and a
    neighbour that takes memory's bandwidth for a while takes it from both.
    """
    rng = np.random.default_rng(0)
    out = C.aligned(n)
    best: Table = {kind.name: {} for kind in chosen}
    shares: dict[str, list[float]] = {kind.name: [] for kind in chosen}
    for _ in range(passes):
        for kind in chosen:
            buffers = C.made(kind, out[: n // kind.elements * kind.elements], rng)
            timers = {name: make(buffers) for name, make in contenders.items()}
            for number in range(rounds):
                skipped = (SLOW if n == CACHE else SELDOM) if number else frozenset()
                now = _round(best[kind.name], timers, buffers.n, skipped)
                if "C" in now:
                    shares[kind.name].append(now["C"] / now["stores"])
    for name, values in shares.items():
        if values:
            best[name][SHARE] = float(np.median(values))
    return best


def _round(
    best: dict[str, float], timers: Mapping[str, C.Timer | None], n: int, skipped: AbstractSet[str]
) -> dict[str, float]:
    now: dict[str, float] = {}
    for name, timer in timers.items():
        if timer is None or name in skipped:
            continue
        rate = best.get(name, 0.0)
        seconds = 4e-9 * n / rate if rate else timer(1)
        repeats = max(1, min(1000, round(SAMPLE / seconds)))
        now[name] = 4e-9 * n / timer(repeats)
        best[name] = max(rate, now[name])
    return now


def _table(title: str, table: Table, contenders: Mapping[str, Contender], markdown: bool) -> None:
    """A row a type; the last columns are ours in C against ggml's C and against plain stores."""
    rows = []
    for name, row in table.items():
        numbers = [
            *(row.get(head) for head in contenders),
            _ratio(row, "C", "ggml"),
            row.get(SHARE),
        ]
        rows.append([name, *(f"{number:.2f}" if number else "-" for number in numbers)])
    heads = ["type", *contenders, "C/ggml", SHARE]
    show(f"Dequantization, {title}: GB/s of float32 written", heads, rows, markdown=markdown)


def _ratio(row: Mapping[str, float], ours: str, theirs: str) -> float | None:
    return row[ours] / row[theirs] if ours in row and theirs in row else None


def verdict(small: Table, big: Table) -> None:
    """The targets of the project, one line each.

    Of the big output block types are judged: 16-bit numbers read half of what they write, and
    that costs bandwidth which plain stores do not need.
    """
    ratios = {name: ratio for name, row in small.items() if (ratio := _ratio(row, "C", "ggml"))}
    print()
    if not ratios:
        print("no compiled part, or no type that ggml decodes: no targets to compare")
        return
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    slowest = min(ratios, key=lambda name: ratios[name])
    shares = {n: share for n in ratios if types[n].elements > 1 and (share := big[n].get(SHARE))}
    if not shares:
        return
    least = min(shares, key=lambda name: shares[name])
    for what, value, target in (
        (
            f"256 KB, one thread, {len(ratios)} types: geometric mean over ggml",
            mean,
            GEOMETRIC_MEAN,
        ),
        (f"256 KB, one thread: the slowest, {slowest}, over ggml", ratios[slowest], SLOWEST),
        (
            f"128 MB, one thread: the least block type, {least}, of plain stores",
            shares[least],
            OF_STORES,
        ),
    ):
        held = "holds" if value >= target else "MISSED"
        print(f"{what}: {value:.2f} (target {target}): {held}")
