"""The files of the Go module."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from ...container.load import FILES, load_container
from ...frames import frames
from ...loops.dequantize import dequantize
from ...loops.packing import arrays, pack, unpack
from ...model import BlockType
from ...output import Output
from ...picture import summary
from ...spec import Spec
from . import tables
from .language import Go

TEMPLATES = Path(__file__).parent / "templates"

_FRAMES = frames(TEMPLATES)


def outputs(spec: Spec) -> list[Output]:
    """Support code, one file of kernels a type, tables, registry."""
    registered = [kind.file for kind in spec.types]
    container = load_container(spec.root)
    made = [_kernels(kind) for kind in spec.layouts]
    made += [
        _output("tables.go", tables.container_tables(spec, container), [*FILES, "VERSION"]),
        _output("registry.go", tables.registry(spec), registered),
        _output("codebooks.go", tables.kernel_tables(spec), spec.table_files),
    ]
    for frame in sorted(TEMPLATES.glob("*.j2")):
        if frame.name != "kernel.go.j2":
            text = _FRAMES.get_template(frame.name).render(spec=spec)
            made.append(_output(frame.name.removesuffix(".j2"), text, ["VERSION"]))
    return made


def _output(path: str, text: str, inputs: Sequence[str]) -> Output:
    return Output(f"go/{path}", text, tuple(inputs))


def _kernels(kind: BlockType) -> Output:
    """Named so that no ending of the file's name means an operating system."""
    language = Go()
    bodies = {"dequantize": textwrap.indent(dequantize(kind, language), "\t")}
    if not kind.plain:
        bodies["unpack"] = unpack(kind, language)
        bodies["pack"] = pack(kind, language)
    text = _FRAMES.get_template("kernel.go.j2").render(
        kind=kind,
        codes=sum(array.count for array in arrays(kind)),
        summary=summary(kind),
        deeper=textwrap.indent(bodies["dequantize"], "\t"),
        imports=_imports("\n".join(bodies.values())),
        **bodies,
    )
    return _output(f"{kind.name.lower()}_kernel.go", text, kind.inputs)


def _imports(text: str) -> list[str]:
    """The packages that a text uses."""
    packages = {"encoding/binary": "binary.", "math": "math."}
    return [name for name, use in packages.items() if use in text]
