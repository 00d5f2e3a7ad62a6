"""``quantize``: options for types, plans, and what is refused before anything is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ggufspec
from support import models

Run = Callable[..., Any]


def types_of(path: Path) -> dict[str, str]:
    with ggufspec.open(path) as file:
        return {name: tensor.type for name, tensor in file.tensors.items()}


def plan(run: Run, *arguments: Any) -> Any:
    result = run("quantize", *arguments, "--plan", "--json")
    assert result.code == 0, result.err
    return result.json


def test_tensor_types_of_both_options(run: Run, llama: Path, tmp_path: Path) -> None:
    listed = tmp_path / "types.txt"
    listed.write_text("attn_v=Q5_1 ffn_down=q6_K\n blk\\.0\\.=Q2_K\n")
    out = tmp_path / "out.gguf"
    result = run(
        "quantize", llama, out, "Q4_K_M", "--tensor-type", r"BLK\.(1|3)\.ffn_D\w+=q8_0",
        "--tensor-type-file", listed, "--output-tensor-type", "f16",
        "--token-embedding-type", "Q5_0",
    )  # fmt: skip
    assert result.code == 0, result.err
    found = types_of(out)
    assert found["output.weight"] == "F16"
    assert found["token_embd.weight"] == "Q5_0"
    assert [found[f"blk.{n}.ffn_down.weight"] for n in range(4)] == ["Q6_K", "Q8_0", "Q6_K", "Q8_0"]
    assert {found[f"blk.{n}.attn_v.weight"] for n in range(4)} == {"Q5_1"}
    assert found["blk.0.attn_q.weight"] == "Q2_K"  # the first that fits counts
    assert found["blk.1.attn_q.weight"] == "Q4_K"


def test_leave_output_tensor(run: Run, llama: Path, tmp_path: Path) -> None:
    assert run("quantize", llama, tmp_path / "o", "Q4_0", "--leave-output-tensor").code == 0
    found = types_of(tmp_path / "o")
    assert (found["output.weight"], found["token_embd.weight"]) == ("F32", "Q4_0")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--tensor-type", "attn_q"], "'attn_q' is not PATTERN=TYPE"),
        (["--tensor-type", "=Q8_0"], "'=Q8_0' is not PATTERN=TYPE"),
        (["--tensor-type", "attn_q="], "'attn_q=' is not PATTERN=TYPE"),
        (["--tensor-type", "attn(=Q8_0"], "'attn(' is no regular expression"),
        (["--tensor-type", "attn_q=Q9"], "no tensor can be made 'Q9'"),
        (["--output-tensor-type", "I8"], "no tensor can be made 'I8'"),
        (["--token-embedding-type", "Q8_K"], "no tensor can be made 'Q8_K'"),
        (["--prune-layers", "1,x"], "layers are numbers with commas between"),
        (["--prune-layers", "4"], "there is no layer 4; the file has 4 layers"),
        (["--include-weights", "a", "--exclude-weights", "b"], "do not go together"),
        (["--max-memory", "much"], "'much' is no size"),
        (["--non-finite", "some"], "--non-finite"),
    ],
    ids=str,
)
def test_wrong_options(
    run: Run, llama: Path, tmp_path: Path, options: list[str], told: str
) -> None:
    for more in ([], ["--plan"]):
        result = run("quantize", llama, tmp_path / "out.gguf", "Q8_0", *options, *more)
        assert result.code == 2
        assert told in result.err
    assert not list(tmp_path.iterdir())
    error = run("quantize", llama, tmp_path / "out.gguf", "Q8_0", *options, "--json").json["error"]
    assert told in error["message"]
    assert error["exit"] == 2


def test_tensor_type_file_that_is_not_there(run: Run, llama: Path, tmp_path: Path) -> None:
    result = run("quantize", llama, tmp_path / "o", "Q8_0", "--tensor-type-file", tmp_path / "none")
    assert result.code == 4
    assert "none: no such file" in result.err


@pytest.mark.parametrize("kind", ["Q4_K_M", "Q3_K_L", "TQ1_0", "F16", "COPY"])
def test_plan_is_what_is_done(run: Run, llama: Path, tmp_path: Path, kind: str) -> None:
    planned = plan(run, llama, kind)
    assert not list(tmp_path.iterdir())
    out = tmp_path / "out.gguf"
    done = run("quantize", llama, out, kind, "--json").json
    assert {key: done[key] for key in planned} == {**planned, "input": str(llama)}
    assert planned["size"] == out.stat().st_size
    assert {one["name"]: one["to"] for one in planned["tensors"]} == types_of(out)
    with ggufspec.open(out) as file:
        stored = sum(tensor.nbytes for tensor in file.tensors.values())
        assert planned["bits_per_weight"] == 8 * stored / planned["weights"]
        for one in planned["tensors"]:
            assert one["nbytes"] == file.tensors[one["name"]].nbytes
            assert tuple(one["shape"]) == file.tensors[one["name"]].shape
            assert one["reason"]


def test_plan_for_people(run: Run, llama: Path) -> None:
    result = run("quantize", llama, "Q4_K_M", "--plan")
    assert result.code == 0
    assert "why" in result.out.splitlines()[0]
    line = next(line for line in result.out.splitlines() if line.startswith("output.weight"))
    assert "24 x 1024" in line
    assert "Q6_K" in line
    assert "20,160  6.5625".replace("  ", "") in line.replace(" ", "")
    assert "the output needs 6 bits" in line
    assert "bits per weight" in result.out.splitlines()[-1]


def test_dry_run_shows_sums_only(run: Run, llama: Path) -> None:
    result = run("quantize", "--dry-run", llama, "Q4_K")
    assert result.code == 0
    assert "output.weight" not in result.out
    assert "the file: " in result.out


def test_dry_run_only_warns_where_a_matrix_is_needed(run: Run, llama: Path, tmp_path: Path) -> None:
    """As llama-quantize; the work itself refuses."""
    result = run("quantize", llama, "IQ2_XXS", "--dry-run")
    assert result.code == 0
    assert "would be refused" in result.err
    assert "--imatrix FILE gives one" in result.err
    refused = run("quantize", llama, tmp_path / "out.gguf", "IQ2_XXS")
    assert refused.code == 2
    assert "needs an importance matrix" in refused.err
    assert not list(tmp_path.iterdir())
    assert plan(run, llama, "IQ2_XXS")["problems"][0]["kind"] == "usage"


def test_low_bit_embeddings_need_a_matrix_too(run: Run, llama: Path, tmp_path: Path) -> None:
    """llama-quantize aborts here: its policy exempts the embeddings, its search does not."""
    options = ("--token-embedding-type", "IQ2_XXS")
    result = run("quantize", llama, tmp_path / "out.gguf", "Q8_0", *options)
    assert result.code == 2
    assert "'token_embd.weight' becomes IQ2_XXS, which needs an importance matrix" in result.err


@pytest.fixture
def narrow(tmp_path: Path) -> Path:
    """Rows that no block of 256 divides."""
    path = tmp_path / "narrow.gguf"
    weights = {
        name: array[..., :544] if array.ndim > 1 else array
        for name, array in models.llama(2).items()
    }
    ggufspec.write(path, models.metadata(2), weights)
    return path


def test_no_fallback(run: Run, narrow: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.gguf"
    result = run("quantize", narrow, out, "Q4_K_M", "--no-fallback")
    assert result.code == 1
    assert "'token_embd.weight' would become Q5_0" in result.err
    assert "544 are not whole blocks of Q4_K (256); the same goes for" in result.err
    assert "hint: leave out --no-fallback to take that type" in result.err
    assert not out.exists()
    planned = run("quantize", narrow, "Q4_K_M", "--no-fallback", "--plan")
    assert planned.code == 1
    assert "hint: leave out --no-fallback" in planned.err
    assert run("quantize", narrow, out, "Q8_0", "--no-fallback").code == 0


def test_fallback_is_told(run: Run, narrow: Path) -> None:
    tensors = plan(run, narrow, "Q4_K_M")["tensors"]
    assert Counter(one["fallback_from"] for one in tensors)["Q4_K"] > 5
    assert "rows are not whole blocks of Q4_K" in run("quantize", narrow, "Q4_K_M", "--plan").out


def test_quantized_input_is_refused_before_anything_is_written(
    run: Run, llama: Path, tmp_path: Path
) -> None:
    once, twice = tmp_path / "once.gguf", tmp_path / "twice.gguf"
    assert run("quantize", llama, once, "Q8_0").code == 0
    result = run("quantize", once, twice, "Q4_0")
    assert result.code == 2
    assert "hint: --allow-requantize does it all the same" in result.err
    assert not twice.exists()
    assert "would be refused" in run("quantize", once, "Q4_0", "--plan").err
    assert run("quantize", once, twice, "Q4_0", "--allow-requantize").code == 0


def test_floats_that_stay_quantized_are_told(run: Run, tmp_path: Path) -> None:
    """A name that no rule makes eligible, and a type that nobody knows."""
    path, out = tmp_path / "odd.gguf", tmp_path / "out.gguf"
    data = ggufspec.quantize(models.llama(1)["token_embd.weight"], "Q8_0")
    tensors = {
        "a.weight": ggufspec.TensorData(data, "Q8_0", (24, 1024)),
        "a.bias": ggufspec.TensorData(data, "Q8_0", (24, 1024)),
        "b.scale": ggufspec.TensorData(bytes(64), 99, (4, 4)),
    }
    ggufspec.write(path, {"general.architecture": "llama"}, tensors)
    result = run("dequantize", path, out)
    assert result.code == 0
    assert "warning: a.bias: stays Q8_0" in result.err
    assert "warning: b.scale: stays UNKNOWN(99)" in result.err
    assert "a.weight" not in result.err
    assert types_of(out) == {"a.weight": "F32", "a.bias": "Q8_0", "b.scale": "UNKNOWN(99)"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--plan"], "TYPE: two are needed: IN TYPE"),
        (["--dry-run"], "TYPE: two are needed: IN TYPE"),
        (["Q8_0"], "TYPE: three are needed: IN OUT TYPE"),
        ([], "TYPE: three are needed: IN OUT TYPE"),
    ],
    ids=str,
)
def test_what_is_missing_is_the_type(run: Run, llama: Path, words: list[str], told: str) -> None:
    result = run("quantize", llama, *words)
    assert result.code == 2
    assert told in result.err


def test_help_does_not_ask_for_an_output(run: Run) -> None:
    words = run("quantize", "--help").out.split("Options")[0]
    assert words.count("[required]") == 1


def test_summary_says_where_the_reasons_are(run: Run, llama: Path, tmp_path: Path) -> None:
    line = "not all that changes becomes Q4_K: --plan tells why"
    assert line in run("quantize", llama, tmp_path / "out.gguf", "Q4_K_M").out
    assert line not in run("quantize", llama, "Q4_K_M", "--plan").out
    assert "--plan" not in run("quantize", llama, tmp_path / "other.gguf", "Q8_0").out


@pytest.mark.parametrize(("name", "near"), [("Q4_KM", "Q4_K_M or Q4_K"), ("iq3_xxl", "IQ3_X")])
def test_unknown_file_type_that_is_nearly_known(
    run: Run, llama: Path, name: str, near: str
) -> None:
    result = run("quantize", llama, name, "--plan")
    assert result.code == 2
    assert f"unknown file type '{name}'; did you mean {near}" in result.err


def test_unknown_file_type_names_those_there_are(run: Run, llama: Path, tmp_path: Path) -> None:
    result = run("quantize", llama, tmp_path / "out.gguf", "Q99")
    assert result.code == 2
    assert result.err.startswith("error: unknown file type 'Q99'; known: F32, F16, Q4_0")
    assert "Q4_K_M (Q4_K)" in result.err
    assert "NVFP4" not in result.err
