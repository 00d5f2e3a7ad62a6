"""generated/ksy/README.md."""

from __future__ import annotations

from ...container.model import Container
from .container import MEANS, File
from .targets import TARGETS

_RAN = {
    "vectors": "runs the vectors",
    "compiled": "its compiler takes it",
    "made": "ksc makes it",
}

_UNCHECKED = {
    "unique": "Kaitai cannot look for an equal name in what it has read",
    "no_overlap": "Kaitai cannot sort, and tensors may lie in any order",
}

_TEXT = """# GGUF in Kaitai Struct (spec {version})

Parsers for the fifteen targets of ksc 0.11, made from the same description as everything else
here. They read; for writing, decoding, error codes or files that nobody vouches for, the libraries
beside this folder do more.

| file | what |
|---|---|
| `gguf_le.ksy`, `gguf_be.ksy` | the container in each byte order, versions {versions} |
| `ggml_blocks.ksy` | every block layout: stored fields, and each code as a lazy array |
| `nim/` | the container without `valid/expr`, for the one target that refuses it |

## First example

    ksc -t python gguf_le.ksy ggml_blocks.ksy && pip install kaitaistruct

```python
from gguf_le import GgufLe
from ggml_blocks import GgmlBlocks
from kaitaistruct import KaitaiStream, BytesIO

with GgufLe.from_file("model.gguf") as f:
    for pair in f.metadata:
        print(pair.key.text, pair.value_type.name)
    for tensor, block in zip(f.tensors, f.tensor_blocks):
        print(tensor.name.text, [dim.value for dim in tensor.dims], tensor.ggml_type, tensor.nbytes)
    q4_0 = GgmlBlocks.Q40(KaitaiStream(BytesIO(f.tensor_blocks[0].data)))  # if its type is Q4_0
    print(q4_0.d, [code.value for code in q4_0.q])
```

- Which file: the version is the little-endian number at byte 4. Below {below} take `gguf_le`, else
  `gguf_be`; the wrong one refuses the version.
- A value is `pair.value.value` (a number), `.text` or `.data` (a string), or an array: `.count`
  and `.body.elements`. `.body.data` is the bytes of a numeric array, whose elements are read when
  asked for.
- A tensor's bytes are `tensor_blocks[i].data`, read when asked for; a tensor that reaches beyond
  the end of the file is refused at once. `is_sized` is false for a type that is not in the list and
  for rows that are no whole blocks: then `nbytes` is 0 and there is no `data`.
- The blocks are those of little-endian files. Halves and smaller floats come as bits.

## What is checked

The limits are those of the profile `{profile}`. These rules of it are checked, each by one of:

{means}

| rule | | checked by |
|---|---|---|
{checked}

Never checked, in no target:

| rule | | why |
|---|---|---|
{unchecked}

Rules that only other profiles call an error (key syntax, UTF-8, order and gaps of the data, ...)
are not checked either, and there are no error codes: a target raises what its runtime raises.

## What each target checks, and what it drops in silence

| target | form | acts on | drops | tried | to know |
|---|---|---|---|---|---|
{targets}

"Runs the vectors": the conformance files and blocks pass in the tests. "Its compiler takes it":
tried by hand with the runtime's source (Rust, C++). "ksc makes it": nothing more is known here,
except that the tests look into the text for the checks it should have or lack.
"""


def readme(container: Container, file: File, version: str) -> str:
    """The page: how to use the files, and the tables of what is checked."""
    number = [profile.name for profile in container.profiles].index(file.profile)
    severe = [rule for rule in container.rules if rule.severities[number] == "error"]
    return _TEXT.format(
        version=version,
        versions=f"{container.versions[0]} to {container.versions[-1]}",
        below=container.below,
        profile=file.profile,
        means="\n".join(f"- `{name}`: {text}" for name, text in MEANS.items()),
        checked="\n".join(
            f"| {rule.id} | {rule.name} | `{file.checked[rule.id]}` |"
            for rule in severe
            if rule.id in file.checked
        ),
        unchecked="\n".join(
            f"| {rule.id} | {rule.name} | {_UNCHECKED.get(rule.check, 'Kaitai cannot say it')} |"
            for rule in severe
            if rule.id not in file.checked and rule.check != "all_shown"
        ),
        targets="\n".join(
            f"| {target.name} | {target.form} | {_listed(target.means)} | "
            f"{_listed(tuple(name for name in MEANS if name not in target.means))} | "
            f"{_RAN[target.ran]} | {target.note} |"
            for target in TARGETS
        ),
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "-"
