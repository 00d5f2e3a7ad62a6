"""Any values in any form are read as they were written, and written back as they were read."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ggufspec
from ggufspec import TensorData, Value
from ggufspec.generated.container import LAYOUTS, VERSIONS, ValueType
from ggufspec.registry import types

names = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    st.binary(min_size=1, max_size=20).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
).filter(lambda name: name != "general.alignment" and not name.startswith("split."))
texts = st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.binary())


def numbers(kind: ValueType) -> st.SearchStrategy[Any]:
    bits = 8 * kind.bytes
    match kind.kind:
        case "uint":
            return st.integers(0, (1 << bits) - 1)
        case "int":
            return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        case "bool":
            return st.booleans()
        case _:
            return st.floats(width=32 if bits == 32 else 64)


def scalars(kind: ValueType) -> st.SearchStrategy[Any]:
    return texts if kind.kind == "string" else numbers(kind)


@st.composite
def values(draw: st.DrawFn, version: int, depth: int = 2) -> Value:
    kind = draw(st.sampled_from(LAYOUTS[version].value_types))
    if kind.kind != "array":
        return Value(kind.name, draw(scalars(kind)))
    if depth and draw(st.booleans()):
        arrays = values(version, depth - 1).filter(lambda value: value.type.startswith("ARRAY"))
        return Value("ARRAY[ARRAY]", draw(st.lists(arrays, max_size=3)))
    flat = [kind for kind in LAYOUTS[version].value_types if kind.kind != "array"]
    kind = draw(st.sampled_from(flat))
    return Value(f"ARRAY[{kind.name}]", draw(st.lists(scalars(kind), max_size=5)))


@st.composite
def tensors(draw: st.DrawFn) -> Any:
    if draw(st.booleans()):
        dtype = draw(st.sampled_from(["f2", "f4", "f8", "i1", "i2", "i4", "i8", ">f4", ">i2"]))
        shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
        return draw(hnp.arrays(dtype, shape))
    kind = draw(st.sampled_from([t for t in types.values() if t.elements and t.id is not None]))
    rows, blocks = draw(st.integers(0, 3)), draw(st.integers(0, 2))
    size = rows * kind.row_bytes(blocks * kind.elements) + kind.info.tensor_suffix
    data = draw(st.binary(min_size=size, max_size=size))
    return TensorData(data, kind.name, (rows, blocks * kind.elements))


@st.composite
def files(draw: st.DrawFn) -> tuple[dict[str, Value], dict[str, Any], dict[str, Any]]:
    """Metadata, tensors and options of `write`."""
    version = draw(st.sampled_from(VERSIONS))
    metadata = draw(st.dictionaries(names, values(version), max_size=5))
    alignment = draw(st.sampled_from([None, 1, 8, 32, 40, 64]))
    byte_order = draw(st.sampled_from(["little", "big"]))
    options = {"version": version, "byte_order": byte_order, "alignment": alignment}
    return metadata, draw(st.dictionaries(names, tensors(), max_size=4)), options


def plain(value: Any) -> Any:
    """A value with nothing lazy and no NaN in it."""
    if isinstance(value, Value):
        value = value.value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return "nan" if value != value else np.float64(value).hex()  # noqa: PLR0124
    if isinstance(value, (str, bytes, int)):
        return text_of(value) if isinstance(value, bytes) else value
    return [plain(item) for item in value]


def text_of(value: bytes) -> str | bytes:
    """Bytes that are UTF-8 come back as str."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


@settings(max_examples=60)
@given(files())
def test_values_come_back(file: tuple[dict[str, Value], dict[str, Any], dict[str, Any]]) -> None:
    metadata, content, options = file
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.gguf"
        ggufspec.write(path, metadata, content, **options)
        with ggufspec.open(path, dialect="ggml") as f:  # some sizes are a fork's, too
            added = {"general.alignment"} if options["alignment"] not in (None, 32) else set()
            assert list(f.metadata) == [*metadata, *added]
            for key, value in metadata.items():
                assert plain(f.metadata[key]) == plain(value)
                assert f.metadata.type_of(key).startswith(value.type.rstrip("]"))
            assert list(f.tensors) == list(content)
            for name, value in content.items():
                check_tensor(f.tensors[name], value)


def check_tensor(tensor: ggufspec.Tensor, value: Any) -> None:
    assert tensor.shape == tuple(value.shape)
    if isinstance(value, TensorData):
        assert tensor.type == value.type
        little = b"".join(bytes(piece) for piece in tensor.chunks("little"))
        assert little == value.data
    else:
        assert tensor.array().dtype == value.dtype.newbyteorder("=")
        assert tensor.array().tobytes() == value.astype(value.dtype.newbyteorder("=")).tobytes()


@settings(max_examples=60)
@given(files(), st.sampled_from([2, 3]), st.sampled_from(["little", "big"]))
def test_what_was_read_is_written_back(
    file: tuple[dict[str, Value], dict[str, Any], dict[str, Any]], version: int, byte_order: Any
) -> None:
    metadata, content, options = file
    with TemporaryDirectory() as folder:
        first, same, other, back = (Path(folder) / f"{n}.gguf" for n in range(4))
        ggufspec.write(first, metadata, content, **options)
        with ggufspec.open(first, dialect="ggml") as f:
            ggufspec.write(same, f.metadata, f.tensors)
            assert same.read_bytes() == first.read_bytes()
            ggufspec.write(other, f.metadata, f.tensors, version=version, byte_order=byte_order)
            with ggufspec.open(other, dialect="ggml") as g:
                assert (g.version, g.byte_order) == (version, byte_order)
                form: Any = {"version": f.version, "byte_order": f.byte_order}
                ggufspec.write(back, g.metadata, g.tensors, **form)
            assert back.read_bytes() == first.read_bytes()
