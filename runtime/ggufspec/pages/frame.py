"""The page around what is told: template, style sheet, script, and the rule that nothing loads."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

_SECTIONS = (
    ("summary", "Summary", ""),
    ("size", "Size", "size_plot"),
    ("types", "Types", "roles"),
    ("bits", "Bits per weight", "bits_plot"),
    ("errors", "Error", "comparison"),
    ("findings", "Findings", ""),
    ("tensors", "Tensors", "tensors"),
    ("metadata", "Metadata", "metadata"),
    ("layouts", "Layouts", "kinds"),
)
_NOTHING = dict.fromkeys(
    "size_plot roles type_plot bits_plot comparison tensors metadata metadata_more templates kinds "
    "failure".split()
)
_SPARE = {
    "size_plot": "the treemap",
    "type_plot": "the heat map of types",
    "tensors": "the table of tensors",
    "bits_plot": "the bars",
    "templates": "chat templates",
    "metadata": "metadata",
    "comparison": "errors",
    "roles": "the table of roles",
    "findings": "findings",
}
"""What goes first where a page would be larger than any shall be: no honest file comes here."""


def page(context: Mapping[str, Any], limit: int) -> str:
    """The template filled, at most ``limit`` bytes of UTF-8; every text in it is escaped."""
    told: dict[str, Any] = {**_NOTHING, **context}
    left_out: list[str] = []
    made = _filled({**told, "left_out": left_out})
    for name, title in _SPARE.items():
        if len(made.encode()) <= limit:
            break
        told[name] = None
        left_out.append(title)
        made = _filled({**told, "left_out": left_out})
    return made


def _filled(told: Mapping[str, Any]) -> str:
    from .. import __version__

    style, script = _style(), _text("report.js")
    sections = [
        {"id": name, "name": title} for name, title, needs in _SECTIONS if not needs or told[needs]
    ]
    environment = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("report.html").render(
        told,
        sections=sections,
        style=Markup(style),
        script=Markup(script),
        policy=policy(style, script),
        version=__version__,
    )


def policy(style: str, script: str) -> str:
    """Content security: this style sheet and this script, and nothing from anywhere."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _style() -> str:
    """The dark colours apply where the system asks for them or the reader does."""
    dark = _text("dark.css")
    return (
        f"{_text('report.css')}"
        "@media screen and (prefers-color-scheme: dark) {\n"
        f":root:not([data-theme=light]) {{\n{dark}}}\n}}\n"
        f"@media screen {{\n:root[data-theme=dark] {{\n{dark}}}\n}}\n"
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
