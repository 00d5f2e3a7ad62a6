"""``ggufspec types``: the table, a type's page, and the bars that picture its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ggufspec.cli.bitbar import WIDTH, bar
from ggufspec.generated.describe import DESCRIPTIONS
from ggufspec.registry import types

Run = Callable[..., Any]


def test_lists_all(run: Run) -> None:
    result = run("types")
    assert result.code == 0
    for name in types:
        assert f" {name} " in result.out


def test_page_of_q4_k(run: Run) -> None:
    out = run("types", "q4_k").out
    assert "Q4_K (id 12, live)" in out
    assert "256 weights in 144 bytes: 4.5 bits per weight" in out
    assert "scales[0] .. scales[3]   u8    |   sc<<4   |                 sc                |" in out
    assert "for each p < 2, u < 2, h < 2, l < 32" in out
    assert "x = dl * q - ml" in out


def test_page_of_a_removed_type(run: Run) -> None:
    result = run("types", "Q4_0_4_4")
    assert result.code == 0
    assert "removed" in result.out
    assert "quantize the model again" in result.out


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_every_page_and_its_json(run: Run, name: str) -> None:
    assert run("types", name).code == 0
    told = run("types", name, "--json").json
    assert told["name"] == name
    assert told["bytes"] == types[name].bytes
    assert sum(line["count"] for line in told["picture"]) == sum(
        line[3] for line in DESCRIPTIONS[name].picture
    )


def test_json_of_all(run: Run) -> None:
    assert [kind["name"] for kind in run("types", "--json").json] == list(types)


def test_unknown_name(run: Run) -> None:
    result = run("types", "Q9_Z")
    assert result.code == 2
    assert "there is no type 'Q9_Z'" in result.err


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_bars_are_about_equally_wide(name: str) -> None:
    for _, _, scalar, _, cuts in DESCRIPTIONS[name].picture:
        assert WIDTH < len(bar(scalar, cuts)) < WIDTH + 5


def test_slices_stand_side_by_side_where_there_is_room() -> None:
    assert bar("u8", ["[7:0] 2 x q"]).count("q") == 2
    assert "32 x q<<4" in bar("u32", ["[31:0] 32 x q from bit 4"])
    assert bar("f16", ["d"]).strip("| ") == "d"
