"""Edits in place that go wrong at any step, and undo files that nobody of ours wrote."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from ggufspec.edits import Draft, EditError, carry_out, plan_edit, recover
from ggufspec.files.undo import MAGIC, Undo, undo_path

STEPS = ("pwrite", "fsync", "ftruncate", "open", "unlink", "link", "rename", "replace")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    metadata = {"general.architecture": "llama", "general.name": "a name"}
    ggufspec.write(path, metadata, {"t": np.ones(8, np.float32)})
    return path


def edit(path: Path, name: str = "b name") -> None:
    with Draft.open(path) as draft:
        draft.set("general.name", Value("STRING", name))
        carry_out(plan_edit(draft, in_place=True))


def failing_from(
    monkeypatch: pytest.MonkeyPatch, number: int, error: BaseException, until: int | None = None
) -> list[str]:
    """Let the system's functions fail, from one call to another; what was called."""
    called: list[str] = []

    def wrapped(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            called.append(name)
            if number <= len(called) <= (number if until is None else until):
                if name == "pwrite":
                    function(arguments[0], bytes(arguments[1])[:3], arguments[2])
                if name in ("unlink", "link") and isinstance(error, KeyboardInterrupt):
                    function(*arguments, **more)  # it is done, and only then interrupted
                raise error
            return function(*arguments, **more)

        return call

    for name in STEPS:
        monkeypatch.setattr(os, name, wrapped(name, getattr(os, name)))
    return called


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), OSError(errno.EIO, "it failed")], ids=["interrupt", "EIO"]
)
def test_no_step_leaves_an_undo_file(
    model: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """Whatever a single failure hits: the file is as before or after, and nothing lies beside."""
    old = model.read_bytes()
    edit(model)
    new = model.read_bytes()
    for number in range(1, 40):
        model.write_bytes(old)
        with monkeypatch.context() as patch:
            called = failing_from(patch, number, error)
            with contextlib.suppress(KeyboardInterrupt, OSError, EditError):
                edit(model)
        assert model.read_bytes() in (old, new), called
        assert not undo_path(model).exists(), called
        if len(called) < number:
            break
    assert number > 8


def test_edit_that_cannot_be_taken_back(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the undo file stays, which is said together with what helps."""
    old = model.read_bytes()
    with monkeypatch.context() as patch:
        writing = os.pwrite

        def broken(file: int, data: Any, at: int) -> int:
            writing(file, bytes(data)[:3], at)
            raise OSError(errno.EIO, "Input/output error")

        patch.setattr(os, "pwrite", broken)
        with pytest.raises(EditError, match=r"input/output error.*m\.gguf\.undo stays") as told:
            edit(model)
    assert told.value.kind == "system"
    assert "meta recover" in told.value.hint
    assert undo_path(model).exists()
    recover(model)
    assert model.read_bytes() == old


def test_undo_file_of_another_is_never_taken_back(model: Path) -> None:
    undo_path(model).write_text("notes")
    with pytest.raises(EditError, match="is there already") as told:
        edit(model)
    assert "recover" not in told.value.hint
    assert undo_path(model).read_text() == "notes"


FAR = 2**64 - 1


@pytest.mark.parametrize(
    "changes",
    [
        {"start": FAR},
        {"start": 2**63},
        {"old_size": FAR},
        {"new_size": FAR},
        {"old_size": FAR, "new_size": FAR},
        {"old_size": 0, "new_size": 0},
        {"new_size": 10},
        {"old": b""},
        {"new": b""},
        {"old": b"", "new": b"", "start": FAR},
        {"start": FAR, "old_size": FAR, "new_size": FAR},
        {"start": 2**63, "old_size": 2**63 + 1, "new_size": 2**63 + 1},
        {"start": 2**62 - 1, "old_size": 2**62, "new_size": 2**62},
    ],
    ids=str,
)
@pytest.mark.parametrize("state", ["old", "new"])
def test_fields_that_do_not_fit(model: Path, changes: dict[str, Any], state: Any) -> None:
    """A hash says that a file is whole, not who wrote it."""
    before = model.read_bytes()
    good = Undo(len(before), len(before), 4, before[4:5], b"\x07")
    assert Undo.unpack(good.pack()) == good
    undo_path(model).write_bytes(replace(good, **changes).pack())
    with pytest.raises(EditError):
        recover(model, state)
    assert model.read_bytes() == before
    assert undo_path(model).read_bytes().startswith(MAGIC)


def test_fields_of_files_that_grow_or_shrink() -> None:
    for old, new, fits in ((b"ab", b"abc", True), (b"abc", b"", True), (b"ab", b"ab", True)):
        edit_ = Undo(10 + len(old), 10 + len(new), 10, old, new)
        assert edit_.fits is fits
        assert not replace(edit_, new_size=edit_.new_size + 1).fits
