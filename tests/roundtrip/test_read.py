"""What an open file shows, and how it behaves."""

from __future__ import annotations

import mmap
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from support import crafted
from support.crafted import V3, Form

TEXTS = ["", "a", "né", "\0", "x" * 300, "<|end|>"]
ODD = [b"\xa1", b"\xff", b"\xe6\xad", b"\xed\xa0\x80", b"\xc0\x80", b"\xf0\x9f\x98"]


def strings(form: Form, texts: list[Any]) -> bytes:
    return form.array(crafted.STRING, len(texts), b"".join(form.string(t) for t in texts))


def sample(form: Form = V3) -> bytes:
    """Keys of many kinds and four tensors, the third of a type nobody knows."""
    pairs = [
        form.pair("general.architecture", crafted.STRING, form.string("llama")),
        form.pair(b"odd\xff", crafted.STRING, form.string(b"\xff\xfe")),
        form.pair("texts", crafted.ARRAY, strings(form, TEXTS)),
        form.pair("odd", crafted.ARRAY, strings(form, [*ODD, *TEXTS])),
        form.pair("flags", crafted.ARRAY, form.array(crafted.BOOL, 3, b"\0\1\1")),
        form.pair(
            "numbers", crafted.ARRAY, form.array(crafted.UINT32, 2, form.u32(1) + form.u32(2))
        ),
    ]
    tensors = [
        form.tensor("matrix", [4, 2], crafted.F32, 0),
        form.tensor("blocks", [32], crafted.Q8_0, 32),
        form.tensor("unknown", [7, 7], 99, 96),
        form.tensor("odd row", [33], crafted.Q8_0, 160),
        form.tensor("last", [], crafted.I8, 224),
    ]
    order = "<" if form.order == "little" else ">"
    data = np.arange(8, dtype=order + "f4").tobytes()
    data += crafted.padded(struct.pack(order + "e", 0.5) + bytes(range(32)))
    data += bytes(range(64)) + bytes(64) + b"\x07"
    return crafted.file(pairs, tensors, data, form=form)


FORMS = [Form(version, order) for version in (1, 2, 3) for order in ("little", "big")]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_metadata(form: Form) -> None:
    with ggufspec.open(sample(form)) as f:
        assert (f.version, f.byte_order, f.alignment, f.dialect) == (*form, 32, "ggml")
        assert f.metadata["general.architecture"] == "llama"
        assert f.metadata["odd\udcff"] == b"\xff\xfe"
        assert list(f.metadata["texts"]) == TEXTS
        assert list(f.metadata["odd"]) == [*ODD, *TEXTS]
        assert f.metadata["flags"].tolist() == [False, True, True]
        assert f.metadata["numbers"].dtype == np.uint32
        assert f.metadata["numbers"].dtype.isnative
        assert f.metadata["numbers"].tolist() == [1, 2]
        assert "absent" not in f.metadata
        with pytest.raises(KeyError):
            f.metadata["absent"]
        with pytest.raises(KeyError):
            f.metadata.type_of("absent")


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_tensors(form: Form) -> None:
    with ggufspec.open(sample(form)) as f:
        assert list(f.tensors) == ["matrix", "blocks", "unknown", "odd row", "last"]
        matrix, blocks, unknown, odd, last = f.tensors.values()
        assert (matrix.name, matrix.type, matrix.shape, matrix.offset, matrix.nbytes) == (
            "matrix", "F32", (2, 4), 0, 32,
        )  # fmt: skip
        assert matrix.data.shape == (2, 16)
        assert matrix.data.dtype == np.uint8
        assert not matrix.data.flags.writeable
        assert matrix.array().tolist() == np.arange(8).reshape(2, 4).tolist()
        assert matrix.array().dtype.isnative
        assert matrix.dequantize().tolist() == matrix.array().tolist()
        assert (blocks.nbytes, blocks.data.shape) == (34, (1, 34))
        assert blocks.dequantize().tolist() == [0.5 * n for n in range(32)]
        assert (unknown.type, unknown.type_id, unknown.nbytes) == ("UNKNOWN(99)", 99, 64)
        assert bytes(unknown.data.reshape(-1)) == bytes(range(64))
        assert unknown.data.shape == (1, 64)
        assert (odd.type, odd.nbytes, odd.data.shape) == ("Q8_0", 64, (1, 64))
        assert (last.shape, last.nbytes, last.array().shape) == ((), 1, ())
        assert last.array() == 7
        assert last.dequantize() == np.float32(7)


