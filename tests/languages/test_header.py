"""ggufspec.h: each operation is rounded, whatever the flags; nothing allocates; no compiler warns.

The README's examples compile and do what they say.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from ggufspec import blocks
from ggufspec.registry import TensorType, types
from languages.pipe import Program
from support.build import program, run
from support.machines import MACHINES, Machine
from support.project import ROOT
from support.samples import LAYOUTS, block_samples, first_difference, suffix_of

pytestmark = pytest.mark.slow

HEADER = ROOT / "generated/header"
SOURCE = ROOT / "tests/languages/c/conformance.c"
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Wshadow", "-Wcast-qual", "-Werror"]
LANGUAGES = {
    "gcc": ["-std=c99"],
    "clang": ["-std=c99"],
    "g++": ["-std=c++17", "-x", "c++"],
    "clang++": ["-std=c++17", "-x", "c++"],
}
FUSING = ["-O3", "-march=native", "-ffp-contract=fast"]
MODES = {
    "all": ["-O1"],
    "one type": [
        "-fsyntax-only",
        "-DGGUFSPEC_SOME_TYPES",
        "-DGGUFSPEC_WITH_Q4_K",
        "-DGGUFSPEC_NO_PACKING",
    ],
    "reader alone": ["-fsyntax-only", "-DGGUFSPEC_NO_WRITER", "-DGGUFSPEC_STATIC"],
}
LIBRARY = {"memcpy", "memset", "memcmp", "strlen", "strcmp", "memmove", "bcmp"}
"""What the header asks of a C library; compilers make the last two of loops and memcmp."""

PLAIN = ["-fno-stack-protector", "-fno-pie"]
"""Position-independent tables with pointers count as variables."""

BLOCKS = 48
"""Of each sample: what one line of a request holds."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("header")


def _implementation(folder: Path) -> Path:
    source = folder / "header.c"
    source.write_text('#define GGUFSPEC_IMPLEMENTATION\n#include "ggufspec.h"\n', encoding="ascii")
    return source


def _compiled(
    compiler: str, target: Path, *options: str, source: Path = SOURCE, include: Path = HEADER
) -> str:
    """A program, or with -c an object; the path of it."""
    if shutil.which(compiler) is None:
        if os.environ.get("CI"):
            raise RuntimeError(f"{compiler} is not installed")
        pytest.skip(f"{compiler} is not installed")
    run([program(compiler), *options, "-I", str(include), str(source), "-o", str(target)])
    return str(target)


# ---- bits


def _suffix(kind: TensorType) -> tuple[npt.NDArray[np.uint8] | None, str]:
    suffix = suffix_of(kind)
    return suffix, "-" if suffix is None else suffix.tobytes().hex()


def _differences(command: Sequence[str]) -> list[str]:
    """Types of which some sample is not dequantized to the bits of the NumPy kernels."""
    found = []
    with Program(command) as asked:
        for name in LAYOUTS:
            kind = types[name]
            suffix, text = _suffix(kind)
            for what, sample in block_samples(kind).items():
                row = np.ascontiguousarray(sample[:BLOCKS]).reshape(1, -1)
                prefix = np.full((1, kind.info.row_prefix), 0x3C, np.uint8)
                data = np.concatenate([prefix, row], axis=1)
                expected = blocks.dequantize(data, name, backend="numpy", suffix=suffix)
                fields = (name, prefix.tobytes().hex() or "-", text, row.tobytes().hex())
                (answer,) = asked.lines("\t".join(("dequantize", *fields)))
                got = np.frombuffer(bytes.fromhex(answer.partition("\t")[2]), "<f4")
                if first_difference(got.reshape(expected.shape), expected) is not None:
                    found.append(f"{name}: {what}")
    return found


@pytest.mark.parametrize("compiler", LANGUAGES)
def test_nothing_is_fused(folder: Path, compiler: str) -> None:
    target = _compiled(compiler, folder / compiler, *LANGUAGES[compiler], *FUSING)
    assert _differences([target]) == []


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_other_processors_with_default_flags(folder: Path, machine: Machine) -> None:
    """AArch64 has fused multiply-add everywhere, and GCC uses it unless the source forbids it."""
    _need(machine)
    options = ["-std=c99", "-O2", "-static"]
    target = _compiled(machine.compiler, folder / machine.name, *options)
    assert _differences([program(machine.emulator), target]) == []


def _need(machine: Machine) -> None:
    missing = [name for name in (machine.compiler, machine.emulator) if shutil.which(name) is None]
    if missing and not (os.environ.get("CI") or os.environ.get("GGUFSPEC_CROSS")):
        pytest.skip(f"{', '.join(missing)} not installed")


# ---- instructions. The products of halves and small codes are exact, so that in most types no bit
# shows whether they were fused with the sum behind them.

