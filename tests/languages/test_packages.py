"""The tests that come with each package, run by the language's own tool."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from languages.session import skipped
from languages.toolchains import LANGUAGES, Place, run, typescript_package
from support.build import program
from support.lock import locked
from support.project import SPEC

VECTORS = str(SPEC / "conformance")


def _c(place: Place) -> None:
    folder = place.out / "cmake"
    source = ["-S", place.package("header"), "-B", folder]
    ninja = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={program('ninja')}"]
    run([program("cmake"), *source, *ninja], place.root)
    run([program("cmake"), "--build", folder], place.root)
    ctest = Path(program("cmake")).with_name("ctest")
    run([ctest, "--test-dir", folder, "--output-on-failure"], place.root, GGUFSPEC_VECTORS=VECTORS)


def _rust(place: Place) -> None:
    manifest = ["--manifest-path", place.package("rust") / "Cargo.toml"]
    target = {"CARGO_TARGET_DIR": str(place.out / "target"), "GGUFSPEC_VECTORS": VECTORS}
    run(["cargo", "test", "-q", "--offline", *manifest], place.root, **target)


def _go(place: Place) -> None:
    folder, variables = place.package("go"), {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
    run(["go", "vet", "./..."], folder, **variables)
    run(["go", "test", "./..."], folder, GGUFSPEC_VECTORS=VECTORS, **variables)


def _typescript(place: Place) -> None:
    build = typescript_package(place)
    run(["npm", "test"], build, GGUFSPEC_VECTORS=VECTORS)


def _java(place: Place) -> None:
    copy = place.out / "package"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(place.package("java"), copy)
    run(["mvn", "-q", "-B", "test"], copy, GGUFSPEC_VECTORS=VECTORS)


PACKAGES: dict[str, Callable[[Place], None]] = {
    "c": _c,
    "rust": _rust,
    "go": _go,
    "typescript": _typescript,
    "java": _java,
}


@pytest.mark.parametrize("name", PACKAGES)
def test_package(name: str) -> None:
    language = LANGUAGES[name]
    reason = skipped(language)
    if reason is None and name == "java" and shutil.which("mvn") is None:
        reason = "java: mvn not installed"
    if reason:
        assert not os.environ.get("CI"), reason
        pytest.skip(reason)
    place = language.built()
    with locked(place.out.with_suffix(".package.lock")):
        PACKAGES[name](place)
