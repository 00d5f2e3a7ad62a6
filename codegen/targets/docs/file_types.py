"""File types: what `general.file_type` can be, and which type most of the tensors have."""

from __future__ import annotations

from ...output import Output
from ...recipes.load import FILES, load_recipes
from ...spec import Spec
from .markdown import code, page, plain, table

_STATUS = {
    "offered": "asked for by name",
    "converter": "written by converters only",
    "retired": "no file is made any more",
    "copy": "every tensor stays",
}


def outputs(spec: Spec) -> list[Output]:
    """file_types.md."""
    rows = [
        (
            "" if kind.id is None else str(kind.id),
            code(kind.name) + (f", {code(kind.alias)}" if kind.alias else ""),
            f"[{kind.type}](types/{kind.type.lower()}.md)" if kind.type else "",
            plain(kind.display),
            _STATUS.get(kind.status, kind.status),
        )
        for kind in load_recipes(spec).file_types
    ]
    text = page(
        "# File types",
        "The mixtures that llama-quantize makes. Most tensors get the type of the third column; "
        "the rules of `spec/recipes` decide where another is better, by role, layer and "
        "architecture. `ggufspec quantize IN Q4_K_M --plan` says for every tensor of a model what "
        "it gets and why.",
        table(("id", "name", "type", "llama.cpp calls it", "status"), rows),
    )
    return [Output("file_types.md", text, FILES)]
