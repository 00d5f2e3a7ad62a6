"""What becomes of every tensor, decided before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..files.values import Value
from ..files.writer import planned_size
from ..recipes import FileType, file_type, model_facts, visiting_order
from ..recipes import plan as decide
from ..recipes.names import is_offered
from ..text import plural
from .errors import ConversionError
from .importance import load_imatrix, matrix_notes, weights_of
from .layers import renumbered
from .metadata import FIXED_KEY, block_count_key, new_metadata, of_set, overridden
from .notes import Note
from .options import Options
from .problems import Problem, clashes, kept, problems_of
from .remarks import remarks
from .steps import Step

if TYPE_CHECKING:
    from ..files.reader import File
    from ..files.tensor import Tensor
    from ..imatrix import Imatrix


@dataclass(frozen=True)
class FilePlan:
    """One file of the output."""

    metadata: dict[str, Any]
    steps: tuple[Step, ...]
    byte_order: Any
    alignment: int | None = None

    @cached_property
    def size(self) -> int:
        """Its bytes."""
        return planned_size(
            self.metadata,
            [step.plan for step in self.steps],
            alignment=self.alignment,
            byte_order=self.byte_order,
        )


@dataclass(frozen=True)
class Plan:
    """A quantization: the steps in the order of the output, and the files they go to.

    ``notes`` are warnings; with ``problems`` it cannot be carried out.
    """

    source: File
    file_type: FileType
    options: Options
    imatrix: Imatrix | None
    steps: tuple[Step, ...]
    files: tuple[FilePlan, ...]
    notes: tuple[Note, ...]
    problems: tuple[Problem, ...]

    @property
    def bytes_in(self) -> int:
        """Bytes of the source's tensors."""
        return sum(step.tensor.nbytes for step in self.steps)

    @property
    def bytes_out(self) -> int:
        """Bytes of the output's tensors."""
        return sum(step.plan.nbytes for step in self.steps)

    @property
    def size(self) -> int:
        """Bytes of the output's files."""
        return sum(file.size for file in self.files)

    @property
    def weights(self) -> int:
        """Elements of all tensors."""
        return sum(step.weights for step in self.steps)

    @property
    def bits_per_weight(self) -> float:
        """Stored bits a weight over all tensors."""
        return 8 * self.bytes_out / self.weights if self.weights else 0.0

    def importance(self, step: Step) -> Any:
        """The weights that a step quantizes with, (row,) or (experts, row), or None."""
        return weights_of(step, self.imatrix, fix=self.options.fix_imatrix).values

    def check(self) -> None:
        """ConversionError for the first problem, if there is one."""
        if not self.problems:
            return
        first = self.problems[0]
        more = len({problem.tensor for problem in self.problems}) - 1
        others = f"; the same goes for {plural(more, 'more tensor')}" if more else ""
        raise ConversionError(first.message + others, first.kind, hint=first.hint)


def offered(name: str) -> FileType:
    """The file type of that name; ConversionError if none of that name can be made."""
    try:
        kind = file_type(name)
    except ValueError as error:
        raise ConversionError(str(error), "usage", file="") from None
    if not is_offered(kind):
        raise ConversionError(f"no {kind.name} file can be made: {kind.status}", "usage", file="")
    return kind


def make_plan(
    source: File, name: str, options: Options | None = None, imatrix: Imatrix | None = None
) -> Plan:
    """Decide what becomes of every tensor, as llama-quantize does; nothing is written.

    name: a file type (``Q8_0``, ``Q4_K_M``). imatrix: the options' matrix, where it was loaded
    already. Raises ConversionError; what only keeps the plan from being carried out is in its
    ``problems``.
    """
    kind, options = offered(name), options or Options()
    if imatrix is None:
        imatrix = load_imatrix(options)
    used = imatrix if imatrix is not None and imatrix.entries else None
    tensors = _tensors(source, options)
    names, layers = _names(tensors, options)
    steps = _steps(source, kind, options, [t for t in tensors if t.name in names], names, used)
    notes = list(matrix_notes(options, imatrix))
    problems: list[Problem] = []
    fixed = 0
    for step in steps:
        weights = weights_of(step, used, fix=options.fix_imatrix)
        notes += weights.notes
        fixed += weights.zero if options.fix_imatrix else 0
        problems += problems_of(step, kind, options, weights, has_matrix=used is not None)
    problems += clashes(steps)
    notes += kept(kind, steps)
    notes += remarks(steps, options)
    more = _more_keys(source, options, used, fixed, layers)
    files = _files(source, kind, options, steps, more)
    _check_files(files, options)
    return Plan(source, kind, options, used, steps, files, tuple(notes), tuple(problems))


