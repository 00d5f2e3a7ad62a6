"""The probe rediscovers from behaviour alone what the spec says of each bit."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import yaml

from ggufspec.codegen.blocks import load_type
from ggufspec.codegen.source import parse_yaml
from ggufspec.codegen.upstream.carried_out import CarriedOut
from ggufspec.codegen.upstream.draft import draft
from ggufspec.codegen.upstream.facts import Facts
from ggufspec.codegen.upstream.library import Library
from ggufspec.codegen.upstream.probe import BitMap, probe
from ggufspec.codegen.upstream.samples import stored_floats
from ggufspec.codegen.upstream.specmap import spec_map
from support.project import SPEC
from support.specs import real_spec

SIMPLE = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "IQ4_NL", "IQ4_XS", "MXFP4", "NVFP4")
SUPER = ("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_K")
TERNARY = ("TQ1_0", "TQ2_0", "Q1_0", "Q2_0")
GRIDS = ("IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_S", "IQ1_M")


def probed(library: Library, name: str, seed: int = 0) -> BitMap:
    kind, theirs = real_spec().type(name), library.named(name)
    assert theirs is not None

    def decode(blocks: Any) -> Any:
        return library.dequantize(theirs.id, blocks)

    return probe(decode, kind.elements, kind.bytes, stored_floats(kind), seed)


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize("name", ["Q4_1", "NVFP4", "TQ1_0", "Q3_K"])
def test_other_bases_find_the_same(library: Library, name: str, seed: int) -> None:
    assert probed(library, name, seed) == spec_map(real_spec().type(name))


@pytest.mark.parametrize("name", GRIDS)
def test_grids_are_told_as_far_as_they_go(library: Library, name: str) -> None:
    """Which elements a bit of a grid's row moves depends on the grid; never on others."""
    implied = spec_map(real_spec().type(name)).governed()
    found = probed(library, name)
    assert not found.dead
    for bit, (number, _) in found.governed().items():
        assert set(number.elements) <= set(implied[bit][0].elements), bit


def test_bits_without_effect(library: Library) -> None:
    """Q8_K's sums are stored beside the codes; decoding does without."""
    kind = real_spec().type("Q8_K")
    sums = next(field for field in kind.fields if field.name == "bsums")
    assert probed(library, "Q8_K").dead == tuple(range(8 * sums.offset, 8 * kind.bytes))


MADE_UP = {
    "scattered": """
fields: {h: 'u8[4]', d: f16, lo: 'u8[8]', sb: 'u8[2]'}
order: {s: 2, a: 2, l: 8}
codes:
  q: ['bits(lo[l], 4*s + 2*a, 2)', 'bits(h[2*a + s], l, 1)']
  sc: bits(sb[s], 1, 6)
  mn: ['bits(sb[s], 7, 1)', 'bits(sb[s], 0, 1)']
decode: {x: d * (sc - 7) * q - mn}
""",
    "turned": """
fields: {qs: 'u16[8]', d: f32}
order: {a: 4, l: 8}
codes: {q: 'bits(qs[7 - l], 12 - 4*a, 4)'}
decode: {x: d * (q - 8)}
""",
    "digits": """
fields: {qs: 'u8[8]', d: f16}
order: {n: 4, m: 8}
codes: {q: 'trit(qs[7 - m], n)'}
decode: {x: d * (q - 1)}
""",
}


@pytest.mark.parametrize("name", MADE_UP)
def test_made_up_layouts(name: str) -> None:
    """Layouts of no ggml, carried out by the spec itself."""
    body = yaml.safe_load(MADE_UP[name])
    sizes = {"u8": 1, "u16": 2, "f16": 2, "f32": 4}
    size: int = sum(
        sizes[kind] * int(count or 1)
        for kind, count in (
            re.fullmatch(r"(\w+?)(?:\[(\d+)\])?", text).groups()  # type: ignore[union-attr]
            for text in body["fields"].values()
        )
    )
    text = f"name: ANY\nstatus: fork\nsince: never\ndoc: any\nelements: 32\nbytes: {size}\n"
    kind = load_type(
        parse_yaml(text + MADE_UP[name], "types/any.yaml"), SPEC, real_spec().scalars, {}
    )
    made = CarriedOut(real_spec(), kind)
    found = probe(made.dequantize, kind.elements, kind.bytes, stored_floats(kind))
    assert found == spec_map(kind)


# ---- drafts


@pytest.mark.parametrize("name", SIMPLE + SUPER + TERNARY)
def test_layout_is_rediscovered(library: Library, facts: Facts, name: str) -> None:
    """The bit map is the spec's; so is that of the proposal, once it is put in its place."""
    made = draft(real_spec(), name, facts, library)
    expected = spec_map(real_spec().type(name))
    assert made.map == expected
    assert made.proved, made.text
    data = yaml.safe_load(_accepted(made.text))
    names = _single_names(data)
    data["fields"] = {  # the engineer's part: fields that mean nothing here, and a formula
        (f"pad{n}" if name == "Q8_K" and key == "bsums" else key): 32 if key == "bsums" else text
        for n, (key, text) in enumerate(data["fields"].items())
    }
    codes = data["codes"]
    first = codes[0] if isinstance(codes, list) else codes
    data["decode"] = {"x": " + ".join([*names, *first])}
    data.pop("valid", None)
    text = "".join(f"{key}: {_flow(value)}\n" for key, value in data.items())
    kind = load_type(parse_yaml(text, "types/any.yaml"), SPEC, real_spec().scalars, {})
    ours = {(number.bits, number.elements) for number in expected.numbers}
    assert {(number.bits, number.elements) for number in spec_map(kind).numbers} == ours


def _accepted(text: str) -> str:
    """The draft with the proposal in the place of the two TODO."""
    lines, proposed = [], False
    for line in text.splitlines():
        if line.startswith("# order:"):
            proposed = True
        if proposed and line.startswith("# "):
            lines.append(line[2:])
        elif line not in {"order: TODO", "codes: TODO"}:
            lines.append(line)
    said = {"since: TODO": "since: now", "doc: TODO": "doc: any"}
    return "\n".join(said.get(line, line) for line in lines)


def _single_names(data: Any) -> list[str]:
    words = set(re.findall(r"[a-z]\w*", str(data["codes"])))
    return [n for n, text in data["fields"].items() if "[" not in text and n not in words]


def _flow(value: Any) -> str:
    import json

    return json.dumps(value)


def test_levels(library: Library, facts: Facts) -> None:
    said = {
        "Q4_0": "x = 1 * (code - 8)",
        "Q4_1": "x = 1 * (code + 1)",
        "Q8_0": "x = 1 * signed code",
        "TQ1_0": "an element takes -1, 0, 1",
        "IQ4_NL": "a codebook: -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, "
        "89, 113",
    }
    for name, levels in said.items():
        assert draft(real_spec(), name, facts, library).levels == levels


def test_noise_gives_no_proposal() -> None:
    """A decoder without rhyme or reason is told as what it is."""
    table = np.random.default_rng(3).standard_normal((256, 8)).astype(np.float32)

    def decode(blocks: Any) -> Any:
        mixed = table[blocks[:, 0]] * table[blocks[:, 1]]
        return np.ascontiguousarray(mixed, np.float32)

    found = probe(decode, 8, 2)
    assert not found.dead
    assert {number.kind for number in found.numbers} == {"index"}
