"""The files of the TypeScript package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ...container import load_container
from ...container.load import FILES as CONTAINER_FILES
from ...frames import frames
from ...loops import dequantize, packing
from ...model import BlockType
from ...output import Output
from ...picture import summary
from ...spec import Spec
from . import tables
from .language import TypeScript

_FOLDER = Path(__file__).parent / "templates"
_FRAMES = frames(_FOLDER, comment=("{##", "##}"))
_NUMBERS = ("HALF", "POW3", "floatOfBits", "fround", "wideInt")
_BOOKS = re.compile(r"\b(?:TABLE|SCALAR)_[A-Z0-9_]+\b")


def outputs(spec: Spec) -> list[Output]:
    """The package: hand-written support from templates, tables and kernels from the spec."""
    every = [kind.file for kind in spec.layouts]
    frames: dict[str, tuple[tuple[str, ...], Mapping[str, object]]] = {
        "package.json": (("VERSION",), {"version": spec.version}),
        "README.md": (("VERSION",), {"version": spec.version}),
        "src/tables.ts": (CONTAINER_FILES, tables.container(load_container(spec.root))),
        "src/types.ts": (
            ("VERSION", "scalars.yaml", *(kind.file for kind in spec.types)),
            tables.registry(spec),
        ),
        "src/codebooks.ts": (
            spec.table_files,
            {"body": tables.codebooks(spec.tables, spec.scalars)},
        ),
        "src/kernels.ts": (tuple(every), {"names": [kind.name for kind in spec.layouts]}),
    }
    made = [_output(path, path, inputs, values) for path, (inputs, values) in frames.items()]
    for source in sorted(_FOLDER.rglob("*.j2")):
        path = source.relative_to(_FOLDER).with_suffix("").as_posix()
        if path not in frames and path != "src/kernels/kernel.ts":
            made.append(_output(path, path, (), {}))
    return made + [_kernel(kind) for kind in spec.layouts]


def _output(path: str, frame: str, inputs: tuple[str, ...], values: Mapping[str, object]) -> Output:
    body = _FRAMES.get_template(f"{frame}.j2").render(values)
    return Output(f"typescript/{path}", body, inputs)


def _kernel(kind: BlockType) -> Output:
    language = TypeScript()
    blocks = kind.elements > 1
    values = {
        "kind": kind,
        "summary": summary(kind),
        "dequantize": dequantize.dequantize(kind, language),
        "arrays": [
            (f"a_{array.name.replace('.', '_')}", number)
            for number, array in enumerate(packing.arrays(kind) if blocks else ())
        ],
        "unpack": packing.unpack(kind, language) if blocks else "",
        "pack": packing.pack(kind, language) if blocks else "",
    }
    texts = " ".join(str(values[name]) for name in ("dequantize", "unpack", "pack"))
    values["numbers"] = [n for n in _NUMBERS if re.search(rf"(?<![.\w]){n}\b", texts)]
    values["books"] = sorted(set(_BOOKS.findall(texts)))
    path = f"src/kernels/{kind.name.lower()}.ts"
    return _output(path, "src/kernels/kernel.ts", kind.inputs, values)
