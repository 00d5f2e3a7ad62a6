"""Real files: their metadata are gguf-py's, and written back they are the same bytes."""

from __future__ import annotations

import filecmp
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from support import gguf_py, realfiles

MODELS = ("SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf")
FILES = (*realfiles.vocabulary_names(), *MODELS)

FORMS = [(2, "little"), (3, "little"), (1, "big"), (2, "big"), (3, "big")]


def path_of(name: str) -> Path:
    if name == MODELS[0]:
        return realfiles.smollm2()
    return realfiles.gemma3() if name == MODELS[1] else realfiles.vocabulary(name)


def as_lists(value: Any) -> Any:
    """Arrays of any kind as lists, numbers as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return value if isinstance(value, (str, bytes, bool, int, float)) else list(value)


@pytest.mark.parametrize("name", FILES)
def test_metadata_and_tensors_are_those_of_gguf_py(name: str) -> None:
    reader = gguf_py.read(path_of(name))
    theirs = gguf_py.metadata(reader)
    with ggufspec.open(path_of(name)) as f:
        assert list(f.metadata) == list(theirs)
        for key, (kinds, value) in theirs.items():
            kind = f"ARRAY[{kinds[1]}]" if len(kinds) > 1 else kinds[0]
            assert f.metadata.type_of(key) == kind, key
            assert as_lists(f.metadata[key]) == as_lists(value), key
        assert list(f.tensors) == [tensor.name for tensor in reader.tensors]
        for tensor in reader.tensors:
            ours = f.tensors[tensor.name]
            assert ours.type == tensor.tensor_type.name
            assert ours.shape == tuple(int(extent) for extent in reversed(tensor.shape))
            assert ours.nbytes == tensor.n_bytes
            assert np.array_equal(ours.data.reshape(-1), tensor.data.view(np.uint8).reshape(-1))


@pytest.mark.parametrize("name", FILES)
def test_written_back_it_is_the_same_file(name: str, tmp_path: Path) -> None:
    copy = tmp_path / name
    with ggufspec.open(path_of(name)) as f:
        ggufspec.write(copy, f.metadata, f.tensors)
    assert filecmp.cmp(path_of(name), copy, shallow=False)


@pytest.mark.parametrize("name", ["ggml-vocab-phi-3.gguf", "ggml-vocab-bert-bge.gguf"])
def test_written_from_values_it_is_the_same_file(name: str, tmp_path: Path) -> None:
    """Nothing is left of the file's bytes when every string and number was a Python object."""
    copy = tmp_path / name
    with ggufspec.open(path_of(name)) as f:
        values = {
            key: ggufspec.Value(f.metadata.type_of(key), as_lists(f.metadata[key]))
            for key in f.metadata
        }
        ggufspec.write(copy, values)
    assert filecmp.cmp(path_of(name), copy, shallow=False)


@pytest.mark.parametrize(("version", "byte_order"), FORMS)
def test_another_form_and_back_is_the_same_file(
    version: int, byte_order: str, tmp_path: Path
) -> None:
    name = "ggml-vocab-llama-spm.gguf"
    twin, back = tmp_path / "twin.gguf", tmp_path / "back.gguf"
    with ggufspec.open(path_of(name)) as f:
        ggufspec.write(twin, f.metadata, version=version, byte_order=byte_order)  # type: ignore[arg-type]
        with ggufspec.open(twin) as g:
            assert (g.version, g.byte_order) == (version, byte_order)
            assert {key: as_lists(g.metadata[key]) for key in g.metadata} == {
                key: as_lists(f.metadata[key]) for key in f.metadata
            }
            ggufspec.write(back, g.metadata, version=f.version, byte_order="little")
    assert filecmp.cmp(path_of(name), back, shallow=False)


def test_big_endian_model_decodes_the_same_and_converts_back(tmp_path: Path) -> None:
    twin, back = tmp_path / "twin.gguf", tmp_path / "back.gguf"
    with ggufspec.open(realfiles.smollm2()) as f:
        ggufspec.write(twin, f.metadata, f.tensors, byte_order="big")
        with ggufspec.open(twin) as g:
            for name in ("token_embd.weight", "blk.0.attn_q.weight", "output_norm.weight"):
                ours, theirs = g.tensors[name].dequantize(), f.tensors[name].dequantize()
                assert np.array_equal(ours.view(np.uint32), theirs.view(np.uint32))
            ggufspec.write(back, g.metadata, g.tensors, byte_order="little")
    assert filecmp.cmp(realfiles.smollm2(), back, shallow=False)


def test_opening_costs_less_memory_than_twice_the_file() -> None:
    path = path_of("ggml-vocab-gemma-4.gguf")
    code = """
import sys, ggufspec
def peak():
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0]) << 10
ggufspec.open
before = peak()
with ggufspec.open(sys.argv[1]) as f:
    for key in f.metadata:
        f.metadata.type_of(key)
    f.metadata["tokenizer.ggml.tokens"][:5], f.metadata["tokenizer.ggml.merges"][-5:]
    print(peak() - before)
assert "numpy" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True)
    assert int(done.stdout) < 2 * path.stat().st_size
