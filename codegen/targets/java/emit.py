"""The files of the Java target."""

from __future__ import annotations

from pathlib import Path

from ...container import load_container
from ...container.load import FILES
from ...loops import packing
from ...loops.dequantize import dequantize
from ...model import BlockType, wide_words
from ...output import Output
from ...picture import summary
from ...spec import Spec
from ...tables import Table
from . import container
from .language import Java, slice_name, used
from .text import floating, number, string

_TEMPLATES = Path(__file__).parent / "templates"
_MAIN = "java/src/main/java/ggufspec"
_TEST = "java/src/test/java/ggufspec"
_SYMBOLS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LINE = 88


def outputs(spec: Spec) -> list[Output]:
    """The whole project: tables, one kernel a type, and what is the same for every spec."""
    tables = load_container(spec.root)
    every = tuple(kind.file for kind in spec.types)
    made = [
        _table("Container", container.tables(tables, spec.version), (*FILES, "VERSION")),
        _table("Profile", container.profiles(tables), FILES),
        _table("ValueType", container.value_types(tables, _frame("ValueType")), FILES),
        _table("Types", _types(spec), every),
        _table("Kernels", _kernels(spec), every),
        _table("Codebooks", _codebooks(spec), spec.table_files),
    ]
    made += [_kernel(kind) for kind in spec.layouts]
    made += [_plain(f"{_MAIN}/{path.name}", path) for path in _files("main")]
    made += [_plain(f"{_TEST}/{path.name}", path) for path in _files("test")]
    made += [
        _plain("java/src/main/java/module-info.java", _TEMPLATES / "module-info.java"),
        _versioned(spec, "java/pom.xml", "pom.xml"),
        _versioned(spec, "java/README.md", "README.md"),
    ]
    return made


def _table(name: str, body: str, inputs: tuple[str, ...]) -> Output:
    return Output(f"{_MAIN}/{name}.java", body, inputs)


def _frame(name: str) -> str:
    return (_TEMPLATES / f"{name}.java").read_text(encoding="utf-8")


def _files(folder: str) -> list[Path]:
    return sorted((_TEMPLATES / folder).glob("*.java"))


def _plain(path: str, source: Path) -> Output:
    return Output(path, source.read_text(encoding="utf-8"), ())


def _versioned(spec: Spec, path: str, name: str) -> Output:
    text = (_TEMPLATES / name).read_text(encoding="utf-8")
    return Output(path, text.replace("@VERSION@", spec.version), ("VERSION",))


# ---- the registry


def _types(spec: Spec) -> str:
    rows = [
        f"    new TensorType({number}, {_type(kind)})," for number, kind in enumerate(spec.types)
    ]
    return _frame("Types").replace("@ROWS@", "\n".join(rows).rstrip(","))


def _type(kind: BlockType) -> str:
    values = (
        *(-1 if kind.id is None else kind.id, string(kind.name)),
        *(f"TensorType.Status.{kind.status.upper()}", kind.elements, kind.bytes),
        *(kind.prefix_bytes, kind.suffix_bytes),
    )
    return ", ".join(map(str, values))


def _kernels(spec: Spec) -> str:
    cases = [
        f"      case {number} -> new {_class(kind)}();"
        for number, kind in enumerate(spec.types)
        if kind.regions
    ]
    return _frame("Kernels").replace("@CASES@", "\n".join(cases))


# ---- kernels


def _class(kind: BlockType) -> str:
    return f"Block{kind.name}"


def _kernel(kind: BlockType) -> Output:
    say = Java()
    body = used(dequantize(kind, say))
    bases = [base for base, fields in (("row", kind.prefix), ("tail", kind.suffix)) if fields]
    parts = [
        "package ggufspec;",
        "",
        "import java.util.List;" if not kind.plain else "",
        "",
        *(f"// {line}" for line in summary(kind)),
        '@SuppressWarnings("cast")',
        f"final class {_class(kind)} extends Kernel {{",
        *map(_slice, sorted(say.slices)),
        "",
        _DEQUANTIZE.format(
            bytes=kind.bytes,
            elements=kind.elements,
            arguments="".join(f", {base}, {base}At" for base in bases),
            parameters="".join(f", byte[] {base}, int {base}At" for base in bases),
            body=_indented(body),
        ),
    ]
    if not kind.plain:
        parts += ["", _codes(kind)]
    words = (("words", kind.fields), ("prefixWords", kind.prefix), ("suffixWords", kind.suffix))
    for name, fields in words:
        runs = wide_words(fields)
        if runs:
            rows = ", ".join(f"{{{', '.join(map(str, run))}}}" for run in runs)
            parts += ["", _override(f"int[][] {name}()", f"return new int[][] {{{rows}}};")]
    parts += ["", _override("int bytes()", f"return {kind.bytes};"), "}"]
    text = "\n".join(parts).replace("\n\n\n", "\n\n").replace("Kernel {\n\n", "Kernel {\n")
    return Output(f"{_MAIN}/{_class(kind)}.java", text + "\n", kind.inputs)


