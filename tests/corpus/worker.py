"""Reads files of the corpus within limits and says what each cost; started by support.costs.

    python -m corpus.worker [--structure] FILE...

Prints one JSON line a file: what happened, the most memory in bytes, the most processor time in
seconds that one action took. The limits end the process where they are far exceeded. With
--structure only the structure is looked at, under no limit of memory.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ggufspec
from support.container import PROFILES
from support.reading import read_all

MEMORY = 256 << 20
MOST_SECONDS = 60


def main(paths: list[str], *, structure: bool) -> None:
    """Warm up, set the limits, then one file after the other."""
    warm = b"GGUF" + (3).to_bytes(4, "little") + bytes(16)
    for profile in PROFILES:
        ggufspec.validate(warm, profile, data=True)
    read_all(warm)
    if not structure:
        used = _status("VmSize")
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    for path in paths:
        print(json.dumps(_measured(path, structure=structure)), flush=True)


def _measured(path: str, *, structure: bool) -> dict[str, object]:
    more: dict[str, Any] = {"checks": ("structure",)} if structure else {"data": True}
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    actions: dict[str, Callable[[], object]] = {
        f"validate {profile}": lambda profile=profile: (  # type: ignore[misc]
            ggufspec.validate(path, profile, threads=1, **more).verdict
        )
        for profile in (PROFILES[2:] if structure else PROFILES)
    }
    if structure:
        actions["open"] = lambda: ggufspec.open(path).close() or "ok"  # type: ignore[func-returns-value]
    else:
        actions["read"] = lambda: read_all(path)
    answers, slowest = {}, (0.0, "")
    for name, action in actions.items():
        start = time.process_time()
        try:
            answers[name] = str(action())
        except BaseException as error:
            answers[name] = f"{type(error).__name__}: {error}"[:300]
        slowest = max(slowest, (time.process_time() - start, name))
    return {"answers": answers, "peak": _status("VmHWM"), "seconds": slowest[0], "at": slowest[1]}


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) << 10
    raise RuntimeError(f"no {field} in /proc/self/status")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (10 * MOST_SECONDS, 10 * MOST_SECONDS))
    wanted = sys.argv[1:]
    main([path for path in wanted if path[:2] != "--"], structure="--structure" in wanted)
