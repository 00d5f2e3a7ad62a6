"""How each language's program is built and run, and how its package's own tests are.

Builds go to a folder outside of the checkout, one for each checkout, and are made anew when a file
that they come from has changed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from languages.questions import GROUPS
from support.build import program as tool_path
from support.lock import locked
from support.project import ROOT
from support.realfiles import cache_folder

LONGEST = 900
"""Seconds that a build or a package's tests may take."""


@dataclass(frozen=True)
class Place:
    """A checkout, or a copy of one for other types, and the folder that a build may fill."""

    root: Path
    out: Path

    def package(self, target: str) -> Path:
        return self.root / "generated" / target

    def program(self, name: str) -> Path:
        return self.root / "tests/languages" / name


Step = Callable[[Place], None]


@dataclass(frozen=True)
class Language:
    """A program: the tools and the folders it is made from, and what makes and starts it."""

    name: str
    target: str  # folder of generated/
    folder: str  # folder of tests/languages
    tools: Sequence[str]
    build: Step
    command: Callable[[Place], Sequence[str]]
    environment: Callable[[Place], Mapping[str, str]] = lambda _: {}
    largest: int | None = None  # bytes of a file that the program tells all of in seconds
    groups: Collection[str] = ()  # what it is asked, if not everything

    def missing(self) -> list[str]:
        """Tools that this machine lacks."""
        return [tool for tool in self.tools if not _has(tool)]

    def exists(self, root: Path = ROOT) -> bool:
        """Whether the language has been written."""
        place = place_of(self, root)
        return place.package(self.target).is_dir() and place.program(self.folder).is_dir()

    def built(self, root: Path = ROOT, out: Path | None = None) -> Place:
        """The place where its program is, made if it is not fresh."""
        place = place_of(self, root, out)
        stamp, mark = self._stamp(place), place.out / f"{self.name}.stamp"
        with locked(place.out.with_suffix(".lock")):
            if not mark.is_file() or mark.read_text(encoding="ascii") != stamp:
                place.out.mkdir(parents=True, exist_ok=True)
                self.build(place)
                mark.write_text(stamp, encoding="ascii")
        return place

    def _stamp(self, place: Place) -> str:
        """A hash of all that the program is made from."""
        digest = hashlib.sha256(Path(__file__).read_bytes())
        for path in sorted(_sources(place.package(self.target), place.program(self.folder))):
            digest.update(path.as_posix().encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()


def place_of(language: Language, root: Path, out: Path | None = None) -> Place:
    """Where a language of a checkout is built."""
    if out is None:
        key = hashlib.sha256(str(root).encode()).hexdigest()[:12]
        out = cache_folder() / "languages" / key
    return Place(root, out / language.name)


def run(command: Sequence[object], cwd: Path, **environment: str) -> None:
    """Run a command; RuntimeError with what it said where it fails."""
    try:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LONGEST,
            check=False,
        )
    except FileNotFoundError as error:
        raise RuntimeError(f"{command[0]}: {error}") from None
    if done.returncode:
        said = done.stdout.decode(errors="replace")[-4000:]
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}\n{said}")


def _has(tool: str) -> bool:
    try:
        tool_path(tool)
    except FileNotFoundError:
        return False
    return True


