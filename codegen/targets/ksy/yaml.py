"""A tree as YAML text that people read: a fixed order, quotes where expressions need them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Tree = dict[Any, Any]

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./()-]+)*\Z")
_WORDS = frozenset("true false yes no on off null y n".split())
_WIDTH = 96


def dump(tree: Tree) -> str:
    """The text of a tree of mappings, lists, texts, numbers and truth values."""
    return "\n".join(_mapping(tree, "")) + "\n"


def _mapping(tree: Mapping[Any, Any], indent: str) -> Iterator[str]:
    for key, value in tree.items():
        yield from _entry(f"{indent}{_key(key)}:", value, indent)


def _entry(start: str, value: Any, indent: str) -> Iterator[str]:
    inner = indent + "  "
    if isinstance(value, Mapping) and value:
        flow = _flow(value)
        if flow and len(start) + len(flow) < _WIDTH:
            yield f"{start} {flow}"
        else:
            yield start
            yield from _mapping(value, inner)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        yield start
        for item in value:
            flow = _flow(item)
            if flow and len(inner) + len(flow) < _WIDTH:
                yield f"{inner}- {flow}"
                continue
            lines = list(_mapping(item, inner + "  "))
            yield f"{inner}- {lines[0].lstrip()}"
            yield from lines[1:]
    elif isinstance(value, list):
        yield f"{start} [{', '.join(map(_scalar, value))}]"
    elif isinstance(value, str) and "\n" in value:
        yield f"{start} |-"
        yield from (f"{inner}{line}".rstrip() for line in value.split("\n"))
    else:
        yield f"{start} {_scalar(value)}"


def _flow(value: Any) -> str:
    """A small mapping in one line, or nothing where it is not small."""
    if not isinstance(value, Mapping) or not all(
        isinstance(item, str | int | bool) and "\n" not in str(item) for item in value.values()
    ):
        return ""
    return "{" + ", ".join(f"{_key(key)}: {_scalar(item)}" for key, item in value.items()) + "}"


def _key(key: Any) -> str:
    if isinstance(key, int):
        return str(key)
    return _scalar(key)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    if _PLAIN.match(text) and text not in _WORDS:
        return text
    return "'" + text.replace("'", "''") + "'"
