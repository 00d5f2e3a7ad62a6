"""What every program is asked, and what makes an answer right."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Judge = Callable[[bytes], "str | None"]


@dataclass(frozen=True)
class Question:
    """A request; `judge` tells what is wrong with the answer, None if nothing is.

    `size` is the number of bytes that the program has to look at, where memory is measured.
    """

    group: str
    name: str
    request: str
    judge: Judge
    size: int | None = None


GROUPS = {
    "types": "the registry",
    "verdicts": "files under each profile: rule and offset, or ok",
    "content": "good files: keys, values, tensors",
    "tensors": "elements of the good files' tensors",
    "copies": "good files written anew",
    "dequantize": "blocks to float32",
    "unpack": "blocks to codes",
    "pack": "codes to blocks",
    "random": "random blocks against ggufspec",
    "hostile": "the kept corpus: rule, offset, time, memory",
    "damaged": "damaged and cut files against ggufspec",
    "real": "llama.cpp's vocabulary files, up to 16 MB",
}
"""Rows of the matrix."""


def of_vectors(folder: Path, work: Path) -> Iterator[Question]:
    """All that spec/conformance asks; `work` takes the files that copies write."""
    yield from _verdicts(folder)
    for path in sorted((folder / "files").glob("*.json")):
        content = json.loads(path.read_text(encoding="ascii"))
        file = path.with_suffix(".gguf")
        yield from _tensors(content, file)
        yield _copy(content, file, work)
    for path in sorted((folder / "blocks").glob("*.txt")):
        for number, record in enumerate(records(path)):
            yield from _record(f"{path.stem}/{number}", record)


def equals(expected: str) -> Judge:
    """The answer is just these lines."""

    def judge(answer: bytes) -> str | None:
        found = answer.decode("utf-8", "replace").rstrip("\n")
        return None if found == expected else _difference(expected, found)

    return judge


def starts_ok(answer: bytes) -> str | None:
    """The file was opened, whatever is in it."""
    return None if answer.startswith(b"ok\t") else f"not opened: {answer[:200]!r}"


def same_floats(expected: np.ndarray[Any, np.dtype[np.float32]]) -> Judge:
    """Float32 of these bits, a NaN equal to any NaN."""
    wanted = expected.astype("<f4").reshape(-1)

    def judge(answer: bytes) -> str | None:
        kind, _, text = answer.strip().partition(b"\t")
        if kind != b"f32":
            return f"no floats: {answer[:200]!r}"
        found = np.frombuffer(bytes.fromhex(text.decode()), "<f4")
        if found.size != wanted.size:
            return f"{found.size} elements, not {wanted.size}"
        differing = (found.view("<u4") != wanted.view("<u4")) & ~(
            np.isnan(found) & np.isnan(wanted)
        )
        if not differing.any():
            return None
        first = int(np.argmax(differing))
        bits = f"{int(found.view('<u4')[first]):08x} for {int(wanted.view('<u4')[first]):08x}"
        return f"{int(differing.sum())} elements differ, the first is {first}: {bits}"

    return judge


def _difference(expected: str, found: str) -> str:
    ours, theirs = expected.split("\n"), found.split("\n")
    for number, line in enumerate(ours):
        other = theirs[number] if number < len(theirs) else "(nothing)"
        if other != line:
            return f"line {number + 1} is {other[:200]!r}, not {line[:200]!r}"
    return f"line {len(ours) + 1} should not be there: {theirs[len(ours)][:200]!r}"


# ---- files


def error_line(rule: str, offset: int | str | None) -> str:
    """The answer for a file that is refused."""
    return f"error\t{rule}\t{'-' if offset is None else offset}"


def _verdicts(folder: Path) -> Iterator[Question]:
    contents: dict[str, str] = {}
    for line in (folder / "files.txt").read_text(encoding="ascii").splitlines():
        if line.startswith("#"):
            continue
        name, profile, verdict, offset = line.split("\t")
        file = folder / f"files/{name}.gguf"
        request = f"open\t{profile}\t{file}"
        if verdict != "ok":
            judge = equals(error_line(verdict, offset))
        elif file.with_suffix(".json").is_file():
            if name not in contents:
                text = file.with_suffix(".json").read_text(encoding="ascii")
                contents[name] = "\n".join(content_lines(json.loads(text)))
            judge = equals(contents[name])
        else:
            judge = starts_ok
        group = "content" if name in contents and verdict == "ok" else "verdicts"
        yield Question(group, f"{name} {profile}", request, judge)


def content_lines(content: Mapping[str, Any]) -> Iterator[str]:
    """The answer for a good file."""
    head = (content[key] for key in ("version", "byte_order", "alignment", "data_offset"))
    yield "\t".join(["ok", *map(str, head)])
    for pair in content["metadata"]:
        yield f"key\t{raw(pair['key']).hex()}\t{pair['type']}:{_value(pair, pair['type'])}"
    for tensor in content["tensors"]:
        dims = ",".join(map(str, tensor["dims"])) or "-"
        size = "-" if tensor["nbytes"] is None else tensor["nbytes"]
        fields = (raw(tensor["name"]).hex(), tensor["type"], dims, tensor["offset"], size)
        yield "\t".join(["tensor", *map(str, fields)])


def raw(text: str | Mapping[str, str]) -> bytes:
    """The bytes of a string in a JSON file."""
    return text.encode() if isinstance(text, str) else base64.b64decode(text["base64"])


def _value(entry: Mapping[str, Any], kind: str) -> str:
    value = entry["value"]
    if kind != "ARRAY":
        return _scalar(value, kind)
    element = entry["element"]
    if element == "ARRAY":
        items = [f"{item['element']}:{_counted(item)}" for item in value]
        return f"ARRAY:{len(value)}:[{','.join(items)}]"
    return f"{element}:{_counted(entry)}"


def _counted(entry: Mapping[str, Any]) -> str:
    """Count and elements of an array whose element type is written already."""
    element, value = entry["element"], entry["value"]
    if element == "ARRAY":
        items = [f"{item['element']}:{_counted(item)}" for item in value]
    else:
        items = [_scalar(item, element) for item in value]
    return f"{len(value)}:[{','.join(items)}]"


def _scalar(value: Any, kind: str) -> str:
    if kind == "STRING":
        return raw(value).hex()
    if isinstance(value, bool):
        return str(int(value))
    return str(value)


def _tensors(content: Mapping[str, Any], file: Path) -> Iterator[Question]:
    for tensor in content["tensors"]:
        if "x" in tensor:
            name = raw(tensor["name"]).hex()
            request = f"tensor\tlenient\t{file}\t{name}"
            judge = same_floats(floats(tensor["x"]))
            yield Question("tensors", f"{file.stem} {name}", request, judge)


def floats(text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Float32 from their bits."""
    words = [0x7FC00000 if word == "nan" else int(word, 16) for word in text.split()]
    return np.array(words, "<u4").view("<f4")


