"""Split sets made from a file, and one file made from a set.

    split("model.gguf", "parts/model", max_size=4_000_000_000)
    merge("parts/model-00002-of-00003.gguf", "whole.gguf")

`plan_split` and `plan_merge` work out the files first, `carry_out` writes them: under temporary
names, renamed when all are whole, of a set the first last. The data are moved as raw bytes by the
kernel, or shared where the file system can, so any type and any size will do.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ...files.reader import open as open_file
from .carry import carry_out
from .joining import plan_merge
from .plan import Change, FilePlan, SetPlan
from .splitting import DEFAULT_TENSORS, plan_split

__all__ = [
    "DEFAULT_TENSORS",
    "Change",
    "FilePlan",
    "SetPlan",
    "carry_out",
    "merge",
    "plan_merge",
    "plan_split",
    "split",
]


def split(
    source: str | os.PathLike[str],
    prefix: str | os.PathLike[str],
    *,
    max_size: int | None = None,
    max_tensors: int | None = None,
    tensorless_first: bool = False,
    replace: bool = False,
    advance: Callable[[int], object] = lambda _: None,
    dialect: str | None = None,
) -> SetPlan:
    """Write the tensors of a file, or of a set, to ``PREFIX-00001-of-0000N.gguf`` and so on.

    max_size: bytes that a file shall have at most, header and padding included; a tensor that is
    larger by itself gets a file of its own. max_tensors: tensors a file. Without either it is
    `DEFAULT_TENSORS` a file. tensorless_first: the first file holds the metadata alone. replace:
    files that exist are replaced. advance: told bytes of data as they are done. dialect: whose
    type numbers the source uses; found out by default.

    The plan that was carried out is returned: `SetPlan.paths` are the files, `SetPlan.changes`
    what is not as it was. ConversionError for what cannot be done, GGUFError for what is wrong in
    the source, OSError from the system (FileExistsError without `replace`); no file has got its
    name then.
    """
    with open_file(source, dialect=dialect) as file:
        plan = plan_split(
            file, Path(prefix), max_size=max_size, max_tensors=max_tensors,
            tensorless_first=tensorless_first,
        )  # fmt: skip
        carry_out(plan, replace=replace, advance=advance)
    return plan


def merge(
    source: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    replace: bool = False,
    advance: Callable[[int], object] = lambda _: None,
    dialect: str | None = None,
) -> SetPlan:
    """Write the set that `source`, any of its files, belongs to as one file, without its keys.

    Options, results and errors are those of `split`. What does not fit together in the set is a
    GGUFError with a rule of its own, or a ConversionError where files contradict each other in
    other keys.
    """
    with open_file(source, dialect=dialect) as file:
        plan = plan_merge(file, Path(path))
        carry_out(plan, replace=replace, advance=advance)
    return plan
