"""What the importance matrix of the options says about the tensors of a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..text import plural
from .errors import ConversionError
from .notes import Note

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..imatrix import Imatrix
    from .options import Options
    from .steps import Step


def load_imatrix(options: Options) -> Imatrix | None:
    """The entries of the matrix that are to be used; None without a matrix.

    ConversionError for a file that is none, or holds values that are not finite.
    """
    if options.include and options.exclude:
        raise ConversionError(
            "--include-weights and --exclude-weights do not go together", "usage", file=""
        )
    if options.imatrix is None:
        return None
    from ..imatrix import ImatrixError, read_imatrix

    try:
        matrix = read_imatrix(options.imatrix).select(options.include, options.exclude)
        matrix.check()
    except ImatrixError as error:
        raise of_matrix(error) from error
    return matrix


def of_matrix(error: Any) -> ConversionError:
    """An ImatrixError as the failure of a job."""
    return ConversionError(error.message, "data", hint=error.hint, file=error.file or "")


@dataclass(frozen=True)
class Weights:
    """The weights of a tensor's elements, (row,) or (experts, row), and what to say about them."""

    values: NDArray[Any] | None
    notes: tuple[Note, ...] = ()
    zero: int = 0  # blocks without any importance


NONE = Weights(None)


def weights_of(step: Step, imatrix: Imatrix | None, *, fix: bool) -> Weights:
    """What a step quantizes with; nothing for tensors that stay and types without a search.

    ConversionError for an entry that does not fit.
    """
    if imatrix is None or not imatrix.entries or not step.changes:
        return NONE
    from ..generated.quantizers import QUANTIZERS
    from ..imatrix import ImatrixError
    from ..quantizers.constants import GridSearch

    try:
        found = imatrix.importance(step.tensor.name, step.tensor.shape)
    except ImatrixError as error:
        raise of_matrix(error) from error
    quantizer = QUANTIZERS.get(step.type)
    if quantizer is None or quantizer.weighted is None:
        return NONE
    if found.values is not None and isinstance(quantizer.weighted, GridSearch):
        _check_roots(step, found.values, imatrix.path)
    entry = imatrix.entries.get(step.tensor.name)
    if found.values is None:
        notes = [Note("misfit" if entry else "missing", step.name, text) for text in found.notes]
        return Weights(None, tuple(notes))
    unseen = len(entry.unseen) if entry else 0
    unseen_notes = [Note("unseen", step.name, text, unseen) for text in found.notes]
    return _with_zeros(step, found.values, unseen_notes, fix)


def _check_roots(step: Step, values: NDArray[Any], path: str) -> None:
    """ConversionError for importance that has no root, which the grid searches take."""
    if not (values < 0).any():
        return
    raise ConversionError(
        f"tensor {step.tensor.name!r}: its importance goes down to {values.min():g}, and the "
        f"search of {step.type} takes no negative one",
        "data",
        hint="make the matrix anew, or give the tensor another type with --tensor-type",
        file=path,
    )


def _with_zeros(step: Step, values: NDArray[Any], notes: list[Note], fix: bool) -> Weights:
    from ..imatrix import fixed

    ones, count = fixed(values, step.type)
    if count:
        whole = plural(count, "whole block")
        then = (
            "replaced by ones"
            if fix
            else "what is stored there may be far off; --fix-imatrix replaces them by ones"
        )
        notes.append(Note("zero", step.name, f"{whole} of zero weights; {then}", count))
    return Weights(ones if fix else values, tuple(notes), count)


def matrix_notes(options: Options, imatrix: Imatrix | None) -> Iterator[Note]:
    """What is to be said about the matrix as a whole."""
    if imatrix is not None and not imatrix.entries:
        yield Note("matrix", "", f"{options.imatrix}: no entry is left of it, so none is used")
    if options.imatrix is None and (options.include or options.exclude or options.fix_imatrix):
        yield Note("matrix", "", "without --imatrix there are no entries to choose or to fix")
