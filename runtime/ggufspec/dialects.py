"""Dialects: forks of ggml give type numbers meanings of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .generated.dialects import DIALECTS, DialectInfo, Meaning
from .generated.types import TypeInfo
from .registry import TensorType, find, types

BASE = DIALECTS[0].name
"""ggml itself, which the others differ from."""


@dataclass(frozen=True, eq=False)
class Dialect:
    """Which layout each type number means; ``folded_by`` starts keys that declare a rotation."""

    name: str
    folded_by: str
    own: Mapping[int, Meaning]
    kinds: Mapping[int, TensorType]

    def kind_of(self, number: int) -> TensorType | None:
        """The type of a number; None for one that nobody uses."""
        return self.kinds.get(number) or types.by_id(number)

    def sizes(self) -> list[TypeInfo]:
        """The sizes of all types under their numbers, as a scan takes them.

        A type of which the name alone is known has none, and its number is unknown to a scan.
        """
        of_ggml = [kind.info for kind in types.values() if kind.id is not None]
        mine = [k.info._replace(id=number) for number, k in self.kinds.items() if k.elements]
        return [info for info in of_ggml if info.id not in self.kinds] + mine


def of_info(info: DialectInfo) -> Dialect:
    """A dialect from its generated table."""
    own = {meaning.id: meaning for meaning in info.types}
    kinds = {number: _kind(meaning) for number, meaning in own.items()}
    return Dialect(info.name, info.folded_by, own, kinds)


def _kind(meaning: Meaning) -> TensorType:
    if meaning.described:
        return find(meaning.name)
    status = "sized" if meaning.elements else "named"
    sizes = (meaning.elements, meaning.bytes, meaning.row_prefix, meaning.tensor_suffix)
    return TensorType(TypeInfo(None, meaning.name, status, *sizes, (), (), ()))


class _Dialects(Mapping[str, Dialect]):
    """All dialects by name, ggml first; those of a user's own specification come last."""

    def __init__(self) -> None:
        self._known = {info.name: of_info(info) for info in DIALECTS}

    def __getitem__(self, name: str) -> Dialect:
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def add(self, info: DialectInfo) -> None:
        """Add a dialect, whose types are known; ValueError for a name that is taken."""
        if info.name in self._known:
            raise ValueError(f"there is a dialect {info.name} already")
        self._known[info.name] = of_info(info)


dialects = _Dialects()


def find_dialect(name: str) -> Dialect:
    """The dialect called ``name``; ValueError says which there are."""
    try:
        return dialects[name]
    except KeyError:
        raise ValueError(f"unknown dialect {name!r}; known: {', '.join(dialects)}") from None
