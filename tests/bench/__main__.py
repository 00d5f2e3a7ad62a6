"""Speed against ggml, libgguf and gguf-py, from one run on one machine.

    PYTHONPATH=tests python -m bench [--part quantize] [--types Q4_K,IQ4_XS] [--markdown]

Contenders take turns, and each one's best time counts: a busy neighbour slows a round, not the
result.
"""

from __future__ import annotations

import argparse
import os
import platform
from pathlib import Path

from bench import dequantize, languages, opening, quantize, validate
from ggufspec import native
from ggufspec.blocks import kernels
from ggufspec.registry import types

PARTS = ("opening", "validate", "dequantize", "quantize")
MORE = ("languages",)
"""Parts that run only when they are asked for: they build other people's programs."""


def main() -> None:
    """Name the machine and run the parts that are asked for."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument(
        "--part", choices=(*PARTS, *MORE), action="append", help="default: all but the last"
    )
    parser.add_argument("--types", default="", help="names, comma-separated; default: all types")
    parser.add_argument("--markdown", action="store_true", help="tables for a README")
    options = parser.parse_args()
    parts = options.part or PARTS
    # Before their libraries are loaded: ggml and libgguf make tables on all threads.
    os.environ["OMP_NUM_THREADS"] = "1"
    wanted = [name for name in options.types.split(",") if name]
    unknown = set(wanted) - set(types)
    if unknown:
        parser.error(f"no such types: {', '.join(sorted(unknown))}")
    ours = [t for t in types.values() if t.elements and t.id is not None]  # forks have no oracle
    chosen = [t for t in ours if not wanted or t.name in wanted]

    print(
        f"{_processor()}, {os.cpu_count()} processors; compiled part: {native.describe()}", end=""
    )
    print(f", kernels {kernels.variant()}" if kernels.available() else "")
    if "opening" in parts:
        opening.show()
    if "validate" in parts:
        validate.show()
    if "dequantize" in parts:
        dequantize.run(chosen, markdown=options.markdown)
    if "quantize" in parts:
        quantize.run(chosen, markdown=options.markdown)
    if "languages" in parts:
        languages.show(markdown=options.markdown)


def _processor() -> str:
    """The processor's name as the system tells it, with its family and model where it does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    pairs = (line.partition(":") for line in reversed(lines))
    found = {key.strip(): value.strip() for key, _, value in pairs}
    name = found.get("model name", platform.machine())
    details = [f"{key} {found[key]}" for key in ("cpu family", "model") if key in found]
    return f"{name} ({', '.join(details)})" if details else name


if __name__ == "__main__":
    main()
