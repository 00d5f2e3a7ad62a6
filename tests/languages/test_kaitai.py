"""Kaitai Struct: what ksc makes of generated/ksy, and that the table of targets says what is so.

Needs node and the package registry for ksc; Java and Go run where their tools are. The compiler
and the runtimes are kept in the cache folder (support.realfiles.cache_folder).
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
import yaml

from ggufspec.codegen.container import load_container
from ggufspec.codegen.spec import Spec, load_spec
from ggufspec.codegen.targets.ksy import outputs
from ggufspec.codegen.targets.ksy.container import container_file
from ggufspec.codegen.targets.ksy.targets import TARGETS, Target
from support import interpreter
from support.layouts import random_layout
from support.lock import locked
from support.pip import UnreachableError
from support.project import ROOT
from support.realfiles import cache_folder
from support.specs import MADE_UP

KSC = "kaitai-struct-compiler@0.11.0"
JAVASCRIPT = "kaitai-struct@0.11.0"
JAVA = "io.kaitai:kaitai-struct-runtime:0.11"
GO = "github.com/kaitai-io/kaitai_struct_go_runtime@v0.11.0"

HERE = Path(__file__).parent / "kaitai"
KSY = ROOT / "generated" / "ksy"
VECTORS = ROOT / "spec" / "conformance"
TREES = ("gguf_le", "gguf_be", "ggml_blocks")
RUN = ("python", "javascript", "java", "go")

# How the text of a target names the checks, of each kind; the same words in all of them.
MARKS = {
    "contents": r"validation_?not_?equal|ValidationKind::NotEqual|not equal, expected",
    "any-of": r"validation_?not_?any_?of|ValidationKind::NotAnyOf",
    "expr": r"validation_?expr|ValidationKind::Expr",
}

# Expected failures of targets: (target, file) -> why. One that passes is a failure too.
EXPECTED: Mapping[tuple[str, str], str] = {
    ("javascript", f"values-v{version}-{order}"): (
        "kaitai-struct 0.11: readS8le and readS8be give -9223372032559808512 for -2^63"
    )
    for version in (2, 3)
    for order in ("little", "big")
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not shutil.which("node"), reason="node is not installed: Kaitai is not tested"
    ),
    pytest.mark.skipif(
        not shutil.which("npm"), reason="npm is not installed: Kaitai is not tested"
    ),
]


class Compiled(NamedTuple):
    """Folders of compiled text, one a target, and what ksc said for (form, tree, target)."""

    folders: Mapping[str, Path]
    said: Mapping[tuple[str, str, str], str]

    def text(self, target: Target, tree: str) -> str:
        """All files that ksc made of a tree for a target."""
        folder = self.folders[target.form] / target.name
        wanted = tree.replace("_", "")
        files = [p for p in folder.rglob("*") if p.stem.lower().replace("_", "") == wanted]
        return "\n".join(path.read_text() for path in sorted(files))


# ---- tools from the registries


def fetched(command: Iterable[str | Path], folder: Path) -> None:
    """Run a package manager; UnreachableError where its registry does not answer."""
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = done.stdout + done.stderr
        words = ("ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ENETUNREACH",
                 "Could not transfer", "Unknown host", "no such host", "connection refused",
                 "i/o timeout", "network is unreachable")  # fmt: skip
        if any(word in said for word in words):
            raise UnreachableError(f"{next(iter(command))}: the package registry does not answer")
        raise RuntimeError(said)


@cache
def modules() -> Path:
    """The folder whose node_modules hold ksc and the JavaScript runtime."""
    folder = cache_folder() / "kaitai"
    with locked(cache_folder() / "kaitai.lock"):
        if not (folder / "node_modules" / "kaitai-struct" / "package.json").is_file():
            folder.mkdir(parents=True, exist_ok=True)
            fetched(
                ["npm", "install", "--prefix", folder, "--no-package-lock", "--no-audit",
                 "--no-fund", "--ignore-scripts", "--silent", KSC, JAVASCRIPT],
                folder,
            )  # fmt: skip
    return folder


@cache
def java_runtime() -> Path:
    """The jar of the Java runtime."""
    _, name, version = JAVA.split(":")
    folder = cache_folder() / "kaitai"
    jar = folder / f"{name}-{version}.jar"
    with locked(cache_folder() / "kaitai.lock"):
        if not jar.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            fetched(
                ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={JAVA}",
                 f"-DoutputDirectory={folder}"],
                folder,
            )  # fmt: skip
    return jar


# ---- compiling


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """Both forms of what is checked in."""
    return compile_forms(KSY, tmp_path_factory)


def compile_forms(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """Both forms, by ksc, for every target."""
    folders, said = {}, {}
    for form, sources in {"main": folder, "nim": folder / "nim"}.items():
        out = folders[form] = tmp_path_factory.mktemp(form)
        trees = []
        for name in TREES:
            source = sources / f"{name}.ksy"
            if not source.is_file():  # what has no conditions needs no form without
                source = folder / f"{name}.ksy"
            trees.append(out / f"{name}.json")
            trees[-1].write_text(json.dumps(yaml.safe_load(source.read_text())))
        done = subprocess.run(
            ["node", HERE / "compile.mjs", modules(), out,
             "all" if form == "main" else form, *trees],
            capture_output=True, text=True, check=True, timeout=300,
        )  # fmt: skip
        for line in done.stdout.splitlines():
            tree, target, answer = line.split("\t", 2)
            said[form, tree, target] = answer
    return Compiled(folders, said)


def test_the_table_has_every_target(compiled: Compiled) -> None:
    assert {target.name for target in TARGETS} == {target for _, _, target in compiled.said}
    assert len(TARGETS) == 15


@pytest.mark.parametrize("tree", TREES)
def test_every_target_compiles_its_form(compiled: Compiled, tree: str) -> None:
    said = {target.name: compiled.said[target.form, tree, target.name] for target in TARGETS}
    assert said == dict.fromkeys(said, "ok")


@pytest.mark.parametrize("tree", ["gguf_le", "gguf_be"])
def test_only_nim_needs_a_form_of_its_own(compiled: Compiled, tree: str) -> None:
    refused = {t.name for t in TARGETS if compiled.said["main", tree, t.name] != "ok"}
    assert refused == {target.name for target in TARGETS if target.form == "nim"} == {"nim"}


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_text_has_the_checks_that_the_table_names(compiled: Compiled, target: Target) -> None:
    if target.name in ("html", "graphviz"):
        assert not target.means  # pages and pictures show conditions; they check nothing
        return
    text = compiled.text(target, "gguf_le")
    assert text
    found = {kind for kind, mark in MARKS.items() if re.search(mark, text, re.IGNORECASE)}
    assert found == set(target.means) - {"end"}


# ---- running


def programs(target: str, compiled: Compiled, folder: Path, spec: Spec) -> list[str | Path]:
    """The command that answers requests in a language."""
    made = compiled.folders["main"] / target
    match target:
        case "python":
            return [sys.executable, "-W", "error", HERE / "read.py", made]
        case "javascript":
            (made / "node_modules").symlink_to(modules() / "node_modules")
            return ["node", HERE / "read.mjs", made]
        case "java":
            needs("javac", "java", "mvn")
            classes = folder / "classes"
            subprocess.run(
                ["javac", "-nowarn", "-cp", java_runtime(), "-d", classes,
                 *sorted(made.glob("*.java")), HERE / "Read.java"],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            return ["java", "-cp", f"{java_runtime()}{os.pathsep}{classes}", "Read"]
        case _:
            needs("go")
            return [build_go(made, folder, spec)]


def needs(*tools: str) -> None:
    """Skip unless the tools are installed."""
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")


def build_go(made: Path, folder: Path, spec: Spec) -> Path:
    """Ksc's text, a package clause in front of each, and the program beside them."""
    for path in made.glob("*.go"):
        (folder / path.name).write_text(f"package main\n\n{path.read_text()}")
    shutil.copy(HERE / "read.go", folder)
    names = {
        kind.name: "".join(map(str.capitalize, kind.name.lower().split("_")))
        for kind in spec.layouts
    }
    kinds = "\n".join(
        f'\t"{name}": func() any {{ return NewGgmlBlocks_{made}() }},'
        for name, made in names.items()
    )
    values = "\n".join(
        f'\t{kind.id}: "{kind.name}",' for kind in load_container(spec.root).value_types
    )
    (folder / "kinds.go").write_text(
        f"package main\n\nvar kinds = map[string]func() any{{\n{kinds}\n}}\n\n"
        f"var valueTypes = map[int]string{{\n{values}\n}}\n"
    )
    (folder / "go.mod").write_text("module read\n\ngo 1.23\n")
    fetched(["go", "get", GO], folder)
    fetched(["go", "mod", "tidy"], folder)
    subprocess.run(["go", "build", "-o", "read", "."], cwd=folder, check=True, capture_output=True)
    return folder / "read"


