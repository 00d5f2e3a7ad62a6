"""The tensors of an open file: names, shapes, and their data when it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from ..errors import GGUFError
from ..generated.container import RULE_OF, RULES
from .arrays import name_of
from .dialects import check_decodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..registry import TensorType
    from .part import Part

_CHUNK = 8 << 20  # bytes copied at a time
_MOST = sys.maxsize // 8  # elements that an array of any type can have


@dataclass(frozen=True, eq=False)
class Tensor:
    """One tensor of a file.

    `type` is its name in the dialect of the file (`Q4_K`, or `UNKNOWN(99)`), `type_id` its number;
    `shape` is in NumPy order, rows last; `offset` counts in bytes from the data section of the
    file, which is number `shard` of its set; `nbytes` is without padding, but for types and shapes
    whose size nobody knows it reaches to the next tensor. `extra` holds fields of the tensor's
    info that only newer versions of the container have.
    """

    name: str
    type: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int
    shard: int
    type_id: int
    extra: Mapping[str, int] = field(repr=False)
    part: Part = field(repr=False)
    whole: bool = field(repr=False)  # whether type and shape say what `nbytes` is

    @property
    def file_offset(self) -> int:
        """Where the data starts, in bytes from the start of the file."""
        return self.part.scan.data_offset + self.offset

    @property
    def rows(self) -> int:
        """Rows that can be cut from `data`: 1 where the layout of the bytes is not known."""
        kind = self.kind
        if kind is None or kind.info.tensor_suffix or not self.whole:
            return 1
        return prod(self.shape[:-1])

    @property
    def data(self) -> NDArray[Any]:
        """The file's bytes as read-only uint8 (rows, bytes a row), without a copy.

        They are in the byte order of the file. Rows are those of the last axis; there is one
        row where rank is 0 or 1, for unknown types, and for types with bytes a tensor.
        """
        import numpy as np

        rows = self.rows
        flat = np.frombuffer(self._checked_view(), np.uint8)
        return flat.reshape(rows, self.nbytes // rows if rows else self._row_bytes)

    def array(self) -> NDArray[Any]:
        """The values of a plain type in its own dtype and `shape`, BF16 as float32.

        Read-only and without a copy where the file is in this machine's byte order.
        ValueError for block types, which only `dequantize` can show.
        """
        import numpy as np

        kind = self._known()
        order = "<" if self.part.scan.byte_order == "little" else ">"
        if kind.name == "BF16":
            high = np.frombuffer(self._checked_view(), order + "u2").astype(np.uint32)
            return (high << 16).view(np.float32).reshape(self.shape)
        if not kind.plain or kind.name[:1] not in "FI":
            raise ValueError(f"{kind.name} has no NumPy dtype; use dequantize()")
        dtype = np.dtype(f"{order}{kind.name[0].lower()}{kind.bytes}")
        values = np.frombuffer(self._checked_view(), dtype).reshape(self.shape)
        return values if dtype.isnative else values.astype(dtype.newbyteorder("="))

    def dequantize(
        self, out: NDArray[Any] | None = None, threads: int | None = None
    ) -> NDArray[Any]:
        """The values as float32 of `shape`, bit for bit what ggml makes of them.

        They are the stored ones: a rotation that the metadata declare to be folded into them (see
        `File.findings`) is not undone. out: a C-contiguous float32 array of that shape to fill.
        threads: None for all processors. GGUFError for types that are unknown, removed, of a fork
        and not described, or of one of several dialects, and for rows without whole blocks.
        """
        from .. import blocks

        kind = self._known()
        if out is not None and getattr(out, "shape", None) != self.shape:
            kind_of = TypeError if not hasattr(out, "shape") else ValueError
            raise kind_of(f"out is a float32 array of shape {self.shape}")
        data, suffix = self.split_data()
        flat = (len(data), self.shape[-1] if self.shape else 1)
        values = blocks.dequantize(
            data,
            kind.name,
            threads=threads,
            byte_order=self.part.scan.byte_order,
            suffix=suffix,
            out=None if out is None else out.reshape(flat),
        )
        return values.reshape(self.shape) if out is None else out

    def split_data(self) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """The data as (rows, bytes a row), and the bytes stored once a tensor if there are any."""
        data = self.data
        kind = self.kind
        size = kind.info.tensor_suffix if kind and self.whole else 0
        if not size:
            return data, None
        flat = data.reshape(-1)
        return flat[:-size].reshape(prod(self.shape[:-1]), self._row_bytes), flat[-size:]

    def chunks(self, byte_order: str | None = None, size: int = _CHUNK) -> Iterator[Any]:
        """The data in pieces of about `size` bytes and whole rows, read past the mapping.

        byte_order: the wanted one, that of the file if None. ValueError where it differs and
        the type is unknown; OSError when the file was cut meanwhile.
        """
        self._view()
        if byte_order in (None, self.part.scan.byte_order):
            step = self._row_bytes if self.rows > 1 else 1
            step *= max(1, size // step) if step else 1
            for first in range(0, self.nbytes, step or 1):
                count = min(step, self.nbytes - first)
                yield self.part.source.read(self.file_offset + first, count)
            return
        kind = self._known()
        yield from swapped(self.data.reshape(-1), kind, self.shape, size)

    @property
    def kind(self) -> TensorType | None:
        """The type that `type_id` stands for in the dialect of the file; None if it is unknown."""
        return self.part.kind_of(self.type_id)

    def check_decodes(self) -> None:
        """GGUFError where the dialect of the file keeps the type from being decoded."""
        if self.part.choice is not None:
            check_decodes(self.part.choice, self.type_id, f"tensor {self.name!r}")

    @property
    def _row_bytes(self) -> int:
        kind = self.kind
        if kind is None or not self.whole:
            return self.nbytes
        return kind.row_bytes(self.shape[-1] if self.shape else 1)

    def _known(self) -> TensorType:
        """The type, if this tensor can be decoded."""
        kind = self.kind
        if kind is None:
            raise self._error("known_type", value=self.type_id)
        self.check_decodes()
        if not kind.elements:
            raise self._error("live_type", value=kind.name)
        if not self.whole:
            row = self.shape[-1] if self.shape else 1
            raise self._error("whole_rows", value=row, block=kind.elements)
        return kind

    def _checked_view(self) -> memoryview:
        """The bytes, for an array: an empty tensor may have axes that no array can have."""
        if prod(filter(None, self.shape)) > _MOST and not self.nbytes:
            raise self._error("bytes", limit=_MOST)
        return self._view()

    def _view(self) -> memoryview:
        self.part.source.check_data()
        view, start = self.part.source.view, self.file_offset
        if start + self.nbytes > len(view):
            raise self._error("inside", value=start + self.nbytes, size=len(view))
        return view[start : start + self.nbytes]

    def _error(self, check: str, **facts: object) -> GGUFError:
        rule = RULES[RULE_OF[check]]
        message = rule.message.format(subject=f"tensor {self.name!r}", **facts)
        return GGUFError(message, code=rule.id, path=rule.at, hint=rule.hint)


def swapped(
    data: NDArray[Any], kind: TensorType, shape: tuple[int, ...], size: int
) -> Iterator[NDArray[Any]]:
    """The bytes of a whole tensor in the other byte order, in pieces of about `size` bytes."""
    from .. import blocks

    rows, row = prod(shape[:-1]), kind.row_bytes(shape[-1] if shape else 1)
    step = max(1, size // row) if row else 1
    body = data[: rows * row].reshape(rows, row)
    for first in range(0, rows if row else 0, step):
        yield blocks.byteswap(body[first : first + step], kind.name)
    if kind.info.tensor_suffix:
        yield blocks.swap_suffix(data[rows * row :], kind.name)


class Tensors(Mapping[str, Tensor]):
    """Tensors by name, in the order of the files and of the infos in them."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._places = {
            name: (part, row) for part in parts for row, name in enumerate(tensor_names(part))
        }

    def __getitem__(self, name: str) -> Tensor:
        part, row = self._places[name]
        columns = part.scan.tensors
        number, size = columns.type[row], columns.nbytes[row]
        kind = part.kind_of(number)
        return Tensor(
            name=name,
            type=kind.name if kind else f"UNKNOWN({number})",
            shape=columns.dims_of(row)[::-1],
            offset=columns.offset[row],
            nbytes=self._reaches[part.number][row] if size < 0 else size,
            shard=part.number,
            type_id=number,
            extra={name: column[row] for name, column in columns.extra.items()},
            part=part,
            whole=size >= 0,
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __repr__(self) -> str:
        return f"<Tensors: {len(self)}>"

    def place(self, name: str) -> tuple[Part, int]:
        """The file that holds a tensor, and the number of its info there; KeyError if none does."""
        return self._places[name]

    @cached_property
    def _reaches(self) -> list[list[int]]:
        return [_reach(part) for part in self._parts]


def tensor_names(part: Part) -> Iterator[str]:
    """The names of a file's tensors in the order of their infos."""
    view, columns = part.source.view, part.scan.tensors
    for offset, length in zip(columns.name_offset, columns.name_length, strict=True):
        yield name_of(view[offset : offset + length])


def _reach(part: Part) -> list[int]:
    """How many bytes each tensor has until the next one, or the end of the file."""
    columns, scan = part.scan.tensors, part.scan
    # Where several start, the bytes are those of one that is known to have some.
    order = sorted(
        range(len(columns)), key=lambda row: (columns.offset[row], columns.nbytes[row] > 0, row)
    )
    end = max(0, scan.file_size - scan.data_offset)
    reach = [0] * len(columns)
    for row in reversed(order):
        reach[row] = max(0, end - columns.offset[row])
        if columns.nbytes[row]:  # an empty neighbour bounds nothing
            end = min(end, columns.offset[row])
    return reach
