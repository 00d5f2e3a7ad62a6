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
    """A member of a block struct: ``uint8_t qs[16]``; no count for a single value.

    bits: the width of a bit-field.
    """

    name: str
    ctype: str
    count: int | None
    place: Place = field(default=Place(""), compare=False)
    bits: int | None = None

    def __str__(self) -> str:
        many = "" if self.count is None else f"[{self.count}]"
        return f"{self.ctype} {self.name}{many}" + ("" if self.bits is None else f" : {self.bits}")


@dataclass(frozen=True)
class Numbered:
    """A name and the number that stands for it; ``bytes`` of one value where it is told."""

    name: str
    id: int
    place: Place
    bytes: int | None = None


@dataclass(frozen=True)
class TypeFacts:
    """A tensor type; what is None the source does not say. Blocks hold ``elements`` weights.

    label: what ggml prints for it. mentioned: where the name of its struct occurs, if nothing of
    the struct could be read.
    """

    name: str
    id: int
    place: Place
    elements: int | None = None
    bytes: int | None = None
    fields: tuple[StructField, ...] | None = None
    sizes_at: Place | None = None
    label: str | None = None
    mentioned: Place | None = None


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
class Fault:
    """Something that stands there but cannot be read, or that a file should have and has not.

    kind: as a drift's, say struct-unread. name: of the type, table or constant.
    """

    kind: str
    name: str
    why: str
    place: Place


@dataclass(frozen=True)
class Doubt:
    """An assertion on the size of a block struct that does not hold for what was read."""

    struct: str
    why: str
    place: Place


@dataclass(frozen=True)
class Facts:
    """Everything that one source says. A section that is None it does not speak of.

    whole: sections that are complete, so that what is missing there is gone.
    doubts: assertions that do not hold for what was read.
    unread: files that were looked for and are not there.
    faults: what is there and could not be read.
    files: the files that were read, by name, each with the first line that is no C, if any.
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
    doubts: tuple[Doubt, ...] = ()
    unread: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    files: Mapping[str, Place] = field(default_factory=dict)
