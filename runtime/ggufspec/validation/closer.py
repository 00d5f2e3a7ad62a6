"""The checks that look closer than a scan: sets, keys, vocabulary, templates, data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from itertools import chain
from typing import Any

from ..errors import GGUFError
from ..files.dialects import agree
from ..files.part import Part
from ..files.source import ByteSource
from ..generated.container import RULE_OF, RULES
from ..report import Finding, Report
from . import shards
from .findings import Collector, ordered
from .model import Model, model_of
from .reading import Reading

_MODULES = {
    "structure": ("dialects",),
    "meaning": ("dialects", "keys", "architecture", "vocabulary", "kinds", "text"),
    "templates": ("templates",),
    "data": ("data",),
}
"""Modules with a function `check(model, found)`, by the kind of check they make."""

_TITLES = {"meaning": "keys and tensors", "templates": "chat templates", "data": "tensor data"}

_OF_MODEL = {RULES[RULE_OF[check]].id for check in ("present", "present_if_quantized")}
"""Rules that ask for keys which only the first file of a set has."""

Open = Callable[[ByteSource], Reading]


def look(
    first: Reading,
    open_file: Open,
    wanted: Collection[str],
    *,
    profile: str,
    base: ByteSource | None,
    **options: Any,
) -> Report:
    """The report on a file, or the whole set that it is of.

    open_file: opens another one. wanted: kinds of checks. options: `threads` and `advance` of
    the `Model`.
    """
    files, filled = _whole(first, open_file, profile)
    found = Collector(profile, files.names)
    if "structure" in wanted:
        shards.check(files, found)
    kinds = [kind for kind in _MODULES if kind in wanted and (filled or kind != "data")]
    model = _model(files, profile, **options)
    if isinstance(model, str):
        _leave_out(kinds, model, found)
    else:
        if base is not None:
            model = replace(model, base=_base(open_file(base), open_file, profile, found))
        for module in dict.fromkeys(chain.from_iterable(_MODULES[kind] for kind in kinds)):
            _check(module, model, found)
    if "data" in wanted and not filled:
        _leave_out(["data"], "much of it was never written", found)
    findings = [*(_scanned(files) if "structure" in wanted else ()), *found.findings]
    paths = tuple(part.source.path for part in files.parts if part.source.path is not None)
    return Report(tuple(ordered(findings, files.names)), profile, paths)


def _whole(first: Reading, open_file: Open, profile: str) -> tuple[shards.FileSet, bool]:
    """The set that a file is of, its files under one dialect, and whether all were written."""
    readings = [first]

    def another(path: ByteSource) -> Part:
        readings.append(open_file(path))
        return readings[-1].part()

    files = shards.set_of(first.part(), another)
    if files.complete:
        files = replace(files, parts=tuple(agree(files.parts, profile=profile)))
    return files, all(reading.filled for reading in readings)


def _model(files: shards.FileSet, profile: str, **options: Any) -> Model | str:
    """The model that the files are, or why they are none."""
    if not files.complete:
        return "files of the set are missing"
    return model_of(files.parts, profile, **options) or "the structure is damaged"


def _base(first: Reading, open_file: Open, profile: str, found: Collector) -> Model | None:
    """The model that the file shall fit."""
    files, _ = _whole(first, open_file, profile)
    model = _model(files, profile)
    if isinstance(model, str):
        found.add("GG0902", checks="whether it fits the base", why=f"of the base: {model}")
        return None
    return model


def _scanned(files: shards.FileSet) -> Iterator[Finding]:
    """What the scans found, each with the name of its file.

    Only the first file of a set has the keys of the model.
    """
    for part in files.parts:
        for finding in part.scan.findings:
            if finding.rule in _OF_MODEL and not files.has_first(part):
                continue
            yield replace(finding, file=files.names[part.number])


def _check(module: str, model: Model, found: Collector) -> None:
    try:
        import_module(f".{module}", __package__).check(model, found)
    except GGUFError as error:  # the file changed since it was scanned
        found.keep(error)


def _leave_out(kinds: Iterable[str], why: str, found: Collector) -> None:
    left = [_TITLES[kind] for kind in kinds if kind in _TITLES]
    if left:
        found.add("GG0902", checks=left, why=why)
