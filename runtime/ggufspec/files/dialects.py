"""The dialect of open files: found for a whole set, and what it keeps from being decoded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import GGUFError

if TYPE_CHECKING:
    from ..container.dialects import Choice
    from .part import Part

BASE = "ggml"
"""The dialect of ordinary files."""


def agree(parts: Sequence[Part], *, profile: str) -> list[Part]:
    """The files of a set under the one dialect that fits all of them.

    Each was scanned by itself before, and a file of few tensors may not tell its dialect.
    """
    if len(parts) == 1 or all(part.choice is None or part.choice.stated for part in parts):
        return list(parts)
    from ..container.dialects import infer, scan_under

    choice = infer([part.scan for part in parts])
    return [
        replace(part, choice=choice, scan=scan_under(part.source.view, choice, profile=profile))
        for part in parts
    ]


def rotation_keys(metadata: Iterable[str]) -> list[str]:
    """The keys that declare a rotation folded into the weights."""
    from ..dialects import dialects

    starts = tuple({dialect.folded_by for dialect in dialects.values()} - {""})
    return [key for key in metadata if key.startswith(starts)]


def check_decodes(choice: Choice, number: int, subject: str) -> None:
    """GGUFError for a type whose bytes cannot be decoded though its number is known."""
    if number in choice.disputed:
        raise _error("GG1601", subject, types=number, dialects=", ".join(choice.fitting))
    kind = choice.kind_of(number)
    if kind is not None and kind.status in ("sized", "named"):
        raise _error("GG1604", subject, types=kind.name)


def _error(rule_id: str, subject: str, **facts: object) -> GGUFError:
    from ..generated.rules import RULES

    rule = RULES[rule_id]
    message = f"{subject}: {rule.message.format(**facts)}"
    return GGUFError(message, code=rule.id, path="tensors.type", hint=rule.hint)
