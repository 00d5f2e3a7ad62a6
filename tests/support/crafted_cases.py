"""Crafted files and what each profile must say of them: rule and offset of the first error.

The cases are those of ggml's own tests/test-gguf.cpp, of its reader's list of checks, and of
public bug reports; each name tells which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from support.crafted import (
    ARRAY,
    BOOL,
    F16,
    F32,
    FLOAT32,
    I8,
    I64,
    INT32,
    Q4_0,
    STRING,
    UINT8,
    UINT32,
    UINT64,
    V3,
    Form,
    file,
    padded,
)

Expected = tuple[str, int | None] | None

V1, V2, BIG = Form(1), Form(2), Form(3, "big")
ALIGNMENT = "general.alignment"
TOP = 2**63


class Case(NamedTuple):
    """A file; `expected` is rule and offset of the first error by profile, None for none."""

    name: str
    data: bytes
    expected: dict[str, Expected]


def _case(name: str, data: bytes, **expected: Expected) -> Case:
    """`everywhere` holds for the profiles that are not named."""
    everywhere = expected.pop("everywhere", None)
    profiles = ("ggml", "spec", "strict", "lenient")
    return Case(name, data, {profile: expected.get(profile, everywhere) for profile in profiles})


def _pair(key: str | bytes, kind: int, payload: bytes, form: Form = V3) -> bytes:
    """A file with the architecture and one more pair, which starts at byte `PAIR`."""
    return file([architecture(form), form.pair(key, kind, payload)], form=form)


def architecture(form: Form = V3) -> bytes:
    """The pair that the documentation asks for."""
    return form.pair("general.architecture", STRING, form.string("llama"))


def _value(key: str = "a.b") -> int:
    """Where the value of `_pair` starts: behind header, architecture, key and type."""
    return PAIR + 8 + len(key) + 4


PAIR = 24 + len(architecture())
INFO = PAIR  # where the first tensor info starts, when the architecture is the only pair
DIMS = INFO + 8 + 1 + 4  # its dimensions, when its name has one byte


def _tensors(
    *infos: bytes, data: bytes = b"", alignment: int = 32, key: int | None = None
) -> bytes:
    """A file with the architecture, an alignment if `key` is one, and tensors."""
    pairs = [architecture()]
    if key is not None:
        pairs.append(V3.pair(ALIGNMENT, UINT32, V3.u32(key)))
    return file(pairs, infos, data, alignment)


def _start(*infos: bytes, alignment: int = 32) -> int:
    """The data section's start for these infos."""
    return len(padded(bytes(24) + architecture() + b"".join(infos), alignment))


def header_cases() -> Iterator[Case]:
    """The first 24 bytes."""
    yield _case("empty file", b"", everywhere=("GG0001", 0))
    yield _case("four bytes", b"GGUF", everywhere=("GG0001", 4))
    yield _case("HEADER_BAD_MAGIC", b"FUGG" + file()[4:], everywhere=("GG0101", 0))
    yield _case("a text file", b"# not a model at all\n" * 9, everywhere=("GG0101", 0))
    for number in (0, 4, 0x00030000, 0xFFFFFFFF):
        data = V3.header(0, 0, version=number)
        yield _case(f"HEADER_BAD_VERSION {number:#x}", data, everywhere=("GG0102", 4))
    yield _case(
        "version 1", file([architecture(V1)], form=V1), ggml=("GG0103", 4), strict=("GG0103", 4)
    )
    yield _case("version 2", file([architecture(V2)], form=V2))
    yield _case("big-endian", file([architecture(BIG)], form=BIG), ggml=("GG0104", 4))
    yield _case("HEADER_EMPTY", padded(file()), spec=("GG0701", 24))
    yield _case("HEADER_BAD_N_TENSORS", V3.header(2**64 - 1, 0), everywhere=("GG0002", 8))
    yield _case("HEADER_BAD_N_KV", V3.header(0, 2**64 - 1), everywhere=("GG0002", 16))
    yield _case("R01 n_kv times a struct wraps", V3.header(0, 1 << 61), everywhere=("GG0002", 16))
    yield _case(
        "R01 n_tensors times a struct wraps",
        V3.header(1 << 60, 1) + architecture(),
        everywhere=("GG0002", 8),
    )
    yield _case(
        "R26 big-endian header, little-endian body",
        BIG.header(0, 1)[:16] + V3.size(1) + architecture(),
        everywhere=("GG0002", 16),
        ggml=("GG0104", 4),
    )


