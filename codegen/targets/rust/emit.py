"""The files of the crate."""

from __future__ import annotations

import re
from pathlib import Path

from ...container import load_container
from ...container.load import FILES
from ...container.model import Container
from ...frames import frames
from ...loops import packing
from ...loops.dequantize import dequantize
from ...model import BlockType
from ...output import Output
from ...picture import summary
from ...spec import Spec
from . import registry, tables
from .language import Rust

_FOLDER = Path(__file__).parent / "templates"
_FRAMES = frames(_FOLDER)
_FRAMES.filters["text"] = tables.text
_FRAMES.filters["byte_text"] = tables.byte_text
_FRAMES.filters["camel"] = tables.camel

_KERNEL = "src/kernels/kernel.rs.j2"
_HELPER = re.compile(r"\b((?:load|store|or)_u\d+|(?:one_)?half|bfloat|\w*trits?)\(")
_SHARED = re.compile(r"\b(?:TABLE|SCALAR)_\w+")


def outputs(spec: Spec) -> list[Output]:
    """The crate under generated/rust. Raises SpecError."""
    container = load_container(spec.root)
    every = (*FILES, *spec.table_files, *(kind.file for kind in spec.types))
    values = _values(spec, container)
    made = [_kernel(kind) for kind in spec.layouts]
    for path in sorted(path for path in _FOLDER.rglob("*") if path.is_file()):
        name = path.relative_to(_FOLDER).as_posix()
        if name == _KERNEL:
            continue
        if name.endswith(".j2"):
            text = _FRAMES.get_template(name).render(values)
            made.append(Output(f"rust/{name.removesuffix('.j2')}", text, every))
        else:
            made.append(Output(f"rust/{name}", path.read_text(encoding="utf-8"), ()))
    return made


def _values(spec: Spec, container: Container) -> dict[str, object]:
    """What the frames are filled with."""
    kinds = [tables.Kind(kind) for kind in container.value_types]
    default = next(p.name for p in container.profiles if p.default_of == "open")
    small = [s for s in spec.scalars.values() if s.is_float and s.bits == 8]
    return {
        "version": spec.version,
        "container": container,
        "constants": list(tables.constants(container)),
        "checks": tables.checks(),
        "rules": [tables.rule(rule) for rule in container.rules],
        "layouts": tables.layouts(container),
        "lookalikes": [pair for f in container.section("header").fields for pair in f.lookalikes],
        "default_profile": default,
        "kinds": kinds,
        "numbers": tables.numbers(kinds),
        "first_version": container.versions[0],
        "string": next(kind.variant for kind in kinds if kind.kind == "string"),
        "array": next(kind.variant for kind in kinds if kind.kind == "array"),
        "codebooks": [
            *map(registry.codebook, spec.tables.values()),
            *map(registry.small_float, small),
        ],
        "types": [registry.type_info(kind) for kind in spec.types],
    }


def _kernel(kind: BlockType) -> Output:
    language = Rust()
    values = {
        "kind": kind,
        "summary": summary(kind),
        "dequantize": dequantize(kind, language),
        "codes": sum(array.count for array in packing.arrays(kind)),
        "unpack": "" if kind.plain else packing.unpack(kind, language),
        "pack": "" if kind.plain else packing.pack(kind, language),
    }
    body = _FRAMES.get_template(_KERNEL).render(values, helpers=[], shared=[])
    names = _FRAMES.get_template(_KERNEL).render(
        values,
        helpers=sorted(set(_HELPER.findall(body))),
        shared=sorted(set(_SHARED.findall(body))),
    )
    return Output(f"rust/src/kernels/{kind.name.lower()}.rs", names, kind.inputs)
