"""What type a value gets, what bytes it becomes, and what is refused."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from support import crafted
from support.crafted import V3

NUMBERS = {
    "UINT8": (255, b"\xff"),
    "INT8": (-1, b"\xff"),
    "UINT16": (258, b"\x02\x01"),
    "INT16": (-2, b"\xfe\xff"),
    "UINT32": (2**32 - 1, b"\xff" * 4),
    "INT32": (-(2**31), b"\0\0\0\x80"),
    "UINT64": (2**53 + 1, struct.pack("<Q", 2**53 + 1)),
    "INT64": (-(2**63), struct.pack("<q", -(2**63))),
    "FLOAT32": (1.5, struct.pack("<f", 1.5)),
    "FLOAT64": (0.1, struct.pack("<d", 0.1)),
    "BOOL": (True, b"\1"),
    "STRING": ("né\0", V3.string("né\0")),
}
IDS = {"UINT8": 0, "INT8": 1, "UINT16": 2, "INT16": 3, "UINT32": 4, "INT32": 5, "FLOAT32": 6,
       "BOOL": 7, "STRING": 8, "ARRAY": 9, "UINT64": 10, "INT64": 11, "FLOAT64": 12}  # fmt: skip


@pytest.fixture
def stored(tmp_path: Path) -> Any:
    """Write one value and read it again: the file's bytes, the value's type, the value."""

    def write(value: Any, key: str = "a.key") -> tuple[bytes, str, Any]:
        path = tmp_path / "one.gguf"
        ggufspec.write(path, {key: value})
        f = ggufspec.open(path.read_bytes())
        return path.read_bytes(), f.metadata.type_of(key), f.metadata[key]

    return write


def as_lists(value: Any) -> Any:
    """Arrays of any kind as lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (str, bytes, bool, float, int)):
        return value
    return [as_lists(item) for item in value]


