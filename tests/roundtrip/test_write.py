"""The bytes that `write` makes, and that they appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import TensorData, Value
from ggufspec.files.plans import TensorPlan
from ggufspec.files.writer import Writer
from support import crafted
from support.crafted import Form

FORMS = [Form(version, order) for version in (1, 2, 3) for order in ("little", "big")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.gguf"


def tensor_file(form: Form, alignment: int, pairs: list[bytes]) -> bytes:
    """Two F32 tensors of 5 and 3 elements, and a name that is not UTF-8."""
    step = 20 + -20 % alignment
    order = "<" if form.order == "little" else ">"
    tensors = [
        form.tensor("a", [5], crafted.F32, 0),
        form.tensor(b"b\xff", [3, 1], crafted.F32, step),
    ]
    data = crafted.padded(np.arange(5, dtype=order + "f4").tobytes(), alignment)
    data += crafted.padded(np.arange(3, dtype=order + "f4").tobytes(), alignment)
    return crafted.file(pairs, tensors, data, alignment, form)


TENSORS = {"a": np.arange(5, dtype=np.float32), "b\udcff": np.arange(3, dtype=np.float32)[None]}


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("alignment", [1, 8, 24, 32, 64, 4096])
def test_layout(form: Form, alignment: int, path: Path) -> None:
    wanted = tensor_file(
        form, alignment, [form.pair("general.alignment", crafted.UINT32, form.u32(alignment))]
    )
    options: dict[str, Any] = {"version": form.version, "byte_order": form.order}
    ggufspec.write(path, {"general.alignment": alignment}, TENSORS, **options)
    assert path.read_bytes() == wanted
    if alignment != 32:  # the default needs no key
        ggufspec.write(path, {}, TENSORS, alignment=alignment, **options)
        assert path.read_bytes() == wanted
    with ggufspec.open(wanted) as f:
        ggufspec.write(path, f.metadata, f.tensors)
        assert path.read_bytes() == wanted


def test_without_tensors_nothing_follows_the_last_key(path: Path) -> None:
    ggufspec.write(path, {"general.name": "x"})
    pair = crafted.V3.pair("general.name", crafted.STRING, crafted.V3.string("x"))
    assert path.read_bytes() == crafted.file([pair])
    ggufspec.write(path, {}, {})
    assert len(path.read_bytes()) == 24


@pytest.mark.parametrize("fill", range(33))
def test_padding_is_right_wherever_the_infos_end(fill: int, path: Path) -> None:
    ggufspec.write(path, {"k": "x" * fill}, {"t": np.ones(3, np.int8)})
    with ggufspec.open(path, profile="strict") as f:
        assert f.tensors["t"].array().tolist() == [1, 1, 1]
        assert f.size % 32 == 0


def test_what_the_source_had_is_kept_unless_told(path: Path) -> None:
    source = tensor_file(Form(2, "big"), 32, [])
    with ggufspec.open(source) as f:
        ggufspec.write(path, dict(f.metadata), f.tensors)
        with ggufspec.open(path) as g:
            assert (g.version, g.byte_order) == (3, "little")
            assert g.tensors["a"].array().tolist() == [0, 1, 2, 3, 4]
        ggufspec.write(path, f.metadata, f.tensors, version=3)
        with ggufspec.open(path) as g:
            assert (g.version, g.byte_order) == (3, "big")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"version": 0}, ValueError),
        ({"version": 4}, ValueError),
        ({"byte_order": "middle"}, ValueError),
        ({"alignment": 0}, ValueError),
        ({"alignment": 12}, ValueError),
        ({"alignment": -32}, ValueError),
        ({"alignment": 1 << 31}, ValueError),
        ({"alignment": "32"}, TypeError),
        ({"alignment": True}, TypeError),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], path: Path) -> None:
    with pytest.raises(error):
        ggufspec.write(path, {}, TENSORS, **options)
    assert not path.exists()


def test_an_alignment_that_contradicts_the_key(path: Path) -> None:
    for key in (64, Value("UINT64", 64), np.uint32(64)):
        with pytest.raises(ValueError, match="contradicts"):
            ggufspec.write(path, {"general.alignment": key}, TENSORS, alignment=32)
        ggufspec.write(path, {"general.alignment": key}, TENSORS, alignment=64)


@pytest.mark.parametrize(
    ("tensor", "says"),
    [
        (np.zeros(3, np.uint8), "TensorData"),
        (np.zeros(3, bool), "no type for dtype bool"),
        (np.zeros(3, np.complex64), "complex"),
        (np.zeros((1,) * 9, np.float32), "at most 8"),
        (TensorData(bytes(3), "Q8_0", (32,)), "has 34 bytes, not 3"),
        (TensorData(bytes(3), "Q8_0", (33,)), "not a multiple of Q8_0's block of 32"),
        (TensorData(bytes(3), "Q9_9", (32,)), "unknown type 'Q9_9'"),
        (TensorData(bytes(4), "F32", (-1, -1)), "-1"),
        (TensorData(b"", 99, (1 << 62, 4)), "18446744073709551616"),
    ],
)
def test_tensors_that_cannot_be_stored(tensor: Any, says: str, path: Path) -> None:
    with pytest.raises(ValueError, match=says):
        ggufspec.write(path, {}, {"t": tensor})
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize(
    "tensors", [{"t": b"abc"}, {"t": [1.0]}, {"t": None}, {3: TENSORS["a"]}, [1]]
)
def test_what_is_no_tensor(tensors: Any, path: Path) -> None:
    with pytest.raises(TypeError):
        ggufspec.write(path, {}, tensors)


def test_names_have_limits(path: Path) -> None:
    ggufspec.write(path, {}, {"x" * 65536: TENSORS["a"]})
    with pytest.raises(ValueError, match="65537"):
        ggufspec.write(path, {}, {"x" * 65537: TENSORS["a"]})


def test_arrays_of_any_memory_layout(path: Path) -> None:
    base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for array in (
        base.T,
        base[:, ::2],
        base[..., ::-1],
        base.astype(">f4"),
        np.asfortranarray(base),
    ):
        ggufspec.write(path, {}, {"t": array})
        with ggufspec.open(path) as f:
            assert np.array_equal(f.tensors["t"].array(), array)


def test_stored_bytes_change_their_order(path: Path) -> None:
    block = b"\0\x38" + bytes(range(32))
    ggufspec.write(path, {}, {"t": TensorData(block, "Q8_0", (32,))}, byte_order="big")
    with ggufspec.open(path) as f:
        assert bytes(f.tensors["t"].data) == b"\x38\0" + bytes(range(32))
        assert f.tensors["t"].dequantize().tolist() == [0.5 * n for n in range(32)]
    with pytest.raises(ValueError, match="byte"):
        ggufspec.write(path, {}, {"t": TensorData(b"abc", 99, (3,))}, byte_order="big")
    ggufspec.write(path, {}, {"t": TensorData(b"abc", 99, (3,), "big")}, byte_order="big")


def test_unknown_types_are_copied(path: Path) -> None:
    source = crafted.file(
        [],
        [
            crafted.V3.tensor("u", [7], 99, 0),
            crafted.V3.tensor("removed", [32], 4, 64),
            crafted.V3.tensor("k", [8], crafted.F32, 96),
        ],
        bytes(range(128)),
    )
    with ggufspec.open(source) as f:
        ggufspec.write(path, f.metadata, f.tensors)
        assert path.read_bytes() == source
        with pytest.raises(ggufspec.GGUFError, match="99"):
            ggufspec.write(path, f.metadata, f.tensors, byte_order="big")


def test_odd_bits_of_metadata_survive(path: Path) -> None:
    """A bool of 2 and a signalling NaN are not what Python would write."""
    v3 = crafted.V3
    source = crafted.file([
        v3.pair("bool", crafted.BOOL, b"\2"),
        v3.pair("bools", crafted.ARRAY, v3.array(crafted.BOOL, 2, b"\3\0")),
        v3.pair("nan", crafted.FLOAT32, b"\1\0\xa0\x7f"),
    ])  # fmt: skip
    with ggufspec.open(source) as f:
        assert f.metadata["bool"] is True
        assert f.metadata["bools"].tolist() == [True, False]
        ggufspec.write(path, f.metadata)
        assert path.read_bytes() == source
        ggufspec.write(path, f.metadata, byte_order="big")
        with ggufspec.open(path) as g:
            ggufspec.write(path, g.metadata, byte_order="little")
        assert path.read_bytes() == source


class TestAtomicity:
    def test_a_failure_leaves_the_old_file(self, path: Path) -> None:
        path.write_bytes(b"old")
        with pytest.raises(ValueError, match="cannot hold"):
            ggufspec.write(path, {"a": "x", "b": Value("UINT8", 256)})
        with pytest.raises(ValueError, match="closed"):
            ggufspec.write(path, {}, {"t": closed_tensor()})
        assert path.read_bytes() == b"old"
        assert list(path.parent.iterdir()) == [path]

    def test_an_interrupt_leaves_the_old_file(self, path: Path) -> None:
        path.write_bytes(b"old")
        with pytest.raises(KeyboardInterrupt), Writer(path, {}, [TensorPlan.of("t", "I8", (4,))]):
            raise KeyboardInterrupt
        assert path.read_bytes() == b"old"
        assert list(path.parent.iterdir()) == [path]

    def test_killed_in_the_middle(self, path: Path) -> None:
        path.write_bytes(b"old")
        code = """
