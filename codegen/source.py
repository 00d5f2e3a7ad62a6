"""YAML with positions: plain data, and the line that each YAML path came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml

from .errors import SpecError, YamlPath


@dataclass(frozen=True)
class Source:
    """One parsed spec file: ``data`` is plain dicts, lists, str, int, float, bool, None."""

    file: str
    data: Any
    lines: Mapping[YamlPath, int]
    text: str

    def line(self, path: Sequence[str | int]) -> int:
        """The line of ``path``, or of its nearest ancestor that the file has."""
        key = tuple(path)
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key, 1)

    def fail(self, path: Sequence[str | int], message: str) -> NoReturn:
        raise SpecError(self.file, self.line(path), path, message)


def load_yaml(path: Path, root: Path | None = None) -> Source:
    """Parse one YAML file; its name in errors is relative to ``root``.

    Duplicate keys, keys that are no strings, aliases and tags are refused: a spec file
    says each thing once, in the open.
    """
    name = path.relative_to(root).as_posix() if root else path.name
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(name, 1, (), f"not UTF-8 text (byte {error.start})") from None
    return parse_yaml(text, name)


def parse_yaml(text: str, name: str) -> Source:
    loader = yaml.SafeLoader(text)
    try:
        for event in yaml.parse(text, yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                line = event.start_mark.line + 1 if event.start_mark else 1
                raise SpecError(name, line, (), "aliases are not part of the spec language")
        node = loader.get_single_node()
        lines: dict[YamlPath, int] = {}
        data = None if node is None else _plain(loader, node, name, (), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise SpecError(name, line, (), f"not YAML: {error.problem}") from None
    finally:
        loader.dispose()
    return Source(name, data, lines, text)


def _plain(
    loader: yaml.SafeLoader,
    node: yaml.Node,
    name: str,
    path: YamlPath,
    lines: dict[YamlPath, int],
) -> Any:
    lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = loader.construct_object(key_node)
            if not isinstance(key, str):
                raise SpecError(name, line, path, f"key {key!r} is not a string (quote it)")
            here = (*path, key)
            if key in result:
                raise SpecError(name, line, here, "duplicate key")
            result[key] = _plain(loader, value_node, name, here, lines)
            lines[here] = line
        return result
    if isinstance(node, yaml.SequenceNode):
        return [
            _plain(loader, item, name, (*path, number), lines)
            for number, item in enumerate(node.value)
        ]
    return loader.construct_object(node)
