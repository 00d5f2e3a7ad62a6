"""The bit picture of a block as SVG: a row for each kind of word, a colour for each code."""

from __future__ import annotations

from html import escape

from ...model import BlockType
from ...picture import Line, Segment, picture

WIDTH, ROW, BAR = 680, 34, 24
"""Pixels: of the whole, of a row and its bar."""

BYTE, FIELD, SCALAR = 32, 44, 48
"""Where byte offsets end and names start, and the room of a scalar's name."""

COLOURS = 8
"""Classes bits-0 and up that the style sheet colours."""

_WIDE = 7.9
"""Pixels of a character, as good as one can know."""


def diagram(kind: BlockType) -> str:
    """An SVG element, highest bits left, drawn with the site's own colours and fonts."""
    lines = picture(kind)
    names = list(dict.fromkeys(cut.code for line in lines for cut in line.cuts))
    colours = {name: number % COLOURS for number, name in enumerate(names)}
    left = FIELD + int(max(len(line.word) for line in lines) * _WIDE) + 12 + SCALAR
    height = ROW * (len(lines) + 1)
    what = f"Bit picture of a block of {kind.name}: " + "; ".join(map(_said, lines))
    parts = [
        f'<svg class="block" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{escape(what)}" xmlns="http://www.w3.org/2000/svg">',
        *_head(left),
    ]
    for number, line in enumerate(lines, 1):
        parts += _line(line, left, ROW * number, colours)
    return "\n".join([*parts, "</svg>"])


def _head(left: int) -> list[str]:
    words = ((0, "byte"), (FIELD, "field"), (left - SCALAR, "type"), (left, "bits, highest first"))
    return [f'<text class="head" x="{x}" y="{ROW - 14}">{word}</text>' for x, word in words]


def _line(line: Line, left: int, y: int, colours: dict[str, int]) -> list[str]:
    middle = _middle(y)
    parts = [
        f'<text class="number" x="{BYTE}" y="{middle}" text-anchor="end">{line.offset}</text>',
        f'<text x="{FIELD}" y="{middle}">{escape(line.word)}</text>',
        f'<text class="scalar" x="{left - SCALAR}" y="{middle}">{line.scalar.name}</text>',
    ]
    for cut in line.cuts:
        parts += _cells(cut, line.scalar.bits, left, y, colours[cut.code])
    return parts


def _cells(cut: Segment, bits: int, left: int, y: int, colour: int) -> list[str]:
    """The equal cells of a cut, each with its name where there is room and a title always."""
    if cut.digits:
        label = f"{cut.digits} digits of {cut.code}, base 3"
    else:
        label = cut.code + (f"<<{cut.first}" if cut.first else "")
    per_bit = (WIDTH - left) / bits
    parts = []
    for high, low in cut.cuts:
        x, wide = left + (bits - 1 - high) * per_bit, (high - low + 1) * per_bit
        where = f"bit {high}" if high == low else f"bits {high} to {low}"
        parts.append(
            f'<g><title>{where}: {escape(label)}</title><rect class="bits-{colour}" '
            f'x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{BAR}"/>'
        )
        if len(label) * _WIDE < wide:
            at = f'x="{x + wide / 2:.1f}" y="{_middle(y)}"'
            parts.append(f'<text {at} text-anchor="middle">{escape(label)}</text>')
        parts.append("</g>")
    return parts


def _middle(y: int) -> int:
    """Where text stands in the middle of a bar."""
    return y + BAR // 2 + 5


def _said(line: Line) -> str:
    return f"{line.word} at byte {line.offset}: " + ", ".join(map(str, line.cuts))
