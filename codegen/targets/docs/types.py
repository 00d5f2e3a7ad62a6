"""A page for each type, and the table of them all."""

from __future__ import annotations

from textwrap import dedent

from ...loops.dequantize import dequantize
from ...model import BlockType, Field
from ...output import Output
from ...picture import code_lines
from ...scalars import Scalar
from ...spec import Spec
from ...tools import Tool, load_tools
from ..c.language import C
from ..rust.language import Rust
from .diagram import diagram
from .markdown import code, codes, fenced, folded, page, plain, table
from .mathematics import derived, element, formulas

STATUS = {
    "live": "in files of today",
    "internal": "made by ggml while it computes, not written to files",
    "removed": "no longer a type of ggml; its number stays taken",
    "fork": "of a fork of ggml, which gives it a number of its own",
}


def outputs(spec: Spec) -> list[Output]:
    """types/index.md and types/NAME.md."""
    tools = load_tools(spec)
    inputs = ("VERSION", "tools.yaml", *(kind.file for kind in spec.types))
    made = [Output("types/index.md", _index(spec), inputs)]
    for kind in spec.types:
        text = _page(spec, kind, tools)
        made.append(Output(f"types/{kind.name.lower()}.md", text, (*kind.inputs, "tools.yaml")))
    return made


def _index(spec: Spec) -> str:
    rows = [
        (
            "" if kind.id is None else str(kind.id),
            f"[{kind.name}]({kind.name.lower()}.md)",
            bits_per_weight(kind),
            str(kind.elements or ""),
            str(kind.bytes or ""),
            kind.status,
            plain(kind.doc),
        )
        for kind in spec.types
    ]
    head = ("id", "type", "bits per weight", "weights", "bytes", "status", "what it is")
    return page(
        "# Types",
        f"Every tensor type of ggml to id {max(kind.id or 0 for kind in spec.types)}, and those "
        "of forks that are described. Weights and bytes are those of a block.",
        table(head, rows),
        "\n".join(f"- **{name}**: {text}." for name, text in STATUS.items()),
    )


def bits_per_weight(kind: BlockType) -> str:
    """As people say it: 4.5."""
    return f"{8 * kind.bytes / kind.elements:.10g}" if kind.elements else ""


def _page(spec: Spec, kind: BlockType, tools: tuple[Tool, ...]) -> str:
    number = "no id in ggml" if kind.id is None else f"id {kind.id}"
    about = [f"**{number}**, {kind.status} ({STATUS[kind.status]}).", plain(kind.doc) + "."]
    if not kind.regions:
        return page(f"# {kind.name}", " ".join(about), _history(kind), _support(kind, tools))
    size = (
        f"{kind.elements} weights in {kind.bytes} bytes: **{bits_per_weight(kind)} bits per "
        "weight**."
    )
    if kind.prefix_bytes:
        size += f" In front of each row: {kind.prefix_bytes} bytes."
    if kind.suffix_bytes:
        size += f" Behind each tensor: {kind.suffix_bytes} bytes."
    return page(
        f"# {kind.name}",
        " ".join(about),
        size,
        "## Layout",
        "Bits of a block, in the order in which it is stored; little-endian words. `sc<<4` means "
        "bits of `sc` from bit 4 on.",
        f'<div class="scroll" tabindex="0">\n{diagram(kind)}\n</div>',
        _fields(kind),
        _codes(kind),
        "## Value of a weight",
        _formula(kind),
        _tables(kind),
        _valid(kind),
        "## In code",
        fenced("python", f'weights = ggufspec.dequantize(data, "{kind.name}")'),
        folded("A block in C", fenced("c", dedent(dequantize(kind, C())))),
        folded("A block in Rust", fenced("rust", dedent(dequantize(kind, Rust())))),
        folded(f"spec/{kind.file}", fenced("yaml", (spec.root / kind.file).read_text("utf-8"))),
        "## Quantizing",
        _quantizing(kind),
        "## History",
        _history(kind),
        "## Tools",
        _support(kind, tools),
    )


def _fields(kind: BlockType) -> str:
    parts = ((kind.prefix, "row"), (kind.fields, "block"), (kind.suffix, "tensor"))
    rows = [_field(field, where) for fields, where in parts for field in fields]
    return table(("of a", "byte", "field", "type", "what the type is"), rows)


