"""Files whose lengths, counts, shapes and offsets lie."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from support.crafted import (
    ARCHITECTURE,
    ARRAY,
    F16,
    F32,
    I8,
    Q4_0,
    STRING,
    UINT8,
    UINT32,
    V3,
    file,
    padded,
)

from . import Hostile

GIB, TOP = 1 << 30, 1 << 63
OVERHEAD = 368  # bytes that ggml keeps for a tensor


def files() -> Iterator[Hostile]:
    """All of them."""
    yield from _counts()
    yield from _shapes()
    yield from _sums()
    yield from _offsets()
    yield from _two_readers()
    yield from _polyglots()


def _counts() -> Iterator[Hostile]:
    yield Hostile(
        "33 bytes that claim a key of 1 GiB",
        "a length that sizes an allocation costs a gigabyte before the file is found too short",
        lambda: V3.header(0, 1) + V3.size(GIB) + b"k",
    )
    for what, tensors, keys in (("tensors", TOP, 0), ("keys", 0, TOP), ("both", TOP, TOP)):
        yield Hostile(
            f"2^63 {what}",
            "the count is negative as a signed number, and loops for ever as an unsigned one (R14)",
            lambda tensors=tensors, keys=keys: V3.header(tensors, keys) + bytes(64),  # type: ignore[misc]
        )
    yield Hostile(
        "2^63 strings in an array",
        "an array's count sizes an allocation, or loops for ever (R14, llama.cpp#27188)",
        lambda: file([V3.pair("a", ARRAY, V3.array(STRING, TOP, bytes(64)))]),
    )
    yield Hostile(
        "string of 2^63 bytes",
        "R11: the length becomes a negative size (ollama#17032)",
        lambda: file([V3.pair("a", STRING, V3.string("x", TOP))]),
    )
    yield Hostile(
        "key of 2^64-1 bytes",
        "CVE-2024-23496: the length plus one for the terminator is zero",
        lambda: V3.header(0, 1) + V3.size((1 << 64) - 1) + bytes(8),
    )
    yield Hostile(
        "array of 2^30 in 60 bytes",
        "gguf-py: a count that is not above the limit is not compared with the file (R14)",
        lambda: file([V3.pair("a", ARRAY, V3.array(UINT8, GIB))]),
    )
    yield Hostile(
        "tensors times their overhead wraps",
        "llama.cpp#15711: n_tensors x 368 wraps although n_tensors x 344 does not",
        lambda: V3.header((1 << 64) // OVERHEAD + 1, 0) + bytes(64),
    )
    yield Hostile(
        "one byte too few for a count of keys",
        "a count that fits by the smallest record, but not by these",
        lambda: V3.header(0, 2) + ARCHITECTURE + V3.pair("b", UINT8, b"")[:-1],
    )
    for rank in (0x7FFFFFFF, 0xFFFFFFFF):
        yield Hostile(
            f"{rank} dimensions",
            "CVE-2024-21802: the rank indexes an array of four (R19)",
            lambda rank=rank: file((), [V3.tensor("t", [1] * 9, n_dims=rank)], bytes(64)),  # type: ignore[misc]
        )


def _shapes() -> Iterator[Hostile]:
    for dims, kind, why in (
        ([(1 << 62) - 1, 2], I8, "equal quotients pass one test of ggml and abort in the next"),
        ([3037000499, 3037000500], I8, "just below 2^63: the same, ggml 0.25.3 aborts"),
        ([3037000480, 3037000519], Q4_0, "the same in blocks"),
        ([1 << 62, 0, 1 << 62], I8, "one reader multiplies by the zero, the other skips it"),
        ([1, 0, 1 << 62, 1 << 62], I8, "the same with four dimensions"),
        ([1 << 32, 1 << 32], F32, "#27203: the product is 2^64, which wraps to an empty tensor"),
        ([(1 << 63) - 1, 2, 1, 1], I8, "R04: the product is negative"),
        ([(1 << 64) - 1, 2, 1, 1], F32, "R04: the size wraps to four bytes"),
        ([1152, (1 << 42) + 1], F32, "R04: stride times dimension wraps (CVE-2026-33298)"),
        ([1 << 63], F32, "R04: a dimension that is negative as a signed number"),
        ([(1 << 32) + 32], I8, "CVE-2026-53923: 32 when cut to 32 bits"),
        ([1, 0], F32, "R06: INT64_MAX / 0"),
        ([0, 1 << 62, 1 << 62], F32, "signed overflow in ggml_nrows"),
        ([4, 4], 4, "R06, llama.cpp#8816: a removed type has blocks of 0 elements"),
        ([4, 4], 31, "R06: the same, of another age"),
        ([4, 4], 0x7FFFFFFF, "R01: the type indexes a table"),
        ([4, 4], 0xFFFFFFFF, "R01: the type indexes a table with -1"),
        ([0, 1 << 59], F32, "no values, and an axis that no array can have (our own fuzzer)"),
        ([1 << 61, 0, 0], I8, "the same along the rows (our own fuzzer)"),
        ([3314649325744685056, 0, 0, 0], F32, "the same, more bytes a row than 2^63"),
        ([33, 2], Q4_0, "R45: a row that is no whole number of blocks"),
        ([1 << 61], I8, "2^61 bytes: ggml aborts when it is to allocate them"),
    ):
        yield Hostile(
            f"shape {dims} of type {kind}",
            why,
            lambda dims=dims, kind=kind: file(  # type: ignore[misc]
                [ARCHITECTURE], [V3.tensor("t", dims, kind)], bytes(64)
            ),
        )


def _sums() -> Iterator[Hostile]:
    def laid(*sizes: int) -> bytes:
        starts = itertools.accumulate((size + (-size % 32) for size in sizes), initial=0)
        infos = [
            V3.tensor(f"t{i}", [size], I8, offset=start % (1 << 64))
            for i, (size, start) in enumerate(zip(sizes, starts, strict=False))
        ]
        return file([ARCHITECTURE], infos, bytes(64))

    for name, reason, sizes in (
        (
            "padded sizes add up to 2^64",
            "CVE-2025-53630: the sum of the padded sizes wraps, a small buffer is allocated",
            ((1 << 63) - 32, (1 << 63) - 32, 64),
        ),
        (
            "sizes and overhead add up to 2^64",
            "CVE-2026-27940: the sum fits, but not with the bytes for the context on top",
            ((1 << 63) - 32, (1 << 63) - 32 - OVERHEAD, 32),
        ),
        (
            "size within 31 bytes of 2^63",
            "#26978, #24759: padding to the alignment wraps to 0",
            ((1 << 63) - 1, 32),
        ),
        ("size of 2^62 bytes", "ggml aborts: no buffer of that size", (1 << 62,)),
    ):
        yield Hostile(name, reason, lambda sizes=sizes: laid(*sizes))  # type: ignore[misc]


def _offsets() -> Iterator[Hostile]:
    one = V3.tensor("t", [16], F32)

    def two(offset: int) -> bytes:
        return file([ARCHITECTURE], [one, V3.tensor("u", [16], F32, offset=offset)], bytes(128))

    yield Hostile(
        "tensor past the end of the file",
        "CVE-2026-7482: foreign memory ends up in the quantized model (R22)",
        lambda: file([ARCHITECTURE], [V3.tensor("t", [4096, 4096], F16)], bytes(32)),
    )
    for offset, why in (
        ((1 << 64) - 16, "offset plus size wraps"),
        ((1 << 64) - 64, "the same, aligned"),
        (TOP, "negative as a signed number"),
        (32, "half of it is the other's"),
        (0, "two names, one buffer"),
        (65, "not aligned"),
        (96, "a gap"),
        (1 << 40, "far behind the end"),
    ):
        yield Hostile(
            f"second tensor at {offset:#x}",
            f"R22, R31: {why}",
            lambda offset=offset: two(offset),  # type: ignore[misc]
        )
    yield Hostile(
        "a thousand names for one buffer",
        "a memory bomb: each name costs a reader a copy of the same bytes",
        lambda: file(
            [ARCHITECTURE],
            [V3.tensor(f"t{i}", [4096], F32) for i in range(1000)],
            bytes(4 * 4096),
        ),
    )
    yield Hostile(
        "the data section starts behind the file",
        "an alignment of 2 GiB pads past the end (R09, llama.cpp#24997)",
        lambda: file([V3.pair("general.alignment", UINT32, V3.u32(1 << 31))], [one]),
    )


def _two_readers() -> Iterator[Hostile]:
    def aligned(first: bytes, second: bytes) -> bytes:
        pairs = [
            ARCHITECTURE,
            V3.pair(first, UINT32, V3.u32(64)),
            V3.pair(second, UINT32, V3.u32(32)),
        ]
        infos = [V3.tensor("t", [4], F32), V3.tensor("u", [4], F32, offset=64)]
        return file(pairs, infos, bytes(192), 64)

    key = b"general.alignment"
    yield Hostile(
        "alignment with a NUL in front of the alignment",
        "llama.cpp takes the first, gguf-py the second: other bytes are the weights",
        lambda: aligned(key + b"\0", key),
    )
    yield Hostile(
        "two alignments",
        "R21: one reader takes the first, another the last",
        lambda: aligned(key, key),
    )
    yield Hostile(
        "tensor names equal up to a NUL",
        "different to a string, the same to C: one look-up finds the other's data",
        lambda: file(
            [ARCHITECTURE],
            [V3.tensor("t\0a", [8], F32), V3.tensor("t\0b", [8], F32, offset=32)],
            bytes(64),
        ),
    )
    yield Hostile(
        "tensor names equal in 63 bytes",
        "R20: cut to 63 bytes they are one",
        lambda: file(
            [ARCHITECTURE],
            [V3.tensor("n" * 63 + "a", [8]), V3.tensor("n" * 63 + "b", [8], offset=32)],
            bytes(64),
        ),
    )


def _polyglots() -> Iterator[Hostile]:
    whole = file([ARCHITECTURE], [V3.tensor("t", [8])], bytes(32))
    yield Hostile(
        "a zip archive behind the data",
        "a file that is two things: scanners see the one, loaders the other",
        lambda: whole + b"PK\x03\x04" + bytes(64),
    )
    yield Hostile(
        "a second file behind the data", "R30: taken for a second model", lambda: whole + whole
    )
    yield Hostile(
        "a program in the padding",
        "padding that holds something is a place to hide it",
        lambda: (
            padded(V3.header(1, 1) + ARCHITECTURE + V3.tensor("t", [8]), 32)[:-4]
            + b"\x7fELF"
            + bytes(32)
        ),
    )