def _copy(content: Mapping[str, Any], file: Path, work: Path) -> Question:
    target = work / "copy.gguf"

    def judge(answer: bytes) -> str | None:
        written = content["written"]
        if written is None:
            return equals("fail\tunknown type")(answer)
        wrong = equals("ok")(answer)
        if wrong:
            return wrong
        data = target.read_bytes()
        target.unlink()
        if hashlib.sha256(data).hexdigest() == written["sha256"]:
            return None
        return f"{len(data)} bytes written, not the {written['bytes']} expected ones"

    return Question("copies", file.stem, f"copy\t{file}\t{target}", judge)


# ---- blocks

Record = Mapping[str, Any]
"""Fields of a record by their first word; codes as a dict of texts."""


def records(path: Path) -> Iterator[Record]:
    """The records of a file of blocks."""
    for part in path.read_text(encoding="ascii").split("\n\n"):
        found: dict[str, Any] = {"code": {}}
        for line in part.splitlines():
            word, _, rest = line.partition(" ")
            if word == "code":
                name, _, numbers = rest.partition(" ")
                found["code"][name] = numbers
            elif word != "#":
                found[word] = rest
        if "type" in found:
            yield found


def _record(name: str, record: Record) -> Iterator[Question]:
    kind, block = record["type"], record["block"]
    ends = f"{record.get('prefix', '-')}\t{record.get('suffix', '-')}"
    request = f"dequantize\t{kind}\t{ends}\t{block}"
    yield Question("dequantize", name, request, same_floats(floats(record["x"])))
    if record["code"]:
        codes = ";".join(f"{n}={text.replace(' ', ',')}" for n, text in record["code"].items())
        yield Question("unpack", name, f"unpack\t{kind}\t{block}", equals(f"codes\t{codes}"))
        yield Question("pack", name, f"pack\t{kind}\t{codes}", equals(f"bytes\t{record['pack']}"))
