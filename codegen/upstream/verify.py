"""A type's spec against a built ggml, bit for bit, and the smallest block that tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import BlockType
from ..spec import Spec
from .carried_out import CarriedOut, in_force
from .known import load_known
from .library import DiedError, Library, LibraryError, LibraryType
from .probe import different
from .samples import hostile_blocks, hostile_rows, importances

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Advance = Callable[[int], None]

TILE = 256
"""Blocks that are decoded at a time."""


@dataclass(frozen=True)
class Failure:
    """Where spec and library differ, made small.

    way: dequantize or quantize. block: the stored block that decodes differently, or what the spec
    writes. other: what the library writes instead. element: the first that differs. row,
    importance: what was quantized.
    """

    way: str
    block: bytes
    element: int
    ours: str
    theirs: str
    values: dict[str, Any]
    count: int
    total: int
    other: bytes = b""
    row: tuple[float, ...] = ()
    importance: tuple[float, ...] = ()
    said: str = ""


@dataclass(frozen=True)
class Verdict:
    """What was compared, what could not be, and what differs.

    meant: differences that spec/upstream.yaml explains, and ``why``.
    """

    type: str
    blocks: int
    rows: int
    refused: int
    skipped: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    meant: tuple[Failure, ...] = ()
    why: str = ""

    @property
    def compared(self) -> bool:
        """Whether anything was: some types have neither decoder nor quantizer."""
        return bool(self.blocks or self.rows or self.failures)

    @property
    def ok(self) -> bool:
        return self.compared and not self.failures


def verify(
    spec: Spec,
    kind: BlockType,
    library: Library,
    *,
    blocks: int = 2000,
    seed: int = 0,
    quantizers: bool = True,
    advance: Advance = lambda _count: None,
) -> Verdict:
    """Decode blocks and quantize rows both ways.

    Raises LibraryError where the library does not have the type, or has it in other sizes.
    """
    theirs = library.named(kind.name)
    if theirs is None:
        raise LibraryError(f"{library.path} has no type {kind.name}")
    if (theirs.elements, theirs.bytes) != (kind.elements, kind.bytes):
        raise LibraryError(
            f"{kind.name} has {kind.elements} weights in {kind.bytes} bytes, and "
            f"{theirs.elements} in {theirs.bytes} in {library.path}"
        )
    made = CarriedOut(spec, kind)
    skipped: list[str] = []
    failures: list[Failure] = []
    stored = hostile_blocks(kind, blocks, seed) if theirs.decodes else np.zeros((0, 1), np.uint8)
    if theirs.decodes:
        failures += _decoding(made, library, theirs, stored, advance)
    else:
        skipped.append("the library does not decode it")
    rows = refused = 0
    if not quantizers or not kind.quantize or not theirs.quantizer:
        whose = "the spec" if not kind.quantize else "the library"
        skipped.append(
            f"{whose} has no quantizer for it" if quantizers else "quantizers were left out"
        )
    else:
        with in_force(made):
            found = _Quantizing(made, library, theirs)
            failures += found.run(seed, advance)
            rows, refused = found.rows, found.refused
    meant, why = _explained(spec, kind, library, failures)
    told = tuple(failure for failure in failures if failure not in meant)
    return Verdict(kind.name, len(stored), rows, refused, tuple(skipped), told, meant, why)


def _explained(
    spec: Spec, kind: BlockType, library: Library, failures: list[Failure]
) -> tuple[tuple[Failure, ...], str]:
    """The differences of a quantizer that older versions of ggml are known to have."""
    known = load_known(spec).quantizers.get(kind.name) if failures else None
    if known is None or not known.covers(library.version):
        return (), ""
    return tuple(one for one in failures if one.way == "quantize"), known.why


# ---- decoding


def _decoding(
    made: CarriedOut, library: Library, theirs: LibraryType, stored: Bytes, advance: Advance
) -> Iterator[Failure]:
    """The first block that differs, made small; nothing where all are alike."""
    bad: list[int] = []
    plain: list[int] = []
    for start in range(0, len(stored), TILE):
        tile = stored[start : start + TILE]
        bad += [start + int(n) for n in np.flatnonzero(_apart(made, library, theirs, tile))]
        unlike = _apart(made, library, theirs, tile, zeros=False) if bad and not plain else ()
        plain += [start + int(n) for n in np.flatnonzero(unlike)]
        advance(tile.nbytes)
    if not bad:
        return
    # Another sign of a zero is a difference too, but shows less.
    zeros = not plain
    block = smallest(
        stored[(plain or bad)[0]],
        lambda candidates: _apart(made, library, theirs, candidates, zeros=zeros),
    )
    ours, others = made.dequantize(block[None])[0], library.dequantize(theirs.id, block[None])[0]
    element = int(np.flatnonzero(different(ours, others, zeros=zeros))[0])
    yield Failure(
        way="dequantize",
        block=block.tobytes(),
        element=element,
        ours=_float(ours[element]),
        theirs=_float(others[element]),
        values=made.element(block, element),
        count=len(bad),
        total=len(stored),
    )


def _apart(
    made: CarriedOut, library: Library, theirs: LibraryType, blocks: Bytes, *, zeros: bool = True
) -> NDArray[np.bool_]:
    """Which blocks decode differently; ``zeros``: by the sign of a zero too."""
    ours, others = made.dequantize(blocks), library.dequantize(theirs.id, blocks)
    return np.asarray(different(ours, others, zeros=zeros).any(axis=1))


def smallest(block: Bytes, fails: Callable[[Bytes], NDArray[np.bool_]]) -> Bytes:
    """The block with as many bytes and bits cleared as leave it failing; none can go any more.

    fails: which of some blocks (n, bytes) fail.
    """
    block = block.copy()
    clearings = [(byte, 0) for byte in range(len(block))]
    clearings += [(byte, 0xFF ^ 1 << bit) for byte in range(len(block)) for bit in range(8)]
    while True:
        useful = [(byte, keep) for byte, keep in clearings if int(block[byte]) & ~keep & 0xFF]
        if not useful:
            return block
        candidates = np.repeat(block[None], len(useful), axis=0)
        for place, (byte, keep) in enumerate(useful):
            candidates[place, byte] &= keep
        failing = [useful[int(place)] for place in np.flatnonzero(fails(candidates))]
        if not failing:
            return block
        block = _together(block, failing, fails)


def _together(
    block: Bytes, clearings: list[tuple[int, int]], fails: Callable[[Bytes], NDArray[np.bool_]]
) -> Bytes:
    """Clear as many of these at once as still fails: all, half of them, ... at least one."""
    while True:
        candidate: Bytes = block.copy()
        for byte, keep in clearings:
            candidate[byte] &= keep
        if len(clearings) == 1 or fails(candidate[None])[0]:
            return candidate
        clearings = clearings[: len(clearings) // 2]


# ---- quantizing


@dataclass
class _Quantizing:
    """Rows both ways; counts rows that were compared, and those that ours refuses."""

    made: CarriedOut
    library: Library
    theirs: LibraryType
    rows: int = 0
    refused: int = 0

    def run(self, seed: int, advance: Advance) -> Iterator[Failure]:
        """At most one failure for each way to weigh."""
        length = max(2 * self.theirs.elements, 64)
        quantizer = self.made.kind.quantize
        weights: list[tuple[str, Floats | None]] = []
        if "plain" in quantizer and not self.theirs.needs_importance:
            weights.append(("", None))
        if "weighted" in quantizer:
            weights += importances(length, seed).items()
        samples = hostile_rows(length, seed)
        for name, importance in weights:
            some = ("normal", "heavy-tailed", "many scales") if name == "with zeros" else samples
            for what in some:
                x = samples[what]
                failure = self._compare(x, importance, f"{what} rows")
                advance(x.nbytes)
                if failure is not None:
                    yield failure
                    break

    def _compare(self, x: Floats, importance: Floats | None, what: str) -> Failure | None:
        kept = [row for row in range(len(x)) if self._ours(x[row], importance) is not None]
        self.refused += len(x) - len(kept)
        x = x[kept]
        if not len(x):
            return None
        self.rows += len(x)
        try:
            others = self.library.quantize(self.theirs.id, x, importance)
        except DiedError as error:
            self.library.restart()
            return self._died(x, importance, f"{what}: {error}")
        ours = self.made.quantize(x, importance)
        assert ours is not None
        bad = np.flatnonzero((ours != others).any(axis=1))
        if not len(bad):
            return None
        return self._failure(x[int(bad[0])], importance, what, len(bad), len(x))

    def _ours(self, row: Floats, importance: Floats | None) -> Bytes | None:
        return self.made.quantize(row[None], importance)

    def _fails(self, row: Floats, importance: Floats | None) -> bool:
        ours = self._ours(row, importance)
        if ours is None:
            return False
        try:
            others = self.library.quantize(self.theirs.id, row[None], importance)
        except DiedError:
            self.library.restart()
            return False
        return bool((ours != others).any())

    def _failure(
        self, row: Floats, importance: Floats | None, what: str, count: int, total: int
    ) -> Failure:
        row, importance = self._small(row, importance)
        ours = self._ours(row, importance)
        assert ours is not None
        others = self.library.quantize(self.theirs.id, row[None], importance)
        size, elements = self.theirs.bytes, self.theirs.elements
        block = int(np.flatnonzero(ours[0] != others[0])[0]) // size
        mine, other = (one[0, block * size :][:size] for one in (ours, others))
        unpacked = self.made.unpack(mine[None]), self.made.unpack(other[None])
        values = {
            name: f"{a[0].reshape(-1)[at].item()}, ggml {b[0].reshape(-1)[at].item()}"
            for name, a, b, at in _unlike(*unpacked)
        }
        decoded = self.made.dequantize(np.stack([mine, other]))
        apart = np.flatnonzero(different(decoded[0], decoded[1]))
        element = int(apart[0]) if len(apart) else 0
        part = slice(block * elements, (block + 1) * elements)
        return Failure(
            way="quantize",
            block=mine.tobytes(),
            other=other.tobytes(),
            element=element,
            ours=_float(decoded[0][element]),
            theirs=_float(decoded[1][element]),
            values=values,
            count=count,
            total=total,
            row=tuple(float(v) for v in row[part]),
            importance=() if importance is None else tuple(float(v) for v in importance[part]),
            said=what,
        )

    def _died(self, x: Floats, importance: Floats | None, said: str) -> Failure:
        ours = self.made.quantize(x[:1], importance)
        block = b"" if ours is None else ours[0, : self.theirs.bytes].tobytes()
        return Failure("quantize", block, 0, "", "", {}, 1, len(x), said=said)

    def _small(self, row: Floats, importance: Floats | None) -> tuple[Floats, Floats | None]:
        """A row of one block if that will do, with as many zeros as it bears."""
        elements = self.theirs.elements
        for start in range(0, len(row), elements):
            part = slice(start, start + elements)
            weights = None if importance is None else importance[part]
            if self._fails(row[part], weights):
                row, importance = row[part].copy(), weights
                break
        step = len(row) // 2
        while step:
            for start in range(0, len(row), step):
                candidate = row.copy()
                candidate[start : start + step] = 0
                if (candidate != row).any() and self._fails(candidate, importance):
                    row = candidate
            step //= 2
        return row, importance


def _unlike(
    a: dict[str, NDArray[Any]], b: dict[str, NDArray[Any]]
) -> Iterator[tuple[str, NDArray[Any], NDArray[Any], int]]:
    """Fields and codes that differ, each with the first place."""
    for name, ours in a.items():
        theirs = b[name]
        apart = np.flatnonzero(ours[0].reshape(-1) != theirs[0].reshape(-1))
        if len(apart):
            at = int(apart[0])
            yield (f"{name}[{at}]" if ours[0].size > 1 else name), ours, theirs, at


def _float(value: np.float32) -> str:
    """A float with its bits."""
    return f"{float(value):.9g} (0x{int(value.view(np.uint32)):08x})"
