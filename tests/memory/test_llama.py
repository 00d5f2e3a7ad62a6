"""Caches, states and weights against the log of llama.cpp, for every architecture it knows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ggufspec
from ggufspec.generated.memory import KEEPS
from ggufspec.memory import Cache, Settings, SettingsError, cache, describe, weights
from support import realfiles

from . import crafted

LLAMA = json.loads(Path(__file__).with_name("llama.json").read_text())
REAL: dict[str, Callable[[], Path]] = {"smollm2": realfiles.smollm2, "gemma3": realfiles.gemma3}
MIB = 1 << 20
_ROUNDED = 0.0051
"""Half of the last digit of a number in the log."""


def _is(size: int, logged: list[str]) -> bool:
    return abs(size / MIB - sum(map(float, logged))) <= _ROUNDED * len(logged)


def _check(made: Cache, told: dict[str, Any]) -> None:
    caches = told["caches"]
    assert _is(made.keys + made.values + made.index, [row[at] for row in caches for at in (2, 3)])
    assert {row[0] for row in caches if row[1]} <= {made.cells, made.window_cells}
    assert _is(made.states, [size for row in told.get("states", ()) for size in row])


@pytest.mark.parametrize("architecture", LLAMA["crafted"])
def test_caches_and_states_of_architectures(architecture: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    crafted.write(path, architecture)
    with ggufspec.open(path) as file:
        model = describe(file)
    assert not model.uncounted
    for settings, told in zip(LLAMA["settings"], LLAMA["crafted"][architecture], strict=True):
        _check(cache(model, Settings(**settings)), told)


def test_no_architecture_is_left_out() -> None:
    counted = {name for name, keeps in KEEPS.items() if not keeps.uncounted}
    assert counted - set(LLAMA["crafted"]) == {"wavtokenizer-dec"}  # has no context


@pytest.mark.parametrize("name", REAL)
def test_caches_of_real_files(name: str) -> None:
    with ggufspec.open(REAL[name]()) as file:
        model = describe(file)
        parts = weights(file.tensors.values(), model)
    assert _is(parts.total, [LLAMA["real"][name]["weights"]])
    assert parts.on_host(0) == parts.total
    for settings, told in LLAMA["real"][name]["contexts"]:
        if told is None:
            with pytest.raises(SettingsError):
                cache(model, Settings(**settings))
        else:
            made = cache(model, Settings(**settings))
            _check(made, told)
            assert _is(made.outputs, [told["outputs"]])


@pytest.mark.parametrize("name", REAL)
def test_weights_and_caches_by_device(name: str) -> None:
    with ggufspec.open(REAL[name]()) as file:
        model = describe(file)
        parts = weights(file.tensors.values(), model)
    for layers, host, device, caches, offloaded in LLAMA["offloaded"][name]:
        offload = min(layers, model.count + 1)
        made = cache(model, Settings(context=4096, offload=offload))
        assert _is(parts.on_host(offload), [host])
        assert _is(parts.on_device(offload), [device])
        assert _is(made.host, caches)
        assert _is(made.device, offloaded)
