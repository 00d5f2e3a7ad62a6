"""Good files: what the format allows, and what each profile says of it."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from support.crafted import Form

from .builder import Array, Bits, Content, Tensor, ValueType, tensor_of
from .rows import random_row
from .storage import Kind, Row, kinds, removed

Verdict = tuple[str, int | None]
Refused = Mapping[str, Verdict]

ARCHITECTURE = "general.architecture"
FORMS = [Form(version, order) for version in (1, 2, 3) for order in ("little", "big")]


@dataclass(frozen=True)
class Good:
    """A file, its content, and the profiles that refuse it all the same."""

    name: str
    content: Content
    refused: Refused
    last_padding: bool = True
    tail: bytes = b""

    @property
    def data(self) -> bytes:
        return self.content.file(last_padding=self.last_padding) + self.tail

    @property
    def written(self) -> bytes | None:
        """What a writer makes of the content; None where a tensor's size is not known."""
        unknown = any(tensor.nbytes is None for tensor in self.content.tensors)
        return None if unknown else self.content.canonical()

    def json(self) -> dict[str, object]:
        """The expected content, for files/NAME.json."""
        made = self.written
        found = None
        if made is not None:
            found = {"bytes": len(made), "sha256": hashlib.sha256(made).hexdigest()}
        return {**self.content.json(), "written": found}


def files(spec: Path) -> list[Good]:
    """All of them."""
    made = [good for group in _GROUPS for good in group(spec)]
    assert len({good.name for good in made}) == len(made)
    return made


def _content(spec: Path, form: Form | None = None) -> Content:
    content = Content(spec, form or Form())
    content.add(ARCHITECTURE, "STRING", b"llama")
    return content


def _end(content: Content) -> int:
    """Where the next pair will stand, as long as there are no tensors."""
    return len(content.front([]))


def _version(form: Form) -> dict[str, Verdict]:
    """Who refuses a version and byte order."""
    found: dict[str, Verdict] = {}
    if form.version == 1:
        found |= {"ggml": ("GG0103", 4), "strict": ("GG0103", 4)}
    if form.order == "big" and form.version > 1:
        found |= {"ggml": ("GG0104", 4)}
    return found


# ---- values


def _empty(spec: Path) -> Iterator[Good]:
    for form in FORMS:
        content = Content(spec, form)
        refused = {"spec": ("GG0701", len(content.front([]))), **_version(form)}
        yield Good(f"empty-v{form.version}-{form.order}", content, refused)


def _values(spec: Path) -> Iterator[Good]:
    """Every value type: each edge by itself and all in an array."""
    for form in FORMS:
        content = _content(spec, form)
        for name, kind in content.types().items():
            if kind.kind == "array":
                continue
            for number, value in enumerate(edges(kind)):
                content.add(f"one.{name.lower()}_{number}", name, value)
            content.add(f"many.{name.lower()}", "ARRAY", Array(name, edges(kind)))
            content.add(f"none.{name.lower()}", "ARRAY", Array(name, []))
        content.tensors += _small_tensors(spec, form)
        yield Good(f"values-v{form.version}-{form.order}", content, _version(form))


