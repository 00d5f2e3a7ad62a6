"""YAML with positions: plain data, and the line that each YAML path came from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

import yaml

from .errors import SpecError, YamlPath

_SURROGATE = re.compile("[\ud800-\udfff]")
_DEEPEST = 20
"""Levels of nesting; no description needs more, and nothing below has to bear more."""
_LONGEST = 1 << 20
"""Bytes of a file; descriptions have thousands."""
_MOST = 20_000
"""Keys and values of a file, which take a second to read; descriptions have hundreds."""


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

    def check_file_name(self, name: str) -> None:
        """SpecError where the file is not called after the name that it gives."""
        file = PurePosixPath(self.file)
        if file.stem != name:
            self.fail(("name",), f"file {file.name} must be named {name}.yaml")


def load_yaml(path: Path, root: Path | None = None) -> Source:
    """Parse one YAML file; its name in errors is relative to ``root``.

    Duplicate keys, keys that are no strings, aliases and tags are refused: a spec file
    says each thing once, in the open. Only true, false, null, numbers and what is none of
    them (text) have a meaning: "no" is a word, 010 and 2024-05-01 are text.
    """
    name = path.relative_to(root).as_posix() if root else path.name
    data = read_file(path, name)
    try:
        text = data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise SpecError(name, 1, (), f"not UTF-8 text (byte {error.start})") from None
    return parse_yaml(text, name)


def read_file(path: Path, name: str) -> bytes:
    """What a spec file holds; devices and pipes may never end."""
    if path.exists() and not path.is_file():
        raise SpecError(name, 1, (), "not a regular file")
    with path.open("rb") as stream:
        data = stream.read(_LONGEST + 1)
    if len(data) > _LONGEST:
        raise SpecError(name, 1, (), f"more than {_LONGEST} bytes")
    return data


class _Loader(yaml.SafeLoader):
    """YAML's data types as version 1.2 has them: no dates, no yes and no, no octal numbers."""

    depth = 0
    nodes = 0
    yaml_implicit_resolvers = {}  # noqa: RUF012 - the base class's way

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Refuse what says elsewhere what stands here, and text that no file can hold."""
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        said = None
        if isinstance(event, yaml.AliasEvent):
            said = "aliases are not part of the spec language"
        elif getattr(event, "tag", None):
            said = "tags are not part of the spec language"
        elif isinstance(event, yaml.ScalarEvent) and _SURROGATE.search(event.value):
            said = "half a character (a lone surrogate)"
        elif self.depth == _DEEPEST:
            said = f"nested deeper than {_DEEPEST} levels"
        elif self.nodes == _MOST:
            said = f"more than {_MOST} keys and values"
        if said:
            raise SpecError(
                self.name, event.start_mark.line + 1 if event.start_mark else 1, (), said
            )
        self.depth += 1
        self.nodes += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


for _kind, _form, _first in (
    ("null", r"~|null|", ["~", "n", ""]),
    ("bool", r"true|false", ["t", "f"]),
    ("int", r"[-+]?(0|[1-9][0-9]{0,99}|0x[0-9a-fA-F]{1,99})", [*"-+0123456789"]),
    ("float", r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=e))([eE][-+]?[0-9]+)?", [*"-+.0123456789"]),
    ("float", r"[-+]?\.inf|\.nan", [*"-+."]),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_kind}", re.compile(f"(?:{_form})\\Z"), _first
    )


def parse_yaml(text: str, name: str) -> Source:
    lines: dict[YamlPath, int] = {}
    try:
        loader = _Loader(text)
        loader.name = name
        try:
            node = loader.get_single_node()
            data = None if node is None else _plain(loader, node, name, (), lines)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise SpecError(name, line, (), f"not YAML: {_said(error)}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise SpecError(name, line, (), f"character {error.character:#x} is not allowed") from None
    return Source(name, data, lines, text)


def _said(error: yaml.MarkedYAMLError) -> str:
    said = ", ".join(part for part in (error.context, error.problem) if part)
    if "flow mapping" in said or "flow sequence" in said:
        said += " (text with [ ] { } , : or # needs quotes)"
    return said


def _plain(
    loader: _Loader,
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
