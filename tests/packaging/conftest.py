"""Wheels and environments that the packaging tests share; each is made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.wheels import Run, build_wheel, environment


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"), GGUFSPEC_NATIVE="1")


@pytest.fixture(scope="session")
def wheel_without_compiler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("bare"), GGUFSPEC_NATIVE="", CC="no-such-compiler")


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return environment(wheel, tmp_path_factory.mktemp("installed"))
