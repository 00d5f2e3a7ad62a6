"""Questions whose answers ggufspec itself knows: random blocks, the kept corpus, damaged files."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import corpus
from corpus.verdicts import PATH as VERDICTS
from ggufspec import blocks
from ggufspec.container.scan import scan
from ggufspec.generated.types import TYPES
from ggufspec.registry import types
from support import realfiles
from support.container import PROFILES
from support.damaged import FORMS, everything
from support.interpreter import integers
from support.mutations import random_mutations
from support.samples import LAYOUTS, block_samples, suffix_of

from .python.conformance import open_file
from .questions import Judge, Question, equals, error_line, same_floats, starts_ok

BLOCKS, CODED = 48, 12
VOCABULARIES = ("ggml-vocab-bert-bge.gguf", "ggml-vocab-llama-spm.gguf", "ggml-vocab-gemma-4.gguf")
STEP = 11
"""Of the beginnings of valid files, each how many-eth is asked about."""

LONG = 1 << 20
"""Bytes of a file that only one profile looks at: answers hold all of its content."""


def registry() -> Question:
    """The types and their order."""
    lines = (
        f"type\t{'-' if t.id is None else t.id}\t{t.name}\t{t.elements}\t{t.bytes}\t{t.status}"
        for t in TYPES
    )
    return Question("types", "registry", "types", equals("\n".join(lines)))


def random_blocks(seed: int) -> Iterator[Question]:
    """Rows of every type: random bytes, ordinary scales, every byte value."""
    rng = np.random.default_rng(seed)
    for name in LAYOUTS:
        kind = types[name]
        for what, some in block_samples(kind, seed).items():
            if what.startswith(("single", "zeros", "ones")):
                continue
            data = some[rng.permutation(len(some))[: max(BLOCKS, 2048 // kind.elements)]]
            tail = suffix_of(kind, seed)
            prefix = np.zeros(kind.info.row_prefix, np.uint8)
            row = np.concatenate([prefix, data.reshape(-1)])[None]
            judge = same_floats(blocks.dequantize(row, name, suffix=tail))
            ends = (
                f"{prefix.tobytes().hex() or '-'}\t{'-' if tail is None else tail.tobytes().hex()}"
            )
            request = f"dequantize\t{name}\t{ends}\t{data.tobytes().hex()}"
            yield Question("random", f"{name} {what} {seed}", request, judge)


def random_codes(seed: int) -> Iterator[Question]:
    """Codes of random blocks and back, for every type that has them."""
    rng = np.random.default_rng([seed, 1])
    for name in LAYOUTS:
        kind = types[name]
        if kind.plain:
            continue
        data = rng.integers(0, 256, (CODED, kind.bytes), np.uint8)
        codes = blocks.unpack(data, name)
        text = ";".join(f"{key}={_numbers(values)}" for key, values in codes.items())
        packed = blocks.pack(codes, name).tobytes().hex()
        asked = f"unpack\t{name}\t{data.tobytes().hex()}"
        yield Question("unpack", f"random {name} {seed}", asked, equals(f"codes\t{text}"))
        asked = f"pack\t{name}\t{text}"
        yield Question("pack", f"random {name} {seed}", asked, equals(f"bytes\t{packed}"))


def _numbers(values: NDArray[Any]) -> str:
    return ",".join(str(number) for row in integers(values) for number in row)


def hostile(folder: Path) -> Iterator[Question]:
    """Every file of the corpus, made in `folder`."""
    verdicts = json.loads(VERDICTS.read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    for number, file in enumerate(corpus.hostile()):
        data, path = file.make(), folder / f"{number:03}.gguf"
        path.write_bytes(data)
        for profile in PROFILES if len(data) < LONG else ("lenient",):
            known = verdicts.get(file.name, {}).get(profile)
            if file.name in verdicts and known:
                judge = _verdict(known)
            else:
                judge = _as_ours(data, profile, path) if len(data) < LONG else starts_ok
            name = f"{file.name} ({profile})"
            yield Question("hostile", name, f"open\t{profile}\t{path}", judge, len(data))


def damaged(folder: Path, count: int, seed: int) -> Iterator[Question]:
    """Files of every form with one to three numbers or bytes of theirs changed."""
    rng = random.Random(seed)
    wholes = [everything(form) for form in FORMS.values()]
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        data = random_mutations(rng.choice(wholes), rng, rng.choice((1, 1, 2, 3)))
        path = folder / f"{number:04}.gguf"
        path.write_bytes(data)
        profile = PROFILES[number % len(PROFILES)]
        judge = _as_ours(data, profile, path)
        yield Question("damaged", f"{number} ({profile})", f"open\t{profile}\t{path}", judge)


def cut(folder: Path) -> Iterator[Question]:
    """Beginnings of a valid file of every version and byte order."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, data) in enumerate(islice(corpus.prefixes(), 0, None, STEP)):
        path = folder / f"{number:04}.gguf"
        path.write_bytes(data)
        judge = _as_ours(data, "lenient", path)
        yield Question("damaged", name, f"open\tlenient\t{path}", judge)


def real(work: Path) -> Iterator[Question]:
    """Real vocabulary files: all of their content as the reference has it, and a copy."""
    for path in map(realfiles.vocabulary, VOCABULARIES):
        digest = sha256()
        for line in open_file("lenient", str(path)):
            digest.update(line.encode() + b"\n")
        yield Question("real", path.stem, f"open\tlenient\t{path}", _hashes_to(digest.digest()))
    target = work / "real.gguf"
    whole = sha256(path.read_bytes()).digest()

    def judge(answer: bytes) -> str | None:
        wrong = equals("ok")(answer)
        return wrong or (None if sha256(target.read_bytes()).digest() == whole else "other bytes")

    yield Question("real", f"copy of {path.stem}", f"copy\t{path}\t{target}", judge)


def _hashes_to(digest: bytes) -> Judge:
    def judge(answer: bytes) -> str | None:
        if sha256(answer.rstrip(b"\n") + b"\n").digest() == digest:
            return None
        return f"other content: {answer[:200]!r}"

    return judge


def _as_ours(data: bytes, profile: str, path: Path) -> Judge:
    """The reference's error, or all that it finds in the file."""
    error = _ours(data, profile)
    return _verdict(error) if error else equals("\n".join(open_file(profile, str(path))))


def _verdict(expected: tuple[str, int | None] | list[str | int | None]) -> Judge:
    return equals(error_line(str(expected[0]), expected[1]))


def _ours(data: bytes, profile: str) -> tuple[str, int | None] | None:
    error = scan(data, profile=profile).first_error()
    return None if error is None else (error.rule, error.offset)
