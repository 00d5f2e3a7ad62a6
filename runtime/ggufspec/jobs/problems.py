"""What keeps a plan from being carried out, and what it leaves undone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import GGUFError
from ..registry import types
from .errors import Kind
from .notes import Note
from .steps import makeable

if TYPE_CHECKING:
    from ..files.tensor import Tensor
    from ..recipes import FileType
    from ..registry import TensorType
    from .importance import Weights
    from .options import Options
    from .steps import Step

_FLOATS = frozenset({"F64", "F32", "F16", "BF16"})


@dataclass(frozen=True)
class Problem:
    """What stands in the way of carrying a plan out; ``tensor`` is the one it is about."""

    kind: Kind
    tensor: str
    message: str
    hint: str = ""


def problems_of(
    step: Step, kind: FileType, options: Options, weights: Weights, *, has_matrix: bool
) -> Iterator[Problem]:
    """What keeps a step from being done."""
    tensor, decision = step.tensor, step.decision
    if decision.fallback_from and not options.fallback:
        yield Problem(
            "check", step.name,
            f"tensor {step.name!r} would become {step.type}: {decision.reason}",
            "leave out --no-fallback to take that type",
        )  # fmt: skip
    if decision.needs_imatrix and not has_matrix:
        yield Problem(
            "usage", step.name,
            f"{kind.name} makes tensor {step.name!r} {step.type}, which needs an importance matrix",
            "--imatrix FILE gives one",
        )  # fmt: skip
        return
    if not step.changes:
        return
    yield from _unsupported(step, kind)
    own = tensor.kind
    if own and not own.plain and not options.allow_requantize:
        yield Problem(
            "usage", step.name,
            f"tensor {step.name!r} is quantized already ({tensor.type}): quantizing it again "
            f"loses more than quantizing the original",
            "--allow-requantize does it all the same",
        )  # fmt: skip
    if weights.values is None and (decision.needs_imatrix or _needs_weights(step.type)):
        yield Problem(
            "usage" if not has_matrix else "data", step.name,
            f"tensor {step.name!r} becomes {step.type}, which needs an importance matrix"
            + (", and the matrix has nothing for it" if has_matrix else ""),
            "give it another type with --tensor-type" if has_matrix else "--imatrix FILE gives one",
        )  # fmt: skip


def _unsupported(step: Step, kind: FileType) -> Iterator[Problem]:
    from ..generated.quantizers import QUANTIZERS

    tensor = step.tensor
    if step.type not in QUANTIZERS:
        yield Problem(
            "unsupported", step.name,
            f"{kind.name} makes tensor {step.name!r} {step.type}, which comes with a later version",
            f"now there are {', '.join(makeable())}",
        )  # fmt: skip
    own = tensor.kind
    if own is None or not _decodes(tensor, own) or (own.plain and own.name not in _FLOATS):
        yield Problem(
            "unsupported", step.name,
            f"tensor {step.name!r} has type {tensor.type}, which cannot be converted",
        )  # fmt: skip
    elif not tensor.whole:
        yield Problem(
            "data", step.name,
            f"the rows of tensor {step.name!r} are no whole blocks of its type {tensor.type}",
        )  # fmt: skip


def _decodes(tensor: Tensor, kind: TensorType) -> bool:
    """Whether the layout of the tensor's type is known, and no other dialect contests it."""
    try:
        tensor.check_decodes()
    except GGUFError:
        return False
    return bool(kind.elements)


def clashes(steps: Iterable[Step]) -> Iterator[Problem]:
    """Numbers that would mean two types: what changes is ggml's, what stays may be a fork's."""
    steps = list(steps)
    staying = {step.tensor.type_id: step for step in steps if not step.changes}
    changing = {step.plan.type_id: step for step in steps if step.changes and step.type in types}
    for number in sorted(staying.keys() & changing.keys()):
        stays, becomes = staying[number], changing[number]
        if stays.type != becomes.type:
            yield Problem(
                "unsupported", becomes.name,
                f"tensor {becomes.name!r} would become {becomes.type} and tensor {stays.name!r} "
                f"stays {stays.type}, but both have type number {number}",
                f"give {becomes.name!r} another type with --tensor-type",
            )  # fmt: skip


def _needs_weights(type_name: str) -> bool:
    """Whether ggml's search cannot do without weights."""
    from ..generated.quantizers import QUANTIZERS

    quantizer = QUANTIZERS.get(type_name)
    return quantizer is not None and quantizer.plain is None


def kept(kind: FileType, steps: Iterable[Step]) -> Iterator[Note]:
    """Quantized tensors that stay so in a file of plain floats."""
    if kind.type not in types or not types[kind.type].plain:
        return
    for step in steps:
        own = step.tensor.kind
        if not step.changes and not (own and own.plain):
            text = f"stays {step.tensor.type} ({step.decision.reason.removeprefix('stays: ')})"
            yield Note("kept", step.name, text)
