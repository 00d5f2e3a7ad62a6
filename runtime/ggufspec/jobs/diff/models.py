"""Two files compared: metadata, tensors, data, and how they are laid out."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from ...edits.changes import Change, changes_between
from ...edits.filler import KEY as FILLER
from ...files.arrays import Form
from ...generated.container import CURRENT_VERSION
from ..comparing.pairs import Pair
from .data import DataChange, data_changes
from .layout import Fact, Tensors, facts
from .same import Tile, differing_tiles, same_fronts
from .stretches import Subject, subject_of

if TYPE_CHECKING:
    from ...files.arrays import Stored
    from ...files.reader import File
    from ...files.tensor import Tensor

Section = Literal["metadata", "tensors", "data"]
SECTIONS: tuple[Section, ...] = ("metadata", "tensors", "data")
"""What can be compared."""

_FORM = Form(CURRENT_VERSION, "little")


@dataclass(frozen=True)
class TensorChange:
    """A tensor that one file has alone (None in the other), or with another type or shape."""

    name: str
    before: Tensor | None
    after: Tensor | None

    @property
    def kind(self) -> Literal["add", "delete", "change"]:
        """What happens to the tensor."""
        if self.before is None:
            return "add"
        return "delete" if self.after is None else "change"

    @property
    def what(self) -> tuple[str, ...]:
        """Of a tensor that both have: "type", "shape"."""
        if self.before is None or self.after is None:
            return ()
        pairs = ("type", self.before.type, self.after.type), (
            "shape", self.before.shape, self.after.shape,
        )  # fmt: skip
        return tuple(name for name, before, after in pairs if before != after)


@dataclass(frozen=True)
class Difference:
    """How the second of two files differs from the first.

    data: of tensors that both have in one shape; `restated` of these hold the same values in other
    bytes. layout: what is not the model. ignored: keys that were left out. sections: what was
    compared. identical: whether all bytes are equal; None where the data were not compared.
    """

    metadata: tuple[Change, ...] = ()
    tensors: tuple[TensorChange, ...] = ()
    data: tuple[DataChange, ...] = ()
    layout: tuple[Fact, ...] = ()
    ignored: tuple[str, ...] = ()
    compared: int = 0
    sections: frozenset[Section] = frozenset(SECTIONS)
    identical: bool | None = False

    @property
    def changed(self) -> tuple[DataChange, ...]:
        """The tensors with other values, or bytes that nobody can decode."""
        return tuple(one for one in self.data if not one.restated)

    @property
    def restated(self) -> tuple[DataChange, ...]:
        """The tensors whose bytes differ and whose values do not."""
        return tuple(one for one in self.data if one.restated)

    @property
    def equal(self) -> bool:
        """Whether both are the same model, as far as they were compared."""
        return not (self.metadata or self.tensors or self.changed)


def diff(
    first: File,
    second: File,
    *,
    sections: Collection[Section] = SECTIONS,
    ignore: Sequence[str] = (),
    threads: int | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> Difference:
    """Compare two files, or sets of files.

    sections: what is compared, of `SECTIONS`. ignore: keys that are left out; * and ? stand for
    anything. threads: None for all processors. advance: is told bytes of data of both files, up to
    about the sum of their sizes. OSError when a file was cut.
    """
    wanted = frozenset(sections)
    if not wanted <= set(SECTIONS):
        raise ValueError(f"sections are {', '.join(SECTIONS)}")
    if same_fronts(first, second):
        return _behind_same_fronts(first, second, wanted, threads, advance)
    tensors = dict(first.tensors), dict(second.tensors)
    # Each is seen as one file where either is a set: a set and a file have no common numbers.
    of_one = len(first.parts) > 1 or len(second.parts) > 1
    before, after = _entries(first, of_one), _entries(second, of_one)
    ignored = [key for key in dict.fromkeys([*before, *after]) if _fits(key, ignore)]
    for key in (FILLER, *ignored):
        before.pop(key, None)
        after.pop(key, None)
    pairs = _pairs(tensors)
    changes = data_changes(
        _subjects(pairs) if "data" in wanted else (), threads=threads, advance=advance
    )
    return Difference(
        tuple(changes_between(before, after, _FORM)) if "metadata" in wanted else (),
        tuple(_tensor_changes(tensors)) if "tensors" in wanted else (),
        tuple(changes),
        tuple(facts(first, second, tensors)),
        tuple(ignored),
        len(pairs) if "data" in wanted else 0,
        wanted,
    )


def _behind_same_fronts(
    first: File,
    second: File,
    wanted: frozenset[Section],
    threads: int | None,
    advance: Callable[[int], object],
) -> Difference:
    """Files whose keys and tensors are the same: what is left are data and padding."""
    if "data" not in wanted:
        return Difference(sections=wanted, identical=None)
    tiles = differing_tiles(first, second, threads=threads, advance=advance)
    count = len(first.tensors)
    if not tiles:
        return Difference(compared=count, sections=wanted, identical=True)
    tensors = dict(first.tensors), dict(second.tensors)
    touched = [pair for pair in _pairs(tensors) if _touches(pair.reference, tiles)]
    changes = data_changes(_subjects(touched), threads=threads)
    layout = facts(first, second, tensors)
    if not changes and not layout:
        layout = [Fact("padding or bytes behind the data", "some", "others")]
    return Difference(data=tuple(changes), layout=tuple(layout), compared=count, sections=wanted)


def _touches(tensor: Tensor, tiles: Sequence[Tile]) -> bool:
    """Whether one of the tiles, which are in order, has bytes of a tensor."""
    start, stop = tensor.file_offset, tensor.file_offset + tensor.nbytes
    behind = bisect_left(tiles, (tensor.shard, stop))
    last = tiles[behind - 1] if behind else None
    return last is not None and last.shard == tensor.shard and start < last.stop


def _entries(file: File, of_one: bool) -> dict[str, Stored]:
    from ...files.shards import SET_KEYS

    metadata = file.metadata
    return {key: metadata.stored(key) for key in metadata if not (of_one and key in SET_KEYS)}


def _fits(key: str, patterns: Iterable[str]) -> bool:
    return any(key == pattern or fnmatchcase(key, pattern) for pattern in patterns)


def _pairs(tensors: tuple[Tensors, Tensors]) -> list[Pair]:
    """The tensors that both have in one shape."""
    mine, theirs = tensors
    both = (Pair(tensor, theirs[name]) for name, tensor in mine.items() if name in theirs)
    return [pair for pair in both if pair.reference.shape == pair.tensor.shape]


def _subjects(pairs: Iterable[Pair]) -> list[Subject]:
    subjects = [subject_of(number, pair) for number, pair in enumerate(pairs)]
    return [one for one in subjects if one.decoded or one.same_type]


def _tensor_changes(tensors: tuple[Tensors, Tensors]) -> list[TensorChange]:
    mine, theirs = tensors
    changes = [
        TensorChange(name, mine.get(name), theirs.get(name))
        for name in dict.fromkeys([*mine, *theirs])
    ]
    return [change for change in changes if change.kind != "change" or change.what]