def _slice(piece: tuple[int, int]) -> str:
    shift, width = piece
    name = slice_name(shift, width)
    return f"  private static final float[] {name} = Numbers.slices({shift}, {width});"


_DEQUANTIZE = """  @Override
  void dequantize(byte[] src, int at, int blocks, float[] dst, int to, byte[] row, int rowAt,
      byte[] tail, int tailAt) {{
    for (int b = 0; b < blocks; b++) {{
      block(src, at + {bytes} * b, dst, to + {elements} * b{arguments});
    }}
  }}

  private static void block(byte[] src, int at, float[] dst, int to{parameters}) {{
{body}
  }}"""


def _codes(kind: BlockType) -> str:
    arrays = packing.arrays(kind)
    rows = [
        f"new Codes.Array({string(a.name)}, {a.count}, {_long(a.low)}, {_long(a.high)})"
        for a in arrays
    ]
    listed = "return List.of(" + ",\n    ".join(rows) + ");"
    unpack = packing.unpack(kind, Java(arrays))
    pack = packing.pack(kind, Java(arrays))
    return "\n\n".join(
        [
            _override("List<Codes.Array> arrays()", listed),
            _override("void unpack(byte[] src, int at, int[][] arrays, int block)", unpack.strip()),
            _override("void pack(int[][] arrays, int block, byte[] dst, int at)", pack.strip()),
        ]
    )


def _long(value: int) -> str:
    text = number(value)
    return text if text.endswith("L") else f"{text}L"


def _override(head: str, body: str) -> str:
    inner = "\n".join(f"  {line}" if line else "" for line in body.split("\n"))
    return f"  @Override\n  {head} {{\n    {inner.strip()}\n  }}"


def _indented(body: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in body.split("\n"))


# ---- codebooks


def _codebooks(spec: Spec) -> str:
    parts = [_book(table) for table in spec.tables.values()]
    for scalar in spec.scalars.values():
        if scalar.is_float and scalar.bits == 8:
            rows = _wrapped([f"{floating(value)}," for value in scalar.values()], " ")
            lines = "\n".join(f"    {row}" for row in rows)
            parts.append(
                f"  /** {scalar.doc} */\n"
                f"  static final float[] {scalar.name.upper()} = {{\n{lines}\n  }};"
            )
    return _frame("Codebooks").replace("@BOOKS@", "\n\n".join(parts))


def _book(table: Table) -> str:
    values = sorted(set(table.data))
    head = f"  /** {table.doc} */\n  static final byte[] {table.name.upper()} = "
    if len(values) > len(_SYMBOLS) or len(table.data) <= len(_SYMBOLS):
        rows = _wrapped([f"{_byte(value)}," for value in table.data], " ")
        return head + "{\n" + "\n".join(f"    {row}" for row in rows) + "\n  };"
    together = next(k for k in (3, 2, 1) if len(values) ** k <= len(_SYMBOLS))
    digits = [
        _SYMBOLS[sum(values.index(value) * len(values) ** n for n, value in enumerate(group))]
        for group in (table.data[at : at + together] for at in range(0, len(table.data), together))
    ]
    rows = [f'"{row}"' for row in _wrapped(digits, "")]
    numbers = ", ".join(map(_byte, values))
    text = "\n      + ".join(rows)
    size = f"{len(table.data)}, {together}"
    return f"{head}Numbers.codebook({size}, new byte[] {{{numbers}}},\n      {text});"


def _byte(value: int) -> str:
    return str(value - 256 if value > 127 else value)


def _wrapped(words: list[str], space: str) -> list[str]:
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > _LINE:
            lines.append("")
        lines[-1] += f"{space if lines[-1] else ''}{word}"
    return lines
