"""Other programs and the types that they know: spec/tools.yaml."""

from __future__ import annotations

from dataclasses import dataclass

from .schema import load_checked
from .spec import Spec

FILE = "tools.yaml"


@dataclass(frozen=True)
class Tool:
    """A program or library; the names of types that it decodes and quantizes."""

    name: str
    version: str
    doc: str
    installed: str  # the package to hold it against, "" for none
    decodes: frozenset[str]
    quantizes: frozenset[str]


def load_tools(spec: Spec) -> tuple[Tool, ...]:
    """The tools in the order of the file. Raises SpecError."""
    if not (spec.root / FILE).is_file():  # a user's own spec need not know any
        return ()
    source = load_checked(spec.root / FILE, spec.root, spec.root / "schema" / "tools.schema.json")
    known = {kind.name for kind in spec.every}
    tools = []
    for name, entry in source.data["tools"].items():
        for what in ("decodes", "quantizes"):
            for type_name in entry[what]:
                if type_name not in known:
                    source.fail(("tools", name, what), f"the spec has no type {type_name}")
        decodes, quantizes = (frozenset(entry[what]) for what in ("decodes", "quantizes"))
        installed = entry.get("installed", "")
        tools.append(Tool(name, entry["version"], entry["doc"], installed, decodes, quantizes))
    return tuple(tools)