def _tensors(source: File, options: Options) -> list[Tensor]:
    tensors = list(source.tensors.values())
    if options.keep_split:
        return sorted(tensors, key=lambda tensor: (tensor.shard, tensor.offset))
    return sorted(tensors, key=lambda tensor: _order(tensor.name))


def _order(name: str) -> tuple[int, bytes]:
    try:
        return visiting_order(name)
    except ValueError as error:
        raise ConversionError(str(error), "data") from error


def _names(tensors: Sequence[Tensor], options: Options) -> tuple[dict[str, str], int]:
    """What the tensors that stay are called, and how many layers there are then."""
    if not options.prune:
        return {tensor.name: tensor.name for tensor in tensors}, 0
    return renumbered(sorted((tensor.name for tensor in tensors), key=_order), options.prune)


def _steps(
    source: File,
    kind: FileType,
    options: Options,
    tensors: Sequence[Tensor],
    names: dict[str, str],
    imatrix: Imatrix | None,
) -> tuple[Step, ...]:
    try:
        decisions = decide(
            kind.name,
            model_facts(overridden(source, options)),
            [(names[t.name], t.shape[::-1], t.type) for t in tensors],
            pure=options.pure,
            has_imatrix=imatrix is not None,
            output_type=options.output_type,
            token_embedding_type=options.token_embedding_type,
            overrides=options.tensor_types,
            leave_output=options.leave_output,
            keep_order=True,
        )
    except ValueError as error:
        raise ConversionError(str(error), "data") from error
    return tuple(Step(t, decision) for t, decision in zip(tensors, decisions, strict=True))


def _more_keys(
    source: File, options: Options, imatrix: Imatrix | None, fixed: int, layers: int
) -> dict[str, Value]:
    """What is set behind the overrides, in order."""
    more: dict[str, Value] = {}
    if imatrix is not None:
        from ..imatrix import imatrix_metadata

        more.update(imatrix_metadata(imatrix))
    if fixed:
        more[FIXED_KEY] = Value("UINT32", fixed)
    if options.prune:
        more[block_count_key(source, options)] = Value("UINT32", layers)
    return more


def _check_files(files: Iterable[FilePlan], options: Options) -> None:
    """ConversionError for what no file can hold: a value that its type cannot, say."""
    try:
        for file in files:
            _ = file.size
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        own = bool(options.overrides)
        raise ConversionError(
            f"--override-kv: {error}" if own else str(error),
            "usage" if own else "data",
            file="" if own else None,
        ) from error


def _files(
    source: File,
    kind: FileType,
    options: Options,
    steps: tuple[Step, ...],
    more: dict[str, Value],
) -> tuple[FilePlan, ...]:
    metadata = new_metadata(source, kind, options, more)
    order = source.byte_order
    count = 1 + max((step.tensor.shard for step in steps), default=0)
    if not options.keep_split or count == 1:
        return (FilePlan(metadata, steps, order),)
    files = []
    for number in range(count):
        own = tuple(step for step in steps if step.tensor.shard == number)
        keys = of_set(number, count, len(steps))
        first = number == 0
        files.append(
            FilePlan(
                {**metadata, **keys} if first else dict(keys),
                own,
                order,
                None if first else source.parts[number].scan.alignment,
            )
        )
    return tuple(files)
