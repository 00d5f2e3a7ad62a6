"""What a type file says about bytes: where its words lie, and the bytes that packing gives back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from support import interpreter


class Word(NamedTuple):
    """A stored number of a scalar type, at its byte."""

    offset: int
    scalar: str
    size: int
    is_float: bool


@dataclass(frozen=True)
class Kind:
    """A type that has a layout, straight from its YAML."""

    file: interpreter.TypeFile

    @property
    def name(self) -> str:
        return str(self.file.data["name"])

    @property
    def number(self) -> int | None:
        """The id of ggml, None for fork types."""
        return self.file.data.get("id")

    @property
    def elements(self) -> int:
        return int(self.file.data["elements"])

    @property
    def size(self) -> int:
        return int(self.file.data["bytes"])

    @property
    def plain(self) -> bool:
        """Whether it is a number stored as itself."""
        return self.elements == 1

    @cached_property
    def prefix(self) -> int:
        """Bytes in front of a row."""
        return self._size("row_prefix")

    @cached_property
    def suffix(self) -> int:
        """Bytes behind a tensor."""
        return self._size("tensor_suffix")

    def words(self, part: str = "fields") -> list[Word]:
        """Every stored number of a block, or of the bytes once a row or tensor."""
        return list(self._words(self.file.data.get(part, {}), 0))

    def stored(self, row: Row, number: int, order: str = "little") -> interpreter.Stored:
        """Block `number` of a row, as the interpreter takes it."""
        start = number * self.size
        block = row.blocks[start : start + self.size]
        return interpreter.Stored(block, row.prefix, row.suffix, order)

    def packed(self, block: bytes) -> bytes:
        """What packing the codes of a block gives: padding is zero, base-3 bytes are ggml's."""
        made = bytearray(len(block))
        for word in self.words():
            made[word.offset : word.offset + word.size] = block[word.offset :][: word.size]
        for offset, digits in self._trits().items():
            number = 0
            for digit in range(5):
                scaled = block[offset] * 3**digit % 256
                number = number * 3 + (scaled * 3 // 256 if digit < digits else 0)
            made[offset] = (number * 256 + 242) // 243
        return bytes(made)

    def swapped(self, row: Row) -> Row:
        """The same row with every word in the other byte order."""
        blocks = b"".join(
            _swapped(row.blocks[start : start + self.size], self.words())
            for start in range(0, len(row.blocks), self.size)
        )
        prefix = _swapped(row.prefix, self.words("row_prefix"))
        return Row(row.what, blocks, prefix, _swapped(row.suffix, self.words("tensor_suffix")))

    def _size(self, part: str) -> int:
        fields = self.file.data.get(part, {})
        return sum(interpreter._size(what, self.file.formats) for what in fields.values())

    def _words(self, fields: Mapping[str, Any], start: int) -> Iterator[Word]:
        for name, what in fields.items():
            if not name.startswith("pad"):
                yield from self._field(interpreter._type(what), start)
            start += interpreter._size(what, self.file.formats)

    def _field(self, what: Any, start: int) -> Iterator[Word]:
        if isinstance(what, dict):
            step = interpreter._size(what["of"], self.file.formats)
            for number in range(what["count"]):
                yield from self._words(what["of"], start + number * step)
            return
        scalar, _, count = what.partition("[")
        form = self.file.formats[scalar]
        size = form["bits"] // 8
        for number in range(int(count.rstrip("]") or 1)):
            yield Word(start + number * size, scalar, size, form["kind"] == "float")

    def _trits(self) -> dict[int, int]:
        """Offset of each byte of base-3 digits -> how many it has."""
        found: dict[int, int] = {}

        def note(spot: interpreter.Spot, digit: int) -> interpreter.Part:
            found[spot.offset] = max(found.get(spot.offset, 0), digit + 1)
            return interpreter.Part(0, 2)

        zeros = interpreter.Stored(bytes(self.size))
        names: dict[str, Any] = {"trit": note, "bits": lambda *_: None}
        names |= interpreter._block(self.file, zeros)
        for axes, codes in self.file.regions:
            texts = [text for what in codes.values() for text in _texts(what) if "trit(" in text]
            for point in interpreter._points(axes):
                for text in texts:
                    eval(interpreter._slice(text), {}, {**names, **point})
        return found


class Row(NamedTuple):
    """Whole blocks, what stands once in front of them and once behind the tensor."""

    what: str
    blocks: bytes
    prefix: bytes = b""
    suffix: bytes = b""

    @property
    def data(self) -> bytes:
        """Prefix and blocks: a row as it lies in a tensor."""
        return self.prefix + self.blocks


@cache
def kinds(spec: Path) -> list[Kind]:
    """Every type with a layout: those with an id in its order, then the others by name."""
    files = (interpreter.read(path, spec) for path in sorted((spec / "types").glob("*.yaml")))
    found = [Kind(file) for file in files if "fields" in file.data]
    return sorted(found, key=lambda kind: (kind.number is None, kind.number or 0, kind.name))


@cache
def removed(spec: Path) -> list[int]:
    """The ids that were once given and mean nothing any more."""
    texts = (path.read_text(encoding="utf-8") for path in (spec / "types").glob("*.yaml"))
    entries = map(yaml.safe_load, texts)
    return sorted(entry["id"] for entry in entries if entry["status"] == "removed")


def _texts(what: Any) -> Iterator[str]:
    if isinstance(what, Mapping):
        for inner in what.values():
            yield from _texts(inner)
    elif isinstance(what, str):
        yield what
    else:
        yield from what


def _swapped(data: bytes, words: list[Word]) -> bytes:
    made = bytearray(data)
    for word in words:
        made[word.offset : word.offset + word.size] = data[word.offset :][: word.size][::-1]
    return bytes(made)
