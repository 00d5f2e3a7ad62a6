"""The registry of tensor types: ``ggufspec.types["Q4_K"]``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .generated.types import TYPES, TypeInfo


@dataclass(frozen=True)
class TensorType:
    """A tensor type: ``elements`` weights in ``bytes`` bytes; ``id`` is None for fork types.

    Removed types (``status`` "removed") have neither elements nor bytes.
    """

    info: TypeInfo

    @property
    def id(self) -> int | None:
        return self.info.id

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def status(self) -> str:
        """``live``, ``internal`` (ggml's own activations), ``removed`` or ``fork``."""
        return self.info.status

    @property
    def elements(self) -> int:
        """Elements a block."""
        return self.info.elements

    @property
    def bytes(self) -> int:
        """Bytes a block."""
        return self.info.bytes

    @property
    def bits_per_weight(self) -> float:
        """Stored bits an element, without what is stored once a row or tensor."""
        return 8 * self.bytes / self.elements if self.elements else 0.0

    @property
    def plain(self) -> bool:
        """True for numbers stored as themselves (F32, BF16, I8 ...), False for blocks."""
        return self.elements == 1

    def row_bytes(self, length: int) -> int:
        """Bytes of a row of ``length`` elements; ValueError when no whole blocks fill it."""
        if not self.elements:
            raise ValueError(f"type {self.name} was removed from ggml and has no layout")
        if length % self.elements:
            raise ValueError(
                f"a row of {length} elements is not a multiple of {self.name}'s block of "
                f"{self.elements} ({length} mod {self.elements} = {length % self.elements})"
            )
        return self.info.row_prefix + length // self.elements * self.bytes


class _Types(Mapping[str, TensorType]):
    """All types by name, in order of id; look-up ignores case ("q4_K" is "Q4_K")."""

    def __init__(self) -> None:
        self._by_name = {info.name: TensorType(info) for info in TYPES}
        self._folded = {name.upper(): name for name in self._by_name}
        self._by_id = {t.id: t for t in self._by_name.values() if t.id is not None}

    def __getitem__(self, name: str) -> TensorType:
        try:
            return self._by_name[self._folded[name.upper()]]
        except (KeyError, AttributeError):
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def add(self, info: TypeInfo) -> None:
        """Add a type; ValueError where its name or its number is taken."""
        if info.name.upper() in self._folded:
            raise ValueError(f"there is a type {self._folded[info.name.upper()]} already")
        if info.id in self._by_id:
            raise ValueError(f"type {self._by_id[info.id].name} has the id {info.id}")
        kind = self._by_name[info.name] = TensorType(info)
        self._folded[info.name.upper()] = info.name
        if info.id is not None:
            self._by_id[info.id] = kind

    def by_id(self, number: int) -> TensorType | None:
        """The type with ggml's id ``number``, or None."""
        return self._by_id.get(number)


types = _Types()


def find(name: str) -> TensorType:
    """The type called ``name``; ValueError says which names there are."""
    try:
        return types[name]
    except KeyError:
        known = ", ".join(name for name, t in types.items() if t.status != "removed")
        raise ValueError(f"unknown type {name!r}; known: {known}") from None