FUSED = re.compile(rb"\t(vfn?m(?:add|sub)\w*|fn?m(?:add|sub)|fml[as]|fmadd\w*)\s")
BUILDS = {
    **{compiler: (compiler, *options, *FUSING) for compiler, options in LANGUAGES.items()},
    "aarch64": ("aarch64-linux-gnu-gcc", "-std=gnu99", "-O3"),
}


def _fused(folder: Path, build: str, include: Path) -> set[bytes]:
    """Instructions of the header's object that multiply and add at once."""
    compiler, *options = BUILDS[build]
    if build == "aarch64":
        _need(MACHINES[0])
    source, target = _implementation(folder), folder / f"{build}-{include.name}.o"
    _compiled(compiler, target, *options, "-c", source=source, include=include)
    tool = "aarch64-linux-gnu-objdump" if build == "aarch64" else "objdump"
    return set(FUSED.findall(run([program(tool), "-d", "--no-show-raw-insn", str(target)])))


@pytest.mark.parametrize("build", BUILDS)
def test_no_instruction_is_fused(folder: Path, build: str) -> None:
    assert _fused(folder, build, HEADER) == set()


@pytest.mark.parametrize("build", ["gcc", "clang", "aarch64"])
def test_without_its_pragmas_some_would_be(folder: Path, build: str) -> None:
    if (
        build != "aarch64"
        and "fma" not in Path("/proc/cpuinfo").read_text(encoding="ascii").split()
    ):
        pytest.skip("this processor has no fused multiply-add")
    text = (HEADER / "ggufspec.h").read_text(encoding="utf-8")
    pragmas = r"^(?=#pragma (GCC optimize|clang attribute))"
    text, count = re.subn(pragmas, "// ", text, flags=re.MULTILINE)
    assert count == 3
    other = folder / "fusing"
    other.mkdir(exist_ok=True)
    (other / "ggufspec.h").write_text(text, encoding="utf-8")
    assert _fused(folder, build, other)


# ---- what it is made of


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("compiler", LANGUAGES)
def test_compiles_without_a_warning(folder: Path, compiler: str, mode: str) -> None:
    options = [*LANGUAGES[compiler], *WARNINGS, *MODES[mode], "-c"]
    _compiled(compiler, folder / "warned.o", *options, source=_implementation(folder))


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_needs_no_memory_and_no_library(folder: Path, compiler: str) -> None:
    source, options = _implementation(folder), ["-std=c99", "-O2", *PLAIN, "-c"]
    target = _compiled(compiler, folder / f"{compiler}.o", *options, source=source)
    symbols = run([program("nm"), "-u", target]).decode().split()
    asked = {name for name in symbols if name not in ("U", "w", "_GLOBAL_OFFSET_TABLE_")}
    assert asked <= LIBRARY
    kept = run([program("nm"), target]).decode()
    assert not re.search(r" [bBdD] ", kept), "there are variables"


def test_two_files_share_one_implementation(folder: Path) -> None:
    user = folder / "user.c"
    user.write_text(
        '#include "ggufspec.h"\n#include "ggufspec.h"\n'
        "int main(void) { return !ggufspec_exact(); }\n",
        encoding="ascii",
    )
    implementation = _implementation(folder)
    run(
        [
            *(program("gcc"), "-std=c99", "-I", str(HEADER), str(user), str(implementation)),
            *("-o", str(folder / "two")),
        ]
    )
    run([str(folder / "two")])


# ---- what it says of itself


def _code(number: int) -> str:
    readme = (HEADER / "README.md").read_text(encoding="utf-8")
    return re.findall(r"```c\n(.*?)```", readme, re.DOTALL)[number]


def test_first_example(folder: Path) -> None:
    source = folder / "first.c"
    source.write_text(_code(0), encoding="utf-8")
    options = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    target = _compiled("gcc", folder / "first", *options, source=source)
    file = folder / "file.gguf"
    run([program("gcc"), "-std=c99", "-I", str(HEADER), str(_writing(folder)), "-o", f"{target}-w"])
    file.write_bytes(run([f"{target}-w"]))
    said = run([target, str(file)]).decode()
    assert said == "weights: F32, starts with 1\n"
    file.write_bytes(file.read_bytes()[:20])
    done = subprocess.run([target, str(file)], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"GG0001: ")


def _writing(folder: Path) -> Path:
    """The README's writing and reading examples as a program that prints the file."""
    source = folder / "writing.c"
    source.write_text(
        "#define GGUFSPEC_IMPLEMENTATION\n"
        '#include "ggufspec.h"\n#include <stdio.h>\n'
        "void reading(ggufspec_file gguf);\n"
        f"void reading(ggufspec_file gguf) {{\n{_code(1)}}}\n"
        f"int main(void) {{\nggufspec_error error;\n{_code(2)}"
        "return fwrite(out, 1, (size_t)buffer.used, stdout) != buffer.used;\n}\n",
        encoding="utf-8",
    )
    return source