@pytest.mark.parametrize(
    ("name", "code"), [("unknown", "GG0510"), ("odd row", "GG0512"), ("removed", "GG0511")]
)
def test_what_cannot_be_decoded_says_why(name: str, code: str) -> None:
    data = sample() if name != "removed" else crafted.file(
        [], [V3.tensor("removed", [32], 4, 0)], bytes(32)
    )  # fmt: skip
    with ggufspec.open(data) as f:
        for decode in (f.tensors[name].dequantize, f.tensors[name].array):
            with pytest.raises(ggufspec.GGUFError) as caught:
                decode()
            assert caught.value.code == code


def test_data_that_a_profile_does_not_ask_for_is_missed_when_it_is_used() -> None:
    data = crafted.file([], [V3.tensor("t", [64], crafted.F32, 0)], bytes(100))
    with pytest.raises(ggufspec.GGUFError) as caught:
        ggufspec.open(data)
    assert caught.value.code == "GG0602"
    with ggufspec.open(data, profile="ggml") as f:
        for use in (f.tensors["t"].dequantize, f.tensors["t"].array):
            with pytest.raises(ggufspec.GGUFError) as caught:
                use()
            assert caught.value.code == "GG0602"


def test_a_removed_type_keeps_its_name_and_size() -> None:
    with ggufspec.open(crafted.file([], [V3.tensor("t", [32], 4, 0)], bytes(20))) as f:
        tensor = f.tensors["t"]
        assert (tensor.type, tensor.type_id, tensor.nbytes) == ("Q4_2", 4, 20)


def test_plain_types_come_in_their_own_dtype(tmp_path: Path) -> None:
    values = np.array([[1.0, -0.0, np.nan], [np.inf, 3.389e38, -2.5]], np.float32)
    bits = (values.view(np.uint32) >> 16).astype("<u2")
    tensors: dict[str, Any] = {
        letter: np.arange(6, dtype=letter).reshape(2, 3)
        for letter in ("f2", "f4", "f8", "i1", "i2", "i4", "i8")
    }
    tensors["bf16"] = ggufspec.TensorData(bits, "BF16", (2, 3))
    for byte_order in ("little", "big"):
        ggufspec.write(tmp_path / "a.gguf", {}, tensors, byte_order=byte_order)
        with ggufspec.open(tmp_path / "a.gguf") as f:
            for letter, array in list(tensors.items())[:-1]:
                assert f.tensors[letter].array().dtype == np.dtype(letter)
                assert np.array_equal(f.tensors[letter].array(), array)
            read = f.tensors["bf16"].array()
            wanted = (bits.astype(np.uint32) << 16).view(np.float32)
            assert np.array_equal(read.view(np.uint32), wanted.view(np.uint32))
            with pytest.raises(ValueError, match="dequantize"):
                ggufspec.open(sample()).tensors["blocks"].array()


def test_dequantize_fills_an_array() -> None:
    with ggufspec.open(sample()) as f:
        out = np.empty((2, 4), np.float32)
        assert f.tensors["matrix"].dequantize(out=out, threads=1) is out
        assert out.tolist() == np.arange(8).reshape(2, 4).tolist()
        for wrong in (np.empty((4, 2), np.float32), np.empty((2, 4), np.float64)):
            with pytest.raises(ValueError, match="out"):
                f.tensors["matrix"].dequantize(out=wrong)
        scalar = np.empty((), np.float32)
        assert f.tensors["last"].dequantize(out=scalar)[()] == 7


