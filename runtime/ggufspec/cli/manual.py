"""The end of each command's help: examples, and what its exit codes mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

EXAMPLES: Mapping[str, Sequence[str]] = {
    "info": (
        "ggufspec info model.gguf",
        "ggufspec info model.gguf --elements 20",
        "ggufspec info model.gguf --json",
    ),
    "types": (
        "ggufspec types",
        "ggufspec types Q4_K",
    ),
    "validate": (
        "ggufspec validate model.gguf",
        "ggufspec validate model.gguf --profile ggml --data",
        "ggufspec validate model.gguf --fail-on warning --json",
    ),
    "explain": (
        "ggufspec explain",
        "ggufspec explain GG0101",
    ),
    "quantize": (
        "ggufspec quantize model.gguf small.gguf Q4_K_M",
        "ggufspec quantize model.gguf 'model-{type}.gguf' Q4_K_M,Q8_0 --dry-run",
        "ggufspec quantize model.gguf small.gguf Q4_K_M --imatrix model.imatrix",
    ),
    "dequantize": (
        "ggufspec dequantize model.gguf plain.gguf",
        "ggufspec dequantize model.gguf plain.gguf --type BF16",
    ),
    "memory": (
        "ggufspec memory model.gguf",
        "ggufspec memory model.gguf --context 8192,32768 --cache-type-k Q8_0 --cache-type-v Q8_0",
        "ggufspec memory model.gguf --gpu-layers all --sequences 4 --json",
    ),
    "sample": ("ggufspec sample model.gguf",),
    "generate": (
        "ggufspec generate --check",
        "ggufspec generate --target typescript --out src/gguf",
    ),
}
"""Of commands whose module has no ``EXAMPLES`` of its own."""

EXIT_CODES = (
    "Exit codes: 0 done; 1 invalid, or a check failed; 2 wrong usage; 3 an unknown type or "
    "version; 4 the system failed."
)


def complete(command: Any, name: str, examples: Sequence[str] = ()) -> Any:
    """The command, and those below it, with examples and exit codes at the end of the help."""
    shown = examples or EXAMPLES.get(name, ())
    below = getattr(command, "commands", None)
    epilog = command.epilog or ("" if below or not shown else "Examples:\n\n" + "\n\n".join(shown))
    if EXIT_CODES not in epilog:
        command.epilog = "\n\n".join(filter(None, (epilog, EXIT_CODES)))
    for inner, further in (below or {}).items():
        complete(further, f"{name} {inner}")
    return command
