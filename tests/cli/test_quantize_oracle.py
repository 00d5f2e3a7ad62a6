"""Whole files of made models with rows of 1024: every file type, each tensor against ggml's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec.generated.recipes import FILE_TYPES
from support import imatrix, models, oracle

Run = Callable[..., Any]

LAYERS, EXPERTS = 4, 8
KINDS = [kind.name for kind in FILE_TYPES if kind.status == "offered"]


@cache
def weights(experts: int) -> dict[str, models.Floats]:
    return models.llama(LAYERS, experts)


@cache
def entries(experts: int) -> dict[str, tuple[Any, Any]]:
    return models.matrix(weights(experts), experts)


@cache
def expected(name: str, kind: str, experts: int, weighted: bool) -> bytes:
    """What ggml makes of a tensor, one expert after the other; of IQ1_M what NumPy does."""
    array, number = weights(experts)[name], ggufspec.types[kind].id
    assert number is not None
    matrices = array.reshape(-1, *array.shape[-2:])
    importance = [None] * len(matrices)
    if weighted and name in entries(experts):
        sums, counts = entries(experts)[name]
        importance = list(sums / counts.astype(np.float32)[:, None])
    pairs = list(zip(matrices, importance, strict=True))
    if kind == "IQ1_M":  # the installed ggml has an older search
        parts = [ggufspec.quantize(x, kind, q, backend="numpy") for x, q in pairs]
    else:
        parts = [oracle.quantize(x, number, q) for x, q in pairs]
    return b"".join(np.asarray(part).tobytes() for part in parts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    for experts in (0, EXPERTS):
        models.write_llama(folder / f"{experts}.gguf", LAYERS, experts)
        (folder / f"{experts}.imatrix.gguf").write_bytes(imatrix.gguf_form(entries(experts)))
    return folder


@pytest.mark.parametrize("experts", [0, EXPERTS], ids=["dense", "experts"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_tensor_is_ggml(
    run: Run, folder: Path, tmp_path: Path, kind: str, experts: int
) -> None:
    """With a matrix; where a file can be made without, that one too."""
    out, matrix = tmp_path / "out.gguf", folder / f"{experts}.imatrix.gguf"
    for weighted in (True, False):
        option = ("--imatrix", matrix) if weighted else ()
        result = run("quantize", folder / f"{experts}.gguf", out, kind, "--force", *option)
        if not weighted and result.code == 2:
            assert "needs an importance matrix" in result.err
            continue
        assert result.code == 0, result.err
        with ggufspec.open(out) as file:
            for name, tensor in file.tensors.items():
                if tensor.type == "F32":
                    assert tensor.data.tobytes() == weights(experts)[name].tobytes(), name
                    continue
                found = tensor.data.tobytes()
                assert found == expected(name, tensor.type, experts, weighted), (name, tensor.type)
