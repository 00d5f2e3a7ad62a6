"""C as it is read: conditions, macros, numbers, structs; blocks as the compiler has them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ggufspec.codegen.upstream.facts import Facts
from ggufspec.codegen.upstream.syntax import Unit


def run(text: str, **defined: str) -> str:
    unit = Unit()
    unit.preprocessor.define(defined)
    made = unit.preprocessor.run(text)
    assert made.count("\n") == text.count("\n")
    return " ".join(made.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define A 2\nint x = A;\n", "int x = 2;"),
        ("#define A B\n#define B A\nint x = A;\n", "int x = A;"),
        ("#define A 1\n#undef A\nA\n", "A"),
        ("#define F(x, y) (x*y)\nF(1, (2, 3))\n", "(1* (2, 3))"),
        ("#define F(x) x\nF\n(4) F G\n", "4 F G"),
        ("#define F(...) g(__VA_ARGS__)\nF(1, 2)\n", "g(1, 2)"),
        ("#define T(t, n) const t n[] = {\n#define E };\nT(int, a)\n1, // one\n2 E\n",
         "const int a[] = { 1, 2 };"),
        ("#ifdef A\n1\n#else\n2\n#endif\n", "2"),
        ("#if 0\n#if 1\nx\n#endif\n#elif 1 + 1 == 2\ny\n#elif 1\nz\n#else\nw\n#endif\n", "y"),
        ("#if defined(A) && A > 2 || !defined B\nyes\n#endif\n", "yes"),
        ("#if defined(B)\n#define A 1\n#endif\nA\n", "A"),
        ("#define A \\\n  5\nA /* a\ncomment */ ' # ' \"//\"\n", "5 ' # ' \"//\""),
        ("# include <x>\n  #  define A 1\nA\n", "1"),
    ],
)  # fmt: skip
def test_preprocessor(text: str, expected: str) -> None:
    assert run(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7), ("(1 << 4) | 0x0F", 31), ("-7 / 2", -3), ("-7 % 3", -1), ("010", 8),
        ("0xFFFFFFFFFFFFFFFFULL", 2**64 - 1), ("1 == 1 && !0", 1), ("~0 & 0xFF", 255),
        ("sizeof(uint16_t) * 8", 16), ("0.125f", 0.125), ("(int) 3", 3), ("7 >> 1 ^ 1", 2),
        ("1 / 0", None), ("f(2)", None), ("unknown", None), ("1.5 % 2", None),
    ],
)  # fmt: skip
def test_numbers(text: str, expected: float | None) -> None:
    assert Unit().number(text) == expected


def test_enum_goes_on_counting() -> None:
    unit = Unit()
    file = unit.read("#define N 4\nenum e { A, B = N + 1, C, D = A, };\n", "a.h")
    assert [(one.name, one.value) for one in file.enums["e"]] == [
        ("A", 0), ("B", 5), ("C", 6), ("D", 0),
    ]  # fmt: skip
    assert [one.place.line for one in file.enums["e"]] == [2, 2, 2, 2]


def test_struct_is_laid_out_as_c_does() -> None:
    unit = Unit()
    unit.read(
        "typedef struct { uint8_t a; float b[2]; union { struct { int16_t c, d; }; int32_t e; };\n"
        "  uint8_t f; } s;\n".replace("int16_t c, d;", "int16_t c; int16_t d;"),
        "a.h",
    )
    struct = unit.structs["s"]
    assert list(map(str, struct.fields)) == [
        "uint8_t a", "float b[2]", "int16_t c", "int16_t d", "uint8_t f",
    ]  # fmt: skip
    assert (struct.offsets, struct.bytes) == ((0, 4, 12, 14, 16), 20)


def test_blocks_are_the_compiler_s(facts: Facts, llama: Path, tmp_path: Path) -> None:
    """Sizes, offsets and codebooks of ggml-common.h as the C compiler has them."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    lines = []
    types = {name: kind for name, kind in (facts.types or {}).items() if kind.fields}
    structs = {name.lower(): f"block_{name.lower().replace('_k', '_K')}" for name in types}
    for name, kind in types.items():
        struct = structs[name.lower()]
        lines.append(f'printf("{name} %zu", sizeof({struct}));')
        members = [member.name for member in kind.fields or ()]
        lines += [f'printf(" %zu", offsetof({struct}, {member}));' for member in members]
        lines.append('printf("\\n");')
    for name in facts.tables or {}:
        lines.append(f'printf("{name}"); for (size_t i = 0; i < sizeof {name}; i++)')
        lines.append(f'printf(" %d", ((const unsigned char *){name})[i]); printf("\\n");')
    program = tmp_path / "blocks.c"
    program.write_text(
        "#define GGML_COMMON_DECL_C\n#define GGML_COMMON_IMPL_C\n#include <stddef.h>\n"
        f'#include <stdio.h>\n#include "{llama}/ggml/src/ggml-common.h"\n'
        "int main(void) {\n" + "\n".join(lines) + "\nreturn 0; }\n"
    )
    subprocess.run([compiler, "-std=c11", "-w", "-o", tmp_path / "blocks", program], check=True)
    said = subprocess.run([tmp_path / "blocks"], capture_output=True, text=True, check=True).stdout
    answers = {line.split()[0]: [int(n) for n in line.split()[1:]] for line in said.splitlines()}
    for name, kind in types.items():
        size, *offsets = answers[name]
        assert size == kind.bytes
        assert offsets == _offsets(kind.fields or ())
    for name, table in (facts.tables or {}).items():
        assert bytes(answers[name]) == table.data


def _offsets(fields: object) -> list[int]:
    sizes = {"uint8_t": 1, "int8_t": 1, "ggml_half": 2, "uint16_t": 2, "int16_t": 2, "float": 4}
    found, at = [], 0
    for field in fields:  # type: ignore[attr-defined]
        found.append(at)
        at += sizes[field.ctype] * (1 if field.count is None else field.count)
    return found