class TestStringArrays:
    def test_indexing(self) -> None:
        array = ggufspec.open(sample()).metadata["texts"]
        assert len(array) == len(TEXTS)
        assert [array[n] for n in range(-6, 6)] == TEXTS * 2
        assert array[1:3] == TEXTS[1:3]
        assert array[::-2] == TEXTS[::-2]
        assert array[4:1] == []
        for number in (6, -7):
            with pytest.raises(IndexError):
                array[number]

    def test_is_a_sequence(self) -> None:
        array = ggufspec.open(sample()).metadata["odd"]
        assert array == [*ODD, *TEXTS]
        assert array != [*ODD, *TEXTS[:-1], "other"]
        assert array != "text"
        assert "né" in array
        assert array.index(b"\xff") == 1
        assert list(reversed(array)) == [*reversed(TEXTS), *reversed(ODD)]
        assert "ARRAY[STRING] of 12" in repr(array)
        with pytest.raises(TypeError):
            hash(array)

    def test_blocks_of_many(self) -> None:
        texts = [f"token {number}" * (number % 5) for number in range(40_000)]
        texts[20_000] = "\0"
        data = crafted.file([V3.pair("t", crafted.ARRAY, strings(V3, texts))])
        array = ggufspec.open(data).metadata["t"]
        assert list(array) == texts
        assert array[16_380:16_390] == texts[16_380:16_390]
        assert ggufspec.open(data).metadata["t"][39_999] == texts[-1]


def test_strings_are_the_same_without_the_compiled_part() -> None:
    code = (
        "import sys, ggufspec; f = ggufspec.open(sys.stdin.buffer.read());"
        "print([list(f.metadata[k]) for k in ('texts', 'odd')], list(f.tensors.values()))"
    )
    printed = []
    for native in ("0", ""):
        environment = os.environ | {"GGUFSPEC_NATIVE": native}
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, input=sample(), env=environment, capture_output=True, check=True
        )
        printed.append(done.stdout)
    assert printed[0] == printed[1]


def test_nested_arrays() -> None:
    inner = [V3.array(crafted.UINT8, 2, b"\1\2"), strings(V3, ["x"]), V3.array(crafted.ARRAY, 0)]
    payload = V3.array(crafted.ARRAY, 3, b"".join(inner))
    with ggufspec.open(crafted.file([V3.pair("n", crafted.ARRAY, payload)])) as f:
        nested = f.metadata["n"]
        assert f.metadata.type_of("n") == "ARRAY[ARRAY]"
        assert nested[0].tolist() == [1, 2]
        assert nested[1] == ["x"]
        assert nested[2] == []
        assert nested == [[1, 2], ["x"], []]
        assert nested != [[1, 2], ["x"], [3]]


