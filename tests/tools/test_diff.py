"""`diff`: what it says of two files, against gguf-py's reading of both and known edits."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ggufspec
from ggufspec import Value
from ggufspec.jobs.diff import Difference, Fact, diff
from support import gguf_py, realfiles
from support.strategies import Sample, files

ONES = np.ones((4, 64), np.float32)
HYPOTHESIS = settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def differ(first: Any, second: Any, **options: Any) -> Difference:
    with ggufspec.open(first) as a, ggufspec.open(second) as b:
        return diff(a, b, **options)


def written(path: Path, metadata: Any, tensors: Any, **options: Any) -> Path:
    ggufspec.write(path, metadata, tensors, **options)
    return path


def theirs(first: Path, second: Path) -> tuple[set[str], set[str], set[str]]:
    """Keys, tensor infos and data that differ, as gguf-py reads them."""
    readers = gguf_py.read(first), gguf_py.read(second)
    keys = [
        {name: (types, repr(value)) for name, (types, value) in gguf_py.metadata(one).items()}
        for one in readers
    ]
    infos = [
        {one.name: (int(one.tensor_type), one.shape.tolist()) for one in reader.tensors}
        for reader in readers
    ]
    data = [{one.name: one.data.tobytes() for one in reader.tensors} for reader in readers]

    def differing(pair: list[dict[str, Any]]) -> set[str]:
        names = {*pair[0], *pair[1]}
        return {name for name in names if pair[0].get(name) != pair[1].get(name)}

    shared = {name for name in infos[0] if infos[0][name] == infos[1].get(name)}
    return differing(keys), differing(infos), differing(data) & shared


def test_real_vocabularies() -> None:
    for names in (("llama-spm", "phi-3"), ("bert-bge", "deepseek-coder")):
        paths = [realfiles.vocabulary(f"ggml-vocab-{name}.gguf") for name in names]
        keys, _, _ = theirs(*paths)
        found = differ(*paths)
        assert {change.key for change in found.metadata} == keys
        assert not found.equal


def test_edited_real_model(tmp_path: Path) -> None:
    """Some tensors and keys of SmolLM2, edited."""
    paths = tmp_path / "first.gguf", tmp_path / "second.gguf"
    with ggufspec.open(realfiles.smollm2()) as source:
        metadata: dict[str, Any] = dict(source.metadata.stored_items())
        chosen = {name: source.tensors[name] for name in list(source.tensors)[:12]}
        ggufspec.write(paths[0], metadata, chosen)
        names = list(chosen)
        data = chosen[names[3]].data.copy()
        kind = chosen[names[3]].kind
        assert kind is not None
        data[0, kind.bytes * 2 + 5] ^= 0xFF
        data[1, 7] ^= 0xFF
        edited: dict[str, Any] = {n: chosen[n] for n in names[:-1]}
        edited[names[3]] = ggufspec.TensorData(data, kind.name, chosen[names[3]].shape)
        edited["new"] = ONES
        tokens = list(source.metadata["tokenizer.ggml.tokens"])
        tokens[100], tokens[49_000] = "changed", "too"
        metadata["tokenizer.ggml.tokens"] = Value("ARRAY[STRING]", tokens)
        metadata["general.name"] = Value("STRING", "other")
        del metadata["general.file_type"]
        ggufspec.write(paths[1], metadata, edited)
    found = differ(*paths)
    keys, infos, values = theirs(*paths)
    assert {change.key for change in found.metadata} == keys
    assert {change.name for change in found.tensors} == infos == {names[-1], "new"}
    assert {change.name for change in found.changed} == values == {names[3]}
    (change,) = found.changed
    blocks = chosen[names[3]].shape[-1] // kind.elements
    assert (change.bytes, change.blocks, change.first_block) == (2, 2, 2)
    assert change.first_byte == 2 * kind.bytes + 5
    readers = [gguf_py.read(path) for path in paths]
    decoded = [
        next(
            gguf_py.dequantize(np.asarray(one.data), int(one.tensor_type)).ravel()
            for one in reader.tensors
            if one.name == names[3]
        )
        for reader in readers
    ]
    places = np.flatnonzero(decoded[0] != decoded[1])
    assert (change.elements, change.first_element) == (len(places), places[0])
    assert set(places // kind.elements) <= {2, blocks}
    assert change.largest == abs(decoded[1].astype(float) - decoded[0]).max()


@given(files(versions=st.sampled_from((2, 3)), nested=False), st.data())
@HYPOTHESIS
def test_every_edit_of_a_key_is_told(tmp_path: Path, sample: Sample, data: st.DataObject) -> None:
    """Keys deleted, added and changed; the bytes of all others are the same."""
    with ggufspec.open(sample.data, dialect="ggml") as file:
        before = file.metadata.stored_items()
        after: dict[str, Any] = dict(before)
        tensors = dict(file.tensors)
        gone = data.draw(st.sets(st.sampled_from(sorted(before)), max_size=2))
        left = [key for key in before if key not in gone and key != "general.alignment"]
        changed = data.draw(st.sets(st.sampled_from(left), max_size=2)) if left else set()
        gone.discard("general.alignment")
        for key in gone:
            del after[key]
        for key in changed:
            after[key] = Value("STRING", "quite another value")
        after["new.key"] = Value("UINT8", 3)
        path = tmp_path / "edited.gguf"
        ggufspec.write(
            path, after, tensors, byte_order=sample.byte_order, version=sample.version,
            alignment=sample.alignment,
        )  # fmt: skip
        with ggufspec.open(path, dialect="ggml") as other:
            found = diff(file, other)
    kinds = {change.key: change.kind for change in found.metadata}
    expected = dict.fromkeys(gone, "delete") | dict.fromkeys(changed, "change")
    assert kinds == {**expected, "new.key": "add"}
    assert not found.tensors
    assert not found.data


@given(files(), st.sampled_from(("little", "big")), st.sampled_from((2, 3)))
@HYPOTHESIS
def test_other_forms_are_equal_models(
    tmp_path: Path, sample: Sample, order: Any, version: int
) -> None:
    """A file of another version and byte order holds the same, whatever types are in it."""
    path = tmp_path / "other.gguf"
    with ggufspec.open(sample.data, dialect="ggml") as file:
        ggufspec.write(
            path, file.metadata.stored_items(), file.tensors, byte_order=order, version=version,
            alignment=sample.alignment,
        )  # fmt: skip
        with ggufspec.open(path, dialect="ggml") as other:
            found = diff(file, other)
            assert found.equal, found
            names = {fact.name for fact in found.layout}
            assert ("byte order" in names) == (sample.byte_order != order)
            assert ("version" in names) == (sample.version != version)
            back = diff(other, file)
            assert back.equal
            assert found.identical == (path.read_bytes() == sample.data)


@given(files(nested=False), st.data())
@HYPOTHESIS
def test_a_changed_byte_is_found(sample: Sample, data: st.DataObject) -> None:
    """Any byte of any tensor: it is told of that tensor, at that place."""
    with ggufspec.open(sample.data, dialect="ggml") as file:
        filled = [one for one in file.tensors.values() if one.nbytes]
        if not filled:
            return
        tensor = data.draw(st.sampled_from(filled))
        at = data.draw(st.integers(0, tensor.nbytes - 1))
        changed = bytearray(sample.data)
        changed[tensor.file_offset + at] ^= data.draw(st.integers(1, 255))
        with ggufspec.open(bytes(changed), dialect="ggml") as other:
            found = diff(file, other)
    assert found.identical is False
    assert [one.name for one in found.data] == [tensor.name]
    (change,) = found.data
    assert (change.bytes, change.first_byte) == (1, at)
    kind = tensor.kind
    assert kind is not None
    if change.blocks:
        assert change.first_block is not None
        row = kind.row_bytes(tensor.shape[-1])
        prefix = kind.info.row_prefix
        blocks = (row - prefix) // kind.bytes
        assert change.first_block == at // row * blocks + (at % row - prefix) // kind.bytes


def test_equal_bytes(tmp_path: Path) -> None:
    path = written(tmp_path / "a.gguf", {"a.b": "c"}, {"x": ONES})
    copy = tmp_path / "b.gguf"
    copy.write_bytes(path.read_bytes())
    for other in (path, copy):
        found = differ(path, other)
        assert found == Difference(compared=1, identical=True)
        assert found.equal
    found = differ(path, copy, sections=("metadata", "tensors"))
    assert (found.equal, found.identical) == (True, None)


def test_padding_and_trailing_bytes(tmp_path: Path) -> None:
    path = written(tmp_path / "a.gguf", {"a.b": "c"}, {"x": np.ones(3, np.float32), "y": ONES})
    good = path.read_bytes()
    with ggufspec.open(path) as file:
        x = file.tensors["x"]
        gap = x.file_offset + x.nbytes
    padded = tmp_path / "padded.gguf"
    padded.write_bytes(good[:gap] + b"\1" + good[gap + 1 :])
    found = differ(path, padded)
    assert (found.equal, found.identical) == (True, False)
    assert found.layout == (Fact("padding bytes that are not zero", 0, 1),)
    tail = tmp_path / "tail.gguf"
    tail.write_bytes(good + b"more")
    found = differ(path, tail)
    assert (found.equal, found.identical) == (True, False)
    assert found.layout == (
        Fact("bytes", len(good), len(good) + 4), Fact("bytes behind the data", 0, 4),
    )  # fmt: skip


def test_order_is_layout(tmp_path: Path) -> None:
    a = written(tmp_path / "a.gguf", {"a.a": "1", "b.b": "2"}, {"x": ONES, "y": ONES * 2})
    b = written(tmp_path / "b.gguf", {"b.b": "2", "a.a": "1"}, {"y": ONES * 2, "x": ONES})
    found = differ(a, b)
    assert (found.equal, found.identical) == (True, False)
    facts = {fact.name: (fact.before, fact.after) for fact in found.layout}
    assert facts["order of keys"] == ("a.a", "b.b")
    assert facts["order of tensors"] == ("x", "y")
    assert facts["offset of tensor x and 1 more"] == (0, 1024)


def test_nan_is_nan_and_signs_of_zero_count(tmp_path: Path) -> None:
    first = np.array([np.nan, 0.0, 1.0, np.nan, np.inf], np.float32)
    second = first.copy()
    second.view(np.uint32)[0] |= 0x80000001
    a = written(tmp_path / "a.gguf", {}, {"x": first})
    b = written(tmp_path / "b.gguf", {}, {"x": second})
    found = differ(a, b)
    assert found.equal
    assert [one.name for one in found.restated] == ["x"]
    second[1] = -0.0
    found = differ(a, written(tmp_path / "c.gguf", {}, {"x": second}))
    assert not found.equal
    (change,) = found.changed
    assert (change.elements, change.first_element, change.largest) == (1, 1, 0.0)
    second[3] = 5
    found = differ(a, written(tmp_path / "d.gguf", {}, {"x": second}))
    (change,) = found.changed
    assert change.elements == 2
    assert np.isnan(change.largest)


@pytest.mark.parametrize("dtype", ["f8", "i8", "i4", "i2", "i1", "f2"])
def test_plain_types_are_compared_by_their_own_bits(tmp_path: Path, dtype: str) -> None:
    """Differences that float32 cannot tell are differences."""
    first = np.full(1000, 1, dtype)
    first[10] = 100 if dtype == "i1" else 1 << 14
    second = first.copy()
    second.view(f"u{first.dtype.itemsize}")[10] ^= 1
    a = written(tmp_path / "a.gguf", {}, {"x": first})
    b = written(tmp_path / "b.gguf", {}, {"x": second}, byte_order="big")
    (change,) = differ(a, b).changed
    assert (change.elements, change.first_element, change.bytes) == (1, 10, 1)
    assert change.largest == abs(float(second[10]) - float(first[10]))


def test_types_and_shapes(tmp_path: Path) -> None:
    x = np.random.default_rng(1).standard_normal((4, 64)).astype(np.float32)
    x = x.astype(np.float16).astype(np.float32)
    a = written(tmp_path / "a.gguf", {}, {"x": x, "y": x, "z": x})
    b = written(tmp_path / "b.gguf", {}, {"x": x.astype(np.float16), "y": x[:2]})
    found = differ(a, b)
    told = {change.name: (change.kind, change.what) for change in found.tensors}
    assert told == {
        "x": ("change", ("type",)), "y": ("change", ("shape",)), "z": ("delete", ()),
    }  # fmt: skip
    assert not found.data  # every value is the same
    (added,) = (one for one in differ(b, a).tensors if one.name == "z")
    assert added.kind == "add"


def test_sets_and_single_files(tmp_path: Path) -> None:
    x = {f"t{n}": ONES * n for n in range(6)}
    whole = written(tmp_path / "whole.gguf", {"a.b": "c"}, x)
    names = list(x)
    for number in range(3):
        keys = {
            **({"a.b": "c"} if not number else {}),
            "split.no": Value("UINT16", number),
            "split.count": Value("UINT16", 3),
            "split.tensors.count": Value("INT32", 6),
        }
        part = {name: x[name] for name in names[2 * number : 2 * number + 2]}
        ggufspec.write(tmp_path / f"part-0000{number + 1}-of-00003.gguf", keys, part)
    shard = tmp_path / "part-00002-of-00003.gguf"
    found = differ(whole, shard)
    assert (found.equal, found.identical, found.compared) == (True, False, 6)
    assert Fact("files", 1, 3) in found.layout
    assert differ(shard, tmp_path / "part-00001-of-00003.gguf").identical
    other = written(tmp_path / "other.gguf", {"a.b": "c"}, {**x, "t5": ONES})
    assert [one.name for one in differ(shard, other).changed] == ["t5"]


def test_unknown_types_are_compared_as_they_are_stored(tmp_path: Path) -> None:
    paths = [tmp_path / f"{n}.gguf" for n in range(3)]
    for path, byte in zip(paths, (0, 0, 7), strict=True):
        data = bytes([1, 2, 3, byte]) * 16
        ggufspec.write(path, {}, {"u": ggufspec.TensorData(data, 99, (2, 32)), "x": ONES})
    assert differ(paths[0], paths[1]).identical
    (change,) = differ(paths[0], paths[2]).changed
    assert (change.name, change.bytes, change.first_byte) == ("u", 16, 3)
    assert (change.elements, change.blocks) == (None, None)
    other = written(
        tmp_path / "other.gguf", {"general.alignment": Value("UINT32", 64)},
        {"u": ggufspec.TensorData(bytes([1, 2, 3, 0]) * 16, 99, (2, 32)), "x": ONES},
    )  # fmt: skip
    assert not differ(paths[0], other).data  # that it reaches to another end is padding


def test_numbers_of_other_dialects(tmp_path: Path) -> None:
    """The same layout under the numbers of two dialects, and one that sizes do not tell."""
    kind = ggufspec.types["PQ2_0"]
    shape = (8, 2 * kind.elements)
    data = np.random.default_rng(2).integers(0, 255, (8, kind.row_bytes(shape[1])), np.uint8)
    path, other = tmp_path / "a.gguf", tmp_path / "b.gguf"
    for file in (path, other):
        ggufspec.write(file, {}, {"x": ggufspec.TensorData(data, 142, shape)})
    with ggufspec.open(other) as opened:
        columns = opened.parts[0].scan.tensors
        at = columns.name_offset[0] + columns.name_length[0] + 4 + 2 * 8
    changed = bytearray(other.read_bytes())
    assert changed[at] == 142
    changed[at] = 42
    other.write_bytes(changed)
    with (
        ggufspec.open(path, dialect="prism") as first,
        ggufspec.open(other, dialect="prism-early") as second,
    ):
        found = diff(first, second)
    assert found.equal
    assert Fact("number of the type of tensor x", 142, 42) in found.layout
    changed[-1] ^= 1
    edited = tmp_path / "c.gguf"
    edited.write_bytes(changed)
    (change,) = differ(other, edited).changed
    assert (change.bytes, change.first_byte) == (1, data.size - 1)


def test_ignored_keys(tmp_path: Path) -> None:
    a = written(tmp_path / "a.gguf", {"a.b": "1", "a.c": "2", "x.y": "3"}, {"x": ONES})
    b = written(tmp_path / "b.gguf", {"a.b": "0", "x.y": "3"}, {"x": ONES})
    assert [change.key for change in differ(a, b).metadata] == ["a.b", "a.c"]
    found = differ(a, b, ignore=["a.*"])
    assert found.equal
    assert found.ignored == ("a.b", "a.c")
    with pytest.raises(ValueError, match="sections are"):
        differ(a, b, sections=("colours",))


def test_large_files_in_little_memory(tmp_path: Path) -> None:
    """Different everywhere, of different types, in less memory than a tensor has bytes."""
    x = np.random.default_rng(3).random((4096, 4096), np.float32) + 1
    a = written(tmp_path / "a.gguf", {}, {"x": x})
    b = written(tmp_path / "b.gguf", {}, {"x": x * 2}, byte_order="big")
    c = written(tmp_path / "c.gguf", {}, {"x": x.astype(np.float16)})
    script = (
        "import resource, sys, ggufspec\n"
        "from ggufspec.jobs.diff import diff\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "a, b, c = map(ggufspec.open, sys.argv[1:])\n"
        "assert diff(a, b).changed[0].elements == 4096 * 4096\n"
        "assert diff(a, c).changed[0].elements > 4096\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(a), str(b), str(c)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(done.stdout) < 50_000  # kB


def test_many_keys_and_tensors(tmp_path: Path) -> None:
    keys: dict[str, Any] = {f"k.{n}": Value("UINT32", n) for n in range(20_000)}
    tensors: dict[str, Any] = {f"t.{n}": np.full(8, n, np.float32) for n in range(2_000)}
    a = written(tmp_path / "a.gguf", keys, tensors)
    keys["k.7"], tensors["t.1999"] = Value("UINT32", 8), np.zeros(8, np.float32)
    b = written(tmp_path / "b.gguf", keys, tensors)
    found = differ(a, b)
    assert [change.key for change in found.metadata] == ["k.7"]
    assert [change.name for change in found.changed] == ["t.1999"]


def test_changes_are_replaced_by_name() -> None:
    """`plus` keeps what came first and adds up the rest."""
    from ggufspec.jobs.diff import DataChange

    one = DataChange(None, 1, 4, None, None, 1, 9, 0.5)  # type: ignore[arg-type]
    two = replace(one, first_byte=8, first_element=20, largest=2.0)
    assert one.plus(two) == DataChange(None, 2, 4, None, None, 2, 9, 2.0)  # type: ignore[arg-type]
