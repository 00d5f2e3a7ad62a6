"""What was written, read again: its bytes, and how far its values are from the input's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..files.reader import File, load_part
from .comparing import Pair, Sums, measure
from .errors import ConversionError
from .origin import sha256_of

if TYPE_CHECKING:
    from .steps import Step


@dataclass(frozen=True)
class Verified:
    """A tensor with the right bytes in the file, and the error of its values."""

    step: Step
    sums: Sums


def verify_file(
    path: Path,
    steps: Sequence[Step],
    digests: Sequence[str],
    *,
    threads: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> list[Verified]:
    """Measure every tensor that changed; the others only have to hold the bytes they had.

    digests: sha256 of the bytes that were made for each. ConversionError for other bytes than
    these, and where something is not finite that was.
    """
    found = []
    with _open(path, steps) as file:
        for step, digest in zip(steps, digests, strict=True):
            tensor = file.tensors[step.name]
            if sha256_of(tensor) != digest:
                raise _failed(step, "what the file holds is not what was written")
            if not step.changes:
                advance(step.tensor.nbytes)
                continue
            sums = measure(Pair(step.tensor, tensor), threads=threads)
            advance(step.tensor.nbytes)
            if math.isfinite(sums.signal) and not math.isfinite(sums.power + sums.error):
                raise _failed(step, "it decodes to values that are not finite")
            found.append(Verified(step, sums))
    return found


def _open(path: Path, steps: Sequence[Step]) -> File:
    """The file by itself, even where it is of a set and has not its name in it yet."""
    choice = steps[0].tensor.part.choice if steps else None
    return File([load_part(path, "lenient", choice.dialect.name if choice else None)])


def _failed(step: Step, reason: str) -> ConversionError:
    return ConversionError(
        f"verification failed: tensor {step.name!r} ({step.type}): {reason}", "check", file=""
    )
