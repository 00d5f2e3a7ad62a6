"""The conditions of spec/recipes, and the tensor that they look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..generated.recipes import Conditions, FileType, Rule
from ..registry import types
from .facts import ModelFacts


class Case(NamedTuple):
    """One tensor (``shape`` in ggml's order) of one model on the way to one file type.

    ``position`` of ``n``: its place among the tensors of its role. ``chosen``: a type that it
    has been given so far.
    """

    file_type: FileType
    model: ModelFacts
    flags: frozenset[str]
    imatrix: bool
    tied: bool
    name: str = ""
    shape: Sequence[int] = ()
    role: str = ""
    position: int = 0
    n: int = 0
    chosen: str = ""


def holds(conditions: Conditions, case: Case) -> bool:
    """Whether all of them hold."""
    for name, argument in conditions:  # noqa: SIM110 - all() takes twice as long
        if not CONDITIONS[name](argument, case):
            return False
    return True


def first(rules: Iterable[Rule], case: Case) -> Rule | None:
    """The first rule that applies."""
    for rule in rules:
        if holds(rule.when, case):
            return rule
    return None


def whole_rows(shape: Sequence[int], type_: str) -> bool:
    """Whether a row is whole blocks of the type."""
    return shape[0] % types[type_].elements == 0


def _position(where: tuple[str, int], case: Case) -> bool:
    kind, number = where
    i, n = case.position, case.n
    if kind == "first":
        return i < number
    if kind == "part":
        return i < n // number
    start, end = n // number, (number - 1) * n // number
    if kind == "middle":
        return start <= i < end
    return i < start or i >= end or (i - start) % 3 == 2


CONDITIONS: Mapping[str, Callable[[Any, Case], bool]] = {
    "arch": lambda names, case: case.model.arch in names,
    "chosen": lambda names, case: case.chosen in names,
    "contains": lambda parts, case: any(part in case.name for part in parts),
    "file_type": lambda names, case: case.file_type.name in names,
    "flag": lambda name, case: name in case.flags,
    "imatrix": lambda wanted, case: case.imatrix == wanted,
    "layers": lambda count, case: case.model.n_layer - case.model.n_layer_nextn == count,
    "matrix": lambda wanted, case: any(side > 1 for side in case.shape[1:]) == wanted,
    "min_expert": lambda count, case: case.model.n_expert >= count,
    "min_gqa": lambda count, case: case.model.gqa >= count,
    "n_expert": lambda count, case: case.model.n_expert == count,
    "name": lambda names, case: case.name in names,
    "not_arch": lambda names, case: case.model.arch not in names,
    "not_ending": lambda ending, case: not case.name.endswith(ending),
    "position": _position,
    "role": lambda names, case: case.role in names,
    "shared_heads": lambda wanted, case: (case.model.n_head != case.model.n_head_kv) == wanted,
    "stacked": lambda wanted, case: any(side > 1 for side in case.shape[2:3]) == wanted,
    "tied": lambda wanted, case: case.tied == wanted,
    "whole_rows": lambda wanted, case: whole_rows(case.shape, case.file_type.type) == wanted,
}
"""Each condition's name in the spec, and whether it holds for an argument and a case."""
