"""Random valid type files: fields of random words, cut into codes by random affine maps.

Every layout claims each bit once by construction. Words stand at affine indices of some axes;
the bits of each word are dealt out to codes along the other axes, in any order, up or down.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random

_WORDS = {"u8": 8, "u16": 16, "u32": 32, "i8": 8, "i16": 16}
_FLOATS = ("f16", "f32", "bf16", "e8m0h", "ue4m3h")


@dataclass(frozen=True)
class _Slice:
    """The text of a slice, the axes in it, its width; float or base-3 slices stand alone."""

    text: str
    axes: frozenset[str]
    width: int
    kind: str = "bits"


@dataclass
class _Draft:
    """A type file in the making."""

    rng: Random
    axes: dict[str, int]
    fields: dict[str, object] = field(default_factory=dict)
    slices: list[_Slice] = field(default_factory=list)
    bytes: int = 0
    floats: list[str] = field(default_factory=list)

    def name(self, start: str) -> str:
        return f"{start}{len(self.fields)}"


def random_layout(rng: Random, name: str) -> str:
    """The YAML text of a fork type called ``name``; at most 64 elements in about 300 bytes."""
    draft = _Draft(rng, _axes(rng))
    prefix = {"rp": "f32"} if rng.random() < 0.3 else {}
    suffix: dict[str, object] = (
        {"ts": "f16", "pad": rng.randint(1, 9)} if rng.random() < 0.3 else {}
    )
    draft.floats += [key for key in (*prefix, *suffix) if key != "pad"]
    for _ in range(rng.randint(1, 4)):
        rng.choice([_words, _words, _words, _whole, _trits, _group, _single, _pad])(draft)
    missing = set(draft.axes) - {axis for piece in draft.slices for axis in piece.axes}
    if missing or not draft.slices:
        _words(draft, sorted(missing))
    codes, values = _codes(draft)
    about = {"name": name, "status": "fork", "since": "never", "doc": "a random layout"}
    sizes = {"elements": prod(draft.axes.values()), "bytes": draft.bytes}
    stored = {"fields": draft.fields, "row_prefix": prefix, "tensor_suffix": suffix}
    entry = {
        **about,
        **sizes,
        **{key: value for key, value in stored.items() if value},
        "order": draft.axes,
        "codes": codes,
        "decode": _decode(draft, values),
        "valid": _valid(draft, values),
    }
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in entry.items())


def _axes(rng: Random) -> dict[str, int]:
    names = rng.sample(["a", "b", "c", "e"], rng.randint(1, 4))
    axes: dict[str, int] = {}
    for name in names:
        room = 64 // prod(axes.values())
        axes[name] = rng.choice([n for n in (1, 2, 3, 4, 5, 8, 16) if n <= room])
    return axes


# ---- maps


def _affine(draft: _Draft, axes: Sequence[str], step: int = 1, start: int = 0) -> str:
    """A map that gives every number start, start + step, ... once; some axes count down."""
    terms: list[str] = []
    for axis in draft.rng.sample(list(axes), len(axes)):
        if draft.rng.random() < 0.3:
            terms.append(f"-{step}*{axis}")
            start += step * (draft.axes[axis] - 1)
        else:
            terms.append(f"{step}*{axis}")
        step *= draft.axes[axis]
    terms.append(str(start))
    draft.rng.shuffle(terms)
    return " + ".join(terms).replace("+ -", "- ")


def _size(draft: _Draft, axes: Sequence[str]) -> int:
    return prod(draft.axes[axis] for axis in axes)


def _some(draft: _Draft, most: int) -> list[str]:
    """Some axes whose product is at most ``most``."""
    chosen: list[str] = []
    for axis in draft.rng.sample(list(draft.axes), len(draft.axes)):
        if draft.rng.random() < 0.5 and _size(draft, [*chosen, axis]) <= most:
            chosen.append(axis)
    return chosen


def _array(draft: _Draft, scalar: str, axes: Sequence[str]) -> tuple[str, str]:
    """A field's type and the index of its words: one word for each combination of axes."""
    count = _size(draft, axes)
    if not axes and draft.rng.random() < 0.5:
        return scalar, ""
    return f"{scalar}[{count}]", f"[{_affine(draft, axes)}]"


