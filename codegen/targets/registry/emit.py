"""generated/types.py (lean, read at every start) and generated/describe.py (for people)."""

from __future__ import annotations

from typing import Any

from ...model import BlockType, Field, wide_words
from ...output import Output
from ...picture import Line, code_lines, picture
from ...spec import Spec

_TYPE_INFO = '''
class TypeInfo(NamedTuple):
    """One type: sizes in bytes, ``row_prefix`` once a row, ``tensor_suffix`` once a tensor.

    Removed types have neither elements nor bytes. ``swaps`` lists (offset, width, count)
    of the runs of multi-byte values in a block, which is what byte order means for it.
    """

    id: int | None
    name: str
    status: str
    elements: int
    bytes: int
    row_prefix: int
    tensor_suffix: int
    swaps: tuple[tuple[int, int, int], ...]
    prefix_swaps: tuple[tuple[int, int, int], ...]
    suffix_swaps: tuple[tuple[int, int, int], ...]
'''

_DESCRIPTION = '''
class Description(NamedTuple):
    """What people want to know of a type; ``picture`` has (offset, word, scalar, count, cuts)."""

    doc: str
    since: str
    file: str
    axes: tuple[tuple[tuple[str, int], ...], ...]
    codes: tuple[str, ...]
    decode: tuple[tuple[str, str], ...]
    valid: tuple[str, ...]
    picture: tuple[tuple[int, str, str, int, tuple[str, ...]], ...]
    removed: tuple[tuple[str, str], ...]
'''


def outputs(spec: Spec) -> list[Output]:
    everything = ("scalars.yaml", *(kind.file for kind in spec.types))
    package = (
        '"""Made from spec/ by ``ggufspec generate``; edit the spec instead."""\n\n'
        f'SPEC_VERSION = "{spec.version}"\n'
    )
    return [
        Output("__init__.py", package, ("VERSION",)),
        Output("types.py", _types(spec), everything),
        Output("describe.py", _describe(spec), everything),
    ]


def _swaps(fields: tuple[Field, ...]) -> tuple[tuple[int, int, int], ...]:
    """Runs of multi-byte values; those that do not touch are runs of one."""
    swaps: list[tuple[int, int, int]] = []
    for offset, stride, count, width in wide_words(fields):
        if stride == width:
            swaps.append((offset, width, count))
        else:
            swaps += [(offset + index * stride, width, 1) for index in range(count)]
    return tuple(sorted(swaps))


def type_info(kind: BlockType) -> tuple[Any, ...]:
    """The values of a type's ``TypeInfo``."""
    return (
        kind.id, kind.name, kind.status, kind.elements, kind.bytes, kind.prefix_bytes,
        kind.suffix_bytes, _swaps(kind.fields), _swaps(kind.prefix), _swaps(kind.suffix),
    )  # fmt: skip


def _types(spec: Spec) -> str:
    lines = ['"""The type table: ids, names, sizes."""', "", "from typing import NamedTuple", ""]
    lines.append(_TYPE_INFO)
    lines.append("\nTYPES: tuple[TypeInfo, ...] = (")
    lines += [f"    TypeInfo({', '.join(map(_text, type_info(kind)))})," for kind in spec.types]
    return "\n".join([*lines, ")"]) + "\n"


def _describe(spec: Spec) -> str:
    lines = ['"""Descriptions of the types, for ``ggufspec types`` and error messages."""', ""]
    lines += ["from typing import NamedTuple", "", _DESCRIPTION, ""]
    lines.append("DESCRIPTIONS: dict[str, Description] = {")
    for kind in spec.types:
        lines.append(f"    {_text(kind.name)}: Description(")
        lines += [f"        {name}={_text(value)}," for name, value in description(kind).items()]
        lines.append("    ),")
    return "\n".join([*lines, "}"]) + "\n"


def description(kind: BlockType) -> dict[str, Any]:
    """The fields of a type's ``Description``."""
    lines = picture(kind) if kind.regions else ()
    return {
        "doc": kind.doc,
        "since": kind.since,
        "file": f"spec/{kind.file}",
        "axes": tuple(region.order for region in kind.regions),
        "codes": code_lines(kind),
        "decode": tuple(kind.decode_text.items()),
        "valid": kind.regions[0].valid_text if kind.regions else (),
        "picture": tuple(map(_line, lines)),
        "removed": tuple((str(key), str(value)) for key, value in kind.removed.items()),
    }


def _line(line: Line) -> tuple[Any, ...]:
    cuts = tuple(map(str, line.cuts))
    return (line.offset, line.word, line.scalar.name, line.count, cuts)


def _text(value: object) -> str:
    """A literal, strings in double quotes."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if isinstance(value, tuple):
        inner = ", ".join(map(_text, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)