def asked(command: list[str | Path], requests: list[str]) -> list[list[list[str]]]:
    """The answers to requests: lines of fields."""
    done = subprocess.run(
        [str(part) for part in command], input="\n".join(requests) + "\n",
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers: list[list[list[str]]] = [[]]
    for line in done.stdout.splitlines():
        if line == "end":
            answers.append([])
        else:
            answers[-1].append(line.split("\t"))
    assert len(answers) == len(requests) + 1, done.stderr
    return answers[:-1]


@pytest.fixture(scope="session", params=RUN)
def program(
    request: pytest.FixtureRequest, compiled: Compiled, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, list[str | Path]]:
    """A target's name, and the command that runs it."""
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, programs(request.param, compiled, folder, load_spec(ROOT / "spec"))


def test_those_that_run_are_those_of_the_table() -> None:
    assert {target.name for target in TARGETS if target.ran == "vectors"} == set(RUN)


# ---- files


class Vector(NamedTuple):
    """A file, and the error of the profile that the trees take their limits from."""

    name: str
    error: str

    @property
    def path(self) -> Path:
        """Where the file is."""
        return VECTORS / "files" / f"{self.name}.gguf"


@cache
def checked() -> Mapping[str, str]:
    """The rules that the trees check."""
    spec = load_spec(ROOT / "spec")
    return container_file(load_container(spec.root), spec.types, spec.version, "le").checked


def vectors() -> list[Vector]:
    lines = (VECTORS / "files.txt").read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [Vector(name, error) for name, profile, error, _ in rows if profile == "lenient"]


def test_files_are_read_and_refused_as_the_table_says(
    program: tuple[str, list[str | Path]],
) -> None:
    """Good files give their content; bad ones are refused exactly where a rule is checked."""
    target, command = program
    cases = vectors()
    assert len(cases) > 100
    wrong = {}
    for case, answer in zip(
        cases, asked(command, [f"file\t{case.path}" for case in cases]), strict=True
    ):
        problem = compare(case, answer, rounded=target == "javascript")
        if problem and (target, case.name) not in EXPECTED:
            wrong[case.name] = problem
        if not problem and (target, case.name) in EXPECTED:
            wrong[case.name] = "passes, although it is listed as an expected failure"
    assert not wrong


def compare(case: Vector, answer: list[list[str]], *, rounded: bool) -> str:
    """What is wrong with an answer; nothing if it is right."""
    refused = answer[0][0] == "refused"
    if refused and re.search("StackOverflow|OutOfMemory|RangeError|panic", answer[0][1]):
        return f"refused by {answer[0]}"
    if case.error != "ok":
        wanted = case.error in checked()
        return "" if refused == wanted else f"{case.error}: {answer[0]}"
    if refused:
        return f"a good file: {answer[0]}"
    if not case.path.with_suffix(".json").is_file():
        return ""  # the vectors say no more than that the file is good
    content = json.loads(case.path.with_suffix(".json").read_text())
    lines = list(expected(content, rounded=rounded))
    if answer[0][:4] != lines[0][:4] or (content["tensors"] and answer[0] != lines[0]):
        return f"{answer[0]} instead of {lines[0]}"
    pairs = zip(answer[1:], lines[1:], strict=False)
    different = next((f"{got} instead of {want}" for got, want in pairs if got != want), "")
    return different or ("" if len(answer) == len(lines) else "lines are missing")


def expected(content: Mapping[str, Any], *, rounded: bool) -> Iterable[list[str]]:
    """The lines of a good file; `rounded`: numbers beyond 2^53 are doubles."""
    head = (content[name] for name in ("version", "byte_order", "alignment", "data_offset"))
    yield ["ok", *map(str, head)]
    for pair in content["metadata"]:
        yield ["key", raw(pair["key"]).hex(), value_text(pair, rounded=rounded)]
    for tensor in content["tensors"]:
        size = tensor["nbytes"]
        yield [
            "tensor", raw(tensor["name"]).hex(), str(tensor["type"]),
            ",".join(str(number(dim, rounded=rounded)) for dim in tensor["dims"]) or "-",
            str(tensor["offset"]), "-" if size is None else str(size),
        ]  # fmt: skip


def raw(text: str | Mapping[str, str]) -> bytes:
    return text.encode() if isinstance(text, str) else base64.b64decode(text["base64"])


def number(value: int, *, rounded: bool) -> int:
    return int(float(value)) if rounded else value


def value_text(pair: Mapping[str, Any], *, rounded: bool) -> str:
    if pair["type"] == "ARRAY":
        return f"ARRAY:{array_text(pair, rounded=rounded)}"
    return f"{pair['type']}:{scalar_text(pair['type'], pair['value'], rounded=rounded)}"


def array_text(array: Mapping[str, Any], *, rounded: bool) -> str:
    kind, values = array["element"], array["value"]
    texts = [
        array_text(one, rounded=rounded)
        if kind == "ARRAY"
        else scalar_text(kind, one, rounded=rounded)
        for one in values
    ]
    return f"{kind}:{len(values)}:[{','.join(texts)}]"


def scalar_text(kind: str, value: Any, *, rounded: bool) -> str:
    match kind:
        case "STRING":
            return raw(value).hex()
        case "BOOL":
            return str(int(value))
        case "FLOAT32" | "FLOAT64":
            return str(value)
        case _:
            return str(number(value, rounded=rounded))


# ---- blocks


class Record(NamedTuple):
    """A row of blocks, and the numbers of each code."""

    type: str
    row: str
    codes: Mapping[str, list[int]]


def records() -> list[Record]:
    made = []
    for path in sorted((VECTORS / "blocks").glob("*.txt")):
        text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("#"))
        for part in re.split(r"\n\s*\n", text.strip()):
            lines = [line.split() for line in part.splitlines()]
            named = {line[0]: line[1] for line in lines if line[0] in ("type", "block")}
            codes = {line[1]: [int(one) for one in line[2:]] for line in lines if line[0] == "code"}
            made.append(Record(named["type"], named["block"], codes))
    return made


