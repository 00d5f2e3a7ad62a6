"""Quantization speed: MB/s of float32 read, everybody in one run, and whether targets hold.

Tensors are 4096 wide, normal and heavy-tailed, with as many rows as the slowest contender does
in a moment. Tables that a search needs are made before and timed apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

import ggufspec
from bench import encoders as E
from bench.table import show
from bench.targets import OF_MEMORY, PUBLISHED, Target, limit, target
from ggufspec import native
from ggufspec.generated.quantizers import QUANTIZERS
from ggufspec.registry import TensorType, types
from support import oracle

WIDTH = 4096

WORTH_TELLING = 0.02
"""Seconds of a first use, below which there is nothing to tell."""

SAMPLE = 0.008
"""Seconds that ggml takes for a tensor, about."""

FEWEST, MOST = 4, 1024
"""Rows: 64 KB to 16 MB."""

ROUNDS = 15

ALONE = time.process_time
"""What processors did for one thread counts: neighbours interrupt it, and libgguf takes more."""

THREADS_SECONDS, THREADS_FEWEST, THREADS_MOST, THREADS_ROUNDS = 0.15, 512, 4096, 5
"""For all threads: what one thread takes about, rows, rounds."""

LEAST, THREADS_LEAST = 1.0, 1.8

DATA: Mapping[str, Callable[[np.random.Generator, tuple[int, int]], E.Floats]] = {
    "normal": lambda rng, shape: (0.02 * rng.standard_normal(shape)).astype(np.float32),
    "heavy-tailed": lambda rng, shape: (0.02 * rng.standard_t(3, shape)).astype(np.float32),
}

CONTENDERS: Mapping[str, Callable[[E.Work], E.Call | None]] = {
    "ours": E.ours,
    "ggml": E.ggml,
    "libgguf": E.libgguf,
}
SELDOM = frozenset({"libgguf"})
"""Measured every other round."""


@dataclass
class Result:
    """A type without or with an importance: MB/s by data and contender, and what else there is."""

    kind: TensorType
    weighted: bool
    rates: dict[str, dict[str, float]] = field(default_factory=dict)
    of_memory: float = 0.0
    threads: float = 0.0

    @property
    def name(self) -> str:
        """The type, and whether it has an importance where that matters."""
        quantizer = QUANTIZERS[self.kind.name]
        both = quantizer.plain and quantizer.weighted
        return f"{self.kind.name} + importance" if both and self.weighted else self.kind.name

    @property
    def target(self) -> Target:
        """What it should reach."""
        return target(self.kind.name, weighted=self.weighted)

    newer: dict[str, float] | None = None
    """MB/s by data of a newer ggml, if one is the measure."""

    def over_ggml(self, data: str) -> float:
        """Our speed as times ggml's."""
        rates = self.rates[data]
        return rates["ours"] / (self.newer or {}).get(data, rates["ggml"])

    @property
    def ratio(self) -> float:
        """The lower of both kinds of data."""
        return min(self.over_ggml(data) for data in DATA)

    @property
    def at_memory(self) -> bool:
        """Whether it is as fast as memory, where a ratio says nothing."""
        return self.target.good is None and self.of_memory >= OF_MEMORY

    @property
    def holds(self) -> bool:
        """Whether the minimum is reached."""
        return self.at_memory or self.ratio >= self.target.minimum

    @property
    def is_good(self) -> bool:
        """Whether what is called good is reached."""
        return self.holds and self.ratio >= (self.target.good or 0)


def run(chosen: Sequence[TensorType], *, markdown: bool) -> None:
    """Measure, print the table, say which targets hold."""
    known = (kind for kind in chosen if kind.name in QUANTIZERS and kind.id is not None)
    wanted = [kind for kind in known if kind.name != "F32"]  # a copy
    if native.lib() is None or not wanted:
        print("\nno compiled part, or no type with a quantizer: no quantization to measure")
        return
    _prepare(wanted, markdown)
    results = [
        _measured(kind, weighted)
        for kind in wanted
        for weighted in (False, True)
        if _recipe(kind, weighted)
    ]
    _compare_with_newer(results)
    _table(results, markdown)
    _verdict(results)


def _recipe(kind: TensorType, weighted: bool) -> object:
    quantizer = QUANTIZERS[kind.name]
    return quantizer.weighted if weighted else quantizer.plain


def _prepare(wanted: Sequence[TensorType], markdown: bool) -> None:
    """Time the first use of each type, which makes its tables; most have none."""
    x = np.ones((1, WIDTH), np.float32)
    rows = []
    for kind in wanted:
        work = E.made(kind, x, x[0])
        seconds = [_seconds(step, ALONE) for step in _first_steps(kind, work)]
        if max(seconds) > WORTH_TELLING:
            rows.append([kind.name, *(f"{value:.2f}" for value in seconds)])
    if rows:
        heads = ["type", *CONTENDERS]
        show("First use, which makes tables: seconds of one thread", heads, rows, markdown=markdown)


def _first_steps(kind: TensorType, work: E.Work) -> Iterator[Callable[[], object]]:
    """What makes the tables, in the order of the contenders."""
    number = kind.id
    assert number is not None
    yield E.ours(work) or (lambda: None)
    yield lambda: oracle.prepare(number)
    yield lambda: E.libgguf(work)


