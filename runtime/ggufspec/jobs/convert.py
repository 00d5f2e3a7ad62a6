"""Files with tensors of another type: a plan first, then one pass in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Literal

from ..files.plans import TensorPlan
from ..files.shards import SET_KEYS
from ..files.values import Value
from ..files.writer import Writer
from ..recipes import Decision, FileType, file_type, guess, model_facts
from ..recipes import plan as decide
from ..registry import types

if TYPE_CHECKING:
    from ..files.reader import File
    from ..files.tensor import Tensor

QUANTIZATION_VERSION = 2
"""ggml's number for the meaning of the block layouts (``general.quantization_version``)."""

_FLOATS = frozenset({"F64", "F32", "F16", "BF16"})


class ConversionError(ValueError):
    """Why a file cannot be converted.

    ``kind``: "usage" (an option helps), "unsupported" (not known, or not yet) or "data"
    (what the tensors hold).
    """

    def __init__(self, message: str, kind: Literal["usage", "unsupported", "data"]) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Step:
    """What becomes of one tensor, and why."""

    tensor: Tensor
    decision: Decision

    @property
    def type(self) -> str:
        """The type it will have."""
        return self.decision.type

    @property
    def changes(self) -> bool:
        """Whether it gets another type."""
        return self.type != self.tensor.type

    @property
    def weights(self) -> int:
        """Elements of the tensor."""
        return prod(self.tensor.shape)

    @property
    def plan(self) -> TensorPlan:
        """The tensor to be written."""
        tensor = self.tensor
        if self.changes:
            return TensorPlan.of(tensor.name, self.type, tensor.shape)
        return TensorPlan(tensor.name, tensor.type_id, tensor.shape, tensor.nbytes, tensor.extra)


@dataclass(frozen=True)
class Plan:
    """A conversion that can be carried out: the steps in the order of the output."""

    source: File
    file_type: FileType
    steps: tuple[Step, ...]

    @property
    def bytes_in(self) -> int:
        """Bytes of the source's tensors."""
        return sum(step.tensor.nbytes for step in self.steps)

    @property
    def bytes_out(self) -> int:
        """Bytes of the output's tensors."""
        return sum(step.plan.nbytes for step in self.steps)


def make_plan(
    source: File, name: str, *, pure: bool = False, allow_requantize: bool = False
) -> Plan:
    """Decide what becomes of every tensor, as llama-quantize does; nothing is written.

    name: a file type (``Q8_0``, ``Q4_K_M``). pure: every eligible tensor gets its type, without
    the recipe's mixture. allow_requantize: quantized tensors may lose precision once more.
    Raises ConversionError.
    """
    kind = _offered(name)
    tensors = list(source.tensors.values())
    try:
        decisions = decide(
            kind.name,
            model_facts(source.metadata),
            [(tensor.name, tensor.shape[::-1], tensor.type) for tensor in tensors],
            pure=pure,
        )
    except ValueError as error:
        raise ConversionError(str(error), "data") from error
    steps = tuple(Step(source.tensors[decision.name], decision) for decision in decisions)
    for step in steps:
        _check(step, kind, pure=pure, allow_requantize=allow_requantize)
    return Plan(source, kind, steps)


def carry_out(
    plan: Plan,
    path: str | os.PathLike[str],
    *,
    threads: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Write the planned file; it appears under ``path`` only when it is whole.

    advance: is told the bytes of the source that were done. Raises ConversionError for values
    that the type cannot hold, GGUFError, OSError; the target is untouched then.
    """
    source = plan.source
    plans = [step.plan for step in plan.steps]
    metadata = new_metadata(source, plan.file_type)
    with Writer(path, metadata, plans, byte_order=source.byte_order) as output:
        for step in plan.steps:
            for piece, done in _pieces(step, source.byte_order, threads):
                output.feed(piece)
                advance(done)


def new_metadata(source: File, kind: FileType) -> dict[str, Any]:
    """The source's keys in their order, without those of split sets; the file type comes last."""
    own = {
        "general.quantization_version": Value("UINT32", QUANTIZATION_VERSION),
        "general.file_type": Value("UINT32", _number(source, kind)),
    }
    metadata = source.metadata
    kept = {key: metadata.stored(key) for key in metadata if key not in own.keys() | SET_KEYS}
    return {**kept, **own}


def _offered(name: str) -> FileType:
    try:
        kind = file_type(name)
    except ValueError as error:
        raise ConversionError(str(error), "usage") from None
    if kind.status not in ("offered", "copy"):
        raise ConversionError(f"no {kind.name} file can be made: {kind.status}", "usage")
    return kind


def _number(source: File, kind: FileType) -> int:
    """The value of general.file_type: of a copy the one that it has, or a guess."""
    if kind.id is not None:
        return kind.id
    own = source.metadata.get("general.file_type")
    if isinstance(own, int):
        return own
    return guess((tensor.name, tensor.type) for tensor in source.tensors.values())


def _check(step: Step, kind: FileType, *, pure: bool, allow_requantize: bool) -> None:
    """Raise ConversionError for a step that cannot or shall not be done."""
    from ..generated.quantizers import QUANTIZERS

    tensor = step.tensor
    if not step.changes:
        return
    if step.type not in QUANTIZERS:
        known = ", ".join(name for name in QUANTIZERS if types[name].status == "live")
        helps = kind.type in QUANTIZERS and not pure
        hint = f"; --pure makes every tensor that allows it {kind.type}" if helps else ""
        raise ConversionError(
            f"{kind.name} makes tensor {tensor.name!r} {step.type}, which comes with a later "
            f"version{hint} (now there are {known})",
            "unsupported",
        )
    own = types.by_id(tensor.type_id)
    if own is None or not own.elements or (own.plain and own.name not in _FLOATS):
        raise ConversionError(
            f"tensor {tensor.name!r} has type {tensor.type}, which cannot be converted",
            "unsupported",
        )
    if not own.plain and not allow_requantize:
        raise ConversionError(
            f"tensor {tensor.name!r} is quantized already ({tensor.type}): quantizing it again "
            f"loses more than quantizing the original; --allow-requantize does it all the same",
            "usage",
        )


def _pieces(step: Step, byte_order: str, threads: int | None) -> Iterator[tuple[Any, int]]:
    """The tensor's new bytes, each with the bytes of the source that went into it."""
    tensor = step.tensor
    if not step.changes:
        for chunk in tensor.chunks():
            yield chunk, len(chunk)
        return
    from ..blocks.rows import byteswap
    from ..blocks.tiles import tiles
    from ..quantizers.quantize import QuantizeError, quantize

    row_bytes = tensor.nbytes // tensor.rows if tensor.rows else 0
    first = 0
    for tile in tiles(tensor, threads=threads):
        try:
            data = quantize(tile, step.type, threads=threads)
        except QuantizeError as error:
            largest = abs(tile[error.row]).max()
            raise ConversionError(
                f"tensor {tensor.name!r}, row {first + error.row}, column {error.column}: "
                f"{step.type} cannot hold {tile[error.row, error.column]} "
                f"(the row's largest magnitude is {largest:g})",
                "data",
            ) from error
        yield data if byte_order == "little" else byteswap(data, step.type), len(tile) * row_bytes
        first += len(tile)
