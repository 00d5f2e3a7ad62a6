"""A language's program behind pipes: requests with a time limit, and the memory that they take."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

END = b"\nend\n"
CHUNK = 1 << 20


class ProgramError(Exception):
    """The program ended, hung, or said what no program should."""


class Program:
    """Starts when it is first asked, and again after it died or was stopped."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> None:
        self._command = list(command)
        self._environment = {**os.environ, **(environment or {})}
        self._child: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None

    def ask(self, request: str, seconds: float = 20.0) -> bytes:
        """The answer without its last line; ProgramError when there is none in time."""
        child = self._started()
        assert child.stdin is not None
        try:
            child.stdin.write(request.encode() + b"\n")
            child.stdin.flush()
            return self._answer(child, time.monotonic() + seconds)
        except (ProgramError, OSError) as error:
            said = self._said(child)
            self.stop()
            raise ProgramError(f"{error}{said}") from None

    def lines(self, request: str, seconds: float = 20.0) -> list[str]:
        """The answer's lines."""
        return self.ask(request, seconds).decode("utf-8", "replace").splitlines()

    def peak(self) -> int:
        """The most memory it held since `forget_peak`, in bytes."""
        status = self._proc("status").read_text(encoding="ascii", errors="replace")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) << 10

    def forget_peak(self) -> None:
        """Let the peak start anew from what is held now."""
        self._started()
        self._proc("clear_refs").write_text("5")

    def stop(self) -> None:
        """End it."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._child.poll() is not None:
            self.stop()
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the child
            self._child = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=self._environment,
            )
        return self._child

    def _answer(self, child: subprocess.Popen[bytes], deadline: float) -> bytes:
        assert child.stdout is not None
        handle = child.stdout.fileno()
        answer = bytearray(b"\n")
        while not answer.endswith(END):
            ready, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise ProgramError("no answer in time")
            chunk = os.read(handle, CHUNK)
            if not chunk:
                raise ProgramError(f"ended with {child.wait()}")
            answer += chunk
        return bytes(answer[1 : 1 - len(END)] if len(answer) > len(END) else b"")

    def _said(self, child: subprocess.Popen[bytes]) -> str:
        """What it wrote to stderr, if anything."""
        if self._errors is None or child.poll() is None:
            return ""
        self._errors.seek(0)
        text = self._errors.read().decode("utf-8", "replace").strip()
        return f": {text[-500:]}" if text else ""

    def _proc(self, name: str) -> Path:
        return Path(f"/proc/{self._started().pid}/{name}")
