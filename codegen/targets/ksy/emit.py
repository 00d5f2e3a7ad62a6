"""generated/ksy: the trees as YAML, the form for Nim, and the table of what is checked where."""

from __future__ import annotations

from typing import Any

from ...container import load_container
from ...container.load import FILES
from ...container.model import Container
from ...output import Output
from ...spec import Spec
from .blocks import blocks_file
from .container import File, container_file
from .readme import readme
from .yaml import Tree, dump

ORDERS = ("le", "be")


def outputs(spec: Spec) -> list[Output]:
    """Every file of generated/ksy."""
    container = load_container(spec.root)
    made: dict[str, Tree] = {}
    every = spec.every or spec.types  # a choice of types is one of layouts, not of sizes
    files = {order: container_file(container, every, spec.version, order) for order in ORDERS}
    for order, file in files.items():
        made[f"gguf_{order}.ksy"] = file.tree
        made[f"nim/gguf_{order}.ksy"] = without_conditions(file.tree)
    types = tuple(kind.file for kind in spec.types)
    blocks = blocks_file(spec.types, spec.version)
    inputs = ("VERSION", *FILES, "scalars.yaml", *types)
    return [
        *(Output(f"ksy/{path}", dump(tree), inputs) for path, tree in made.items()),
        Output("ksy/ggml_blocks.ksy", dump(blocks), ("VERSION", "scalars.yaml", *types)),
        Output("ksy/README.md", _readme(container, files["le"], spec), inputs),
    ]


def _readme(container: Container, file: File, spec: Spec) -> str:
    return readme(container, file, spec.version)


def without_conditions(tree: Any) -> Any:
    """The tree without `valid/expr`, which Nim's back end of ksc refuses."""
    if isinstance(tree, dict):
        return {
            key: without_conditions(value)
            for key, value in tree.items()
            if not (key == "valid" and isinstance(value, dict) and "expr" in value)
        }
    return [without_conditions(item) for item in tree] if isinstance(tree, list) else tree
