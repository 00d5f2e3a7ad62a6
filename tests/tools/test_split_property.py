"""Any file: split and merged it is the same, byte for byte, or it was told what is not."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ggufspec
from ggufspec.files.shard_names import shard_name
from ggufspec.jobs.sets import SetPlan, merge, split
from support import crafted, oracle
from support.crafted import Form
from support.strategies import Sample, files, files_of_a_dialect, sets

QUIET = settings(max_examples=60, database=None)

LIMITS = st.one_of(
    st.builds(dict, max_tensors=st.integers(1, 4)),
    st.builds(dict, max_size=st.integers(1, 4000)),
    st.just({}),
)


def contents(path: Path, dialect: str | None = None) -> tuple[Any, ...]:
    """All that a file, or a set, holds but for the keys that number files: values and data."""
    with ggufspec.open(path, dialect=dialect) as f:
        keys = {
            key: (f.metadata.type_of(key), bytes(f.metadata.stored(key).bytes()))
            for key in f.metadata
            if not key.startswith("split.")
        }
        tensors = [
            (t.name, t.type_id, t.shape, t.data.tobytes() if t.nbytes else b"")
            for t in f.tensors.values()
        ]
        return f.version, f.byte_order, f.alignment, list(keys.items()), tensors


def around(source: Path, **options: Any) -> tuple[SetPlan, SetPlan, Path]:
    """Split a file and merge it again."""
    there = split(source, source.with_name("set"), **options)
    back = source.with_name("back.gguf")
    return there, merge(there.paths[len(there.paths) // 2], back), back


@QUIET
@given(sample=files(), limits=LIMITS, tensorless_first=st.booleans())
def test_files_that_are_padded_as_we_pad(
    sample: Sample, limits: dict[str, int], tensorless_first: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        path.write_bytes(sample.data)
        there, again, back = around(path, tensorless_first=tensorless_first, **limits)
        assert back.read_bytes() == sample.data
        assert there.changes == ()
        assert [change.kind for change in again.changes] == ["removed"]
        assert contents(there.paths[0]) == contents(path)
        sizes = [made.stat().st_size for made in there.paths]
        assert [file.size for file in there.files] == sizes
        for file, size in zip(there.files, sizes, strict=True):
            assert size <= limits.get("max_size", size) or len(file.items) <= 1
            assert len(file.items) <= limits.get("max_tensors", 128)
            if sample.suits_ggml:
                check_with_ggml(file.path, sample)


def check_with_ggml(path: Path, sample: Sample) -> None:
    whole, part = oracle_reads(sample.data, path), oracle.read(path)
    if whole is None:  # an alignment or a type that this build of ggml does not know
        return
    assert part is not None
    theirs = {tensor.name: tensor for tensor in whole.tensors}
    for tensor in part.tensors:
        other = theirs[tensor.name]
        assert (tensor.type, tensor.shape, tensor.nbytes) == (other.type, other.shape, other.nbytes)


def oracle_reads(data: bytes, beside: Path) -> oracle.File | None:
    path = beside.with_name("oracle.gguf")
    path.write_bytes(data)
    return oracle.read(path)


@QUIET
@given(samples=sets(), limits=LIMITS)
def test_sets(samples: Sequence[Sample], limits: dict[str, int]) -> None:
    """Merged, and split again in another way: the same tensors and values."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, sample in enumerate(samples):
            paths.append(Path(folder) / shard_name("old", number + 1, len(samples)))
            paths[-1].write_bytes(sample.data)
        expected = contents(paths[0])
        whole = Path(folder) / "whole.gguf"
        merge(paths[-1], whole)
        assert contents(whole) == expected
        straight, _, back = around(whole, **limits)
        assert contents(straight.paths[-1]) == expected
        assert back.read_bytes() == whole.read_bytes()
        again = split(paths[0], Path(folder) / "again", **limits)
        for made, other in zip(again.paths, straight.paths, strict=True):
            assert made.read_bytes() == other.read_bytes()
        for path, sample in zip(paths, samples, strict=True):
            assert path.read_bytes() == sample.data