def _sources(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


# ---- Python: the reference


def _python_environment(place: Place) -> Mapping[str, str]:
    """In a copy of the checkout, its generated code under the runtime of this one."""
    if place.root == ROOT:
        return {}
    import numpy as np

    overlay = place.out / "site/ggufspec"
    if not overlay.exists():
        overlay.mkdir(parents=True)
        for entry in (ROOT / "runtime/ggufspec").iterdir():
            (overlay / entry.name).symlink_to(entry)
        (overlay / "generated").symlink_to(place.root / "generated")
    paths = os.pathsep.join(map(str, (overlay.parent, Path(np.__file__).parents[1])))
    return {"PYTHONPATH": paths, "GGUFSPEC_NATIVE": "0"}


def _python_command(place: Place) -> Sequence[str]:
    options = [] if place.root == ROOT else ["-S", "-B"]
    return [sys.executable, *options, str(place.program("python") / "conformance.py")]


# ---- C and C++


def _c(compiler: str, *options: str) -> Step:
    """Every warning is an error."""

    def build(place: Place) -> None:
        warnings = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
        source = place.program("c") / "conformance.c"
        include = ["-I", place.package("header")]
        fast = [] if place.root == ROOT else ["-O1"]  # the last one counts
        target = [*fast, "-o", place.out / "conformance"]
        run([compiler, *options, *warnings, *include, source, *target], place.root)

    return build


def _in_out(name: str, *front: str) -> Callable[[Place], Sequence[str]]:
    return lambda place: [*front, str(place.out / name)]


# ---- Rust


def _rust(place: Place) -> None:
    # Offline: the program and the package need no crate; a lock file is not to be written.
    manifest = place.program("rust") / "Cargo.toml"
    command = ["cargo", "build", "-q", "--release", "--offline", "--manifest-path", manifest]
    variables = {"CARGO_TARGET_DIR": str(place.out / "target")}
    if place.root != ROOT:
        variables["CARGO_PROFILE_RELEASE_OPT_LEVEL"] = "1"
    run(command, place.root, **variables)


# ---- Go


def _go(place: Place) -> None:
    command = ["go", "build", "-o", place.out / "conformance", "."]
    run(command, place.program("go"), GOFLAGS="-mod=mod", GOTOOLCHAIN="local")


def _go_arm64(place: Place) -> None:
    command = ["go", "build", "-o", place.out / "conformance", "."]
    variables = {"GOOS": "linux", "GOARCH": "arm64", "CGO_ENABLED": "0"}
    run(command, place.program("go"), GOFLAGS="-mod=mod", GOTOOLCHAIN="local", **variables)


# ---- TypeScript


def typescript_package(place: Place) -> Path:
    """A copy of the package with the compiler that its package.json asks for, compiled."""
    build = place.out / "build"
    shutil.copytree(place.package("typescript"), build, dirs_exist_ok=True)
    modules = build / "node_modules"
    own = place_of(LANGUAGES["typescript"], ROOT).out / "build/node_modules"
    if not modules.exists() and place.root != ROOT and own.is_dir():
        modules.symlink_to(own)  # the same compiler serves a copy of the checkout
    if not modules.exists():
        quiet = ["--no-package-lock", "--no-audit", "--no-fund"]
        run(["npm", "install", *quiet], build)
    shutil.rmtree(build / "dist", ignore_errors=True)
    run(["npx", "--no-install", "tsc"], build)
    return build


def _typescript(place: Place) -> None:
    typescript_package(place)


def _typescript_command(place: Place) -> Sequence[str]:
    return ["node", str(place.program("typescript") / "conformance.mjs")]


# ---- Java


def _java(place: Place) -> None:
    sources = sorted((place.package("java") / "src/main/java/ggufspec").glob("*.java"))
    program = place.program("java") / "Conformance.java"
    shutil.rmtree(place.out / "classes", ignore_errors=True)
    options = ["-Xlint:all", "-Werror", "-d", place.out / "classes"]
    run(["javac", *options, *sources, program], place.root)


def _java_command(place: Place) -> Sequence[str]:
    options = ["-XX:+UseSerialGC", "-Xss512k", "-Xmx1g"]
    return ["java", *options, "-cp", str(place.out / "classes"), "Conformance"]


NUMBERS = ("content", "tensors", "copies", "dequantize", "unpack", "pack", "random")
"""What another processor can get wrong; emulated, the rest would take long."""

LANGUAGES: Mapping[str, Language] = {
    language.name: language
    for language in (
        Language(
            "python",
            "numpy",
            "python",
            (),
            lambda _: None,
            _python_command,
            _python_environment,
            largest=10 << 20,
            groups=[group for group in GROUPS if group != "real"],
        ),
        Language(
            "c", "header", "c", ("gcc",), _c("gcc", "-std=c99", "-O2"), _in_out("conformance")
        ),
        Language(
            "c-clang",
            "header",
            "c",
            ("clang",),
            _c("clang", "-std=c99", "-O3", "-march=native"),
            _in_out("conformance"),
        ),
        Language(
            "c++",
            "header",
            "c",
            ("g++",),
            _c("g++", "-std=c++17", "-x", "c++", "-O3", "-march=native"),
            _in_out("conformance"),
        ),
        Language(
            "rust",
            "rust",
            "rust",
            ("cargo",),
            _rust,
            _in_out("target/release/ggufspec-conformance"),
        ),
        Language("go", "go", "go", ("go",), _go, _in_out("conformance")),
        Language(
            "typescript",
            "typescript",
            "typescript",
            ("node", "npm"),
            _typescript,
            _typescript_command,
            lambda place: {"GGUFSPEC_TS": str(place.out / "build")},
        ),
        Language("java", "java", "java", ("javac", "java"), _java, _java_command),
        # Default flags on AArch64, where compilers fuse unless the output forbids it, and a
        # big-endian machine.
        *(
            Language(
                f"c-{machine}",
                "header",
                "c",
                (f"{machine}-linux-gnu-gcc", f"qemu-{machine}"),
                _c(f"{machine}-linux-gnu-gcc", "-std=c99", "-O2", "-static"),
                _in_out("conformance", f"qemu-{machine}"),
                groups=NUMBERS,
            )
            for machine in ("aarch64", "s390x")
        ),
        Language(
            "go-arm64",
            "go",
            "go",
            ("go", "qemu-aarch64"),
            _go_arm64,
            _in_out("conformance", "qemu-aarch64"),
            groups=NUMBERS,
        ),
    )
}
"""Every language by name, the reference first."""
