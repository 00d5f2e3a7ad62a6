"""Opening and listing the 16 MB vocabulary: ours, ggml's reader and gguf-py's, in one run."""

from __future__ import annotations

import time
from collections.abc import Callable

import gguf

import ggufspec
from support import oracle, realfiles

NAME = "ggml-vocab-gemma-4.gguf"


def best(work: Callable[[], object], times: int) -> float:
    """The shortest of several runs, in seconds."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def show() -> None:
    """Print milliseconds and how many times as long the others take (targets: 10 and 1000)."""
    path = next(file for file in realfiles.vocabularies() if file.name == NAME)

    def ours() -> None:
        with ggufspec.open(path) as f:
            for key in f.metadata:
                f.metadata.type_of(key)
            for tensor in f.tensors.values():
                _ = tensor.name, tensor.type, tensor.shape

    mine = best(ours, 20)
    print(f"\nopen and list {NAME}: {mine * 1e3:.1f} ms")
    for name, work, times in (
        ("ggml", lambda: oracle.opens(path), 5),
        ("gguf-py", lambda: gguf.GGUFReader(path), 1),
    ):
        theirs = best(work, times)
        print(f"  {name}: {theirs * 1e3:.0f} ms, {theirs / mine:.0f} times as long")