@st.composite
def odd_files(draw: st.DrawFn) -> bytes:
    """Gaps, another order, bytes between and behind, no padding at the end, unknown types."""
    form = Form(draw(st.sampled_from([1, 2, 3])), draw(st.sampled_from(["little", "big"])))
    alignment = draw(st.sampled_from([8, 24, 32, 64]))
    count = draw(st.integers(1, 5))
    infos: list[bytes] = [b""] * count
    data = b""
    for row in draw(st.permutations(range(count))):
        kind = draw(st.sampled_from([crafted.F32, crafted.I8, 200, 31, crafted.Q8_0]))
        extents = draw(st.lists(st.integers(0, 3), max_size=3))
        dims = [draw(st.sampled_from([0, 32, 33, 5])), *extents]
        elements = 1
        for dim in dims:
            elements *= dim
        if kind == crafted.Q8_0:
            dims[0] = dims[0] // 32 * 32
        size = {crafted.F32: 4 * elements, crafted.I8: elements}.get(kind, 34 * elements // 32)
        gap = alignment * draw(st.sampled_from([0, 0, 0, 1, 2]))
        data += draw(st.sampled_from([b"\0", b"\0", b"\xee"])) * gap
        infos[row] = form.tensor(f"t{row}", dims, kind, len(data))
        data += draw(st.binary(min_size=1, max_size=4)) * size
        fill = draw(st.sampled_from([b"\0", b"\0", b"\xdd"]))
        data += fill * (-len(data) % alignment)
    end = draw(st.sampled_from(["whole", "whole", "unpadded", "tail"]))
    data = {"whole": data, "unpadded": data.rstrip(b"\0"), "tail": data + b"tail"}[end]
    pairs = [form.pair("general.alignment", crafted.UINT32, form.u32(alignment))]
    if draw(st.booleans()):
        pairs.append(form.pair("split.count", crafted.UINT16, form.number(0, 2)))
    return crafted.file(pairs, infos, data, alignment, form)


@settings(QUIET, max_examples=100)
@given(data=odd_files(), limits=LIMITS)
def test_files_that_nobody_pads_so(data: bytes, limits: dict[str, int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        path.write_bytes(data)
        try:
            before = contents(path)
        except ggufspec.GGUFError:
            with pytest.raises(ggufspec.GGUFError):
                split(path, Path(folder) / "set")
            return
        there, again, back = around(path, **limits)
        after = contents(back)
        assert after[:4] == before[:4]
        for new, old in zip(after[4], before[4], strict=True):
            assert new[:3] == old[:3]
            # of a type that nobody knows the size of, what is there may be padded
            assert new[3].startswith(old[3])
            assert not new[3][len(old[3]) :].strip(b"\0")
        told = [*there.changes, *(change for change in again.changes if change.kind != "removed")]
        assert bool(told) == (back.read_bytes() != data)
        split(back, Path(folder) / "more", **limits)
        merged = merge(next(Path(folder).glob("more-*")), Path(folder) / "twice.gguf")
        assert [change.kind for change in merged.changes] == ["removed"]
        assert (Path(folder) / "twice.gguf").read_bytes() == back.read_bytes()


@QUIET
@given(made=files_of_a_dialect([8, 32, 64]), limits=LIMITS, said=st.booleans())
def test_types_of_forks(made: tuple[str, bytes], limits: dict[str, int], said: bool) -> None:
    name, data = made
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        path.write_bytes(data)
        dialect = name if said else None
        there = split(path, Path(folder) / "set", dialect=dialect, **limits)
        assert contents(there.paths[0], name) == contents(path, name)
        merge(there.paths[-1], Path(folder) / "back.gguf", dialect=dialect)
        assert (Path(folder) / "back.gguf").read_bytes() == data