class TestSources:
    @pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, np.array])
    def test_buffers(self, kind: Any) -> None:
        data = np.frombuffer(sample(), np.uint8) if kind is np.array else kind(sample())
        with ggufspec.open(data) as f:
            assert f.paths == ()
            assert f.size == len(sample())
            assert f.metadata["texts"][2] == "né"
            assert not f.tensors["matrix"].data.flags.writeable
            assert not f.metadata["flags"].flags.writeable

    def test_paths(self, tmp_path: Path) -> None:
        path = tmp_path / "a.gguf"
        path.write_bytes(sample())
        for source in (path, str(path)):
            with ggufspec.open(source) as f:
                assert f.paths == (path,)
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as m:
            f = ggufspec.open(m)
            assert f.metadata["texts"][2] == "né"
            f.close()

    @pytest.mark.parametrize("source", [None, 3, 1.5, ["a"], object()])
    def test_what_is_no_source(self, source: Any) -> None:
        with pytest.raises(TypeError):
            ggufspec.open(source)

    def test_a_buffer_with_gaps(self) -> None:
        with pytest.raises(ValueError, match="contiguous"):
            ggufspec.open(memoryview(sample())[::2])

    def test_arguments(self) -> None:
        with pytest.raises(ValueError, match="lenient"):
            ggufspec.open(sample(), profile="none")
        with pytest.raises(ValueError, match="ggml"):
            ggufspec.open(sample(), dialect="none")

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError) as caught:
            ggufspec.open(tmp_path / "absent.gguf")
        assert "absent.gguf" in str(caught.value)
        with pytest.raises(IsADirectoryError):
            ggufspec.open(tmp_path)
        with pytest.raises(ValueError, match="null"):
            ggufspec.open("a\0b")

    def test_a_pipe_does_not_block(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="not a regular file"):
            ggufspec.open(tmp_path / "pipe")

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            (b"", "GG0001"),
            (b"GGUF", "GG0001"),
            (b"hello, I am text", "GG0101"),
            (b"GGUF" + bytes(20), "GG0102"),
        ],
    )
    def test_what_is_no_gguf(self, data: bytes, code: str, tmp_path: Path) -> None:
        (tmp_path / "a.gguf").write_bytes(data)
        for source in (data, tmp_path / "a.gguf"):
            with pytest.raises(ggufspec.GGUFError) as caught:
                ggufspec.open(source)
            assert caught.value.code == code

    def test_every_prefix_is_an_error(self) -> None:
        data = sample()
        for end in range(len(data) - 1):
            with pytest.raises(ggufspec.GGUFError):
                ggufspec.open(data[:end])


class TestClosing:
    def test_a_closed_file_gives_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "a.gguf").write_bytes(sample())
        for source in (sample(), tmp_path / "a.gguf"):
            f = ggufspec.open(source)
            texts, tensor = f.metadata["texts"], f.tensors["matrix"]
            f.close()
            f.close()
            assert f.closed
            uses: list[Callable[[], Any]] = [
                partial(texts.__getitem__, 0),
                partial(getattr, tensor, "data"),
                partial(list, tensor.chunks()),
                partial(f.metadata.__getitem__, "general.architecture"),
                f.tensors["matrix"].dequantize,
            ]
            for use in uses:
                with pytest.raises(ValueError, match="closed"):
                    use()

    def test_arrays_outlive_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "a.gguf"
        path.write_bytes(sample())
        with ggufspec.open(path) as f:
            matrix, data, flags = (
                f.tensors["matrix"].array(),
                f.tensors["blocks"].data,
                f.metadata["flags"],
            )
        path.unlink()
        assert matrix.tolist() == np.arange(8).reshape(2, 4).tolist()
        assert data[0, 2:].tolist() == list(range(32))
        assert flags.tolist() == [False, True, True]

    def test_the_file_can_be_deleted_and_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "a.gguf"
        path.write_bytes(sample())
        with ggufspec.open(path) as f:
            ggufspec.write(path, {"a": "new"})
            assert f.metadata["texts"] == TEXTS
            path.unlink()
            assert f.metadata["odd"] == [*ODD, *TEXTS]


def test_threads_share_a_file() -> None:
    texts = [str(number) for number in range(30_000)]
    data = crafted.file(
        [V3.pair("t", crafted.ARRAY, strings(V3, texts))],
        [V3.tensor("x", [64, 64], crafted.F32, 0)],
        np.arange(4096, dtype="<f4").tobytes(),
    )
    wrong: list[object] = []
    with ggufspec.open(data) as f:

        def work() -> None:
            if list(f.metadata["t"]) != texts or f.tensors["x"].dequantize().sum() != 4095 * 2048:
                wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_listing_needs_no_numpy(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(sample())
    code = """
import sys, ggufspec
with ggufspec.open(sys.argv[1]) as f:
    for key in f.metadata:
        f.metadata.type_of(key)
    f.metadata["general.architecture"], f.metadata["texts"][:3], len(f.metadata["odd"])
    [(t.name, t.type, t.shape, t.nbytes, t.offset) for t in f.tensors.values()]
    ggufspec.write(sys.argv[1] + ".copy", f.metadata, f.tensors)
assert "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.gguf")], check=True)