import os, sys
from ggufspec.files.plans import TensorPlan
from ggufspec.files.writer import Writer
with Writer(sys.argv[1], {}, [TensorPlan.of("t", "I8", (1 << 20,))]) as w:
    w.feed(bytes(1 << 19))
    os.kill(os.getpid(), 9)
"""
        done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
        assert done.returncode == -9
        assert path.read_bytes() == b"old"

    def test_a_full_disk(self, path: Path) -> None:
        code = """
import resource, signal, sys, numpy, ggufspec
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    ggufspec.write(sys.argv[1], {}, {"t": numpy.zeros(1 << 20, "f4")})
except OSError as error:
    print(error.errno, error.filename)
"""
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True
        )
        assert done.stdout.split() == [str(errno.EFBIG), str(path)]
        assert not list(path.parent.iterdir())

    def test_links_stay_and_permissions_too(self, tmp_path: Path) -> None:
        target, link = tmp_path / "real.gguf", tmp_path / "link.gguf"
        target.write_bytes(b"old")
        target.chmod(0o640)
        link.symlink_to(target)
        ggufspec.write(link, {"a": "x"})
        assert link.is_symlink()
        assert stat.S_IMODE(target.stat().st_mode) == 0o640
        with ggufspec.open(target) as f:
            assert f.metadata["a"] == "x"

    def test_new_files_follow_the_umask(self, path: Path) -> None:
        old = os.umask(0o027)
        try:
            ggufspec.write(path, {})
        finally:
            os.umask(old)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640

    @pytest.mark.parametrize("kind", ["folder", "missing", "device", "pipe", "loop"])
    def test_targets_that_are_none(self, kind: str, tmp_path: Path) -> None:
        path = tmp_path / "x"
        if kind == "folder":
            path.mkdir()
        elif kind == "missing":
            path = tmp_path / "no" / "x"
        elif kind == "device":
            path = Path("/dev/null")
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to(path)
        with pytest.raises(OSError, match=str(path)):
            ggufspec.write(path, {})

    def test_the_source_itself_may_be_the_target(self, path: Path) -> None:
        path.write_bytes(tensor_file(crafted.V3, 32, []))
        with ggufspec.open(path) as f:
            ggufspec.write(path, {**f.metadata, "new": "x"}, f.tensors)
            assert f.tensors["a"].array().tolist() == [0, 1, 2, 3, 4]
        with ggufspec.open(path) as f:
            assert f.metadata["new"] == "x"
            assert f.tensors["a"].array().tolist() == [0, 1, 2, 3, 4]


def closed_tensor() -> Any:
    f = ggufspec.open(tensor_file(crafted.V3, 32, []))
    tensor = f.tensors["a"]
    f.close()
    return tensor


class TestWriter:
    def test_pieces_of_any_size(self, path: Path) -> None:
        plans = [
            TensorPlan.of("a", "F32", (5,)),
            TensorPlan.of("e", "F32", (0,)),
            TensorPlan.of("b", "I8", (3,)),
        ]
        data = np.arange(5, dtype="<f4").tobytes() + b"\1\2\3"
        files = []
        for step in (1, 7, 23):
            with Writer(path, {}, plans) as output:
                for first in range(0, len(data), step):
                    output.feed(data[first : first + step])
            files.append(path.read_bytes())
        assert files[0] == files[1] == files[2]
        with ggufspec.open(path) as f:
            assert f.tensors["a"].array().tolist() == [0, 1, 2, 3, 4]
            assert f.tensors["b"].array().tolist() == [1, 2, 3]

    def test_too_little_and_too_much(self, path: Path) -> None:
        plans = [TensorPlan.of("a", "I8", (5,))]
        with (
            pytest.raises(ValueError, match="'a' lacks 2 bytes"),
            Writer(path, {}, plans) as output,
        ):
            output.feed(b"abc")
        with pytest.raises(ValueError, match="1 bytes more"), Writer(path, {}, plans) as output:
            output.feed(b"abcdef")
        assert not list(path.parent.iterdir())

    def test_arrays_are_fed_as_they_are(self, path: Path) -> None:
        with Writer(path, {}, [TensorPlan.of("a", "F16", (2, 2))]) as output:
            output.feed(np.ones((1, 2), "<f2"))
            output.feed(np.ones((1, 2), "<f2").view(np.uint8))
        with ggufspec.open(path) as f:
            assert f.tensors["a"].array().tolist() == [[1, 1], [1, 1]]

    def test_a_name_used_twice(self, path: Path) -> None:
        with pytest.raises(ValueError, match="two tensors are called 'a'"):
            Writer(path, {}, [TensorPlan.of("a", "I8", (5,))] * 2)
        assert not list(path.parent.iterdir())


def test_memory_stays_small(tmp_path: Path) -> None:
    """Copying a file costs buffers, not the file."""
    big = tmp_path / "big.gguf"
    ggufspec.write(big, {}, {str(n): np.full(1 << 21, n, np.float32) for n in range(12)})
    code = """
import sys, ggufspec
def peak():
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0]) << 10
ggufspec.open, ggufspec.write
before = peak()
with ggufspec.open(sys.argv[1]) as f:
    ggufspec.write(sys.argv[2], f.metadata, f.tensors)
print(peak() - before)
"""
    command = [sys.executable, "-c", code, str(big), str(tmp_path / "copy.gguf")]
    grown = int(subprocess.run(command, check=True, capture_output=True).stdout)
    assert big.stat().st_size > 96 << 20
    assert grown < 32 << 20