def key_cases() -> Iterator[Case]:
    """Keys."""
    one = V3.u32(1)
    syntax = ("GG0206", PAIR)
    for length in (2**64 - 1, TOP, 2**64 // 64):
        data = V3.header(0, 1) + V3.size(length) + bytes(16)
        yield _case(f"KV_BAD_KEY_SIZE {length:#x}", data, everywhere=("GG0001", 24))
    data = V3.header(0, 1) + V3.string("a.b", 20) + bytes(16)
    yield _case("key one byte too long", data, everywhere=("GG0001", 24))
    yield _case("KV_EMPTY_KEY", _pair("", UINT32, one), everywhere=("GG0201", PAIR))
    twice = file([architecture(), V3.pair("a.b", UINT32, one), V3.pair("a.b", UINT8, b"\1")])
    yield _case(
        "KV_DUPLICATE_KEY",
        twice,
        everywhere=("GG0202", PAIR + len(V3.pair("a.b", UINT32, one))),
        spec=None,
    )
    yield _case("key of 65535 bytes", _pair("k" * 65535, UINT32, one))
    yield _case(
        "key of 65536 bytes",
        _pair("k" * 65536, UINT32, one),
        spec=("GG0203", PAIR),
        strict=("GG0203", PAIR),
    )
    yield _case("key with a hyphen", _pair("command-r.x", UINT32, one), spec=syntax)
    yield _case("key with an empty word", _pair("a..b", UINT32, one), spec=syntax)
    yield _case("key that ends with a dot", _pair("a.b.", UINT32, one), spec=syntax)
    yield _case("key in capitals", _pair("A.B", UINT32, one), spec=syntax)
    for what, key in (
        ("NUL", "general.alignment\0"),
        ("control", "a\x1b[2J"),
        ("C1 control", "a\x9b"),
        ("bidirectional", "a\u202eb"),
    ):
        yield _case(
            f"key with {what}", _pair(key, UINT32, one), spec=syntax, strict=("GG0205", PAIR)
        )
    yield _case("key not UTF-8", _pair(b"a\xff", UINT32, one), spec=syntax, strict=("GG0204", PAIR))
    yield _case("key in Greek", _pair("αβγ", UINT32, one), spec=syntax)


def value_cases() -> Iterator[Case]:
    """Values and arrays."""
    value = _value()
    kind = value - 4
    for number in (13, 14, 0x7FFFFFFF, 0xFFFFFFFF):
        data = _pair("a.b", number, bytes(8))
        yield _case(f"KV_BAD_TYPE {number}", data, everywhere=("GG0301", kind))
    yield _case(
        "64-bit value in version 1",
        _pair("a.b", UINT64, bytes(8), V1),
        everywhere=("GG0301", 16 + len(architecture(V1)) + 4 + 3),
        ggml=("GG0103", 4),
        strict=("GG0103", 4),
    )
    yield _case("value cut", _pair("a.b", UINT64, bytes(7)), everywhere=("GG0001", value))
    yield _case("type cut", _pair("a.b", 0, b"")[:-1], everywhere=("GG0001", kind))
    yield _case("bool 1", _pair("a.b", BOOL, b"\1"))
    yield _case(
        "bool 2", _pair("a.b", BOOL, b"\2"), spec=("GG0306", value), strict=("GG0306", value)
    )
    bools = _pair("a.b", ARRAY, V3.array(BOOL, 5, b"\0\1\1\xff\2"))
    yield _case("array of bools", bools, spec=("GG0306", value + 15), strict=("GG0306", value + 15))
    yield _case("empty string", _pair("a.b", STRING, V3.string("")))
    for length in (2**64 - 1, TOP - 256, TOP, 6):
        data = _pair("a.b", STRING, V3.string("hello", length))
        yield _case(f"string of {length:#x} bytes", data, everywhere=("GG0001", value))
    for text in (b"\xff", b"\xc3", b"\xe6\xad", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf0\x9f\x98"):
        data = _pair("a.b", STRING, V3.string(text))
        yield _case(f"string {text.hex()} (R37)", data, spec=("GG0307", value))
    tokens = b"".join(map(V3.string, (b"ok", b"\xe2\x82", b"\xac", b"x" * 200, b"\xa1")))
    data = _pair("a.b", ARRAY, V3.array(STRING, 5, tokens))
    yield _case("tokens that are cut characters", data, spec=("GG0307", value + 12 + 10))
    long = V3.string(b"\xe2\x82") + V3.string(b"y" * 0xAC)
    data = _pair("a.b", ARRAY, V3.array(STRING, 2, long))
    yield _case("a length that would complete a character", data, spec=("GG0307", value + 12))
    yield from _array_cases(value)


def _array_cases(value: int) -> Iterator[Case]:
    count = value + 4
    for element in (UINT8, STRING, ARRAY, FLOAT32):
        data = _pair("a.b", ARRAY, V3.array(element, 0))
        nested = ("GG0302", value) if element == ARRAY else None
        yield _case(f"empty array of {element}", data, ggml=nested)
    for element in (13, 99, 0xFFFFFFFF):
        data = _pair("a.b", ARRAY, V3.array(element, 0))
        yield _case(f"array of type {element}", data, everywhere=("GG0301", value))
    for element, number in (
        (UINT8, 2**40),
        (UINT32, 2**63),
        (UINT32, 2**62),
        (STRING, 2**61 + 1),
        (UINT8, 2**30),
        (STRING, 2**64 - 1),
        (UINT64, 2**61),
    ):
        data = _pair("a.b", ARRAY, V3.array(element, number))
        yield _case(f"array of {number:#x}", data, everywhere=("GG0002", count))
    data = _pair("a.b", ARRAY, V3.array(ARRAY, 2**62))
    yield _case("R14 array of 2^62 arrays", data, everywhere=("GG0002", count))
    data = _pair("a.b", ARRAY, V3.array(UINT32, 2, bytes(7)))
    yield _case("array one byte short", data, everywhere=("GG0002", count))
    data = _pair("a.b", ARRAY, V3.array(STRING, 2, V3.string("ab") + V3.string("c", 2)))
    yield _case("last string one byte short", data, everywhere=("GG0001", value + 12 + 10))
    for depth in (1, 2, 4, 5, 16, 17, 64, 200_000):
        nest = V3.array(ARRAY, 1) * depth + V3.array(UINT32, 0)
        first, fifth, last = value, value + 4 * 12, value + 16 * 12
        yield _case(
            f"R13 nested {depth} deep",
            _pair("a.b", ARRAY, nest),
            ggml=("GG0302", first),
            spec=("GG0303", last) if depth > 16 else None,
            strict=("GG0303", fifth) if depth > 4 else None,
            lenient=("GG0303", last) if depth > 16 else None,
        )
    rows = V3.array(INT32, 2, bytes(8)) + V3.array(STRING, 1, V3.string("x")) + V3.array(BOOL, 0)
    data = _pair("a.b", ARRAY, V3.array(ARRAY, 3, rows))
    yield _case("ragged arrays in an array", data, ggml=("GG0302", value))


def alignment_cases() -> Iterator[Case]:
    """The one key that the container itself reads."""
    value = _value(ALIGNMENT)
    info = V3.tensor("t", [8])
    refused: dict[int, dict[str, Expected]] = {
        0: dict.fromkeys(("ggml", "spec", "strict", "lenient"), ("GG0407", value)),
        13: {p: (r, value) for p, r in _BY_PROFILE["neither"].items()},
        24: {"ggml": ("GG0403", value), "strict": ("GG0403", value)},
        1: {"spec": ("GG0404", value)},
        4: {"spec": ("GG0404", value)},
        8: {},
        64: {},
        1 << 20: {},
        1 << 21: {"strict": ("GG0406", value)},
        1 << 30: {"strict": ("GG0406", value)},
        1 << 31: {"strict": ("GG0406", value), "lenient": ("GG0406", value)},
        0xFFFFFFFF: {
            **{p: (r, value) for p, r in _BY_PROFILE["neither"].items()},
        },
    }
    for number, expected in refused.items():
        data = _pair(ALIGNMENT, UINT32, V3.u32(number))
        yield _case(f"KV_BAD_ALIGN {number}", data, **expected)
    data = _pair(ALIGNMENT, INT32, V3.u32(32))
    strictly = dict.fromkeys(("ggml", "spec", "strict"), ("GG0401", value))
    yield _case("alignment as INT32", data, **strictly)
    yield _case("alignment as UINT64", _pair(ALIGNMENT, UINT64, V3.size(32)), **strictly)
    yield _case(
        "KV_WRONG_TYPE_ALIGN",
        _pair(ALIGNMENT, INT32, V3.u32(13)),
        **strictly,
        lenient=("GG0405", value),
    )
    yield _case(
        "R08 alignment -32",
        _pair(ALIGNMENT, INT32, V3.number(-32, 4)),
        **strictly,
        lenient=("GG0407", value),
    )
    yield _case(
        "alignment as text",
        _pair(ALIGNMENT, STRING, V3.string("32")),
        **dict.fromkeys(strictly, ("GG0401", value + 8)),
        lenient=("GG0402", value + 8),
    )
    yield _case(
        "alignment as float",
        _pair(ALIGNMENT, FLOAT32, V3.u32(0x42000000)),
        **strictly,
        lenient=("GG0402", value),
    )
    for number in (1, 8, 64):
        second = V3.tensor("u", [2], offset=32 if number < 64 else 64)
        data = _tensors(info, second, data=bytes(72), alignment=number, key=number)
        spec = {"spec": ("GG0404", value)} if number == 1 else {}
        yield _case(f"TENSORS_CUSTOM_ALIGN {number}", data, **spec)
    start = INFO + len(V3.pair(ALIGNMENT, UINT32, bytes(4)))
    odd = file([architecture(), V3.pair(ALIGNMENT, UINT32, V3.u32(2**31))], [info])
    end = start + len(info)
    yield _case(
        "R09 alignment of 2 GiB",
        odd,
        ggml=("GG0601", end),
        spec=("GG0601", end),
        strict=("GG0406", value),
        lenient=("GG0406", value),
    )


_BY_PROFILE = {
    "neither": {"ggml": "GG0403", "spec": "GG0404", "strict": "GG0403", "lenient": "GG0405"},
}


def tensor_cases() -> Iterator[Case]:
    """Tensor infos."""
    at = INFO
    for length in (63, 64, 65, 1000, 65536, 65537):
        data = _tensors(V3.tensor("n" * length, [8]), data=bytes(32))
        long = ("GG0502", at)
        yield _case(
            f"R20 name of {length} bytes",
            data,
            ggml=long if length > 63 else None,
            spec=long if length > 64 else None,
            strict=long if length > 63 else None,
            lenient=long if length > 65536 else None,
        )
    nameless = _tensors(V3.tensor("", [8]), data=bytes(32))
    yield _case("tensor without a name", nameless, strict=("GG0501", at))
    control = _tensors(V3.tensor("a\nb", [8]), data=bytes(32))
    yield _case("tensor name with a newline", control, strict=("GG0505", at))
    broken = _tensors(V3.tensor(b"\xff", [8]), data=bytes(32))
    yield _case("tensor name not UTF-8", broken, strict=("GG0504", at))
    info = V3.tensor("t", [8])
    twice = _tensors(info, V3.tensor("t", [8], offset=32), data=bytes(64))
    yield _case("TENSORS_DUPLICATE_NAME", twice, everywhere=("GG0503", at + len(info)), spec=None)
    for rank in (5, 9, 0xFFFFFFFF):
        dims = [1] * min(rank, 9)
        data = _tensors(V3.tensor("t", dims, n_dims=rank), data=bytes(4))
        place = ("GG0506", DIMS - 4)
        yield _case(
            f"R19 {rank} dimensions", data, everywhere=place, lenient=None if rank == 5 else place
        )
    yield _case("no dimensions", _tensors(V3.tensor("t", []), data=bytes(4)))
    yield _case(
        "no dimensions, but blocks",
        _tensors(V3.tensor("t", [], Q4_0), data=bytes(18)),
        everywhere=("GG0512", DIMS),
        spec=("GG0702", INFO),
        lenient=None,
    )
    yield from _shape_cases()
    yield from _type_cases()


def _shape_cases() -> Iterator[Case]:
    one = ("GG0508", DIMS)
    yield _case("TENSORS_BAD_SHAPE", _tensors(V3.tensor("t", [2**64 - 1])), everywhere=one)
    yield _case(
        "dimension of 2^63", _tensors(V3.tensor("t", [1, TOP])), everywhere=("GG0508", DIMS + 8)
    )
    for dims, kind in (
        ([4 * (2**31 - 1)] * 2, F32),
        ([2**62 - 1, 2], I8),
        ([3037000499, 3037000500], I8),
        ([2**32, 2**32], F32),
        ([2**63 - 1, 2, 1, 1], I8),
        ([2**40, 2**40], F32),
        ([2**62, 0, 2**62], I8),
        ([1, 0, 2**62, 2**62], I8),
        ([0, 2**62, 2**62], F32),
        ([3037000480, 3037000519], Q4_0),
    ):
        data = _tensors(V3.tensor("t", dims, kind))
        spec = ("GG0702", INFO) if kind == Q4_0 else ("GG0509", DIMS)
        yield _case(f"elements overflow {dims}", data, everywhere=("GG0509", DIMS), spec=spec)
    root = 1518500250
    for dims, kind in (
        ([4, 2**30 - 1, 2**30 + 1], F32),
        ([root, root], I64),
        ([2**61], F32),
        ([2**62, 1], F16),
    ):
        data = _tensors(V3.tensor("t", dims, kind))
        yield _case(f"bytes overflow {dims}", data, everywhere=("GG0513", DIMS))
    for dims in ([0], [1, 0], [8, 0, 3], [0, 0, 0, 0]):
        yield _case(f"TENSORS_ZERO_DIM {dims}", _tensors(V3.tensor("t", dims)))
    yield _case(
        "zero rows of half a block",
        _tensors(V3.tensor("t", [16, 0], Q4_0)),
        everywhere=("GG0512", DIMS),
        spec=("GG0702", INFO),
        lenient=None,
    )
    data = _tensors(V3.tensor("t", [30], Q4_0), data=bytes(32))
    yield _case(
        "row of 30 in blocks of 32",
        data,
        everywhere=("GG0512", DIMS),
        spec=("GG0702", INFO),
        lenient=None,
    )


def _type_cases() -> Iterator[Case]:
    place = DIMS + 8
    for number in (43, 99, 100, 137, 0x7FFFFFFF, 0xFFFFFFFF):
        data = _tensors(V3.tensor("t", [32], number), data=bytes(128))
        yield _case(f"TENSORS_BAD_TYPE {number}", data, everywhere=("GG0510", place), lenient=None)
    for number in (4, 5, 31, 32, 33, 36, 37, 38):
        data = _tensors(V3.tensor("t", [32], number), data=bytes(128))
        yield _case(f"removed type {number}", data, everywhere=("GG0511", place), lenient=None)


def data_cases() -> Iterator[Case]:
    """The data section."""
    one = V3.tensor("t", [16])
    field = INFO + len(one) - 8
    second = field + len(one)
    start = _start(one, one)

    def two(offset: int, data: bytes = bytes(256)) -> bytes:
        return _tensors(one, V3.tensor("u", [16], offset=offset), data=data)

    yield _case("two tensors", two(64, bytes(128)))
    yield _case("overlap", two(32, bytes(128)), everywhere=("GG0606", second))
    yield _case("the same data twice", two(0, bytes(128)), everywhere=("GG0606", second))
    yield _case("R31 gap", two(128), ggml=("GG0604", second), strict=("GG0604", second))
    yield _case("offset not aligned", two(68), everywhere=("GG0603", second), lenient=None)
    swapped = _tensors(V3.tensor("u", [16], offset=64), one, data=bytes(128))
    yield _case("R31 other order", swapped, ggml=("GG0604", field), strict=("GG0604", field))
    yield _case(
        "TENSORS_BAD_OFFSET", two(2**64 - 1), everywhere=("GG0602", second), ggml=("GG0603", second)
    )
    far = two(2**64 - 32)
    yield _case(
        "R22 offset that wraps", far, everywhere=("GG0602", second), ggml=("GG0604", second)
    )
    behind = two(256, bytes(256))
    yield _case(
        "offset at the end of the file",
        behind,
        everywhere=("GG0602", second),
        ggml=("GG0604", second),
    )
    big = _tensors(V3.tensor("t", [4096, 4096], F16), data=bytes(32))
    outside = ("GG0602", DIMS + 16 + 4)
    yield _case("R22 16M halves in 32 bytes", big, everywhere=outside, ggml=None)
    yield _case(
        "DATA_NOT_ENOUGH_DATA", two(64, bytes(127)), everywhere=("GG0602", second), ggml=None
    )
    half = _tensors(V3.tensor("t", [8], F16), data=bytes(16))
    yield _case("last padding missing", half)
    whole = _tensors(V3.tensor("t", [8], F16), data=bytes(32))
    yield _case("last padding there", whole)
    yield _case("trailing bytes", whole + bytes(7))
    yield _case("another file behind", whole + whole)
    dirty = bytearray(whole)
    dirty[-1] = 1
    data_start = _start(V3.tensor("t", [8], F16))
    yield _case("last padding not zero", bytes(dirty), spec=("GG0608", data_start + 16))
    cut = whole[: data_start - 1]
    head = INFO + len(V3.tensor("t", [8], F16))
    yield _case("file ends before the data section", cut, everywhere=("GG0601", head))
    dirty = bytearray(whole)
    dirty[data_start - 1] = 1
    yield _case("padding in front of the data not zero", bytes(dirty), spec=("GG0608", head))
    inconsistent = _tensors(V3.tensor("t", [2]), V3.tensor("u", [2], offset=8), data=bytes(64))
    field_of = DIMS + 8 + 4 + len(V3.tensor("t", [2]))
    yield _case(
        "TENSORS_INCONSISTENT_ALIGN", inconsistent, everywhere=("GG0603", field_of), lenient=None
    )
    zero = _tensors(V3.tensor("u", [0]), one, data=bytes(64))
    yield _case("an empty tensor shares the next offset", zero)
    huge = [V3.tensor(f"{i}", [2**63 - 64], I8, offset=i * (2**63 - 64) % 2**64) for i in range(2)]
    yield _case(
        "DATA_MEM_SIZE_OVERFLOW",
        _tensors(*huge, data=bytes(32)),
        ggml=None,
        everywhere=("GG0602", DIMS + 8 + 4),
    )
    three = [*huge, V3.tensor("2", [2**62], I8, offset=2**64 - 128)]
    yield _case(
        "sum of sizes overflows",
        _tensors(*three, data=bytes(32)),
        ggml=("GG0607", _start(*three)),
        everywhere=("GG0602", DIMS + 8 + 4),
    )
    assert start % 32 == 0


def missing_cases() -> Iterator[Case]:
    """What the documentation requires."""
    yield _case("no architecture", file([V3.pair("a.b", UINT8, b"\1")]), spec=("GG0701", 24 + 16))
    quantized = _tensors(V3.tensor("t", [32], Q4_0), data=bytes(18))
    yield _case("no quantization version", quantized, spec=("GG0702", INFO))


GROUPS: Sequence[Callable[[], Iterator[Case]]] = (
    header_cases,
    key_cases,
    value_cases,
    alignment_cases,
    tensor_cases,
    data_cases,
    missing_cases,
)


def all_cases() -> list[Case]:
    """Every case of every group."""
    return [case for group in GROUPS for case in group()]
