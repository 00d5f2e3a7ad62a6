"""One file of a model: its bytes and where everything in them is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..container.scan import Scan
from ..registry import TensorType, types
from .arrays import Form
from .metadata import Metadata
from .source import Source

if TYPE_CHECKING:
    from ..container.dialects import Choice


@dataclass(frozen=True)
class Part:
    """`number` is the file's place in its set, from 0; `choice` is None for ggml's own types."""

    source: Source
    scan: Scan
    number: int = 0
    choice: Choice | None = None

    @cached_property
    def metadata(self) -> Metadata:
        """The keys and values of this file alone."""
        return Metadata(self.source, self.scan)

    @property
    def form(self) -> Form:
        """The version and byte order the file is written in."""
        return Form(self.scan.version, self.scan.byte_order)

    @property
    def file(self) -> str:
        """What to call it in messages."""
        return self.source.label

    def header_of(self, keys: int, tensors: int) -> dict[str, Any]:
        """The fields of the header, for so many keys and tensors."""
        counts = {"metadata": keys, "tensors": tensors}
        fields = self.form.layout.sections[0]
        return {
            **self.scan.header,
            **{field.name: counts[field.counts] for field in fields if field.counts},
        }

    def info_of(self, row: int, offset: int) -> dict[str, Any]:
        """The fields of a tensor's info, for data at `offset` of a data section."""
        columns = self.scan.tensors
        start, length = columns.name_offset[row], columns.name_length[row]
        return {
            **{name: column[row] for name, column in columns.extra.items()},
            "name": self.source.view[start : start + length],
            "n_dims": columns.n_dims[row],
            "dims": columns.dims_of(row),
            "type": columns.type[row],
            "offset": offset,
        }

    def kind_of(self, number: int) -> TensorType | None:
        """The type of a number in the file's dialect; None for one that nobody uses."""
        return types.by_id(number) if self.choice is None else self.choice.kind_of(number)
