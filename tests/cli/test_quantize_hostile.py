"""``quantize``: options and files that mean harm end as failures of their own, and soon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from support import imatrix

Run = Callable[..., Any]

NINES = "9" * 5000
NAME = "blk.0.ffn_up.weight"
ROWS = np.ones((2, 256), np.float32)


def model(path: Path, name: str = NAME, **facts: Value) -> Path:
    """A model of one tensor; facts are keys of the architecture."""
    keys = {f"llama.{key}": value for key, value in facts.items()}
    ggufspec.write(path, {"general.architecture": "llama", **keys}, {name: ROWS})
    return path


@pytest.mark.parametrize(
    "options",
    [
        ["--override-kv", "general.alignment=str:64"],
        ["--override-kv", "general.alignment=FLOAT32:32"],
        ["--override-kv", "general.alignment=ARRAY[UINT32]:[32]"],
        ["--override-kv", "a=ARRAY[UINT8]:" + "[" * 60_000],
        ["--override-kv", f"a={'ARRAY[' * 900}UINT8{']' * 900}:{'[' * 900}{']' * 900}"],
        ["--override-kv", f"a=ARRAY[UINT8]:[{NINES}]"],
        ["--override-kv", f"a=UINT64:{NINES}"],
        ["--override-kv", f"a=int:{NINES}"],
        ["--prune-layers", NINES],
        ["--tensor-type", "a{99999999999}=Q8_0"],
        ["--tensor-type", f"{'(' * 5000}{')' * 5000}=Q8_0"],
        ["--tensor-type", "[[:digits:]]=Q8_0"],
        ["--max-memory", NINES],
        ["--max-memory", "9" * 300],
    ],
    ids=lambda options: options[1][:40],
)
def test_options(run: Run, tmp_path: Path, options: list[str]) -> None:
    result = run("quantize", model(tmp_path / "in"), "Q8_0", "--plan", *options)
    assert result.code == 2
    assert "internal error" not in result.err


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("block_count", Value("FLOAT32", float("inf"))),
        ("block_count", Value("ARRAY[ARRAY[UINT32]]", [[1]])),
        ("expert_count", Value("FLOAT64", float("nan"))),
        ("attention.head_count", Value("ARRAY[FLOAT32]", [float("-inf")])),
        ("attention.head_count_kv", Value("ARRAY[STRING]", ["many"])),
    ],
    ids=str,
)
def test_facts(run: Run, tmp_path: Path, key: str, value: Value) -> None:
    path = model(tmp_path / "in", **{key: value})
    result = run("quantize", path, "Q4_K_M", "--plan")
    assert result.code == 1
    assert f"llama.{key} is" in result.err
    assert "not a number" in result.err


@pytest.mark.parametrize(
    "options", [[], ["--keep-split"], ["--prune-layers", "0"], ["--keep-split", "--prune-layers=0"]]
)
def test_layer_of_thousands_of_digits(run: Run, tmp_path: Path, options: list[str]) -> None:
    path = model(tmp_path / "in", f"blk.{NINES}.ffn_up.weight")
    result = run("quantize", path, "Q4_K_M", "--plan", *options)
    assert result.code == 1
    assert "tensor blk.9999" in result.err
    assert "no layer of 5000 digits" in result.err


def test_negative_importance(run: Run, tmp_path: Path) -> None:
    matrix = tmp_path / "matrix"
    sums = np.full((1, 256), -1, np.float32)
    matrix.write_bytes(imatrix.gguf_form({NAME: (sums, np.ones(1))}))
    path, out = model(tmp_path / "in", block_count=Value("UINT32", 1)), tmp_path / "out"
    given = ["--imatrix", matrix, "--tensor-type"]
    for more in ([], ["--plan"]):
        result = run("quantize", path, out, "Q8_0", *given, "ffn_up=IQ2_XXS", *more)
        assert result.code == 1
        assert f"tensor {NAME!r}: its importance goes down to -1" in result.err
        assert not out.exists()
    assert run("quantize", path, out, "Q8_0", *given, "ffn_up=Q4_K").code == 0


def test_pattern_of_no_tensor(run: Run, tmp_path: Path) -> None:
    options = ["--tensor-type", "(.*)*(.*)*(.*)*(.*)*#=Q8_0", "--tensor-type", "[[:digit:]]=Q4_0"]
    result = run("quantize", model(tmp_path / "in"), "Q8_0", "--plan", "--json", *options)
    [plan] = result.json.get("plans", [result.json])
    assert [note["kind"] for note in plan["warnings"]] == ["pattern"]
    assert plan["tensors"][0]["to"] == "Q4_0"


def test_what_ggml_refuses(run: Run, tmp_path: Path) -> None:
    name = f"{'long' * 15}.weight"
    path = model(tmp_path / "in", name)
    override = ["--override-kv", "a=ARRAY[ARRAY[UINT8]]:[[1]]"]
    result = run("quantize", path, "Q8_0", "--plan", *override)
    assert result.code == 0
    assert "a name of 67 bytes: ggml opens files with at most 63" in result.err
    assert "--override-kv a: ggml opens no files with nested arrays" in result.err


def test_pattern_that_takes_too_long(run: Run, tmp_path: Path) -> None:
    path = model(tmp_path / "in", "ab" * 30_000)
    slow = "^(.*#|.*)*(.*#|.*)*x=Q8_0"
    for first in ([], ["--tensor-type", "a=Q8_0"]):
        result = run("quantize", path, "Q8_0", "--plan", *first, "--tensor-type", slow)
        assert result.code in {1, 2}
        assert "takes too long" in result.err