def edges(kind: ValueType) -> Sequence[object]:
    """The values of a type that are read wrongly first."""
    if kind.kind == "string":
        return (b"", b"a", "βγ 😀".encode(), b"x" * 70, b'"\\\n')
    if kind.kind == "bool":
        return (False, True)
    top = 1 << 8 * kind.bytes
    if kind.kind == "uint":
        return (0, 1, top // 2, top - 1)
    if kind.kind == "int":
        return (0, 1, -1, top // 2 - 1, -top // 2)
    largest = {4: 0x7F7FFFFF, 8: 0x7FEFFFFFFFFFFFFF}[kind.bytes]
    return (0.0, -0.0, 1.5, -0.1, float("inf"), -float("inf"), Bits(1), Bits(largest), float("nan"))


def _small_tensors(spec: Path, form: Form) -> list[Tensor]:
    by_number = {kind.number: kind for kind in kinds(spec)}
    f32, i8 = by_number[0], by_number[24]
    floats = Row("", struct.pack("<6f", 1.0, -0.0, 0.1, -1e-40, 3e38, float("-inf")))
    return [
        tensor_of(f32, "one", [3, 2], floats, form.order),
        tensor_of(i8, "two", [5, 1, 1, 1], Row("", bytes([0, 1, 127, 128, 255])), form.order),
    ]


def _nested(spec: Path) -> Iterator[Good]:
    ragged = Array(
        "ARRAY",
        [
            Array("UINT8", [1, 2]),
            Array("STRING", [b"x", b"", b"yz"]),
            Array("ARRAY", [Array("INT16", [-1]), Array("ARRAY", [])]),
            Array("FLOAT32", []),
            Array("BOOL", [True, False]),
        ],
    )
    for form in (Form(1), Form(3), Form(3, "big")):
        content = _content(spec, form)
        start = _end(content) + len(form.string("a.ragged")) + 4
        content.add("a.ragged", "ARRAY", ragged)
        content.add("a.empty", "ARRAY", Array("ARRAY", []))
        content.add("a.last", "UINT8", 7)
        refused = {"ggml": ("GG0302", start), **_version(form)}
        yield Good(f"nested-v{form.version}-{form.order}", content, refused)
    for depth in (1, 4, 5, 16):
        value = Array("UINT32", [5])
        for _ in range(depth):
            value = Array("ARRAY", [value])
        content = _content(spec)
        start = _end(content) + len(content.form.string("a.b")) + 4
        content.add("a.b", "ARRAY", value)
        found = {"ggml": ("GG0302", start)}
        if depth > 4:
            found["strict"] = ("GG0303", start + 4 * 12)
        yield Good(f"nested-{depth}-deep", content, found)


def _strings(spec: Path) -> Iterator[Good]:
    content = _content(spec)
    start = _end(content) + 8 + len("a.latin1") + 4
    content.add("a.latin1", "STRING", "größe".encode("latin-1"))
    content.add("a.cut", "STRING", "€".encode()[:2])
    content.add("a.surrogate", "STRING", b"\xed\xa0\x80")
    content.add("a.overlong", "STRING", b"\xc0\xaf")
    content.add("a.nul", "STRING", b"a\0b")
    content.add("a.bytes", "ARRAY", Array("STRING", [bytes([n]) for n in range(256)]))
    content.add("a.last", "STRING", b"end")
    yield Good("strings-not-utf8", content, {"spec": ("GG0307", start)})
    content = _content(spec)
    words = [f"token {number}".encode() for number in range(100)]
    content.add("tokenizer.ggml.tokens", "ARRAY", Array("STRING", words))
    scores = [float(np.float32(-number / 7)) for number in range(100)]
    content.add("tokenizer.ggml.scores", "ARRAY", Array("FLOAT32", scores))
    content.add("tokenizer.ggml.token_type", "ARRAY", Array("INT32", [1] * 100))
    yield Good("vocabulary", content, {})


def _keys(spec: Path) -> Iterator[Good]:
    for name, key, refused in (
        ("hyphen", "command-r.x", {"spec": "GG0206"}),
        ("capitals", "General.Name", {"spec": "GG0206"}),
        ("greek", "αβγ", {"spec": "GG0206"}),
        ("latin1", "größe".encode("latin-1"), {"spec": "GG0206", "strict": "GG0204"}),
        ("nul", "general.alignment\0", {"spec": "GG0206", "strict": "GG0205"}),
        ("escape", "a\x1b[2J", {"spec": "GG0206", "strict": "GG0205"}),
        ("bidirectional", "a\u202eb", {"spec": "GG0206", "strict": "GG0205"}),
    ):
        content = _content(spec)
        where = _end(content)
        content.add(key, "UINT32", 1)
        verdicts = {profile: (rule, where) for profile, rule in refused.items()}
        yield Good(f"key-{name}", content, verdicts)


def _bools(spec: Path) -> Iterator[Good]:
    content = _content(spec)
    start = _end(content) + 8 + len("a.two") + 4
    content.add("a.two", "BOOL", 2)
    content.add("a.many", "ARRAY", Array("BOOL", [0, 1, 2, 128, 255]))
    verdict = ("GG0306", start)
    yield Good("bools-above-1", content, {"spec": verdict, "strict": verdict})


def _nans(spec: Path) -> Iterator[Good]:
    """NaNs of other bits: a reader may give any, a writer keeps them."""
    content = _content(spec)
    singles = [Bits(bits) for bits in (0x7FC00001, 0xFFC00000, 0x7F800001)]
    doubles = [Bits(bits << 32 | 5) for bits in (0x7FF80000, 0xFFF80000, 0x7FF00000)]
    for name, values in (("FLOAT32", singles), ("FLOAT64", doubles)):
        for number, value in enumerate(values):
            content.add(f"one.{name.lower()}_{number}", name, value)
        content.add(f"many.{name.lower()}", "ARRAY", Array(name, values))
    yield Good("nan-payloads", content, {})


# ---- tensors


def _types(spec: Path) -> Iterator[Good]:
    """Every tensor type that has an id once, one or more rows of it."""
    for order in ("little", "big"):
        form = Form(3, order)  # type: ignore[arg-type]
        content = _content(spec, form)
        content.add("general.quantization_version", "UINT32", 2)
        content.add("general.file_type", "UINT32", 1)
        rng = np.random.default_rng(1)
        for kind in kinds(spec):
            if kind.number is not None:
                rows = 2 if kind.elements == 32 else 1
                count = 1 if kind.elements > 1 else 5
                content.tensors.append(
                    _several_rows(kind, f"of.{kind.name.lower()}", count, rows, order, rng)
                )
        yield Good(f"types-{order}", content, _version(form))


def _several_rows(
    kind: Kind, name: str, count: int, rows: int, order: str, rng: np.random.Generator
) -> Tensor:
    if kind.prefix or kind.suffix:
        rows = 1
    row = random_row(kind, rng, count * rows)
    dims = [count * kind.elements, rows] if rows > 1 else [count * kind.elements]
    return tensor_of(kind, name, dims, row, order)


def _plain_tensor(
    spec: Path, name: str, dims: Sequence[int], offset: int | None = None, number: int = 0
) -> Tensor:
    """A tensor of small whole numbers."""
    kind = next(kind for kind in kinds(spec) if kind.number == number)
    count = 1
    for dim in dims:
        count *= dim
    if number:
        row = Row("", bytes(range(1, count * kind.size + 1)))
    else:
        row = Row("", struct.pack(f"<{count}f", *(float(n + 1) for n in range(count))))
    return tensor_of(kind, name, dims, row, "little")._replace(offset=offset)


def _alignments(spec: Path) -> Iterator[Good]:
    for alignment, refused in (
        (1, {"spec": "GG0404"}),
        (4, {"spec": "GG0404"}),
        (8, {}),
        (24, {"ggml": "GG0403", "strict": "GG0403"}),
        (64, {}),
        (1024, {}),
    ):
        content = _content(spec)
        value = _end(content) + 8 + len("general.alignment") + 4
        content.add("general.alignment", "UINT32", alignment)
        content.alignment = alignment
        content.tensors += [_plain_tensor(spec, "t", [3]), _plain_tensor(spec, "u", [2, 2])]
        verdicts = {profile: (rule, value) for profile, rule in refused.items()}
        yield Good(f"alignment-{alignment}", content, verdicts)
    for kind in ("INT8", "UINT64"):
        content = _content(spec)
        value = _end(content) + 8 + len("general.alignment") + 4
        content.add("general.alignment", kind, 64)
        content.alignment = 64
        content.tensors += [_plain_tensor(spec, "t", [3]), _plain_tensor(spec, "u", [2, 2])]
        verdicts = dict.fromkeys(("ggml", "spec", "strict"), ("GG0401", value))
        yield Good(f"alignment-in-{kind.lower()}", content, verdicts)


def _shapes(spec: Path) -> Iterator[Good]:
    content = _content(spec)
    shapes: Sequence[Sequence[int]] = (
        [],
        [7],
        [2, 3],
        [2, 1, 3],
        [1, 2, 1, 2],
        [0],
        [4, 0],
        [0, 0, 0, 0],
        [3],
    )
    content.tensors += [_plain_tensor(spec, f"t{n}", dims) for n, dims in enumerate(shapes)]
    yield Good("shapes", content, {})
    content = _content(spec)
    where = _end(content) + 8 + 1
    content.tensors += [
        _plain_tensor(spec, "t", [1, 2, 1, 2, 1]),
        _plain_tensor(spec, "u", [1, 1, 1, 1, 1, 1, 2, 1]),
    ]
    verdicts = dict.fromkeys(("ggml", "spec", "strict"), ("GG0506", where))
    yield Good("more-than-4-dimensions", content, verdicts)


def _names(spec: Path) -> Iterator[Good]:
    for name, text, refused in (
        ("63-bytes", b"n" * 63, {}),
        ("64-bytes", b"n" * 64, {"ggml": "GG0502", "strict": "GG0502"}),
        ("65-bytes", b"n" * 65, dict.fromkeys(("ggml", "spec", "strict"), "GG0502")),
        ("empty", b"", {"strict": "GG0501"}),
        ("not-utf8", b"\xff\xfe", {"strict": "GG0504"}),
        ("newline", b"a\nb", {"strict": "GG0505"}),
        ("greek", "βγ".encode(), {}),
    ):
        content = _content(spec)
        where = _end(content)
        content.tensors.append(_plain_tensor(spec, "", [2])._replace(name=text))
        verdicts = {profile: (rule, where) for profile, rule in refused.items()}
        yield Good(f"tensor-name-{name}", content, verdicts)


def _unknown(spec: Path) -> Iterator[Good]:
    """Types without a size: number, offset and bytes stay."""
    for name, number, rule in (
        ("tensor-of-unknown-type", 99, "GG0510"),
        ("tensor-of-largest-type", (1 << 32) - 1, "GG0510"),
        *((f"tensor-of-removed-type-{number}", number, "GG0511") for number in removed(spec)),
    ):
        content = _content(spec)
        where = _end(content) + 8 + 1 + 4 + 8
        content.tensors += [
            Tensor(b"t", [32], number, bytes(range(40)), None),
            _plain_tensor(spec, "u", [3]),
        ]
        verdicts = dict.fromkeys(("ggml", "spec", "strict"), (rule, where))
        yield Good(name, content, verdicts)
    content = _content(spec)
    content.add("general.quantization_version", "UINT32", 2)
    where = _end(content) + 8 + 1 + 4
    content.tensors += [Tensor(b"t", [30], 2, bytes(range(18)), None)]
    verdicts = dict.fromkeys(("ggml", "spec", "strict"), ("GG0512", where))
    yield Good("row-not-whole-blocks", content, verdicts)


def _layouts(spec: Path) -> Iterator[Good]:
    """Data sections that are not as a writer makes them."""

    def two(second: int, first: int | None = None) -> Content:
        content = _content(spec)
        content.tensors += [
            _plain_tensor(spec, "t", [8], first),
            _plain_tensor(spec, "u", [2], second),
        ]
        return content

    one = len(Form().tensor("t", [8]))
    second = _end(_content(spec)) + 2 * one - 8
    both = ("ggml", "strict")
    yield Good("gap", two(64), dict.fromkeys(both, ("GG0604", second)))
    first = dict.fromkeys(both, ("GG0604", second - one))
    yield Good("other-order", two(0, 32), first)
    aligned = dict.fromkeys(("ggml", "spec", "strict"), ("GG0603", second))
    yield Good("second-offset-not-aligned", two(36), aligned)
    yield Good("data-ends-without-padding", two(32), {}, last_padding=False)
    yield Good("bytes-behind-the-data", two(32), {}, tail=b"PK\x03\x04 more")
    content = _content(spec)
    content.tensors += [
        _plain_tensor(spec, "t", [8]),
        Tensor(b"u", [0], 0, b"", 0, offset=0),
    ]
    verdict = ("GG0605", _end(_content(spec)) + 2 * one - 8)
    yield Good("empty-tensor-at-the-start", content, dict.fromkeys(both, verdict))


_GROUPS: Sequence[Callable[[Path], Iterator[Good]]] = (
    _empty,
    _values,
    _nested,
    _strings,
    _keys,
    _bools,
    _nans,
    _types,
    _alignments,
    _shapes,
    _names,
    _unknown,
    _layouts,
)
