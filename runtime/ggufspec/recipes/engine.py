"""The plan: the tables of spec/recipes evaluated for the tensors of one model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..generated.recipes import (
    FALLBACK,
    FILE_TYPES,
    KEEP,
    LAST_RESORT,
    MATRIX_EXEMPT,
    MATRIX_REQUIRED,
    OPTIONS,
    ROLES,
    SECTIONS,
    SMALL_BLOCK,
    FileType,
    Section,
)
from ..registry import find, types
from .conditions import Case, first, holds, whole_rows
from .facts import ModelFacts
from .names import file_type, is_offered, layer, visiting_order
from .patterns import Pattern, pattern_of

_OTHER = "other"
_COUNTS = {role.name: role.n for role in ROLES}
_PLAIN = {kind.type for kind in FILE_TYPES if kind.type and types[kind.type].plain}


@dataclass(frozen=True)
class Decision:
    """What becomes of one tensor, and why.

    ``fallback_from`` is the type that its rows are not whole blocks of; ``layer`` the number in
    ``blk.N.``. ``needs_imatrix``: llama-quantize refuses to do this without a matrix.
    """

    name: str
    type: str
    reason: str
    role: str
    layer: int | None = None
    fallback_from: str | None = None
    needs_imatrix: bool = False


class _Given(NamedTuple):
    """What the user decided before any recipe does."""

    types: Mapping[str, str]  # option to type
    patterns: Sequence[tuple[Pattern, str]]
    pure: bool


class _Choice(NamedTuple):
    type: str
    reason: str
    by: str  # option, pattern, recipe, or nothing more than the file type


def plan(
    file_type: str | int,
    model: ModelFacts,
    tensors: Iterable[tuple[str, Sequence[int], str]],
    *,
    pure: bool = False,
    has_imatrix: bool = False,
    output_type: str | None = None,
    token_embedding_type: str | None = None,
    overrides: Iterable[tuple[str, str]] = (),
    leave_output: bool = False,
    copy: bool = False,
    keep_order: bool = False,
) -> list[Decision]:
    """The type of every tensor, in the order in which llama-quantize visits and writes them.

    ``tensors`` are (name, shape in ggml's order, type). ``overrides`` are (regular expression of
    ECMAScript, type); the first that is found anywhere in a name counts. ``has_imatrix``: a
    matrix with at least one entry is given. ``keep_order`` visits the tensors as they come, which
    --keep-split does.

    Raises ValueError for an unknown file type, type or pattern, and, naming the tensor: where a
    row fits neither its type nor a replacement, and where a model with experts has no valid layer
    number in a name that must have one.
    """
    kind = _offered(file_type)
    flags = {"copy": copy or kind.status == "copy", "leave-output-tensor": leave_output}
    options = {"output-tensor-type": output_type, "token-embedding-type": token_embedding_type}
    given = _Given(
        {name: _target(type_) for name, type_ in options.items() if type_ is not None},
        [(_compiled(pattern), _target(type_)) for pattern, type_ in overrides],
        pure,
    )
    flagged = frozenset(name for name, is_set in flags.items() if is_set)
    base = Case(kind, model, flagged, has_imatrix, tied=False)
    return _decisions(base, list(tensors), given, keep_order)


def _decisions(
    base: Case, tensors: list[tuple[str, Sequence[int], str]], given: _Given, keep_order: bool
) -> list[Decision]:
    if not keep_order:
        tensors.sort(key=lambda tensor: visiting_order(tensor[0]))
    roles = [_role(base._replace(name=name)) for name, _, _ in tensors]
    total = Counter(roles)
    seen: Counter[str] = Counter()
    decisions = []
    for role, (name, shape, source) in zip(roles, tensors, strict=True):
        n = total[role] if _COUNTS.get(role) == "tensors" else base.model.n_layer
        case = base._replace(
            name=name, shape=shape, role=role, position=seen[role], n=n, tied=not total["output"]
        )
        decision, by = _decide(case, source, given)
        seen[role] += by == "recipe"
        decisions.append(decision)
    return decisions


def _role(case: Case) -> str:
    return next((role.name for role in ROLES if holds(role.when, case)), _OTHER)


def _decide(case: Case, source: str, given: _Given) -> tuple[Decision, str]:
    """The decision, and who made it."""
    number = layer(case.name)
    if kept := first(KEEP, case):
        return Decision(case.name, source, f"stays: {kept.why}", case.role, number), "keep"
    choice = _choose(case, given)
    type_, reason, fallback_from = choice.type, choice.reason, None
    if not whole_rows(case.shape, type_):
        reason += f"; rows of {_misfit(case, type_)}"
        fallback_from, type_ = type_, _replacement(case, choice)
    needed = first(MATRIX_REQUIRED, case._replace(chosen=type_)) and case.role not in MATRIX_EXEMPT
    decision = Decision(
        case.name, type_, reason, case.role, number, fallback_from, needs_imatrix=bool(needed)
    )
    return decision, choice.by


def _choose(case: Case, given: _Given) -> _Choice:
    own = _Choice(case.file_type.type, f"{case.file_type.name}'s own type", "file type")
    pattern = next((pair for pair in given.patterns if pair[0].search(case.name)), None)
    for option in OPTIONS:
        yields = pattern is not None and case.name in option.yields
        if option.name in given.types and case.role == option.role and not yields:
            return _Choice(given.types[option.name], f"--{option.name}", "option")
    if types[own.type].plain:
        return own
    if pattern:
        return _Choice(pattern[1], f"--tensor-type {pattern[0].pattern}", "pattern")
    if given.pure:
        return own._replace(reason="--pure")
    section = next((one for one in SECTIONS if any(holds(when, case) for when in one.when)), None)
    if section is None:
        return own._replace(by="recipe")
    if section.option in given.types:
        return _Choice(given.types[section.option], f"--{section.option}", "recipe")
    return _by_rules(section, case, own)


def _by_rules(section: Section, case: Case, own: _Choice) -> _Choice:
    if section.by_layer and case.model.n_expert > 1:
        case = case._replace(position=_numbered_layer(case))
    rule = first(section.rules, case)
    chosen = rule.type if rule else own.type
    rule = first(section.then, case._replace(chosen=chosen)) or rule
    return _Choice(rule.type, rule.why, "recipe") if rule else own._replace(by="recipe")


def _numbered_layer(case: Case) -> int:
    number, count = layer(case.name), case.model.n_layer
    if number is None:
        raise ValueError(f"{case.name}: no layer number (blk.N.), which experts need")
    if number >= count:
        raise ValueError(f"{case.name}: layer {number} is not in the model's 0 to {count - 1}")
    return number


def _replacement(case: Case, choice: _Choice) -> str:
    """The type for rows that are not whole blocks of the chosen one."""
    if choice.by == "option":
        raise ValueError(f"{case.name}: {choice.reason}: rows of {_misfit(case, choice.type)}")
    small = types[choice.type].elements <= SMALL_BLOCK
    target = choice.type if small else FALLBACK.get(choice.type)
    if target is None:
        raise ValueError(
            f"{case.name}: rows of {_misfit(case, choice.type)}, "
            f"and no tensor type fallback is defined for {choice.type}"
        )
    return target if whole_rows(case.shape, target) else LAST_RESORT


def _misfit(case: Case, type_: str) -> str:
    return f"{case.shape[0]} are not whole blocks of {type_} ({types[type_].elements})"


def _offered(name: str | int) -> FileType:
    kind = file_type(name)
    if not is_offered(kind):
        raise ValueError(f"file type {kind.name} cannot be made: {kind.status}")
    return kind


def _target(name: str) -> str:
    kind = find(name)
    if kind.status != "live" or (kind.plain and kind.name not in _PLAIN):
        raise ValueError(f"no tensor can be made {kind.name}")
    return kind.name


def _compiled(pattern: str) -> Pattern:
    try:
        return pattern_of(pattern)
    except ValueError as error:
        raise ValueError(f"not a regular expression: {pattern!r:.80} ({error})") from None
