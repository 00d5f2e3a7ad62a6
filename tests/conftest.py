"""For every test: what to do where the package registry does not answer, and shared fixtures."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from ggufspec.blocks import Backend
from ggufspec.jobs.sample import write_sample
from support.pip import UnreachableError
from support.variants import VARIANTS, using

# A busy machine may take its time over an example.
settings.register_profile(
    "patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, None, None]:
    yield from _skip_without_registry()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    yield from _skip_without_registry()


def _skip_without_registry() -> Generator[None, None, None]:
    """Skip a test that needs the package registry, except in CI, where it has to run."""
    try:
        yield
    except UnreachableError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample model; tests do not change it."""
    path = tmp_path_factory.mktemp("sample") / "sample.gguf"
    write_sample(path)
    return path


@pytest.fixture(params=["numpy", *VARIANTS])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """NumPy, then every build of the C kernels."""
    if request.param == "numpy":
        yield "numpy"
        return
    with using(request.param):
        yield "native"
