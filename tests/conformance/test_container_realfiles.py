"""Real files: both cursors agree, and no profile but the documentation's finds fault."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from support import realfiles
from support.container import PROFILES, scan_all

HYPHENS = ("command-r", "nomic-bert-moe")  # architectures whose keys the documentation refuses


def _check(path: Path, profile: str) -> None:
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        found = scan_all(data, profile)
        rules = {(finding.rule, finding.severity) for finding in found.findings}
    if any(name in path.name for name in HYPHENS):
        rules -= {("GG0206", "error" if profile == "spec" else "warning")}
    assert rules == set()
    assert found.tensors.nbytes.tolist() == [size for size in found.tensors.nbytes if size >= 0]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", realfiles.vocabulary_names())
def test_vocabularies(name: str, profile: str) -> None:
    _check(realfiles.vocabulary(name), profile)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("model", ["smollm2", "gemma3"])
def test_models(model: str, profile: str) -> None:
    _check({"smollm2": realfiles.smollm2, "gemma3": realfiles.gemma3}[model](), profile)
