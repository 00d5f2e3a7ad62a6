"""Files from values: counts, lengths, offsets and padding are computed here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from ..container.layout import pad_up
from ..container.scan import ByteOrder
from ..generated.container import (
    ALIGNMENT_DEFAULT,
    ALIGNMENT_KEY,
    CURRENT_VERSION,
    LAYOUTS,
    PADDING,
    VERSIONS,
    Field,
)
from .arrays import Form, Stored, value_of
from .atomic import AtomicFile
from .encode import Encoder, Piece, name_bytes
from .limits import limit
from .metadata import Metadata
from .plans import TensorPlan, pieces_of, plan_of
from .tensor import Tensor
from .values import TensorData, Value, architecture_of, known_key, typed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self


class Sink(Protocol):
    """Where a writer's bytes go: an `AtomicFile`, or something that can do the same."""

    def write(self, data: Piece) -> None:
        """Append bytes."""

    def skip(self, count: int) -> None:
        """Pass over bytes that are there already."""

    def flush(self) -> None:
        """Let others read what was written."""

    def commit(self) -> None:
        """The file is whole."""

    def abort(self) -> None:
        """It will not be; harmless after commit."""


class Writer:
    """Writes one file from front to back: the plans first, then their data in that order.

    `feed` takes the data in pieces of any size. The file appears under its name only when
    the block of the `with` statement ends without an exception and all data was fed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        metadata: Mapping[str, Any],
        plans: Iterable[TensorPlan],
        *,
        alignment: int | None = None,
        byte_order: ByteOrder | None = None,
        version: int | None = None,
        output: Sink | None = None,
    ) -> None:
        """As `write`, with plans for tensors; what stands in front of the data is written now.

        output: takes the bytes instead of an `AtomicFile` of that path.
        """
        self.form = _form(metadata, byte_order, version)
        self.alignment, self._metadata = _aligned(metadata, alignment)
        self._architecture = architecture_of(metadata)
        self._plans = tuple(plans)
        _check_names(self._plans)
        self._header = metadata.header if isinstance(metadata, Metadata) else {}
        self._output: Sink = AtomicFile(path) if output is None else output
        self._current = -1  # the tensor that is fed
        self._missing = 0  # bytes it still needs
        self._written = 0
        self.front = 0
        """Bytes in front of the tensors' data."""
        self._open_section()

    def feed(self, data: Any) -> None:
        """Append a contiguous buffer to the tensors' data; it may end inside of a tensor.

        ValueError when there is more than the plans need.
        """
        view = memoryview(data)
        view = view.cast("B") if view.nbytes else memoryview(b"")
        while view.nbytes:
            if not self._missing:
                raise ValueError(f"{view.nbytes} bytes more than the tensors have")
            count = min(self._missing, view.nbytes)
            self._put(view[:count])
            self._missing -= count
            view = view[count:]
            self._advance()

    def skip(self) -> None:
        """Pass over the rest of the current tensor, which the output has already."""
        self._output.skip(self._missing)
        self._written += self._missing
        self._missing = 0
        self._advance()

    def flush(self) -> None:
        """Let others read what was written so far."""
        self._output.flush()

    def finish(self) -> None:
        """Give the file its name; ValueError when data is missing."""
        if self._missing:
            name = self._plans[self._current].name
            raise ValueError(f"tensor {name!r} lacks {self._missing} bytes")
        self._output.commit()

    def abort(self) -> None:
        """Leave nothing behind."""
        self._output.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self.abort()

    def _open_section(self) -> None:
        """Write all that stands in front of the data."""
        try:
            for piece in self._front():
                self._put(piece)
            if self._plans:
                self._pad()
            self.front = self._written
        except BaseException:
            self.abort()
            raise
        self._advance()

    def _front(self) -> Iterator[Piece]:
        encoder = Encoder(self.form)
        counts = {"metadata": len(self._metadata), "tensors": len(self._plans)}
        yield from encoder.record("header", self._header_fields(counts))
        for key, value in self._metadata.items():
            yield from encoder.pair(key, value, self._architecture)
        offset = 0
        for plan in self._plans:
            dims = plan.shape[::-1]
            values = {
                **plan.extra,
                "name": name_bytes(plan.name),
                "n_dims": len(dims),
                "dims": dims,
                "type": plan.type_id,
                "offset": offset,
            }
            yield from encoder.record("tensors", values)
            offset = pad_up(offset + plan.nbytes, self.alignment)

    def _header_fields(self, counts: Mapping[str, int]) -> dict[str, int]:
        fields: tuple[Field, ...] = self.form.layout.sections[0]
        computed = {field.name: counts[field.counts] for field in fields if field.counts}
        return {**self._header, **computed}

    def _advance(self) -> None:
        """Close the tensors that are complete and step to the next that needs data."""
        while not self._missing and self._current < len(self._plans):
            if self._current >= 0:
                self._pad()
            self._current += 1
            if self._current < len(self._plans):
                self._missing = self._plans[self._current].nbytes

    def _put(self, piece: Piece) -> None:
        self._output.write(piece)
        self._written += len(piece)

    def _pad(self) -> None:
        self._put(PADDING * (-self._written % self.alignment))


