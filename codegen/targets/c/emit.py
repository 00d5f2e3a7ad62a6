"""The files of the C target."""

from __future__ import annotations

from pathlib import Path

import jinja2

from ... import expr as E
from ...loops.dequantize import dequantize
from ...model import BlockType, Field
from ...output import Output
from ...picture import code_line
from ...spec import Spec
from . import checks, packing, tables, wide
from .language import C
from .tables import CTable

_FRAMES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,
)


def outputs(spec: Spec) -> list[Output]:
    """One file a type, the tables that they share, the registry."""
    derived: list[CTable] = []
    made = [_kernel(kind, derived) for kind in spec.layouts]
    every = [kind.file for kind in spec.layouts]
    shared = tables.collect(spec.tables, spec.scalars, derived)
    table_files = ["scalars.yaml", *(f"tables/{name}.yaml" for name in spec.tables)]
    names = [kind.name.lower() for kind in spec.layouts]
    found = [checks.check(kind) for kind in spec.layouts]
    made += [
        _output("tables.h", "tables.h.j2", table_files, tables=shared),
        _output("tables.c", "tables.c.j2", table_files, tables=shared),
        _output("kernels.h", "kernels.h.j2", every, names=names),
        _output("kernels.c", "kernels.c.j2", every, names=names),
        _output("kernels_check.c", "kernels_check.c.j2", [*table_files, *every], checks=found),
        _output("types.c", "types.c.j2", every, types=[_entry(kind) for kind in spec.layouts]),
    ]
    return made


def _output(path: str, frame: str, inputs: list[str], **values: object) -> Output:
    return Output(f"c/{path}", _FRAMES.get_template(frame).render(values), tuple(inputs))


def _kernel(kind: BlockType, derived: list[CTable]) -> Output:
    codes = {code.name: code for region in kind.regions for code in region.codes}
    frame = "kernel.c.j2"
    return _output(
        f"kernels/{kind.name.lower()}.c",
        frame,
        [kind.file, "scalars.yaml", *(f"tables/{name}.yaml" for name in _table_names(kind))],
        kind=kind,
        name=kind.name.lower(),
        pictures=[code_line(code) for code in codes.values()],
        formulas=[f"{name} = {text}" for name, text in kind.decode_text.items()],
        portable=dequantize(kind, C()),
        wide=wide.dequantize(kind, derived),
        unpack=packing.unpack(kind),
        pack=packing.pack(kind),
    )


def _table_names(kind: BlockType) -> list[str]:
    decoded = [let.expr for region in kind.regions for let in region.decode]
    nodes = (node for expr in decoded for node in E.walk(expr))
    return sorted({node.table.name for node in nodes if isinstance(node, E.Lookup)})


def _entry(kind: BlockType) -> dict[str, object]:
    return {
        "kind": kind,
        "c_name": kind.name.lower(),
        "arrays": packing.arrays(kind),
        "words": _words(kind.fields),
        "prefix_words": _words(kind.prefix),
        "suffix_words": _words(kind.suffix),
    }


def _words(fields: tuple[Field, ...]) -> list[tuple[int, int, int, int]]:
    """(offset, stride, count, size) of words of more than one byte: what byte order reverses."""
    return [
        (offset, stride, (field.counts or (1,))[-1], field.scalar.bytes)
        for field in fields
        if field.scalar.bytes > 1
        for offset, stride in field.runs
    ]
