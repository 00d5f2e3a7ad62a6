"""The builds of the C kernels, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ggufspec.blocks import kernels

VARIANTS = ("baseline", "v3")


@contextmanager
def using(name: str) -> Iterator[None]:
    """Run a build of the kernels meanwhile; where there is none of that name, skip the test.

    That nothing is missing which can be there is tested in packaging/test_native.py.
    """
    if not kernels.available():
        pytest.skip("no compiled part")
    try:
        kernels.use_variant(name)
    except ValueError as error:
        pytest.skip(str(error))
    try:
        yield
    finally:
        kernels.use_variant(None)
