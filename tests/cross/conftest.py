"""Builds for other processors, run under qemu-user; Debian's cross compilers make them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from support.machines import MACHINES, Machine

PACKAGES = "gcc-aarch64-linux-gnu gcc-s390x-linux-gnu qemu-user (and libc6-dev-*-cross)"


@pytest.fixture(scope="session", params=MACHINES, ids=lambda machine: machine.name)
def machine(request: pytest.FixtureRequest) -> Machine:
    wanted: Machine = request.param
    missing = [name for name in (wanted.compiler, wanted.emulator) if shutil.which(name) is None]
    if missing and not (os.environ.get("CI") or os.environ.get("GGUFSPEC_CROSS")):
        pytest.skip(f"{', '.join(missing)} not installed; Debian: {PACKAGES}")
    return wanted


@pytest.fixture(scope="session")
def here() -> Path:
    return Path(__file__).parent
