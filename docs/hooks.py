"""What mkdocs adds to the pages of this folder: the reference, from the spec and the program."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from ggufspec.cli.app import application
from ggufspec.codegen.generate import make_copy
from ggufspec.codegen.spec import load_spec
from ggufspec.codegen.targets.docs.markdown import code, fenced, table

_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)

ROOT = Path(__file__).resolve().parent.parent


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let a name of the navigation that ends in a slash stand for all pages of that folder."""
    config.nav = _spread(config.nav, Path(config.docs_dir))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, text in _pages().items():
        files.append(File.generated(config, path, content=text))
    return files


@cache
def _pages() -> dict[str, str]:
    made = make_copy(load_spec(ROOT / "spec"), "docs", [])
    pages = {path: text for path, text in made.items() if path.endswith(".md")}
    return {**pages, "reference/command-line.md": _commands()}


def _spread(entry: Any, docs: Path) -> Any:
    if isinstance(entry, list):
        return [_spread(item, docs) for item in entry]
    if isinstance(entry, dict):
        return {title: _spread(value, docs) for title, value in entry.items()}
    if isinstance(entry, str) and entry.endswith("/"):
        here = [path.relative_to(docs).as_posix() for path in (docs / entry).glob("*.md")]
        found = {*here, *(path for path in _pages() if path.startswith(entry))}
        return [
            _entry(path) for path in sorted(found, key=lambda path: ("/index." not in path, path))
        ]
    return entry


def _entry(path: str) -> Any:
    """A page of the navigation: a generated one under its heading, an index as the section's."""
    heading = _HEADING.search(_pages().get(path, ""))
    return {heading[1].replace("\\", ""): path} if heading and "/index." not in path else path


def _commands() -> str:
    """The commands with their arguments and options, as `--help` has them."""
    root = application()
    parts = ["# Command line", "Every command takes `--help`."]
    for name in sorted(root.commands):
        parts += _command(root.commands[name], f"ggufspec {name}", 2)
    return "\n\n".join(parts) + "\n"


def _command(command: Any, name: str, level: int) -> list[str]:
    parts = [f"{'#' * level} {name}", _text(command.help)]
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join([name, "[OPTIONS]", *(p.make_metavar(_context(command)) for p in arguments)])
    if not hasattr(command, "commands"):
        parts.append(fenced("text", usage))
    rows = [
        (code(", ".join([*p.opts, *p.secondary_opts])), _cell(p.help))
        for p in command.params
        if p.param_type_name == "option" and not getattr(p, "hidden", False) and p.name != "help"
    ]
    rows = [(code(p.name.upper()), _cell(p.help)) for p in arguments] + rows
    if rows:
        parts.append(table(("argument or option", ""), rows))
    if command.epilog:
        parts.append(_examples(command.epilog))
    for inner in sorted(getattr(command, "commands", {})):
        parts += _command(command.commands[inner], f"{name} {inner}", level + 1)
    return parts


def _context(command: Any) -> Any:
    return command.context_class(command)


def _text(text: str | None) -> str:
    return (text or "").replace("<", "&lt;").replace("*", "\\*")


def _cell(text: str | None) -> str:
    return _text(text).replace("|", "\\|")


def _examples(epilog: str) -> str:
    lines = [line.strip() for line in epilog.splitlines() if line.strip()]
    return fenced("text", "\n".join(lines))
