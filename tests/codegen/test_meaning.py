"""Faults in the descriptions of keys, architectures, tokenizers and kinds are refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ggufspec.codegen import architectures, kinds, memory, metadata, tokenizers
from ggufspec.codegen.errors import SpecError, show_path
from ggufspec.codegen.output import Output
from ggufspec.codegen.spec import Spec
from support.project import SPEC
from support.specs import real_spec

OUTPUTS: dict[str, Callable[[Spec], list[Output]]] = {
    "architectures": architectures.outputs,
    "kinds": kinds.outputs,
    "memory": memory.outputs,
    "metadata": metadata.outputs,
    "tokenizers": tokenizers.outputs,
}
FAULTS = {
    # name: (file, text, what stands for it, YAML path, message)
    "number nobody knows": (
        "architectures/qwen2.yaml", "output.bias: {shape: [tokens]", "output.bias: {shape: [token]",
        "tensors.output.bias", "token is none of the numbers before it",
    ),
    "number of a later one": (
        "architectures/general.yaml", "default: head_count}", "default: key_length}",
        "numbers.head_count_kv.default", "key_length is none of the numbers before it",
    ),
    "no formula": (
        "architectures/general.yaml", "that: rope_dimension_count <= key_length",
        "that: rope_dimension_count <= (key_length", "relations[5].that", "is no formula",
    ),
    "call in a formula": (
        "architectures/general.yaml", "that: rope_dimension_count <= key_length",
        "that: open(key_length)", "relations[5].that", "formulas have names, whole numbers",
    ),
    "long formula": (
        "architectures/general.yaml", "that: rope_dimension_count <= key_length",
        f"that: 1{' + 1' * 200}", "relations[5].that", "it is too long",
    ),
    "nested formula": (
        "architectures/general.yaml", "that: rope_dimension_count <= key_length",
        f"that: {'(' * 240}1{')' * 240}", "relations[5].that", "is no formula",
    ),
    "key nobody knows": (
        "architectures/qwen2.yaml", "  - context_length", "  - contxt_length",
        "requires[0]", "contxt_length is no key of metadata/",
    ),
    "number of an unknown key": (
        "architectures/general.yaml", "{key: context_length}", "{key: contxt}",
        "numbers.context_length.key", "contxt is no key of metadata/",
    ),
    "instead of no tensor": (
        "architectures/qwen2.yaml", "unless: 'blk.{n}.attn_qkv.weight'", "unless: 'qkv'",
        "tensors.blk.{n}.attn_q.weight.unless", "qkv is no tensor of this file",
    ),
    "architecture twice": (
        "architectures/qwen2.yaml", "architectures: [qwen2]", "architectures: [llama]",
        "architectures", "llama has a file already",
    ),
    "numbers elsewhere": (
        "architectures/qwen2.yaml", "closed: true", "numbers: {}",
        "numbers", "numbers stands in general.yaml",
    ),
    "type nobody knows": (
        "architectures/general.yaml", "never: [F64", "never: [F65", "never[0]", "F65 is no type",
    ),
    "five dimensions": (
        "architectures/qwen2.yaml", "output.bias: {shape: [tokens]",
        "output.bias: {shape: ['1', '1', '1', '1', '1']",
        "tensors.output.bias.shape", "5 entries; at most 4",
    ),
    "array nobody knows": (
        "tokenizers.yaml", "needs: [scores, token_type], bytes", "needs: [score], bytes",
        "tokenizers.llama.needs[0]", '"score" is not one of scores, token_type, merges',
    ),
    "id nobody knows": (
        "tokenizers.yaml", "defaults: {bos: 1, eos: 2, unknown: 0}}", "defaults: {bso: 1}}",
        "tokenizers.llama.defaults.bso", "tokenizer.ggml.bso_token_id is no key",
    ),
    "cache type nobody knows": (
        "memory.yaml", "caches: [F32, F16", "caches: [F32, F61", "caches[1]", "F61 is no type",
    ),
    "architecture with two rules": (
        "memory.yaml", "plain:\n  [llama, deci", "plain:\n  [llama, gemma2", "plain[1]",
        "gemma2 stands in architectures, too",
    ),
    "sharing key nobody knows": (
        "memory.yaml", "shared: attention.shared_kv_layers", "shared: attention.shared_layers",
        "architectures.gemma4.shared", "{arch}.attention.shared_layers is no key",
    ),
    "switch nobody knows": (
        "memory.yaml", "switch: attention.indexer.top_k", "switch: attention.indexer.top",
        "architectures.hy_v4.index.switch", "{arch}.attention.indexer.top is no key",
    ),
    "window nobody knows": (
        "memory.yaml", "gemma2: {window: {every: 2", "gemma2: {window: {each: 2",
        "architectures.gemma2.window.each", "unknown key",
    ),
    "flag nobody knows": (
        "kinds.yaml", "flag: clip.has_vision_encoder", "flag: clip.has_encoder",
        "modalities.vision.flag", "clip.has_encoder is no key",
    ),
    "requirement nobody knows": (
        "kinds.yaml", "imatrix.chunk_count", "imatrix.chunks",
        "requires.imatrix", "imatrix.chunks is no key",
    ),
    "danger nobody knows": (
        "metadata/general.yaml", "dangerous: code", "dangerous: cod",
        "keys.architecture.dangerous", "'cod' is none of dangers",
    ),
    "closed to nothing": (
        "metadata/general.yaml", "name: STRING", "name: {type: STRING, closed: false}",
        "keys.name.closed", "schema",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str, tmp_path: Path) -> None:
    file, text, instead, path, message = FAULTS[name]
    root = tmp_path / "spec"
    shutil.copytree(SPEC, root)
    given = (root / file).read_text(encoding="utf-8")
    assert text in given
    (root / file).write_text(given.replace(text, instead, 1), encoding="utf-8")
    spec = replace(real_spec(), root=root)
    with pytest.raises(SpecError) as caught:
        OUTPUTS[file.partition("/")[0].removesuffix(".yaml")](spec)
    assert (caught.value.file, show_path(caught.value.path)) == (file, path)
    assert message in caught.value.message


@pytest.mark.parametrize("target", OUTPUTS)
def test_outputs_are_deterministic(target: str) -> None:
    assert OUTPUTS[target](real_spec()) == OUTPUTS[target](real_spec())
