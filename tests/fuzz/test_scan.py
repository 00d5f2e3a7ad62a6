"""Valid files scan to what they hold; damaged ones give findings, never anything else."""

from __future__ import annotations

import os
import tempfile
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ggufspec
from ggufspec.container.scan import Scan, scan
from ggufspec.generated import container as tables
from ggufspec.generated import fuzz
from ggufspec.validation import validate
from support import oracle
from support.container import BACKENDS, PROFILES, scan_all
from support.crafted import ARRAY, STRING, UINT8, V3, file
from support.damaged import FORMS, everything
from support.mutations import mutate, mutations, outline
from support.reading import read_all
from support.strategies import Sample, files, sets

EXAMPLES = settings(
    max_examples=int(os.environ.get("GGUFSPEC_FUZZ_EXAMPLES", "100")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


# ---- valid files


@EXAMPLES
@given(files())
def test_valid_files_scan_to_what_they_hold(sample: Sample) -> None:
    for profile in PROFILES:
        found = scan_all(sample.data, profile)
        if _suits(sample, profile):
            assert found.first_error() is None
            _compare(found, sample)


def _suits(sample: Sample, profile: str) -> bool:
    if profile == "ggml":
        return sample.suits_ggml
    if profile == "strict":
        return sample.version > 1
    if profile == "spec":
        return all(tensor.type.elements == 1 for tensor in sample.tensors)
    return True


def _compare(found: Scan, sample: Sample) -> None:
    assert (found.version, found.byte_order) == (sample.version, sample.byte_order)
    assert found.alignment == sample.alignment
    assert found.header == sample.header
    keys, tensors = found.keys, found.tensors
    types = {kind.id: kind.name for kind in tables.LAYOUTS[sample.version].value_types}
    assert len(keys) == len(sample.pairs)
    for row, pair in enumerate(sample.pairs):
        assert _text(sample, keys.key_offset[row], keys.key_length[row]) == pair.key
        assert types[keys.value_type[row]] == pair.kind
        assert types[keys.element_type[row]] == pair.element
        assert keys.count[row] == pair.count
        end = keys.value_end[row]
        assert sample.data[end - len(pair.payload) : end] == pair.payload
    assert len(tensors) == len(sample.tensors)
    for row, tensor in enumerate(sample.tensors):
        assert _text(sample, tensors.name_offset[row], tensors.name_length[row]) == tensor.name
        assert (tensors.type[row], tensors.dims_of(row)) == (tensor.type.id, tensor.dims)
        assert tensors.nbytes[row] == len(tensor.data)
        start = found.data_offset + tensors.offset[row]
        assert sample.data[start : start + len(tensor.data)] == tensor.data


def _text(sample: Sample, offset: int, length: int) -> bytes:
    return sample.data[offset : offset + length]


@EXAMPLES
@given(files(versions=st.just(3), byte_orders=st.just("little"), nested=False))
def test_ggml_reads_the_valid_files(sample: Sample) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.gguf"
        path.write_bytes(sample.data)
        assert oracle.opens(path)


# ---- damaged files


@pytest.mark.parametrize("form", FORMS)
def test_every_prefix_is_an_error(form: str) -> None:
    data = everything(FORMS[form])
    whole = scan_all(data)
    assert whole.first_error() is None
    for length in range(len(data)):
        profile = ("spec", "strict", "lenient")[length % 3]
        assert scan_all(data[:length], profile).first_error() is not None, length
        error = scan_all(data[:length], "ggml").first_error()
        if length < whole.data_offset:
            assert error is not None, length


@pytest.mark.parametrize("form", FORMS)
def test_bit_flips(form: str) -> None:
    """Both cursors agree, whatever bit of the first 512 bytes is wrong."""
    data = bytearray(everything(FORMS[form]))
    step = 1 if form == "v3 little" else 5  # the other forms take the same paths
    for bit in range(0, 8 * min(512, len(data)), step):
        data[bit // 8] ^= 1 << bit % 8
        scan_all(bytes(data), PROFILES[bit % len(PROFILES)])
        data[bit // 8] ^= 1 << bit % 8


@EXAMPLES
@given(mutations(files().map(lambda sample: sample.data)), st.sampled_from(PROFILES))
def test_damaged_valid_files(data: bytes, profile: str) -> None:
    """Typed damage: both cursors agree, and reading gives a result or a GGUFError."""
    scan_all(data, profile)
    read_all(data, profile)


@EXAMPLES
@given(files(), st.data())
def test_damage_of_every_kind(sample: Sample, data: st.DataObject) -> None:
    """The outline finds every number of a valid file, so that each kind of damage can be done."""
    found = outline(sample.data)
    assert (found.version, found.order) == (sample.version, sample.byte_order)
    assert len(found.values) == len(sample.pairs)
    assert len(found.texts) == len(sample.pairs) + len(sample.tensors)
    kind, damaged = mutate(sample.data, lambda items: data.draw(st.sampled_from(items)))
    assert kind in {*fuzz.KINDS.values(), "depth", "name", "bytes", "cut"}
    assert kind not in ("cut", "depth") or len(damaged) != len(sample.data)


@settings(EXAMPLES, max_examples=30)
@given(sets(), st.data())
def test_sets_open_by_any_of_their_files(samples: list[Sample], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        count = len(samples)
        names = [f"m-{n + 1:05}-of-{count:05}.gguf" for n in range(count)]
        for name, sample in zip(names, samples, strict=True):
            (Path(folder) / name).write_bytes(sample.data)
        opened = Path(folder) / data.draw(st.sampled_from(names))
        with ggufspec.open(opened) as f:
            stored = [tensor for sample in samples for tensor in sample.tensors]
            assert [name.encode() for name in f.tensors] == [tensor.name for tensor in stored]
            for tensor, mine in zip(stored, f.tensors.values(), strict=True):
                assert mine.data.tobytes() == tensor.data
        assert not any(finding.rule[:4] == "GG08" for finding in validate(opened).findings)


@EXAMPLES
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    assert scan_all(data).first_error() is not None
    scan_all(b"GGUF\3\0\0\0" + data)


# ---- bounded time and memory


def _hostile() -> dict[str, bytes]:
    many = 5_000
    nest = V3.array(ARRAY, 1) * (many * 20) + V3.array(UINT8, 0)
    return {
        "counts that fit": V3.header(many, many) + bytes(24 * many),
        "keys": V3.header(0, many) + b"".join(V3.pair(b"%d" % n, 0, b"\0") for n in range(many)),
        "equal keys": V3.header(0, many) + V3.pair("k", 0, b"\0") * many,
        "equal tensors": V3.header(many, 0) + V3.tensor("t", [1]) * many,
        "empty strings": file([V3.pair("a", ARRAY, V3.array(STRING, many, bytes(8 * many)))]),
        "bad strings": file(
            [V3.pair("a", ARRAY, V3.array(STRING, many, V3.string(b"\xff") * many))]
        ),
        "empty arrays": file(
            [V3.pair("a", ARRAY, V3.array(ARRAY, many, V3.array(UINT8, 0) * many))]
        ),
        "deep arrays": file([V3.pair("a", ARRAY, nest)]),
    }


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", _hostile())
def test_time_and_memory_are_bounded(name: str, backend: str) -> None:
    data = _hostile()[name]
    tracemalloc.start()
    try:
        start = time.process_time()
        for profile in ("strict", "lenient"):
            scan(data, profile=profile, backend=backend)
        seconds = time.process_time() - start
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000 + 16 * len(data)
    assert seconds < 60  # catches what never ends; it takes about one
