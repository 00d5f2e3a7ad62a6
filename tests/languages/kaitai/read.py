"""Answers requests with ksc's Python: python read.py COMPILED; see read.mjs for the requests."""

from __future__ import annotations

import importlib
import math
import struct
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from kaitaistruct import KaitaiStream, KaitaiStruct, KaitaiStructError

sys.path.insert(0, sys.argv[1])
FORMATS = {
    "little": importlib.import_module("gguf_le").GgufLe,
    "big": importlib.import_module("gguf_be").GgufBe,
}
BLOCKS = importlib.import_module("ggml_blocks").GgmlBlocks


def file(path: str) -> Iterator[tuple[object, ...]]:
    """The lines of a file's content."""
    content = Path(path).read_bytes()
    little, big = (int.from_bytes(content[4:8], order) for order in ("little", "big"))  # type: ignore[arg-type]
    order = "big" if little >= 65536 > big else "little"
    kind = FORMATS[order]
    read = kind(KaitaiStream(BytesIO(content)))
    yield "ok", read.version, order, read.alignment, read.data_start
    for pair in read.metadata:
        yield "key", pair.key.data.hex(), _text(pair.value_type.name.upper(), pair.value)
    for tensor, block in zip(read.tensors, read.tensor_blocks, strict=True):
        dims = ",".join(str(dim.value) for dim in tensor.dims) or "-"
        size = len(block.data) if tensor.is_sized else "-"
        yield "tensor", tensor.name.data.hex(), tensor.type_id, dims, tensor.offset, size


def _text(kind: str, value: Any) -> str:
    if kind != "ARRAY":
        return f"{kind}:{_scalar(kind, value if kind == 'STRING' else value.value)}"
    element = value.element_type.name.upper()
    elements = (
        _text("ARRAY", one).removeprefix("ARRAY:") if element == "ARRAY" else _scalar(element, one)
        for one in value.body.elements
    )
    return f"ARRAY:{element}:{value.count}:[{','.join(elements)}]"


def _scalar(kind: str, value: Any) -> str:
    if kind == "STRING":
        return str(value.data.hex())
    if kind == "BOOL":
        return "1" if value else "0"
    if kind.startswith("FLOAT"):
        return _bits(value, 4 if kind == "FLOAT32" else 8)
    return str(value)


def _bits(value: float, size: int) -> str:
    return "nan" if math.isnan(value) else struct.pack(">f" if size == 4 else ">d", value).hex()


def block(kind: str, row: str) -> Iterator[tuple[object, ...]]:
    """A line for each field and code; floats are no numbers here."""
    made = getattr(BLOCKS, "".join(part.capitalize() for part in kind.lower().split("_")))
    stream = KaitaiStream(BytesIO(bytes.fromhex(row)))
    blocks: list[KaitaiStruct] = []
    while not stream.is_eof():
        blocks.append(made(stream))
    stored = [name for name in vars(blocks[0]) if not name.startswith("_")]
    cut = [name for name, entry in vars(made).items() if isinstance(entry, property)]
    for name in (*stored, *cut):
        numbers: list[object] = []
        for one in blocks:
            value = getattr(one, name)
            items = value if isinstance(value, list) else [value]
            numbers += [getattr(item, "value", item) for item in items]
        if all(isinstance(number, int | float) for number in numbers):
            yield "code", name, " ".join(map(str, numbers))


def main() -> None:
    """Answer every line of standard input."""
    for line in sys.stdin:
        what, *rest = line.rstrip("\n").split("\t")
        try:
            lines = [
                "\t".join(map(str, fields))
                for fields in {"file": file, "block": block}[what](*rest)
            ]
        except (KaitaiStructError, EOFError) as error:
            lines = [f"refused\t{type(error).__name__}\t{' '.join(str(error).split())}"]
        print("\n".join([*lines, "end"]), flush=True)


main()