def plain_name(name: str) -> str:
    """A name as all languages' spellings of it agree."""
    return name.lower().replace("_", "").replace(".", "")


def test_blocks_give_their_codes(program: tuple[str, list[str | Path]]) -> None:
    """Every stored field and every code of every layout, number by number."""
    spec, cases = load_spec(ROOT / "spec"), records()
    assert {case.type for case in cases} >= {kind.name for kind in spec.layouts}
    assert check_blocks(program, cases, spec) > 500


def check_blocks(program: tuple[str, list[str | Path]], cases: list[Record], spec: Spec) -> int:
    """Compare the codes of all records; how many arrays were compared."""
    target, command = program
    scalars = {(k.name, f.name): f.scalar.name for k in spec.layouts for f in k.fields}
    answers = asked(command, [f"block\t{case.type}\t{case.row}" for case in cases])
    compared = 0
    for case, answer in zip(cases, answers, strict=True):
        assert answer, case.type
        assert answer[0][0] == "code", (case.type, answer)
        got = {plain_name(line[1]): line[2].split() for line in answer}
        for name, wanted in case.codes.items():
            numbers = got.get(plain_name(f"{name}_code"), got.get(plain_name(name)))
            assert numbers is not None, (case.type, name, sorted(got))
            scalar = scalars.get((case.type, name), "")
            texts = [stored_text(bits, scalar, rounded=target == "javascript") for bits in wanted]
            assert texts == [number_text(one, scalar) for one in numbers], (case.type, name)
            compared += 1
    return compared


