"""What a source says about ggml and GGUF: plain data, with the place of each thing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


class UnreadError(ValueError):
    """A source that is there, but not in a form that is understood."""


@dataclass(frozen=True)
class Place:
    """A file of the source and the line (1-based); no line where there is none to name."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True)
class StructField:
    """A member of a block struct: ``uint8_t qs[16]``; no count for a single value."""

    name: str
    ctype: str
    count: int | None
    place: Place = field(default=Place(""), compare=False)

    def __str__(self) -> str:
        return f"{self.ctype} {self.name}" + ("" if self.count is None else f"[{self.count}]")


@dataclass(frozen=True)
class Numbered:
    """A name and the number that stands for it; ``bytes`` of one value where it is told."""

    name: str
    id: int
    place: Place
    bytes: int | None = None


@dataclass(frozen=True)
class TypeFacts:
    """A tensor type: what is None the source does not say. Blocks hold ``elements`` weights."""

    name: str
    id: int
    place: Place
    elements: int | None = None
    bytes: int | None = None
    fields: tuple[StructField, ...] | None = None
    sizes_at: Place | None = None


@dataclass(frozen=True)
class TableFacts:
    """A codebook as it is declared: its C type's width in bytes, and its numbers."""

    name: str
    width: int
    values: tuple[int, ...]
    lines: tuple[int, ...]
    place: Place

    @property
    def data(self) -> bytes:
        """The numbers as they lie in memory, lowest byte first."""
        mask = (1 << (8 * self.width)) - 1
        return b"".join((value & mask).to_bytes(self.width, "little") for value in self.values)


@dataclass(frozen=True)
class Constant:
    """A named number or text."""

    name: str
    value: int | float | str
    place: Place


@dataclass(frozen=True)
class Facts:
    """Everything that one source says. A section that is None it does not speak of.

    whole: sections that are complete, so that what is missing there is gone.
    doubts: block structs whose own assertions on their size do not hold for what was read.
    unread: what was looked for and is not there.
    """

    kind: str
    name: str
    types: Mapping[str, TypeFacts] | None = None
    file_types: Mapping[str, Numbered] | None = None
    value_types: Mapping[str, Numbered] | None = None
    keys: Mapping[str, Place] | None = None
    architectures: Mapping[str, Place] | None = None
    projectors: Mapping[str, Place] | None = None
    tables: Mapping[str, TableFacts] | None = None
    constants: Mapping[str, Constant] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()
    doubts: tuple[tuple[str, Place], ...] = ()
    unread: tuple[str, ...] = ()
