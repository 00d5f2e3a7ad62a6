"""Running the command line, in this process or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec.cli import app
from support import models


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON, refusing what is not strict."""

        def refuse(constant: str) -> None:
            raise ValueError(f"{constant} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


Run = Callable[..., Result]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process."""
    monkeypatch.setattr(app, "_stop_cleanly", lambda: None)

    def call(*arguments: str | Path) -> Result:
        monkeypatch.setattr(sys, "argv", ["ggufspec", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            app.run()
        sys.stdout.flush()
        captured = capfd.readouterr()
        assert "Traceback" not in captured.err
        code = end.value.code
        return Result(code if isinstance(code, int) else 0, captured.out, captured.err)

    return call


@pytest.fixture
def spawn() -> Run:
    """Run a command in a process of its own; ``script`` is Python run before it."""

    def call(*arguments: str | Path, script: str = "", **options: Any) -> Result:
        done = subprocess.run(
            command_line(*arguments, script=script),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, **options.pop("env", {})},
            **options,
        )
        assert "Traceback" not in done.stderr
        return Result(done.returncode, done.stdout, done.stderr)

    return call


def command_line(*arguments: str | Path, script: str = "") -> list[str]:
    program = f"{script}\nfrom ggufspec.cli import main\nmain()"
    return [sys.executable, "-c", program, *map(str, arguments)]


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up llama; tests do not change it."""
    path = tmp_path_factory.mktemp("llama") / "llama.gguf"
    models.write_llama(path)
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A model of two matrices and a norm."""
    path = tmp_path / "small.gguf"
    rng = np.random.default_rng(1)
    metadata = {
        "general.architecture": "llama",
        "general.file_type": 0,
        "general.name": "small",
    }
    tensors = {
        "blk.0.ffn_up.weight": rng.standard_normal((4, 512), np.float32),
        "token_embd.weight": rng.standard_normal((8, 64), np.float32),
        "output_norm.weight": np.ones(64, np.float32),
    }
    ggufspec.write(path, metadata, tensors)
    return path