def _seconds(step: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    step()
    return clock() - start


def _measured(kind: TensorType, weighted: bool) -> Result:
    rng = np.random.default_rng(1)
    importance = (np.abs(rng.standard_normal(WIDTH)) + 0.1).astype(np.float32) if weighted else None
    result = Result(kind, weighted)
    for name, draw in DATA.items():
        rows = _rows(kind, draw(rng, (FEWEST, WIDTH)), importance)
        work = E.made(kind, draw(rng, (rows, WIDTH)), importance)
        result.rates[name], of_memory = _rates(work)
        result.of_memory = max(result.of_memory, of_memory)
    result.threads = _scaling(kind, importance, result.rates["normal"]["ours"])
    return result


def _rows(kind: TensorType, x: E.Floats, importance: E.Floats | None) -> int:
    call = E.ggml(E.made(kind, x, importance))
    assert call is not None
    seconds = min(_seconds(call, ALONE) for _ in range(2))
    return _within(FEWEST, SAMPLE / seconds * len(x), MOST)


def _within(fewest: int, rows: float, most: int) -> int:
    """A whole number of fours."""
    return int(min(max(fewest, rows), most)) // 4 * 4


def _rates(work: E.Work) -> tuple[dict[str, float], float]:
    """The best MB/s of each, and the best share of plain loads and stores that ours reached."""
    calls = {name: make(work) for name, make in CONTENDERS.items()}
    megabytes = work.x.nbytes / 1e6
    best: dict[str, float] = {}
    plain = E.traffic(work)
    for number in range(ROUNDS):
        for name, call in calls.items():
            if call is None or (number % 2 and name in SELDOM):
                continue
            best[name] = max(best.get(name, 0.0), megabytes / _seconds(call, ALONE))
        plain = min(plain, E.traffic(work))
    return best, best["ours"] * plain / megabytes


def _scaling(kind: TensorType, importance: E.Floats | None, rate: float) -> float:
    """How many times as fast all threads are as one, through the public function."""
    rows = _within(THREADS_FEWEST, rate * 1e6 * THREADS_SECONDS / (4 * WIDTH), THREADS_MOST)
    x = DATA["normal"](np.random.default_rng(2), (rows, WIDTH))
    best = {1: float("inf"), None: float("inf")}
    for _ in range(THREADS_ROUNDS):
        for threads, before in best.items():
            call = partial(ggufspec.quantize, x, kind.name, importance, threads=threads)
            best[threads] = min(before, _seconds(call))
    return best[1] / best[None]


def _compare_with_newer(results: Sequence[Result]) -> None:
    """Carry what a newer ggml reached elsewhere over to this machine."""
    for result in results:
        published = PUBLISHED.get(result.kind.name)
        if published is None:
            continue
        known = (r for r in results if r.kind.name == published.beside)
        beside = next(known, None) or _measured(types[published.beside], weighted=True)
        result.newer = {
            data: published.rate * rates["ggml"] / published.beside_rate
            for data, rates in beside.rates.items()
        }


HEADS = (
    *("type", "ggml", "libgguf", "ours", "x ggml", "x ggml, heavy-tailed", "of memory"),
    *("all threads", "minimum", "good", "reached", "limited by"),
)


def _table(results: Sequence[Result], markdown: bool) -> None:
    title = (
        f"Quantization, {WIDTH} wide, one thread: MB/s of float32 read (normal data), times ggml's "
        "speed, share of plain loads and stores; all threads as times one"
    )
    show(title, HEADS, [_row(result) for result in results], markdown=markdown)
    for result in results:
        if result.newer:
            published = PUBLISHED[result.kind.name]
            print(
                f"\n{result.name}: times ggml 0.25.3's speed, whose {published.rate:g} MB/s beside "
                f"{published.beside_rate:g} of {published.beside} elsewhere make "
                f"{result.newer['normal']:.0f} here"
            )


def _row(result: Result) -> list[str]:
    rates = result.rates["normal"]
    goal = result.target
    reached = "good" if result.is_good else "minimum" if result.holds else "MISSED"
    return [
        result.name,
        *(f"{rates[name]:.{0 if rates[name] >= 100 else 1}f}" if name in rates else "-"
          for name in ("ggml", "libgguf", "ours")),
        *(f"{result.over_ggml(data):.1f}" for data in DATA),
        f"{result.of_memory:.2f}",
        f"{result.threads:.2f}",
        *(f"{goal.minimum:g}" + (" or memory" if goal.good is None else ""), f"{goal.good or '-'}"),
        "memory" if result.at_memory and result.ratio < goal.minimum else reached,
        limit(result.kind.name, weighted=result.weighted, of_memory=result.of_memory),
    ]  # fmt: skip


def _verdict(results: Sequence[Result]) -> None:
    """How many targets hold, and which do not."""
    print()
    for what, reached in (
        ("minimum", [result.holds for result in results]),
        ("good", [result.is_good for result in results]),
        (f"never below {LEAST:g}x", [result.ratio >= LEAST for result in results]),
        (
            f"all threads {THREADS_LEAST:g}x",
            [result.threads >= THREADS_LEAST for result in results],
        ),
    ):
        missed = [r.name for r, held in zip(results, reached, strict=True) if not held]
        print(f"{what}: {sum(reached)} of {len(results)}", end="")
        print(f"; MISSED by {', '.join(missed)}" if missed else ": holds")
