"""A browser for all tests of the inspector, and a server that can misbehave."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.web import Browser, needed
from support.web_server import Server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    needed("node", "npm", "chromium")
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server
