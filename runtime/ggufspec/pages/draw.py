"""Vega specifications drawn as SVG that stands in a page: coloured by the page's style sheet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup

SCHEMA = "https://vega.github.io/schema/vega/v5.json"  # a name, which nobody fetches

_LONG = re.compile(r"-?\d+\.\d{2,}")
_KEPT = frozenset(
    "d x y x1 x2 y1 y2 width height transform fill stroke stroke-width stroke-dasharray opacity "
    "text-anchor font-size font-weight".split()
)


def draw(spec: Mapping[str, Any], label: str, size: str) -> Markup:
    """The plot as an ``<svg>`` of class ``size``; marks with a description get it as a title.

    label: what the plot shows, for those who do not see it.
    """
    import vl_convert

    root = ElementTree.fromstring(vl_convert.vega_to_svg(dict(spec)))
    plain = ElementTree.Element(
        "svg",
        {
            "class": f"plot {size}",
            "viewBox": root.attrib["viewBox"],
            "role": "img",
            "aria-label": label,
        },
    )
    plain.extend(_drawn(root))
    return Markup(ElementTree.tostring(plain, encoding="unicode", short_empty_elements=False))


def _drawn(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """What is to be seen of an element's children."""
    for child in element:
        made = _plain(child)
        if made is not None:
            yield made


def _plain(element: ElementTree.Element) -> ElementTree.Element | None:
    tag = element.tag.rpartition("}")[2]
    made = ElementTree.Element(
        tag, {k: _short(v) for k, v in element.attrib.items() if k in _KEPT and v != ""}
    )
    made.text = element.text
    made.extend(_drawn(element))
    if element.get("opacity") == "0" or (tag == "path" and not _visible(element)):
        return None
    if tag in ("g", "text") and not len(made) and not made.text:
        return None
    if element.get("role") == "img":
        made.set("class", "mark")
        title = ElementTree.SubElement(made, "title")
        title.text = element.get("aria-label")
    return made


def _visible(path: ElementTree.Element) -> bool:
    painted = path.get("fill"), path.get("stroke")
    return path.get("display") != "none" and bool(path.get("d")) and painted != (None, None)


def _short(value: str) -> str:
    """Numbers with one digit behind the point: a tenth of a pixel."""
    return _LONG.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), value)
