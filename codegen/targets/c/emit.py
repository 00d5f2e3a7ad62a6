"""The files of the C target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...frames import frames
from ...loops.dequantize import dequantize
from ...model import BlockType, wide_words
from ...output import Output
from ...picture import summary
from ...spec import Spec
from . import checks, packing, tables, wide
from .language import C
from .tables import CTable

_FRAMES = frames(Path(__file__).parent / "templates")


def outputs(spec: Spec) -> list[Output]:
    """One file a type, the tables that they share, the registry."""
    derived: list[CTable] = []
    made = [_kernel(kind, derived) for kind in spec.layouts]
    every = [kind.file for kind in spec.layouts]
    shared = tables.collect(spec.tables, spec.scalars, derived)
    names = [kind.name.lower() for kind in spec.layouts]
    found = [checks.check(kind) for kind in spec.layouts]
    made += [
        _output("tables.h", "tables.h.j2", spec.table_files, tables=shared),
        _output("tables.c", "tables.c.j2", spec.table_files, tables=shared),
        _output("kernels.h", "kernels.h.j2", every, names=names),
        _output("kernels.c", "kernels.c.j2", every, names=names),
        _output("kernels_check.c", "kernels_check.c.j2", (*spec.table_files, *every), checks=found),
        _output("types.c", "types.c.j2", every, types=[_entry(kind) for kind in spec.layouts]),
    ]
    return made


def _output(path: str, frame: str, inputs: Sequence[str], **values: object) -> Output:
    return Output(f"c/{path}", _FRAMES.get_template(frame).render(values), tuple(inputs))


def _kernel(kind: BlockType, derived: list[CTable]) -> Output:
    frame = "kernel.c.j2"
    return _output(
        f"kernels/{kind.name.lower()}.c",
        frame,
        kind.inputs,
        kind=kind,
        name=kind.name.lower(),
        summary=summary(kind),
        portable=dequantize(kind, C()),
        wide=wide.dequantize(kind, derived),
        unpack=packing.unpack(kind),
        pack=packing.pack(kind),
    )


def _entry(kind: BlockType) -> dict[str, object]:
    return {
        "kind": kind,
        "c_name": kind.name.lower(),
        "arrays": packing.arrays(kind),
        "words": wide_words(kind.fields),
        "prefix_words": wide_words(kind.prefix),
        "suffix_words": wide_words(kind.suffix),
    }
