"""llama.cpp's sources as a checkout, a built ggml, and the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ggufspec.codegen.commands import register
from ggufspec.codegen.upstream import commands
from ggufspec.codegen.upstream.facts import Facts
from ggufspec.codegen.upstream.headers import read_tree
from ggufspec.codegen.upstream.library import Library
from ggufspec.codegen.upstream.tree import Tree, load_tree
from support import oracle, realfiles
from support.specs import real_spec

Upstream = Callable[..., Any]


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of llama.cpp with ggml 0.25.3, as far as it is read."""
    return realfiles.llama_checkout(tmp_path_factory.mktemp("llama.cpp"))


@pytest.fixture(scope="session")
def tree(llama: Path) -> Tree:
    return load_tree(llama)


@pytest.fixture(scope="session")
def facts(tree: Tree) -> Facts:
    """What the whole checkout says, read once."""
    return read_tree(tree)


@pytest.fixture(scope="session")
def library_path() -> Path:
    """The wheel's libggml-base."""
    return oracle.library_path()


@pytest.fixture(scope="session")
def library(library_path: Path) -> Iterator[Library]:
    with Library(library_path) as opened:
        yield opened


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Upstream:
    """Run `ggufspec upstream` in this process; exceptions are what the command line tells.

    The spec of the checkout is not read again for each of them.
    """
    own = commands._spec
    monkeypatch.setattr(commands, "_spec", lambda folder: own(folder) if folder else real_spec())
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)

    def run(*arguments: str | Path) -> Any:
        return CliRunner().invoke(app, ["upstream", *map(str, arguments)])

    return run
