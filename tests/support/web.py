"""The inspector's tools: its npm packages, a copy of its sources to build in, and a browser."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from support.build import program
from support.lock import locked
from support.pip import UnreachableError
from support.project import ROOT
from support.realfiles import cache_folder

SOURCES = ROOT / "runtime/web"
PAGES = ROOT / "generated/pages"
PAGE = PAGES / "inspector.html"

_COPIED = ("runtime/web", "generated/typescript/src", "generated/inspector")
_LONGEST = 120
_UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ECONNREFUSED", "ECONNRESET")


def needed(*names: str) -> None:
    """Skip the test where one of the programs is not installed; in CI that is a failure."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        reason = f"not installed: {', '.join(missing)}"
        assert not os.environ.get("CI"), reason
        pytest.skip(reason)


def modules() -> Path:
    """The folder node_modules that package-lock.json asks for, made once.

    Raises UnreachableError where the package registry does not answer.
    """
    files = [SOURCES / "package.json", SOURCES / "package-lock.json"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
    folder = cache_folder() / "web" / digest
    with locked(folder.with_suffix(".lock")):
        if not (folder / "done").is_file():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for path in files:
                shutil.copy(path, folder)
            _npm_ci(folder)
            (folder / "done").touch()
    return folder / "node_modules"


def _npm_ci(folder: Path) -> None:
    command = [program("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        said = done.stdout + done.stderr
        if any(word in said for word in _UNREACHABLE):
            raise UnreachableError("npm ci: the package registry does not answer")
        raise RuntimeError(f"npm ci failed:\n{said}")


def copied(folder: Path) -> Path:
    """A copy of the page's sources with their tools; the folder to run npm's programs in."""
    for name in _COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("node_modules"))
    library = "generated/typescript/package.json"
    shutil.copy(ROOT / library, folder / library)
    (folder / "runtime/web/node_modules").symlink_to(modules())
    return folder / "runtime/web"


def run(command: Sequence[str], folder: Path) -> str:
    """What a program says. RuntimeError where it fails."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=_LONGEST, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


class Browser:
    """Chromium behind a pipe (tests/web/browser.mjs); each call is one of its commands."""

    def __init__(self) -> None:
        script = ROOT / "tests/web/browser.mjs"
        command = [program("node"), str(script), str(modules()), program("chromium")]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        self._answers: queue.Queue[str] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, args=(self._pipe,), daemon=True)
        self._listener.start()

    @property
    def _pipe(self) -> IO[str]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _listen(self, pipe: IO[str]) -> None:
        for line in pipe:
            self._answers.put(line)
        self._answers.put('{"error": "the browser has ended"}')

    def __call__(self, command: str, **options: Any) -> Any:
        """Send a command and return its answer; AssertionError with what went wrong."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"command": command, **options}) + "\n")
        self._process.stdin.flush()
        answer: Mapping[str, Any] = json.loads(self._answers.get(timeout=_LONGEST))
        assert "error" not in answer, f"{command}: {answer.get('error')}"
        return answer["value"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._listener.join(timeout=20)
        self._pipe.close()
