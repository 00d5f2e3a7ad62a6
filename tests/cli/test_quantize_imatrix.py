"""``quantize --imatrix``: what is stored, chosen, warned of, mended and refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from support import imatrix, models, oracle

Run = Callable[..., Any]
Entries = dict[str, tuple[Any, Any]]

DOWN = "blk.1.ffn_down_exps.weight"
QUERY = "blk.0.attn_q.weight"
EXPERTS = 4


@pytest.fixture(scope="module")
def weights() -> dict[str, models.Floats]:
    return models.llama(2, EXPERTS)


@pytest.fixture(scope="module")
def moe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("moe") / "moe.gguf"
    models.write_llama(path, 2, EXPERTS)
    return path


@pytest.fixture
def entries(weights: Mapping[str, models.Floats]) -> Entries:
    return models.matrix(weights, EXPERTS)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Entries], Path]:
    def written(entries: Entries) -> Path:
        path = tmp_path / "m.gguf"
        path.write_bytes(imatrix.gguf_form(entries))
        return path

    return written


def quantized(run: Run, moe: Path, out: Path, matrix: Path, *options: Any) -> Any:
    result = run("quantize", moe, out, "Q4_0", "--imatrix", matrix, "--json", *options)
    assert result.code == 0, result.err
    return result.json


def data(path: Path, name: str) -> Any:
    with ggufspec.open(path) as file:
        return np.array(file.tensors[name].data)


def theirs(array: models.Floats, importance: models.Floats, type_id: int) -> Any:
    matrices = array.reshape(-1, *array.shape[-2:])
    rows = np.broadcast_to(importance, (len(matrices), array.shape[-1]))
    return np.concatenate(
        [oracle.quantize(x, type_id, q) for x, q in zip(matrices, rows, strict=True)]
    )


@pytest.mark.parametrize("threads", ["1", "2"])
def test_each_expert_has_its_own_importance(
    run: Run, moe: Path, tmp_path: Path, weights: Any, entries: Entries, write: Any, threads: str
) -> None:
    out = tmp_path / "out.gguf"
    quantized(run, moe, out, write(entries), "--threads", threads, "--max-memory", "2G")
    sums, counts = entries[DOWN]
    means = sums / counts.astype(np.float32)[:, None]
    with ggufspec.open(out) as file:
        number = file.tensors[DOWN].type_id
    assert np.array_equal(data(out, DOWN), theirs(weights[DOWN], means, number))


@pytest.mark.parametrize("length", [20, 127, 200])
def test_what_is_stored(
    run: Run, moe: Path, tmp_path: Path, entries: Entries, length: int, monkeypatch: Any
) -> None:
    """The path as given, cut as llama-quantize cuts it."""
    monkeypatch.chdir(tmp_path)
    path = Path("m" * length)
    path.write_bytes(imatrix.gguf_form(entries, datasets=["one.txt", "two.txt"]))
    quantized(run, moe, tmp_path / "out.gguf", path)
    with ggufspec.open(tmp_path / "out.gguf") as file:
        assert list(file.metadata.items())[-4:] == [
            ("quantize.imatrix.file", "m" * min(length, 127)),
            ("quantize.imatrix.dataset", "one.txt"),
            ("quantize.imatrix.entries_count", len(entries)),
            ("quantize.imatrix.chunks_count", 12),
        ]


def test_legacy_form(run: Run, moe: Path, tmp_path: Path, weights: Any) -> None:
    path, out = tmp_path / "imatrix.dat", tmp_path / "out.gguf"
    values = np.abs(np.random.default_rng(5).normal(1, 1, 1024)).astype(np.float32)
    path.write_bytes(imatrix.dat_form({QUERY: (3, values * np.float32(3))}))
    quantized(run, moe, out, path)
    with ggufspec.open(out) as file:
        number = file.tensors[QUERY].type_id
    mean = values * np.float32(3) / np.float32(3)
    assert np.array_equal(data(out, QUERY), theirs(weights[QUERY], mean, number))


def test_missing_entries_are_named_once(
    run: Run, moe: Path, tmp_path: Path, entries: Entries, write: Any
) -> None:
    del entries[QUERY]
    result = run("quantize", moe, tmp_path / "o", "Q4_0", "--imatrix", write(entries))
    assert result.code == 0
    lines = [line for line in result.err.splitlines() if "no entry" in line]
    (line,) = lines
    assert QUERY in line
    assert "token_embd.weight" in line
    told = quantized(run, moe, tmp_path / "p", tmp_path / "m.gguf")["warnings"]
    assert {note["tensor"] for note in told if note["kind"] == "missing"} >= {QUERY}


def test_include_and_exclude(
    run: Run, moe: Path, tmp_path: Path, entries: Entries, write: Any
) -> None:
    matrix, plain = write(entries), tmp_path / "plain.gguf"
    assert run("quantize", moe, plain, "Q4_0").code == 0
    for name, options in {
        "some": ["--include-weights", "attn_q", "--include-weights", "blk.1.ffn_down"],
        "others": ["--exclude-weights", "attn_q", "--exclude-weights", "blk.1.ffn_down"],
    }.items():
        out = tmp_path / name
        quantized(run, moe, out, matrix, *options)
        used = np.array_equal(data(out, QUERY), data(plain, QUERY)) is False
        assert used is (name == "some")
        with ggufspec.open(out) as file:
            count = {"some": 3, "others": len(entries) - 3}[name]
            assert file.metadata["quantize.imatrix.entries_count"] == count


def test_nothing_is_left_of_the_matrix(
    run: Run, moe: Path, tmp_path: Path, entries: Entries, write: Any
) -> None:
    """Then llama-quantize works as without one."""
    plain, out = tmp_path / "plain.gguf", tmp_path / "out.gguf"
    assert run("quantize", moe, plain, "Q4_0").code == 0
    option = ("--include-weights", "nothing of the kind")
    result = run("quantize", moe, out, "Q4_0", "--imatrix", write(entries), *option)
    assert result.code == 0
    assert "no entry is left of it" in result.err
    assert out.read_bytes() == plain.read_bytes()
    needs = run("quantize", moe, out, "IQ2_XXS", "--imatrix", write(entries), *option, "--force")
    assert needs.code == 2


def test_experts_that_were_never_seen(
    run: Run, moe: Path, tmp_path: Path, weights: Any, entries: Entries, write: Any
) -> None:
    sums, counts = entries[DOWN]
    sums[[1, 3]], counts[[1, 3]] = 0, 0
    out = tmp_path / "out.gguf"
    told = quantized(run, moe, out, write(entries))["warnings"]
    (note,) = (note for note in told if note["kind"] == "unseen")
    assert (note["tensor"], note["count"]) == (DOWN, 2)
    assert "1, 3 of 4 were never seen" in note["message"]
    result = run("quantize", moe, "Q4_0", "--imatrix", tmp_path / "m.gguf", "--plan")
    assert f"warning: {DOWN}: experts 1, 3 of 4" in result.err
    means = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], 1)
    with ggufspec.open(out) as file:
        number = file.tensors[DOWN].type_id
    ours = data(out, DOWN)
    assert np.array_equal(ours, theirs(weights[DOWN], means.astype(np.float32), number))


def test_blocks_without_importance(
    run: Run, moe: Path, tmp_path: Path, weights: Any, entries: Entries, write: Any
) -> None:
    sums, _ = entries[DOWN]
    sums[2, 64:160] = 0
    matrix, kept, fixed = write(entries), tmp_path / "kept.gguf", tmp_path / "fixed.gguf"
    told = quantized(run, moe, kept, matrix)["warnings"]
    (note,) = (note for note in told if note["kind"] == "zero")
    assert (note["tensor"], note["count"]) == (DOWN, 3)
    assert "--fix-imatrix replaces them by ones" in note["message"]
    told = quantized(run, moe, fixed, matrix, "--fix-imatrix")["warnings"]
    (note,) = (note for note in told if note["kind"] == "zero")
    assert "replaced by ones" in note["message"]
    means = sums / np.float32(np.arange(EXPERTS) + 100)[:, None]
    with ggufspec.open(kept) as file:
        assert "quantize.imatrix.fixed_blocks" not in file.metadata
        number = file.tensors[DOWN].type_id
    with ggufspec.open(fixed) as file:
        assert list(file.metadata)[-1] == "quantize.imatrix.fixed_blocks"
        assert file.metadata["quantize.imatrix.fixed_blocks"] == 3
    assert np.array_equal(data(kept, DOWN), theirs(weights[DOWN], means, number))
    means[2, 64:160] = 1
    assert np.array_equal(data(fixed, DOWN), theirs(weights[DOWN], means, number))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_matrix_that_is_not_finite(
    run: Run, moe: Path, tmp_path: Path, entries: Entries, write: Any, value: float
) -> None:
    entries[DOWN][0][1, 7] = value
    result = run("quantize", moe, tmp_path / "o", "Q4_0", "--imatrix", write(entries))
    assert result.code == 1
    assert DOWN in result.err
    assert "m.gguf" in result.err
    assert "not finite" in result.err
    assert not (tmp_path / "o").exists()


def test_matrix_of_another_model(
    run: Run, moe: Path, tmp_path: Path, entries: Entries, write: Any
) -> None:
    entries[QUERY] = (np.ones((1, 512)), np.ones(1))
    result = run("quantize", moe, tmp_path / "o", "Q4_0", "--imatrix", write(entries))
    assert result.code == 1
    assert QUERY in result.err
    assert "512" in result.err
    del entries[QUERY]
    entries["token_embd.weight"] = (np.ones((1, 512)), np.ones(1))
    told = quantized(run, moe, tmp_path / "o", write(entries))["warnings"]
    assert {"misfit"} == {n["kind"] for n in told if n["tensor"] == "token_embd.weight"}


def test_low_bits_without_an_entry(
    run: Run, moe: Path, tmp_path: Path, entries: Entries, write: Any
) -> None:
    del entries[QUERY]
    option = ("--tensor-type", "attn_q=IQ2_XXS")
    result = run("quantize", moe, tmp_path / "o", "Q4_0", "--imatrix", write(entries), *option)
    assert result.code == 1
    assert f"{QUERY!r} becomes IQ2_XXS, which needs an importance matrix" in result.err
    assert "the matrix has nothing for it" in result.err


def test_pruned_layers_keep_their_entries(
    run: Run, moe: Path, tmp_path: Path, weights: Any, entries: Entries, write: Any
) -> None:
    """The matrix knows the tensor by the number that it had."""
    out = tmp_path / "out.gguf"
    quantized(run, moe, out, write(entries), "--prune-layers", "0")
    sums, counts = entries["blk.1.attn_k.weight"]
    with ggufspec.open(out) as file:
        tensor = file.tensors["blk.0.attn_k.weight"]
        expected = theirs(
            weights["blk.1.attn_k.weight"], sums[0] / np.float32(counts[0]), tensor.type_id
        )
        assert np.array_equal(np.array(tensor.data), expected)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"no matrix at all"])
def test_files_that_are_no_matrix(run: Run, moe: Path, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    result = run("quantize", moe, tmp_path / "o", "Q4_0", "--imatrix", path)
    assert result.code == 1
    assert str(path) in result.err
    missing = run("quantize", moe, tmp_path / "o", "Q4_0", "--imatrix", tmp_path / "none")
    assert missing.code == 4


def test_output_that_is_the_matrix(run: Run, moe: Path, entries: Entries, write: Any) -> None:
    matrix = write(entries)
    result = run("quantize", moe, matrix, "Q4_0", "--imatrix", matrix, "--force")
    assert result.code == 2
    assert "the output is the input" in result.err