FLOATS = {"f32": ("<f", "<I"), "f64": ("<d", "<Q")}


def stored_text(bits: int, scalar: str, *, rounded: bool) -> str:
    """A stored number as it has to come; those floats that Kaitai knows come as numbers."""
    if scalar in FLOATS:
        real, whole = FLOATS[scalar]
        return number_text(repr(struct.unpack(real, struct.pack(whole, bits))[0]), scalar)
    return str(number(bits, rounded=rounded))


def number_text(text: str, scalar: str) -> str:
    """A number of an answer; infinities and NaNs as all languages' words for them."""
    if scalar not in FLOATS:
        return text if re.fullmatch("-?[0-9]+", text) else str(int(float(text)))
    words = {"Infinity": "inf", "+Inf": "inf", "-Infinity": "-inf", "-Inf": "-inf", "NaN": "nan"}
    value = float(words.get(text, text))
    return "nan" if math.isnan(value) else struct.pack(FLOATS[scalar][0], value).hex()


# ---- a spec with more in it


@pytest.fixture(scope="session")
def grown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Spec, list[Record], Compiled]:
    """Layouts that no ggml has, made up and random ones, and a value type more."""
    folder = tmp_path_factory.mktemp("grown")
    shutil.copytree(ROOT / "spec", folder / "spec", ignore=shutil.ignore_patterns("conformance"))
    texts = {path.name: path.read_text() for path in (MADE_UP / "types").iterdir()}
    texts |= {f"random_{n}.yaml": random_layout(Random(n), f"RANDOM_{n}") for n in range(12)}
    for name, text in texts.items():
        (folder / "spec/types" / name).write_text(text)
    for path in (MADE_UP / "tables").iterdir():
        shutil.copy(path, folder / "spec/tables")
    with (folder / "spec/container/values.yaml").open("a") as values:
        values.write("UINT24X: {id: 13, kind: uint, bytes: 2, since: 3}\n")
    spec = load_spec(folder / "spec")
    sources = {}
    for output in outputs(spec):
        path = folder / output.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(output.body)
        sources[output.path] = output.body
    assert "uint24x" in sources["ksy/gguf_le.ksy"]
    cases = [made_up_record(name, text, folder / "spec", spec) for name, text in texts.items()]
    return spec, cases, compile_forms(folder / "ksy", tmp_path_factory)


