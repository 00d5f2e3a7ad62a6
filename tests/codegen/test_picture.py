"""Bit pictures: the text for some types, and that every word is drawn once."""

from __future__ import annotations

import pytest

from ggufspec.codegen.picture import Line, picture
from ggufspec.codegen.spec import load_spec
from support.specs import MADE_UP, real_spec, small_tree

PICTURES = {
    "Q4_K": """
        0 d f16 x 1: d
        2 dmin f16 x 1: dmin
        4 scales[0] .. scales[3] u8 x 4: [7:6] sc from bit 4 | [5:0] sc
        8 scales[4] .. scales[7] u8 x 4: [7:6] mn from bit 4 | [5:0] mn
        12 scales[8] .. scales[11] u8 x 4: [7:4] mn | [3:0] sc
        16 qs[0] .. qs[127] u8 x 128: [7:0] 2 x q
    """,
    "Q5_0": """
        0 d f16 x 1: d
        2 qh u32 x 1: [31:0] 32 x q from bit 4
        6 qs[0] .. qs[15] u8 x 16: [7:0] 2 x q
    """,
    "IQ1_M": """
        0 qs[0] .. qs[31] u8 x 32: g
        32 qh[0] .. qh[15] u8 x 16: [7] down | [6:4] g from bit 8 | [3] down | [2:0] g from bit 8
        48 scales[0] u16 x 1: [15:12] dh | [11:0] 4 x sc
        50 scales[1] u16 x 1: [15:12] dh from bit 4 | [11:0] 4 x sc
        52 scales[2] u16 x 1: [15:12] dh from bit 8 | [11:0] 4 x sc
        54 scales[3] u16 x 1: [15:12] dh from bit 12 | [11:0] 4 x sc
    """,
    "IQ2_XXS": """
        0 d f16 x 1: d
        2 qs[0].grid[0] .. qs[7].grid[3] u8 x 32: g
        6 qs[0].aux .. qs[7].aux u32 x 8: [31:28] sc | [27:0] 4 x s
    """,
    "TQ1_0": """
        0 qs[0] .. qs[47] u8 x 48: 5 base-3 digits of q, first the most significant
        48 qh[0] .. qh[3] u8 x 4: 4 base-3 digits of q, first the most significant
        52 d f16 x 1: d
    """,
    "Q8_K": """
        0 d f32 x 1: d
        4 qs[0] .. qs[255] i8 x 256: q
        260 bsums[0..15] i16 x 16: derived
    """,
}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Line, ...]]:
    files = [*(MADE_UP / "types").iterdir(), *(MADE_UP / "tables").iterdir()]
    added = {f"{path.parent.name}/{path.name}": path.read_bytes() for path in files}
    made_up = load_spec(small_tree(tmp_path_factory.mktemp("spec"), added))
    kinds = (*real_spec().layouts, *made_up.layouts)
    return {kind.name: picture(kind) for kind in kinds}


def show(line: Line) -> str:
    cuts = " | ".join(map(str, line.cuts))
    return f"{line.offset} {line.word} {line.scalar.name} x {line.count}: {cuts}"


@pytest.mark.parametrize("name", PICTURES)
def test_text(name: str, drawn: dict[str, tuple[Line, ...]]) -> None:
    expected = [line.strip() for line in PICTURES[name].strip().splitlines()]
    assert [show(line) for line in drawn[name]] == expected


def test_every_word_once(drawn: dict[str, tuple[Line, ...]]) -> None:
    for kind in real_spec().layouts:
        lines = drawn[kind.name]
        assert sum(line.count for line in lines) == sum(field.total for field in kind.fields)
        sizes = [line.count * line.scalar.bytes for line in lines]
        assert sum(sizes) == kind.bytes, kind.name


def test_every_bit_once(drawn: dict[str, tuple[Line, ...]]) -> None:
    """The cuts of a word run from its top bit to bit 0 without a gap."""
    for name, lines in drawn.items():
        for line in lines:
            top = line.scalar.bits - 1
            for cut in line.cuts:
                assert cut.high == top, (name, line)
                assert cut.width % cut.count == 0, (name, line)
                top = cut.low - 1
            assert top == -1, (name, line)