# ---- storage


def _words(draft: _Draft, index: Sequence[str] | None = None) -> None:
    """An array of words, their bits dealt out."""
    scalar = draft.rng.choice(list(_WORDS))
    axes = _some(draft, 16) if index is None else index
    name = draft.name("w")
    text, at = _array(draft, scalar, axes)
    draft.fields[name] = text
    draft.bytes += _WORDS[scalar] // 8 * _size(draft, axes)
    _deal(draft, f"{name}{at}", frozenset(axes), 0, _WORDS[scalar])


def _deal(draft: _Draft, word: str, axes: frozenset[str], low: int, high: int) -> None:
    """Bits low..high - 1 of a word to codes along axes that its index does not have."""
    rng = draft.rng
    while low < high:
        free = [axis for axis in draft.axes if axis not in axes]
        own = [axis for axis in rng.sample(free, len(free)) if rng.random() < 0.7]
        while _size(draft, own) > high - low:
            own.pop()
        width = rng.randint(1, max(1, min(7, (high - low) // _size(draft, own))))
        shift = _affine(draft, own, width, low)
        draft.slices.append(_Slice(f"bits({word}, {shift}, {width})", axes | frozenset(own), width))
        low += width * _size(draft, own)


def _whole(draft: _Draft) -> None:
    """An array of integers or floats, each a code."""
    scalar = draft.rng.choice([*_WORDS, *_FLOATS])
    axes = _some(draft, 16)
    name = draft.name("v")
    draft.fields[name] = f"{scalar}[{_size(draft, axes)}]"
    size = {"f32": 4, "f16": 2, "bf16": 2}.get(scalar, _WORDS.get(scalar, 8) // 8)
    draft.bytes += size * _size(draft, axes)
    kind = "float" if scalar in _FLOATS else scalar
    draft.slices.append(_Slice(f"{name}[{_affine(draft, axes)}]", frozenset(axes), 8 * size, kind))


def _trits(draft: _Draft) -> None:
    """An array of bytes of base-3 digits."""
    short = [axis for axis, extent in draft.axes.items() if extent <= 5]
    if not short:
        return _words(draft)
    digit = draft.rng.choice(short)
    axes = [axis for axis in _some(draft, 16) if axis != digit]
    name = draft.name("t")
    draft.fields[name] = f"u8[{_size(draft, axes)}]"
    draft.bytes += _size(draft, axes)
    where = f"{name}[{_affine(draft, axes)}]"
    text = f"trit({where}, {_affine(draft, [digit])})"
    draft.slices.append(_Slice(text, frozenset([*axes, digit]), 2, "trit"))
    return None


def _group(draft: _Draft) -> None:
    """A group along one axis, its words dealt out."""
    repeat = draft.rng.choice(list(draft.axes))
    name = draft.name("g")
    members: dict[str, object] = {}
    at = _affine(draft, [repeat])
    size = 0
    for number in range(draft.rng.randint(1, 3)):
        scalar = draft.rng.choice(list(_WORDS))
        axes = [axis for axis in _some(draft, 4) if axis != repeat]
        text, index = _array(draft, scalar, axes)
        members[f"m{number}"] = text
        size += _WORDS[scalar] // 8 * _size(draft, axes)
        word = f"{name}[{at}].m{number}{index}"
        _deal(draft, word, frozenset([repeat, *axes]), 0, _WORDS[scalar])
    if draft.rng.random() < 0.3:
        members["pad"] = draft.rng.randint(1, 3)
        size += int(str(members["pad"]))
    draft.fields[name] = {"count": draft.axes[repeat], "of": members}
    draft.bytes += size * draft.axes[repeat]


def _single(draft: _Draft) -> None:
    """A stored float that formulas use by name."""
    name = draft.name("d")
    draft.fields[name] = draft.rng.choice(["f16", "f32", "bf16"])
    draft.bytes += 4 if draft.fields[name] == "f32" else 2
    draft.floats.append(name)


def _pad(draft: _Draft) -> None:
    name = draft.name("pad")
    draft.fields[name] = draft.rng.randint(1, 5)
    draft.bytes += int(str(draft.fields[name]))


# ---- codes and formulas


@dataclass(frozen=True)
class _Value:
    """A code as formulas see it."""

    name: str
    axes: frozenset[str]
    width: int
    kind: str


def _codes(draft: _Draft) -> tuple[dict[str, object], list[_Value]]:
    """Slices that have the same axes, one or several a code; some codes spelt case by case."""
    rng = draft.rng
    alike: dict[frozenset[str], list[_Slice]] = defaultdict(list)
    groups: list[list[_Slice]] = []
    for piece in draft.slices:
        if piece.kind == "bits":
            alike[piece.axes].append(piece)
        else:
            groups.append([piece])
    for pieces in alike.values():
        rng.shuffle(pieces)
        while pieces:
            group = [pieces.pop()]
            while pieces and rng.random() < 0.5 and _width([*group, pieces[-1]]) <= 32:
                group.append(pieces.pop())
            groups.append(group)
    rng.shuffle(groups)
    codes: dict[str, object] = {}
    values = []
    for number, pieces in enumerate(groups):
        name = f"q{number}"
        texts = [piece.text for piece in pieces]
        codes[name] = _cases(draft, pieces[0].axes, texts) or _listed(texts)
        values.append(_Value(name, pieces[0].axes, _width(pieces), pieces[0].kind))
    return codes, values


def _width(pieces: Sequence[_Slice]) -> int:
    return sum(piece.width for piece in pieces)


def _listed(texts: list[str]) -> object:
    return texts[0] if len(texts) == 1 else texts


def _cases(draft: _Draft, axes: frozenset[str], texts: list[str]) -> Mapping[str, object] | None:
    """The same code with one axis written out, value by value."""
    short = [axis for axis in sorted(axes) if draft.axes[axis] <= 4]
    if not short or draft.rng.random() < 0.7:
        return None
    axis = draft.rng.choice(short)
    return {
        f"{axis}={value}": _listed([_written_out(text, axis, value) for text in texts])
        for value in range(draft.axes[axis])
    }


def _written_out(text: str, axis: str, value: int) -> str:
    return text.replace(f"*{axis}", f"*{value}")


def _decode(draft: _Draft, values: Sequence[_Value]) -> dict[str, str]:
    """Formulas that use every axis and every single float."""
    rng = draft.rng
    integers = [v for v in values if v.kind != "float" and v.width <= 12]
    unsigned = [v for v in values if v.kind in {"bits", "trit", "u8", "u16", "u32"}]
    terms = [f"{rng.choice(['', '3*', '-'])}{value.name}" for value in integers]
    terms += [f"bit({v.name}, {v.width - 1})" for v in unsigned if v not in integers]
    terms += [v.name for v in values if v.kind == "i16"]
    lets = {"n": " + ".join(terms) or "1"}
    product = [*draft.floats, "n"]
    rng.shuffle(product)
    total = [" * ".join(product), *(v.name for v in values if v.kind == "float")]
    if unsigned and rng.random() < 0.5:
        flag = f"bit({rng.choice(unsigned).name}, 0)"
        lets["u"] = f"select({flag}, {rng.choice(['0.5', 'n', '-2'])}, 1.25)"
        total.append(f"u * sign({flag})")
    rng.shuffle(total)
    return {**lets, "x": rng.choice([" + ", " - "]).join(total)}


def _valid(draft: _Draft, values: Sequence[_Value]) -> list[str]:
    """A condition on every single float, on every code, and on a float that is computed."""
    rng = draft.rng
    made = [f"finite({name})" for name in draft.floats]
    for value in values:
        if value.kind == "float":
            made.append(f"finite({value.name})")
        elif value.kind in {"i8", "i16"}:
            made.append(f"{value.name} {rng.choice(['>=', '<', '=='])} {rng.randint(-99, 99)}")
        else:
            most = 2 if value.kind == "trit" else (1 << value.width) - 1
            made.append(f"{value.name} {rng.choice(['<=', '!='])} {rng.randint(0, most)}")
    wide = [value.name for value in values if value.kind == "float"]
    return [*made, *(f"finite({2.0**127} * {name})" for name in wide)]
