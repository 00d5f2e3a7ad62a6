"""The files of the header target: ggufspec.h, how to build with it, and its tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ...container import load_container
from ...container.load import FILES
from ...container.model import SECTIONS, Container, Rule
from ...container.vocabulary import CHECKS
from ...frames import frames
from ...loops.dequantize import dequantize
from ...model import BlockType, wide_words
from ...output import Output
from ...picture import summary
from ...spec import Spec
from ..c import packing
from ..c.language import C
from ..c.tables import CTable, collect
from . import amalgamate

_FRAMES = frames(Path(__file__).parent / "templates")
_WIDTH = 100
_UNSIGNED = re.compile(r"(const int32_t \w+ =) (.*(?:uint32_t|load_u32|\bw(?:_\d+)?\b).*);")
"""A code that C computes in unsigned numbers; the runtime converts it silently."""
_TILE = 4096


def c_string(text: str) -> str:
    """A C string literal of UTF-8 text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + escaped.replace("??", "?\\?") + '"'


_FRAMES.filters["c"] = c_string


def outputs(spec: Spec) -> list[Output]:
    """The header, its CMake target, README and tests."""
    container = load_container(spec.root)
    everything = (
        "VERSION",
        *FILES,
        *spec.table_files,
        *(kind.file for kind in spec.types),
    )
    values = {"version": spec.version, "number": spec.version.split("-")[0]}
    made = [Output("header/ggufspec.h", header(spec, container), everything)]
    for name in ("CMakeLists.txt", "README.md", "test/test.c", "test/example.c"):
        text = _FRAMES.get_template(f"{Path(name).name}.j2").render(
            values, example=_FRAMES.get_template("example.c.j2").render()
        )
        made.append(Output(f"header/{name}", text, ("VERSION",)))
    return made


def header(spec: Spec, container: Container) -> str:
    """The text of ggufspec.h."""
    values = _container_values(container) | _type_values(spec)
    values["version"] = spec.version
    values["most_columns"] = max(len(container.section(name).columns) for name in SECTIONS)
    report = amalgamate.cursor()

    def frame(name: str) -> str:
        return _FRAMES.get_template(f"{name}.h.j2").render(values)

    return "".join(
        [
            frame("declarations"),
            frame("base"),
            amalgamate.loads(),
            frame("blocks"),
            amalgamate.tables(container),
            _roles(container),
            frame("finding"),
            amalgamate.texts(),
            report[0],
            frame("report"),
            report[1],
            "\n",
            frame("messages"),
            frame("reader"),
            frame("values"),
            frame("writer"),
            frame("end"),
        ]
    )


# ---- the container


def _container_values(container: Container) -> dict[str, Any]:
    profile = next(p for p in container.profiles if p.default_of == "open")
    column = container.profiles.index(profile)
    fields = [
        field.name
        for version in container.versions
        for name in SECTIONS
        for field in container.fields(name, version)
    ]
    by_check = {rule.check: rule for rule in container.rules}
    return {
        "value_types": container.value_types,
        "string_type": _only(container, "string"),
        "array_type": _only(container, "array"),
        "profiles": container.profiles,
        "default_profile": profile.name,
        "most_dims": container.section("tensors").field("dims").most,
        "smallest": [
            [container.smallest(name, version) for name in SECTIONS]
            for version in container.versions
        ],
        "rules": [_texts(rule) for rule in container.rules],
        "lookalikes": [
            ("".join(f"\\{byte:03o}" for byte in start), len(start), what)
            for field in container.section("header").fields
            for start, what in field.lookalikes
        ],
        "field_names": fields,
        "versions": container.versions,
        "current": container.current,
        "alignment_key": container.alignment_key,
        "alignment_default": container.alignment_default,
        "padding": container.padding,
        "unique": [
            {"number": number, "section": rule.at.split(".")[0]}
            for number, rule in enumerate(container.rules)
            if rule.check == "unique"
        ],
        "present": [
            {
                "key": rule.key,
                "number": number,
                "if_quantized": rule.check == "present_if_quantized",
            }
            for number, rule in enumerate(container.rules)
            if rule.check in ("present", "present_if_quantized")
        ],
        "writable_step": by_check["alignment_either"].limits[column],
        "writable_most": by_check["alignment_at_most"].limits[column],
        "most_name": _limit(container, "tensors.name", "at_most", column),
        "name_rule": _number(container, "tensors.name", "at_most"),
        "rank_rule": _number(container, "tensors.n_dims", "at_most"),
        "empty_key_rule": _number(container, "metadata.key", "at_least"),
    }


def _only(container: Container, kind: str) -> str:
    return next(value.name for value in container.value_types if value.kind == kind)


def _number(container: Container, at: str, check: str) -> int:
    return next(n for n, rule in enumerate(container.rules) if (rule.at, rule.check) == (at, check))


def _limit(container: Container, at: str, check: str, profile: int) -> int | None:
    return container.rules[_number(container, at, check)].limits[profile]


