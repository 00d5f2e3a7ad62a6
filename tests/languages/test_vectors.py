"""The vectors of spec/conformance are fresh, and everybody agrees with them.

What made them is the interpreter of the type files and a builder of bytes; here ggml's own C,
gguf-py and ggufspec are asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import ggufspec
import vectors.bad
import vectors.good
from ggufspec import blocks
from ggufspec.files.part import Part
from ggufspec.files.reader import File, load_part
from languages.questions import Record, floats, records
from support import gguf_py, oracle
from support.container import PROFILES, scan_all
from support.interpreter import integers
from support.project import SPEC
from support.samples import first_difference
from vectors.make import make, stale

VECTORS = SPEC / "conformance"
BLOCKS = sorted((VECTORS / "blocks").glob("*.txt"))
GOOD = {good.name: good for good in vectors.good.files(SPEC)}

ONLY_GGML = {
    "elements-overflow-4294967296-4294967296",
    "elements-overflow-9223372036854775807-2-1-1",
    "elements-overflow-1099511627776-1099511627776",
    "elements-overflow-4611686018427387904-0-4611686018427387904",
    "elements-overflow-1-0-4611686018427387904-4611686018427387904",
    "elements-overflow-0-4611686018427387904-4611686018427387904",
    "bytes-overflow-4-1073741823-1073741825",
    "shape-4611686018427387904-0-4611686018427387904-of-type-24",
    "shape-1-0-4611686018427387904-4611686018427387904-of-type-24",
    "shape-4294967296-4294967296-of-type-0",
    "shape-9223372036854775807-2-1-1-of-type-24",
    "shape-0-4611686018427387904-4611686018427387904-of-type-0",
    "alignment-with-a-nul-in-front-of-the-alignment",
    "bytes-overflow-2305843009213693952",
    "bytes-overflow-4611686018427387904-1",
}
"""Files that the wheel's ggml 0.20 accepts; tests/conformance/test_container_ggml.py says why."""

ONLY_WE = {"size-within-31-bytes-of-2-63", "tensor-names-equal-up-to-a-nul"}
"""Those that it refuses and the profile does not; ggml 0.25 takes them."""


def test_fresh() -> None:
    """`PYTHONPATH=tests python -m vectors` would change nothing."""
    assert stale(VECTORS, make(SPEC)) == []


def test_small() -> None:
    sizes = [path.stat().st_size for path in VECTORS.rglob("*") if path.is_file()]
    assert sum(sizes) < 1 << 20


def test_every_rule_that_a_small_file_can_break() -> None:
    """Every rule of the container that is an error somewhere is the first error of some file."""
    from ggufspec.generated.container import RULES

    beyond = {"GG0304", "GG0305", "GG0901"}  # a GiB; more findings than are kept
    lines = (VECTORS / "files.txt").read_text(encoding="ascii").splitlines()
    shown = {line.split("\t")[2] for line in lines if not line.startswith("#")}
    errors = {rule.id for rule in RULES if "error" in rule.severities}
    assert errors - shown == beyond


def test_ggml_agrees() -> None:
    """The reader of ggml accepts what the profile `ggml` says, but for known differences."""
    lines = (VECTORS / "files.txt").read_text(encoding="ascii").splitlines()
    rows = [line.split("\t") for line in lines if "\tggml\t" in line]
    ours = {name: verdict == "ok" for name, _, verdict, _ in rows}
    paths = {name: VECTORS / f"files/{name}.gguf" for name in ours}
    said = oracle.verdicts(paths.values())
    theirs = {name: said[path] == "accept" for name, path in paths.items()}
    assert {name for name in ours if theirs[name] and not ours[name]} == ONLY_GGML & set(ours)
    assert {name for name in ours if ours[name] and not theirs[name]} == ONLY_WE & set(ours)


@pytest.mark.parametrize("name", GOOD)
def test_good_file(name: str, tmp_path: Path) -> None:
    """Both cursors say what the file's maker says of it, and our writer writes those bytes."""
    good = GOOD[name]
    data, content = good.data, good.content
    for profile in PROFILES:
        error = scan_all(data, profile).first_error()
        found = None if error is None else (error.rule, error.offset)
        assert found == good.refused.get(profile), profile
    found_all = scan_all(data)
    assert (found_all.data_offset, found_all.alignment) == (
        content.data_offset(),
        content.alignment,
    )
    sizes = [-1 if tensor.nbytes is None else tensor.nbytes for tensor in content.tensors]
    assert list(found_all.tensors.nbytes) == sizes
    if good.written is None:
        return
    source, target = tmp_path / "source.gguf", tmp_path / "copy.gguf"
    source.write_bytes(data)
    part = load_part(source, "lenient", "ggml")
    with File([Part(part.source, part.scan)]) as file:
        ggufspec.write(target, file.metadata, file.tensors)
    assert hashlib.sha256(target.read_bytes()).digest() == hashlib.sha256(good.written).digest()


@pytest.mark.parametrize("path", BLOCKS, ids=lambda path: path.stem)
def test_blocks(path: Path) -> None:
    """Decoders of ggml and gguf-py where they have one, and both of our back ends."""
    for record in records(path):
        expected = floats(record["x"])
        for name, decode in _decoders(record).items():
            assert first_difference(decode(_row(record)), expected) is None, name
        if record["code"]:
            _same_codes(record)


Decode = Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.float32]]


def _decoders(record: Record) -> dict[str, Decode]:
    kind = ggufspec.types[record["type"]]
    tail = np.frombuffer(bytes.fromhex(record["suffix"]), np.uint8) if "suffix" in record else None
    found: dict[str, Decode] = {
        backend: lambda row, backend=backend: blocks.dequantize(  # type: ignore[misc]
            row[None], kind.name, backend=backend, suffix=tail
        )[0]
        for backend in ("numpy", "native")
    }
    number = kind.id
    if number is not None:
        traits = oracle.types()[number]
        if traits.has_to_float:
            found["ggml"] = lambda row: oracle.dequantize(row, number)
        if number in gguf_py.dequantizable():
            found["gguf-py"] = lambda row: gguf_py.dequantize(row[None], number)[0]
    return found


def _row(record: Record) -> npt.NDArray[np.uint8]:
    return np.frombuffer(bytes.fromhex(record.get("prefix", "") + record["block"]), np.uint8)


def _same_codes(record: Record) -> None:
    kind = ggufspec.types[record["type"]]
    stored = np.frombuffer(bytes.fromhex(record["block"]), np.uint8).reshape(-1, kind.bytes)
    for backend in ("numpy", "native"):
        codes = blocks.unpack(stored, kind.name, backend=backend)  # type: ignore[arg-type]
        found = {
            name: [number for row in integers(values) for number in row]
            for name, values in codes.items()
        }
        assert list(found) == list(record["code"])
        for name, text in record["code"].items():
            assert found[name] == [int(number) for number in text.split()], name
        packed = blocks.pack(codes, kind.name, backend=backend)  # type: ignore[arg-type]
        assert packed.tobytes().hex() == record["pack"]


def test_names_are_file_names() -> None:
    """No name of the corpus is lost or doubled on the way to a file name."""
    names = [bad.name for bad in vectors.bad.files()]
    assert len({*names, *GOOD}) == len(names) + len(GOOD)
