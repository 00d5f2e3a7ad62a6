"""The forks' dialects: which type number means what."""

from __future__ import annotations

from ...dialects import Dialect, Meaning, spec_dialects
from ...output import Output
from ...spec import Spec
from .markdown import code, page, plain, table


def outputs(spec: Spec) -> list[Output]:
    """dialects.md."""
    found = spec_dialects(spec)
    files = tuple(dialect.file for dialect in found)
    types = tuple(kind.file for kind in spec.types)
    return [Output("dialects.md", _page(found), (*files, *types))]


def _page(found: tuple[Dialect, ...]) -> str:
    return page(
        "# Dialects",
        "Forks of ggml give type numbers meanings of their own, and the same number to different "
        "layouts. A file does not say whose it uses: the bytes that each tensor has decide, and "
        "where several dialects fit, you are asked.",
        *(_dialect(dialect) for dialect in found),
    )


def _dialect(dialect: Dialect) -> str:
    rows = [_meaning(meaning) for meaning in dialect.types]
    head = ("id", "type", "weights", "bytes", "decoded here", "second source", "note")
    return page(
        f"## {dialect.name}",
        plain(dialect.doc) + ".",
        table(head, rows) if rows else "The numbers of [types](types/index.md).",
        f"Keys that start with {code(dialect.folded_by)} declare a rotation that is folded into "
        "the weights: decoding gives those that are stored."
        if dialect.folded_by
        else "",
    )


def _meaning(meaning: Meaning) -> tuple[str, ...]:
    name = meaning.name
    linked = f"[{name}](types/{name.lower()}.md)" if meaning.described else plain(name)
    return (
        str(meaning.id),
        linked,
        str(meaning.elements or "?"),
        str(meaning.bytes or "?"),
        "yes" if meaning.described else "no",
        "yes" if meaning.verified else "no",
        plain(meaning.note),
    )