@pytest.mark.parametrize("kind", NUMBERS)
def test_each_scalar_type(kind: str, stored: Any) -> None:
    value, payload = NUMBERS[kind]
    data, name, read = stored(Value(kind, value))
    assert data == crafted.file([V3.pair("a.key", IDS[kind], payload)])
    assert (name, read, type(read)) == (kind, value, type(value))


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_each_array_type(kind: str, count: int, stored: Any) -> None:
    value, payload = NUMBERS[kind]
    data, name, read = stored(Value(f"ARRAY[{kind}]", [value] * count))
    array = V3.array(IDS[kind], count, payload * count)
    assert data == crafted.file([V3.pair("a.key", IDS["ARRAY"], array)])
    assert name == f"ARRAY[{kind}]"
    assert list(read) == [value] * count
    if kind != "STRING":
        assert isinstance(read, np.ndarray)
        assert read.dtype.isnative
        assert not read.flags.writeable


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("text", "STRING"),
        ("", "STRING"),
        (b"\xff", "STRING"),
        (True, "BOOL"),
        (0.5, "FLOAT32"),
        (np.float32(0.5), "FLOAT32"),
        (np.float64(0.5), "FLOAT64"),
        (np.uint8(5), "UINT8"),
        (np.int64(-5), "INT64"),
        (np.bool_(True), "BOOL"),
        (np.str_("text"), "STRING"),
        (["a", b"\xff", ""], "ARRAY[STRING]"),
        ((True, False), "ARRAY[BOOL]"),
        ([0.5, 2], "ARRAY[FLOAT32]"),
        (np.arange(3, dtype=np.uint16), "ARRAY[UINT16]"),
        (np.arange(3, dtype=">i4"), "ARRAY[INT32]"),
        (np.zeros(2, bool), "ARRAY[BOOL]"),
        (np.array(["a", "bc"]), "ARRAY[STRING]"),
        (np.arange(6, dtype=np.int16).reshape(2, 3), "ARRAY[ARRAY[INT16]]"),
        ([["a"], ["b", "c"]], "ARRAY[ARRAY[STRING]]"),
        ([["a"], [True]], "ARRAY[ARRAY]"),
    ],
)
def test_plain_values_have_a_type_of_their_own(value: Any, kind: str, stored: Any) -> None:
    _, name, read = stored(value)
    assert name == kind
    if kind.startswith("ARRAY"):
        assert as_lists(read) == as_lists(value)
    else:
        assert read == value


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("llama.block_count", 32, "UINT32"),
        ("falcon-h1.block_count", 32, "UINT32"),
        ("llama.attention.head_count", 4, "UINT32"),
        ("llama.attention.head_count", [4, 5], "ARRAY[INT32]"),
        ("llama.rope.freq_base", 10000, "FLOAT32"),
        ("llama.ple.layer_multipliers", [1], "ARRAY[UINT64]"),
        ("general.base_model.3.name", "x", "STRING"),
        ("general.sampling.top_k", -1, "INT32"),
        ("tokenizer.ggml.token_type", [1, 3], "ARRAY[INT32]"),
        ("tokenizer.ggml.scores", [1, 3], "ARRAY[FLOAT32]"),
        ("tokenizer.ggml.merges", [], "ARRAY[STRING]"),
        ("tokenizer.chat_template.tools", "x", "STRING"),
        ("split.no", 0, "UINT16"),
        ("split.tensors.count", 3, "INT32"),
        ("clip.gen.audio.block_count", 3, "UINT32"),
    ],
)
def test_plain_integers_under_well_known_keys(key: str, value: Any, kind: str, stored: Any) -> None:
    assert stored(value, key)[1] == kind


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("a.key", 1, "needs a type"),
        ("a.key", [1, 2], "needs a type"),
        ("a.key", [], "needs a type"),
        ("a.key", [[1]], "needs a type"),
        ("clip.block_count", 1, "needs a type"),
        ("general.block_count", 1, "needs a type"),
        ("a.key", [1, "a"], "mixes elements"),
        ("general.license", ["Apache-2.0"], "general.license is STRING, not list"),
        ("general.name", 1, "general.name is STRING, not int"),
        ("llama.block_count", True, "UINT32, not bool"),
        ("llama.block_count", "2", "UINT32, not str"),
        ("llama.block_count", 2.0, "UINT32, not float"),
        ("llama.block_count", -1, "cannot hold -1"),
        ("a.key", Value("UINT8", 300), "a.key is UINT8, which cannot hold 300"),
        ("a.key", Value("UINT8", True), "a.key is UINT8, not bool"),
        ("a.key", Value("UINT8", 1.0), "not float"),
        ("a.key", Value("BOOL", 1), "a.key is BOOL, not int"),
        ("a.key", Value("FLOAT32", "1"), "not str"),
        ("a.key", Value("FLOAT32", 1e39), "cannot hold"),
        ("a.key", Value("STRING", 1), "not int"),
        ("a.key", Value("ARRAY[UINT8]", [1, 300]), "cannot hold 300"),
        ("a.key", Value("ARRAY[UINT8]", 1), "ARRAY[UINT8], not int"),
        ("a.key", Value("ARRAY[STRING]", "abc"), "not str"),
        ("a.key", Value("ARRAY[INT32]", np.zeros((2, 2), np.int32)), "shape (2, 2)"),
        ("a.key", Value("ARRAY[ARRAY[INT32]]", [Value("ARRAY[INT8]", [])]), "not ARRAY[INT32]"),
        ("a.key", Value("UINT128", 1), "no value type 'UINT128'"),
        ("a.key", Value("", 1), "no value type ''"),
        ("a.key", "\ud800", "lone surrogate"),
        ("a.key", np.float16(1), "float16"),
        ("a.key", np.array([1j]), "complex"),
        ("", "x", "a key is empty"),
        ("\ud800", "x", "surrogate"),
        ("general.alignment", 33, "33"),
        ("general.alignment", 0, "0"),
        ("general.alignment", 1 << 31, "2147483648"),
        ("general.alignment", Value("STRING", "x"), "general.alignment"),
    ],
)
def test_what_cannot_be_stored_says_why(key: str, value: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        ggufspec.write(tmp_path / "one.gguf", {key: value})
    assert says in str(caught.value)
    assert not isinstance(caught.value, UnicodeError)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [None, {1}, {"a": 1}, object(), 1j, [None], iter([1])])
def test_what_has_no_type_at_all_is_a_type_error(value: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"a\.key"):
        ggufspec.write(tmp_path / "one.gguf", {"a.key": value})


def test_an_array_nested_too_deep_is_refused(tmp_path: Path) -> None:
    value: Any = ["x"]
    for _ in range(15):
        value = [value]
    ggufspec.write(tmp_path / "one.gguf", {"a.key": value})
    with pytest.raises(ValueError, match="nested"):
        ggufspec.write(tmp_path / "two.gguf", {"a.key": [[value]]})


def test_a_list_that_holds_itself_is_refused(tmp_path: Path) -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ValueError, match="nested"):
        ggufspec.write(tmp_path / "one.gguf", {"a.key": value})


def test_the_architecture_decides_which_keys_are_known(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a well-known key"):
        ggufspec.write(
            tmp_path / "one.gguf", {"general.architecture": "bert", "llama.block_count": 1}
        )


def test_lazy_arrays_of_a_file_are_values(tmp_path: Path) -> None:
    first, second = tmp_path / "first.gguf", tmp_path / "second.gguf"
    ggufspec.write(first, {"a": ["x", b"\xff"], "b": [["x"], [True]], "c": np.arange(4)})
    with ggufspec.open(first) as f:
        ggufspec.write(second, {key: f.metadata[key] for key in f.metadata})
    assert first.read_bytes() == second.read_bytes()


def test_versions_lack_the_types_they_never_had(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="version 1 has no value type 'UINT64'"):
        ggufspec.write(tmp_path / "one.gguf", {"a": Value("UINT64", 1)}, version=1)
