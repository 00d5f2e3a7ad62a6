"""The native library: loaded, switched off, missing, or from another specification."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ggufspec import native
from ggufspec.blocks import kernels

PROGRAM = "from ggufspec import native; print(native.describe()); print(native.lib())"


def describe(**variables: str) -> str:
    """What another process says of its native library under environment variables."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


asked_for = pytest.mark.skipif(
    os.environ.get("GGUFSPEC_NATIVE") != "1", reason="GGUFSPEC_NATIVE is not 1"
)


@asked_for
def test_is_loaded_where_it_is_asked_for() -> None:
    assert native.lib() is not None
    assert native.describe().startswith("libggufspec")


@asked_for
@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX system")
def test_has_the_guard() -> None:
    """Without it other tests are skipped."""
    assert hasattr(native.lib(), "ggufspec_guard_begin")


@asked_for
@pytest.mark.parametrize(("name", "needs"), [("baseline", set()), ("v3", {"avx2", "f16c", "bmi2"})])
def test_has_the_variants_that_the_processor_runs(name: str, needs: set[str]) -> None:
    """Without them other tests are skipped."""
    processor = Path("/proc/cpuinfo")
    words = set(processor.read_text().split()) if processor.exists() else set()
    if not needs <= words:
        pytest.skip("another processor")
    try:
        kernels.use_variant(name)
        assert kernels.variant() == name
    finally:
        kernels.use_variant(None)


def test_can_be_switched_off() -> None:
    assert "switched off" in describe(GGUFSPEC_NATIVE="0")
    assert describe(GGUFSPEC_NATIVE="0").endswith("None\n")


def test_a_library_that_does_not_load_is_described(tmp_path: Path) -> None:
    broken = tmp_path / "broken.so"
    broken.write_text("no library")
    assert "broken.so does not load" in describe(GGUFSPEC_NATIVE="", GGUFSPEC_LIBRARY=str(broken))
    assert "ImportError" in describe(GGUFSPEC_NATIVE="1", GGUFSPEC_LIBRARY=str(broken))


def test_a_library_of_another_specification_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    if native.lib() is None:
        pytest.skip("no native library")
    monkeypatch.setattr(native, "SPEC_VERSION", "0.0.0")
    outcome = native._open_library()
    assert outcome.library is None
    assert "0.0.0" in outcome.description


def test_loads_without_numpy() -> None:
    program = "import sys; from ggufspec import native; native.lib(); print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