def made_up_record(name: str, text: str, root: Path, spec: Spec) -> Record:
    """Random blocks of a type, and what the interpreter of its file says."""
    kind = spec.type(name.removesuffix(".yaml").upper())
    rng, plain = Random(name), interpreter.parse(text, root)
    blocks = [rng.randbytes(kind.bytes) for _ in range(4)]
    sides = rng.randbytes(kind.prefix_bytes), rng.randbytes(kind.suffix_bytes)
    codes: dict[str, list[int]] = {}
    for stored in blocks:
        for code, numbers in interpreter.unpack(plain, interpreter.Stored(stored, *sides)).items():
            codes.setdefault(code, []).extend(numbers)
    inside = {code: numbers for code, numbers in codes.items() if "." not in code}
    return Record(kind.name, b"".join(blocks).hex(), inside)


@pytest.mark.parametrize("target", RUN)
def test_made_up_types_come_by_themselves(
    target: str, grown: tuple[Spec, list[Record], Compiled], tmp_path: Path
) -> None:
    """No emitter knows a type: whatever the language can say, every target reads."""
    spec, cases, made = grown
    assert set(made.said.values()) >= {"ok"}
    assert check_blocks((target, programs(target, made, tmp_path, spec)), cases, spec) > 100


def test_made_up_types_compile_everywhere(grown: tuple[Spec, list[Record], Compiled]) -> None:
    _, _, made = grown
    said = {(t.name, tree): made.said[t.form, tree, t.name] for t in TARGETS for tree in TREES}
    assert said == dict.fromkeys(said, "ok")