def _texts(rule: Rule) -> dict[str, str]:
    """What a rule says, its names as the codes of messages.h."""
    check = CHECKS[rule.check]
    names = {"subject": "%s", "lookalike": "%l", "known": "%k", "type": "%t"}
    names |= {name: code for name, code in ((check.first, "%1"), (check.second, "%2")) if name}
    message = rule.message.replace("%", "%%").format(**names)
    return {"id": rule.id, "message": message, "hint": rule.hint}


def _roles(container: Container) -> str:
    """Columns that the runtime's tables do not name."""
    tensors, head = container.section("tensors"), container.section("header")
    version = next(field for field in head.fields if field.kind == "version")
    rank = tensors.field(tensors.field("dims").repeat)
    return (
        f"\nenum {{ GGS_COLUMN_RANK = {rank.column}, GGS_COLUMN_VERSION = {version.column} }};\n\n"
    )


# ---- types


def _type_values(spec: Spec) -> dict[str, Any]:
    kinds = [_type(kind) for kind in spec.types]
    places = {kind["name"]: place for place, kind in enumerate(kinds)}
    numbered = sorted((k for k in spec.types if k.id is not None), key=lambda k: k.id or 0)
    layouts = spec.layouts
    largest = max(kind.bytes for kind in layouts)
    edges = [max(kind.prefix_bytes, kind.suffix_bytes) for kind in layouts]
    return {
        "types": kinds,
        "kernels": [_kernel(kind) for kind in layouts],
        "tables": _tables(spec),
        "ids": [
            (k.id, k.elements, k.bytes, k.prefix_bytes, k.suffix_bytes, places[k.name])
            for k in numbered
        ],
        "largest": max(largest, *edges),
        "tile": max(_TILE, largest, *edges),
        "prefix_room": max(1, *(kind.prefix_bytes for kind in layouts)),
        "suffix_room": max(1, *(kind.suffix_bytes for kind in layouts)),
        "most_arrays": max(len(packing.arrays(kind)) for kind in layouts),
    }


def _type(kind: BlockType) -> dict[str, Any]:
    stored = bool(kind.regions)
    return {
        "name": kind.name,
        "lower": kind.name.lower(),
        "id": -1 if kind.id is None else kind.id,
        "status": kind.status,
        "elements": kind.elements,
        "bytes": kind.bytes,
        "prefix": kind.prefix_bytes,
        "suffix": kind.suffix_bytes,
        "arrays": _arrays(kind) if stored else (),
        "words": wide_words(kind.fields) if stored else (),
        "prefix_words": wide_words(kind.prefix) if stored else (),
        "suffix_words": wide_words(kind.suffix) if stored else (),
    }


def _arrays(kind: BlockType) -> list[dict[str, Any]]:
    return [
        {"name": a.name, "kind": a.kind, "bytes": _bytes_of(a.ctype), "count": a.count}
        for a in packing.arrays(kind)
    ]


def _bytes_of(ctype: str) -> int:
    """Of `uint16_t`."""
    return int(ctype.strip("uint_")) // 8


def _kernel(kind: BlockType) -> dict[str, Any]:
    return {
        "name": kind.name,
        "lower": kind.name.lower(),
        "doc": kind.doc,
        "bytes": kind.bytes,
        "elements": kind.elements,
        "comments": summary(kind),
        "dequantize": _body(dequantize(kind, C())),
        "unpack": _body(packing.unpack(kind)),
        "pack": _body(packing.pack(kind)),
    }


def _body(text: str) -> str:
    """A kernel's lines, indented as deep as their loop and by two where they go deeper."""
    lines = []
    signed = re.sub(
        r"(const int32_t \w+ =) (.*(?:uint32_t|load_u32|\bw(?:_\d+)?\b).*);",
        r"\1 (int32_t)(\2);",
        text,
    )
    for line in amalgamate.private(signed).splitlines():
        code = line.lstrip(" ")
        lines.append(" " * (4 + (len(line) - len(code)) // 2) + code)
    return "\n".join(lines)


def _tables(spec: Spec) -> list[dict[str, Any]]:
    """The tables that kernels use, with the types that use them."""
    made = []
    for table in collect(spec.tables, spec.scalars, ()):
        users = [kind.name for kind in spec.layouts if _uses(kind, table)]
        if users:
            name = f"ggs_{table.name}"
            made.append(
                {
                    "declaration": f"const {table.ctype} {name}[{len(table.values)}]",
                    "lines": _lines(table.values),
                    "users": users,
                }
            )
    return made


def _uses(kind: BlockType, table: CTable) -> bool:
    return f"{table.name}[" in dequantize(kind, C())


def _lines(values: tuple[str, ...]) -> list[str]:
    lines = [""]
    for value in values:
        if len(lines[-1]) + len(value) + 1 > _WIDTH:
            lines.append("")
        lines[-1] += f"{value},"
    return lines
