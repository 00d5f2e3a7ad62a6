"""Built libraries: asked in a process of their own, which may die."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ggufspec.codegen.upstream import worker
from ggufspec.codegen.upstream.library import DiedError, Library, LibraryError, read_library
from support import oracle


def test_types_are_the_oracle_s(library: Library) -> None:
    for number, theirs in oracle.types().items():
        found = library.type(number)
        if not theirs.elements:
            assert found is None
            continue
        assert found is not None
        assert (found.name, found.elements, found.bytes) == (
            theirs.name, theirs.elements, theirs.bytes,
        )  # fmt: skip


def test_decoder_out_of_the_traits(library_path: Path) -> None:
    """The pointer that is found in the traits is the function of that name."""
    ggml = worker.Ggml(library_path)
    for number, name, elements, size in ((2, "q4_0", 32, 18), (12, "q4_K", 256, 144)):
        named = ctypes.cast(getattr(ggml.lib, f"dequantize_row_{name}"), ctypes.c_void_p).value
        assert ggml._to_float(number, elements, size) == named
    assert ggml._to_float(9, 32, 36) == 0


def test_bytes_are_the_oracle_s(library: Library) -> None:
    rng = np.random.default_rng(1)
    blocks = rng.integers(0, 256, (7, 144), np.uint8)
    found = library.dequantize(12, blocks)
    assert np.array_equal(found.view(np.uint32), oracle.dequantize(blocks, 12).view(np.uint32))
    x = rng.standard_normal((3, 512), np.float32)
    weights = rng.random(512).astype(np.float32)
    for importance in (None, weights):
        assert np.array_equal(
            library.quantize(12, x, importance), oracle.quantize(x, 12, importance)
        )


def test_refusals(library: Library) -> None:
    with pytest.raises(LibraryError, match="does not decode q8_1"):
        library.dequantize(9, np.zeros((1, 36), np.uint8))
    with pytest.raises(LibraryError, match="no rows of 33"):
        library.quantize(2, np.zeros((1, 33), np.float32), None)
    with pytest.raises(LibraryError, match="needs an importance"):
        library.quantize(16, np.zeros((1, 256), np.float32), None)
    with pytest.raises(LibraryError, match="has no type 50"):
        library.dequantize(50, np.zeros((1, 18), np.uint8))
    # It goes on answering.
    assert library.named("q2_0") is not None


def test_what_is_no_library(tmp_path: Path) -> None:
    text = tmp_path / "libggml.so"
    text.write_text("no library")
    with pytest.raises(LibraryError):
        Library(text)
    (tmp_path / "empty").mkdir()
    with pytest.raises(LibraryError, match="holds no ggml library"):
        Library(tmp_path / "empty")
    with pytest.raises(FileNotFoundError):
        Library(tmp_path / "none")


DYING = """
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
int64_t ggml_blck_size(int type) { return type < 3 ? 32 : (abort(), 0); }
size_t ggml_type_size(int type) { return 10 + type; }
const char *ggml_type_name(int type) { return type ? type == 1 ? "q1" : "q2" : "q0"; }
void dequantize_row_q1(const void *x, float *y, int64_t k) {
  printf("said on standard output\\n");
  for (int64_t i = 0; i < k; i++) y[i] = (float)((const unsigned char *)x)[0];
}
void dequantize_row_q2(const void *x, float *y, int64_t k) {
  fprintf(stderr, "GGML_ASSERT(%p %p %d) failed\\n", x, (void *)y, (int)k); abort();
}
"""


@pytest.fixture(scope="module")
def dying(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of three types that aborts when it is asked for a fourth."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("dying")
    (folder / "ggml.c").write_text(DYING)
    target = folder / "libggml.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", target, folder / "ggml.c"], check=True)
    return target


def test_a_library_that_dies(dying: Path) -> None:
    """The types before it died are known; its last words are told; it can be asked anew."""
    found = read_library(dying)
    assert {name: (t.id, t.elements, t.bytes) for name, t in (found.types or {}).items()} == {
        "Q0": (0, 32, 10), "Q1": (1, 32, 11), "Q2": (2, 32, 12),
    }  # fmt: skip
    with Library(dying) as library:
        assert library.named("nowhere") is None
        found_floats = library.dequantize(1, np.full((2, 11), 7, np.uint8))
        assert found_floats.tolist() == [[7.0] * 32] * 2
        with pytest.raises(DiedError, match=r"SIGABRT.*GGML_ASSERT"):
            library.dequantize(2, np.zeros((1, 12), np.uint8))
        library.restart()
        assert library.type(0) is not None
        with pytest.raises(LibraryError, match="does not decode q0"):
            library.dequantize(0, np.zeros((1, 10), np.uint8))
