"""What gguf-py's tools make of a file, `meta` makes of it too, value for value."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from support import gguf_py, realfiles
from support.command import command

NUMBERS = {
    "UINT8": "200", "INT8": "-100", "UINT16": "60000", "INT16": "-30000", "UINT32": "4000000000",
    "INT32": "-2000000000", "UINT64": "18000000000000000000", "INT64": "-9000000000000000000",
    "FLOAT32": "0.1", "FLOAT64": "0.1",
}  # fmt: skip


def theirs(script: str, *arguments: str | Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"gguf.scripts.{script}", *map(str, arguments), "--force"],
        capture_output=True, text=True, check=False, env={"NO_LOCAL_GGUF": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def ours(*arguments: str | Path) -> None:
    done = command("meta", *arguments)
    assert done.returncode == 0, done.stderr


def content(path: Path) -> tuple[Any, Any]:
    """Keys with types and values, and tensors with their bytes, as gguf-py reads them."""
    reader = gguf_py.read(path)
    keys = {
        name: (types, value.tolist() if hasattr(value, "tolist") else value)
        for name, (types, value) in gguf_py.metadata(reader).items()
    }
    tensors = [
        (one.name, int(one.tensor_type), one.shape.tolist(), one.data.tobytes())
        for one in reader.tensors
    ]
    return keys, tensors


@pytest.mark.parametrize("order", ["little", "big"])
def test_set_metadata(tmp_path: Path, order: Any) -> None:
    """The same bytes: both change the value where it lies."""
    first, second = tmp_path / "theirs.gguf", tmp_path / "ours.gguf"
    metadata: dict[str, Any] = {f"a.{kind.lower()}": Value(kind, 1) for kind in NUMBERS}
    metadata["general.architecture"] = "llama"
    ggufspec.write(first, metadata, {"t": np.ones((2, 32), np.float32)}, byte_order=order)
    shutil.copy(first, second)
    for kind, number in NUMBERS.items():
        theirs("gguf_set_metadata", first, f"a.{kind.lower()}", number)
    ours("set", second, *(f"a.{kind.lower()}={text}" for kind, text in NUMBERS.items()),
         "--in-place")  # fmt: skip
    assert second.read_bytes() == first.read_bytes()


def template(folder: Path) -> Path:
    path = folder / "template.jinja"
    path.write_text("{% for m in messages %}\n{{ m['content'] }}\u00e9\n{% endfor %}\n", "utf-8")
    return path


def config(folder: Path, value: Any) -> Path:
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({"chat_template": value}), "utf-8")
    return path


SEVERAL = [{"name": "default", "template": "one"}, {"name": "tool use", "template": "two"}]

Words = tuple[Sequence[str | Path], Sequence[str | Path]]
"""What gguf-new-metadata is given, and `meta`."""

CASES: dict[str, Callable[[Path], Words]] = {
    "general name": lambda _: (["--general-name", "x y"], ["set", "general.name=x y"]),
    "description": lambda _: (
        ["--general-description", "d"],
        ["set", "general.description=d"],
    ),
    "chat template": lambda _: (
        ["--chat-template", "{{ x }}"],
        ["set", "tokenizer.chat_template={{ x }}"],
    ),
    "template file": lambda folder: (
        ["--chat-template-file", template(folder)],
        ["set", f"tokenizer.chat_template=@{template(folder)}"],
    ),
    "template config": lambda folder: (
        ["--chat-template-config", config(folder, "{{ y }}")],
        ["set", f"tokenizer.chat_template=@{config(folder, '{{ y }}')}#chat_template"],
    ),
    "several templates": lambda folder: (
        ["--chat-template-config", config(folder, SEVERAL)],
        ["set", f"tokenizer.chat_template=@{config(folder, SEVERAL)}#chat_template"],
    ),
    "pre-tokenizer": lambda _: (
        ["--pre-tokenizer", "smollm"],
        ["set", "tokenizer.ggml.pre=smollm", "--force"],
    ),
    "removal": lambda _: (
        ["--remove-metadata", "general.name", "--remove-metadata", "llama.rope.freq_base"],
        ["delete", "general.name", "llama.rope.freq_base"],
    ),
    "special token": lambda _: (
        ["--special-token", "eos", "<s>"],
        ["set", "tokenizer.ggml.eos_token_id=TOKEN:<s>", "--force"],
    ),
    "special token by id": lambda _: (
        ["--special-token-by-id", "eot", "7"],
        ["set", "tokenizer.ggml.eot_token_id=7", "--force"],
    ),
}


@pytest.fixture(scope="module")
def source(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample, with keys of every kind that gguf-py can copy."""
    path = tmp_path_factory.mktemp("source") / "source.gguf"
    more: dict[str, Any] = {f"a.{kind.lower()}": Value(kind, 1) for kind in NUMBERS}
    more |= {
        "llama.rope.freq_base": Value("FLOAT32", 1e4),
        "a.bool": True,
        "a.strings": ["a", "\u00e9"],
        "a.floats": Value("ARRAY[FLOAT64]", [0.1, 2.0]),
    }
    with ggufspec.open(sample) as file:
        ggufspec.write(path, {**file.metadata.stored_items(), **more}, file.tensors)
    return path


@pytest.mark.parametrize("name", CASES)
def test_new_metadata(source: Path, tmp_path: Path, name: str) -> None:
    given, words = CASES[name](tmp_path)
    first, second = tmp_path / "theirs.gguf", tmp_path / "ours.gguf"
    theirs("gguf_new_metadata", source, first, *given)
    verb, *rest = words
    ours(verb, source, *rest, "-o", second)
    assert content(second) == content(first)


@pytest.mark.slow
def test_new_metadata_of_a_real_model(tmp_path: Path) -> None:
    model = realfiles.smollm2()
    first, second = tmp_path / "theirs.gguf", tmp_path / "ours.gguf"
    file = template(tmp_path)
    theirs("gguf_new_metadata", model, first, "--chat-template-file", file, "--general-name", "x")
    words = ["set", model, f"tokenizer.chat_template=@{file}", "general.name=x"]
    ours(*words, "-o", second)
    assert content(second) == content(first)
    shutil.copy(model, tmp_path / "in_place.gguf")
    words[1] = tmp_path / "in_place.gguf"
    ours(*words, "--in-place")
    assert content(words[1])[1] == content(first)[1]
