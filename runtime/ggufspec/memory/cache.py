"""Caches of keys and values, and recurrent states, by device."""

from __future__ import annotations

from dataclasses import dataclass

from ..registry import types
from .model import Block, Model
from .settings import Settings, SettingsError, padded
from .states import BYTES

LOGIT = 4
"""Bytes of a logit."""


@dataclass(frozen=True)
class Cache:
    """Bytes that a context needs beside the weights.

    cells: tokens that the cache of a block has room for, in each of `streams`; window_cells:
    those of a block with a sliding window. keys and values: of all blocks, `host` and `device`
    where these and the states are. states: of all blocks. outputs: logits, on the host.
    """

    context: int
    cells: int
    window_cells: int
    streams: int
    keys: int
    values: int
    index: int
    states: int
    outputs: int
    host: int
    device: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.host + self.device + self.outputs


def cache(model: Model, settings: Settings) -> Cache:
    """What `model` needs beside its weights. SettingsError where llama.cpp would refuse."""
    cells, streams = _cells(settings)
    window_cells = _window_cells(model, settings, cells)
    first = model.count + 1 - settings.offload if settings.offload_cache else model.count + 1
    keys = values = index = states = device = 0
    for place, block in enumerate(model.blocks if model.has_cache else ()):
        _check_heads(block, settings)
        room = streams * (window_cells if block.window else cells)
        of_block = (
            room * _row(settings.key_type, block.keys),
            room * _row(settings.value_type, _values(block, model, settings)),
            room
            * (
                _row(settings.key_type, block.index_keys)
                + _row(settings.value_type, block.index_values)
            ),
            settings.sequences * block.state * BYTES,
        )
        keys, values, index, states = (
            whole + part
            for whole, part in zip((keys, values, index, states), of_block, strict=True)
        )
        device += sum(of_block) if place >= first else 0
    outputs = settings.sequences * _output_row(model)
    host = keys + values + index + states - device
    return Cache(
        settings.context, cells, window_cells, streams, keys, values, index, states, outputs,
        host, device,
    )  # fmt: skip


def logits(model: Model, settings: Settings) -> int:
    """Bytes of the logits of one batch of computation, the largest of what a graph holds."""
    return _ubatch(model, settings) * model.tokens * LOGIT if model.has_logits else 0


def _output_row(model: Model) -> int:
    """Bytes of what is handed out for one token."""
    if not model.has_logits:
        return 0
    also = model.embedding_length if model.architecture == "t5" else 0
    return (model.tokens + also) * LOGIT


def _cells(settings: Settings) -> tuple[int, int]:
    """Cells of a block's cache a stream, and the streams."""
    whole = padded(settings.context)
    if settings.unified:
        return whole, 1
    return padded(whole // settings.sequences), settings.sequences


def _ubatch(model: Model, settings: Settings) -> int:
    """Tokens that are calculated at once."""
    batch = min(settings.batch, settings.context) if model.causal else settings.batch
    return min(batch, settings.ubatch)


def _window_cells(model: Model, settings: Settings, cells: int) -> int:
    """Cells of a block with a window: what one sees, and a batch that comes in."""
    if settings.swa_full or not model.window:
        return cells
    seen = model.window * (settings.sequences if settings.unified else 1)
    return padded(min(cells, seen + _ubatch(model, settings)))


def _values(block: Block, model: Model, settings: Settings) -> int:
    """Elements of a row of values; without flash attention all rows are as long as the longest."""
    attends = not block.shared and (block.keys or block.values)
    if settings.flash_attention or model.latent or not attends:
        return block.values
    return model.most_values


def _row(type_: str, elements: int) -> int:
    try:
        return types[type_].row_bytes(elements)
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _check_heads(block: Block, settings: Settings) -> None:
    """Raise SettingsError where heads are no whole blocks of the cache's types."""
    for type_, head, what in (
        (settings.key_type, block.key_head, "keys"),
        (settings.value_type, block.value_head, "values"),
    ):
        elements = types[type_].elements
        if settings.flash_attention and head % elements:
            raise SettingsError(
                f"{what} in {type_} need heads of whole blocks of {elements}; these have {head}"
            )
