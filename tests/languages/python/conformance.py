"""The reference: ggufspec itself behind the protocol that every language's program speaks.

One request a line, fields separated by tabs; the answer's lines, then `end`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import ggufspec
from ggufspec import blocks
from ggufspec.container.scan import scan
from ggufspec.files.arrays import Form, NestedArray, Stored, StringArray, value_type
from ggufspec.files.part import Part
from ggufspec.files.reader import File, load_part
from ggufspec.files.source import Source
from ggufspec.generated.types import TYPES


def hello() -> Iterator[str]:
    version = (Path(ggufspec.__file__).parent / "generated/types.py").read_text(encoding="utf-8")
    yield f"hello\tpython\t{version.split('# Spec ')[1].split(',')[0]}"


def types() -> Iterator[str]:
    for kind in TYPES:
        number = "-" if kind.id is None else kind.id
        yield f"type\t{number}\t{kind.name}\t{kind.elements}\t{kind.bytes}\t{kind.status}"


def open_file(profile: str, path: str) -> Iterator[str]:
    source = Source(path)
    try:
        found = scan(source.view, profile=profile)
        found.raise_error()
        form = Form(found.version, found.byte_order)
        yield f"ok\t{found.version}\t{found.byte_order}\t{found.alignment}\t{found.data_offset}"
        keys, tensors = found.keys, found.tensors
        for row in range(len(keys)):
            start = keys.key_offset[row]
            name = source.view[start : start + keys.key_length[row]].hex()
            is_array = value_type(form.version, keys.value_type[row]).kind == "array"
            kind = value_type(form.version, keys.element_type[row])
            span = keys.value_offset[row], keys.value_end[row]
            stored = Stored(source, form, kind, is_array, keys.count[row], *span)
            yield f"key\t{name}\t{'ARRAY:' if is_array else ''}{_value(stored)}"
        for row in range(len(tensors)):
            start = tensors.name_offset[row]
            name = source.view[start : start + tensors.name_length[row]].hex()
            dims = ",".join(map(str, tensors.dims_of(row))) or "-"
            size = tensors.nbytes[row]
            place = f"{tensors.offset[row]}\t{'-' if size < 0 else size}"
            yield f"tensor\t{name}\t{tensors.type[row]}\t{dims}\t{place}"
    finally:
        source.close()


def _value(stored: Stored) -> str:
    """A value as the protocol writes it, without recursion: files nest as deep as they like."""
    name = stored.kind.name
    if not stored.is_array:
        return f"{name}:{_elements(stored)[0]}"
    if stored.kind.kind == "array":
        nested = NestedArray(stored)
        inner = ",".join(_value(nested.inner(number)) for number in range(stored.count))
        return f"{name}:{stored.count}:[{inner}]"
    return f"{name}:{stored.count}:[{','.join(_elements(stored))}]"


def _elements(stored: Stored) -> list[str]:
    kind, data = stored.kind, stored.bytes()
    if kind.kind == "string":
        if not stored.is_array:
            return [data.hex()]
        strings = StringArray(stored)
        return [strings.raw(number).hex() for number in range(stored.count)]
    width, order = kind.bytes, stored.form.byte_order
    found = []
    for start in range(0, len(data), width):
        raw = int.from_bytes(data[start : start + width], order, signed=kind.kind == "int")
        if kind.kind == "bool":
            found.append(str(int(raw != 0)))
        elif kind.kind == "float":
            found.append(_float(raw, width))
        else:
            found.append(str(raw))
    return found


def _float(raw: int, width: int) -> str:
    fraction = (1 << {4: 23, 8: 52}[width]) - 1
    infinity = (1 << 8 * width - 1) - 1 - fraction
    return "nan" if raw & infinity == infinity and raw & fraction else f"{raw:0{2 * width}x}"


def _opened(path: str, profile: str = "lenient") -> File:
    """One file by itself, with ggml's own type numbers, whatever it says of a set."""
    part = load_part(path, profile, "ggml")
    return File([Part(part.source, part.scan)], profile)


def tensor(profile: str, path: str, name: str) -> Iterator[str]:
    with _opened(path, profile) as file:
        one = file.tensors[bytes.fromhex(name).decode("utf-8", "surrogateescape")]
        yield _f32(one.dequantize())


def dequantize(kind: str, prefix: str, suffix: str, row: str) -> Iterator[str]:
    data = bytes.fromhex(("" if prefix == "-" else prefix) + row)
    tail = None if suffix == "-" else np.frombuffer(bytes.fromhex(suffix), np.uint8)
    values = blocks.dequantize(np.frombuffer(data, np.uint8)[None], kind, suffix=tail)
    yield _f32(values)


def _f32(values: np.ndarray) -> str:  # type: ignore[type-arg]
    return f"f32\t{values.astype('<f4').tobytes().hex()}"


def unpack(kind: str, stored: str) -> Iterator[str]:
    data = np.frombuffer(bytes.fromhex(stored), np.uint8)
    codes = blocks.unpack(data.reshape(-1, ggufspec.types[kind].bytes), kind)
    texts = []
    for name, values in codes.items():
        whole = values.view(f"u{values.itemsize}") if values.dtype.kind == "f" else values
        texts.append(f"{name}={','.join(map(str, whole.reshape(-1).tolist()))}")
    yield f"codes\t{';'.join(texts)}"


def pack(kind: str, text: str) -> Iterator[str]:
    blank = np.zeros((1, ggufspec.types[kind].bytes), np.uint8)
    shapes = blocks.unpack(blank, kind)
    codes = {}
    for part in text.split(";"):
        name, _, numbers = part.partition("=")
        like = shapes[name]
        stored = f"u{like.itemsize}" if like.dtype.kind == "f" else like.dtype
        values = np.array([int(number) for number in numbers.split(",")], np.int64).astype(stored)
        codes[name] = values.view(like.dtype).reshape(-1, *like.shape[1:])
    yield f"bytes\t{blocks.pack(codes, kind).tobytes().hex()}"


def copy(source: str, target: str) -> Iterator[str]:
    with _opened(source) as file:
        if any(size < 0 for size in file.parts[0].scan.tensors.nbytes):
            yield "fail\tunknown type"
            return
        ggufspec.write(target, file.metadata, file.tensors)
    yield "ok"


ANSWERS: dict[str, Callable[..., Iterator[str]]] = {
    "hello": hello,
    "types": types,
    "open": open_file,
    "tensor": tensor,
    "dequantize": dequantize,
    "unpack": unpack,
    "pack": pack,
    "copy": copy,
}


def answer(line: str) -> Iterator[str]:
    """The lines of an answer."""
    name, *fields = line.split("\t")
    try:
        if name not in ANSWERS:
            raise ValueError(f"unknown request {name}")
        yield from ANSWERS[name](*fields)
    except ggufspec.GGUFError as error:
        yield f"error\t{error.code}\t{'-' if error.offset is None else error.offset}"
    except Exception as error:
        yield f"fail\t{type(error).__name__}: {error}".replace("\n", " ")


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        for text in answer(line.rstrip("\n")):
            sys.stdout.write(text + "\n")
        sys.stdout.write("end\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
