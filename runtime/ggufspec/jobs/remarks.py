"""What is worth a warning about a plan that can be carried out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..files.encode import name_bytes
from ..files.values import array_element
from ..generated.container import PROFILES, RULES
from ..recipes import pattern_of
from .errors import ConversionError
from .notes import Note
from .options import Options
from .steps import Step


def remarks(steps: Iterable[Step], options: Options) -> Iterator[Note]:
    """Patterns for no tensor, and what keeps ggml from opening the output."""
    names = [step.name for step in steps]
    for pattern in dict(options.tensor_types):
        if not _found(pattern, names):
            yield Note("pattern", "", f"--tensor-type {pattern}: no tensor's name has that in it")
    longest = _limit("tensors.name")
    for name in names:
        if (length := len(name_bytes(name))) > longest:
            text = f"a name of {length:,} bytes: ggml opens files with at most {longest}"
            yield Note("refused", name, text)
    for key, value in options.overrides:
        if array_element(array_element(value.type) or "") is not None:
            text = f"--override-kv {key}: ggml opens no files with nested arrays"
            yield Note("refused", "", text)


def _found(pattern: str, names: Iterable[str]) -> bool:
    try:
        return any(map(pattern_of(pattern).search, names))
    except ValueError as error:
        raise ConversionError(f"--tensor-type {error}", "usage") from error


def _limit(at: str) -> int:
    """The most that ggml takes there."""
    ggml = [profile.name for profile in PROFILES].index("ggml")
    return next(rule.limits[ggml] for rule in RULES if (rule.check, rule.at) == ("at_most", at))