def _field(field: Field, where: str) -> tuple[str, ...]:
    counts = "".join(f"[{count}]" for count in field.counts)
    kind = field.scalar.name + counts
    what = plain(_scalar(field.scalar))
    return (where, f"{field.offset}{_steps(field)}", code(field.name), code(kind), what)


def _steps(field: Field) -> str:
    """How far apart the parts of a nested field are, where others lie between them."""
    apart, size = [], field.scalar.bytes
    for count, stride in reversed([*zip(field.counts, field.strides, strict=True)]):
        if stride != size:
            apart.append(f", every {stride} bytes")
        size = count * stride
    return "".join(reversed(apart))


def _scalar(scalar: Scalar) -> str:
    if scalar.doc:
        return scalar.doc
    if scalar.kind == "float":
        return f"float: {scalar.exponent} bits of exponent, {scalar.mantissa} of mantissa"
    sign = "" if scalar.kind == "int" else "un"
    return f"{scalar.bits}-bit {sign}signed integer"


def _codes(kind: BlockType) -> str:
    lines = code_lines(kind)
    if not lines:
        return ""
    text = "Where the bits of each code lie, low bits first:\n\n" + fenced("text", "\n".join(lines))
    if not any(code.has_digits for region in kind.regions for code in region.codes):
        return text
    return (
        f"{text}\n\n"
        "Digit n of a byte is its n-th base-3 digit, the most significant being digit 0: "
        "`((byte * 3^n mod 256) * 3) >> 8`."
    )


def _formula(kind: BlockType) -> str:
    parts = []
    for region in kind.regions:
        axes = ", ".join(f"{axis} below {extent}" for axis, extent in region.order)
        if len(kind.regions) > 1:
            parts.append(f"**Weights {region.start} to {region.start + region.size - 1}**")
        if axes:
            parts += [f"For {axes} (the last counts fastest), weight", element(region), "is"]
        parts += formulas(region)
    parts += [derived(item, kind.regions[0].axes) for item in kind.derived]
    parts.append(
        "Integers are exact; each operation on floats rounds once to float32, in the order "
        "written, never fused."
    )
    return "\n\n".join(parts)


def _tables(kind: BlockType) -> str:
    if not kind.tables:
        return ""
    names = ", ".join(f"`{name}` (spec/tables/{name}.yaml)" for name in kind.tables)
    return f"Codebooks: {names}."


def _valid(kind: BlockType) -> str:
    said = list(dict.fromkeys(text for region in kind.regions for text in region.valid_text))
    if not said:
        return ""
    return f"A block is damaged unless {codes(said)}; `ggufspec validate --data` looks at each."


def _quantizing(kind: BlockType) -> str:
    how = dict(kind.quantize)
    if not how:
        return "Nothing is quantized to it here."
    rows = []
    for variant, title in (("plain", "without importance"), ("weighted", "with importance")):
        recipe = how.get(variant)
        if recipe:
            rest = [f"{key}: {_value(value)}" for key, value in recipe.items() if key != "strategy"]
            rows.append((title, code(recipe["strategy"]), codes(rest)))
    return page(
        f"Equal, byte for byte, to {plain(how['equals'])}.",
        table(("", "strategy", "constants"), rows),
        "" if "plain" in how else "It needs an importance matrix.",
    )


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_value(item)}" for key, item in value.items()) + "}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _history(kind: BlockType) -> str:
    lines = [f"- Since: {plain(kind.since)}."] if kind.since else []
    lines += [f"- {str(key).capitalize()}: {plain(text)}" for key, text in kind.removed.items()]
    return "\n".join(lines)


def _support(kind: BlockType, tools: tuple[Tool, ...]) -> str:
    rows = []
    for tool in tools:
        marks = (_mark(kind, names) for names in (tool.decodes, tool.quantizes))
        rows.append((plain(tool.name), plain(tool.version), *marks))
    here = "yes" if kind.regions else "refused, with this advice"
    can = "yes" if kind.quantize else "no"
    ours = ("**ggufspec**", "", here, can)
    return table(("tool", "version", "decodes", "quantizes"), [ours, *rows])


def _mark(kind: BlockType, names: frozenset[str]) -> str:
    return "yes" if kind.name in names else "no"