def planned_size(
    metadata: Mapping[str, Any],
    plans: Sequence[TensorPlan],
    *,
    alignment: int | None = None,
    byte_order: ByteOrder | None = None,
) -> int:
    """Bytes of the file that a `Writer` will make of this; raises what it would raise."""
    options = {"alignment": alignment, "byte_order": byte_order}
    counter = _Counter()
    writer = Writer("", metadata, plans, output=counter, **options)  # type: ignore[arg-type]
    return writer.front + sum(pad_up(plan.nbytes, writer.alignment) for plan in plans)


class _Counter:
    """Takes bytes and keeps none."""

    def write(self, data: Piece) -> None: ...

    def skip(self, count: int) -> None: ...

    def flush(self) -> None: ...

    def commit(self) -> None: ...

    def abort(self) -> None: ...


def write(
    path: str | os.PathLike[str],
    metadata: Mapping[str, Any],
    tensors: Mapping[str, NDArray[Any] | Tensor | TensorData] | None = None,
    *,
    alignment: int | None = None,
    byte_order: ByteOrder | None = None,
    version: int | None = None,
) -> None:
    """Write a GGUF file; it appears under its name only when it is whole.

    metadata: plain values, `ggufspec.Value`s, or the metadata of an opened file, whose types
    and bits are kept. str, bytes, bool, float (FLOAT32), NumPy scalars and arrays have a type
    of their own, a plain int only under a well-known key.
    tensors: by name an ndarray (float16, float32, float64, or a signed integer), a `Tensor`
    of an opened file, or `ggufspec.TensorData`.
    alignment: bytes; None for that of the source or of the key general.alignment, else 32.
    The key is added where it is needed. byte_order, version: None for the source's, else
    little and 3.

    Without tensors nothing is written after the last key. The metadata of a split set, given
    as opened, lose the keys that number its files: the result is one file.
    TypeError or ValueError, naming key or tensor, for what cannot be stored; OSError from
    the system; either way the target is untouched.
    """
    _check_mapping(metadata, "metadata")
    tensors = {} if tensors is None else tensors
    _check_mapping(tensors, "tensors")
    items = dict(tensors)
    plans = [plan_of(name, value) for name, value in items.items()]
    options = {"alignment": alignment, "byte_order": byte_order, "version": version}
    with Writer(path, metadata, plans, **options) as output:  # type: ignore[arg-type]
        for value in items.values():
            for piece in pieces_of(value, output.form.byte_order):
                output.feed(piece)


def _check_mapping(value: object, name: str) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} is a mapping, not {type(value).__name__}")


def _check_names(plans: Sequence[TensorPlan]) -> None:
    seen: set[str] = set()
    for plan in plans:
        if plan.name in seen:
            raise ValueError(f"two tensors are called {plan.name!r}")
        seen.add(plan.name)


def _form(metadata: Mapping[str, Any], byte_order: ByteOrder | None, version: int | None) -> Form:
    own = metadata.form if isinstance(metadata, Metadata) else Form(CURRENT_VERSION, "little")
    form = Form(
        own.version if version is None else version,
        own.byte_order if byte_order is None else byte_order,
    )
    if isinstance(form.version, bool) or not isinstance(form.version, int):
        raise TypeError(f"version is a whole number, not {form.version!r}")
    if form.version not in LAYOUTS:
        raise ValueError(f"version {version!r} is not one of {', '.join(map(str, VERSIONS))}")
    if form.byte_order not in ("little", "big"):
        raise ValueError(f"byte_order is 'little' or 'big', not {byte_order!r}")
    return form


def _aligned(metadata: Mapping[str, Any], wanted: int | None) -> tuple[int, Mapping[str, Any]]:
    """The alignment, and what is stored: with the key if it is needed."""
    stored = metadata.stored_items() if isinstance(metadata, Metadata) else metadata
    if ALIGNMENT_KEY in metadata:
        given = metadata[ALIGNMENT_KEY]
        if isinstance(given, Stored):
            given = value_of(given)
        value = typed(ALIGNMENT_KEY, given, known_key(ALIGNMENT_KEY)).value
        stated = checked_alignment(value, ALIGNMENT_KEY)
        if wanted not in (None, stated):
            raise ValueError(f"alignment {wanted} contradicts {ALIGNMENT_KEY}, which is {stated}")
        return stated, stored
    if wanted is None or checked_alignment(wanted, "alignment") == ALIGNMENT_DEFAULT:
        return ALIGNMENT_DEFAULT, stored
    return wanted, {**stored, ALIGNMENT_KEY: Value("UINT32", wanted)}


def checked_alignment(value: Any, name: str) -> int:
    """An alignment that `open` reads again; TypeError or ValueError names it."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a whole number, not {value!r}")
    number = int(value)
    step = limit("alignment_either", "data")
    most = limit("alignment_at_most", "data")
    if not 0 < number <= most or (number & (number - 1) and number % step):
        raise ValueError(f"{name} {number} is no power of two or multiple of {step} up to {most}")
    return number
