"""``ggufspec memory``: what running a model needs."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import completion, machine, screen, text
from .failures import usage
from .options import Dialect, Json, file_argument
from .paths import open_model
from .screen import Column

if TYPE_CHECKING:
    from ..memory import Cache, Model, Settings, Weights

CONTEXT = "The context"
DEVICE = "Where things are"

FORMULAS = {
    "cells": "context, next multiple of 256; with several sequences each has its share, rounded "
    "up again (--unified: all share one cache)",
    "window cells": "smaller of cells and window + ubatch, next multiple of 256 (--unified: window "
    "x sequences)",
    "row": "elements / elements of a block of the type x bytes of a block",
    "cache": "for each block: cells x caches x (row of head_count_kv x key_length + row of "
    "head_count_kv x value_length)",
    "states": "for each recurrent block: sequences x elements of its state x 4",
    "outputs": "sequences x tokens x 4",
    "device": "of N offloaded layers the output is the first, then blocks from the last one",
}

NOT_COUNTED = (
    "compute buffers (the logits of a batch alone take up to ubatch x tokens x 4 bytes), the "
    "vocabulary, weights that a program repacks, and what a driver takes"
)

TABLE = (
    Column("context", right=True, style="cyan"),
    Column("cells", right=True),
    Column("keys", right=True),
    Column("values", right=True),
    Column("states", right=True),
    Column("cache", right=True),
    Column("on device", right=True),
    Column("weights + cache", right=True),
)


def command(
    file: Annotated[Path, file_argument("FILE", "A GGUF file, or any file of a split set.")],
    contexts: Annotated[
        str | None,
        typer.Option(
            "--context",
            "-c",
            metavar="N[,N...]",
            rich_help_panel=CONTEXT,
            help="Tokens of all sequences together; powers of two up to the model's by default.",
        ),
    ] = None,
    batch: Annotated[
        int,
        typer.Option(
            "--batch", min=1, metavar="N", help="Tokens of a batch.", rich_help_panel=CONTEXT
        ),
    ] = 2048,
    ubatch: Annotated[
        int,
        typer.Option(
            "--ubatch",
            min=1,
            metavar="N",
            help="Tokens that are calculated at once.",
            rich_help_panel=CONTEXT,
        ),
    ] = 512,
    sequences: Annotated[
        int,
        typer.Option(
            "--sequences",
            "--parallel",
            min=1,
            metavar="N",
            rich_help_panel=CONTEXT,
            help="Sequences that are generated side by side.",
        ),
    ] = 1,
    unified: Annotated[
        bool,
        typer.Option("--unified", help="All sequences share one cache.", rich_help_panel=CONTEXT),
    ] = False,
    key_type: Annotated[
        str,
        typer.Option(
            "--cache-type-k",
            autocompletion=completion.cache_types,
            metavar="TYPE",
            rich_help_panel=CONTEXT,
            help="The type of keys: F32 F16 BF16 Q8_0 Q4_0 Q4_1 IQ4_NL Q5_0 Q5_1.",
        ),
    ] = "F16",
    value_type: Annotated[
        str,
        typer.Option(
            "--cache-type-v",
            autocompletion=completion.cache_types,
            metavar="TYPE",
            help="The type of values.",
            rich_help_panel=CONTEXT,
        ),
    ] = "F16",
    flash_attention: Annotated[
        bool,
        typer.Option(
            "--flash-attention/--no-flash-attention",
            rich_help_panel=CONTEXT,
            help="Without it, values are not quantized and rows of them all as long.",
        ),
    ] = True,
    swa_full: Annotated[
        bool,
        typer.Option(
            "--swa-full",
            rich_help_panel=CONTEXT,
            help="Blocks with a sliding window keep the whole context, too.",
        ),
    ] = False,
    layers: Annotated[
        str,
        typer.Option(
            "--gpu-layers",
            "--offload",
            metavar="N|all",
            rich_help_panel=DEVICE,
            help="Layers on the device: the output, and blocks from the last one.",
        ),
    ] = "0",
    cache_on_host: Annotated[
        bool,
        typer.Option(
            "--no-kv-offload",
            rich_help_panel=DEVICE,
            help="Caches stay on the host, whatever is offloaded.",
        ),
    ] = False,
    blocks: Annotated[bool, typer.Option("--blocks", help="Show what each block keeps.")] = False,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:
    """Say what running a model with llama.cpp needs: weights by device, and the cache.

    The header alone is read. Sizes follow llama.cpp's rules, and the formulas are shown.
    Files that are not run by themselves (a projector, a vocabulary) get what can be said.
    """  # fmt: skip
    from ..memory import Settings, SettingsError, cache, describe, weights

    with open_model(file, dialect=dialect) as opened:
        model = describe(opened)
        parts = weights(opened.tensors.values(), model)
    try:
        settings = Settings(
            batch=batch,
            ubatch=ubatch,
            sequences=sequences,
            unified=unified,
            key_type=key_type.upper(),
            value_type=value_type.upper(),
            flash_attention=flash_attention,
            swa_full=swa_full,
            offload=_offload(layers, model),
            offload_cache=not cache_on_host,
        )
        caches = [
            cache(model, replace(settings, context=context))
            for context in (_contexts(contexts, model) if model.has_cache or contexts else [])
        ]
    except SettingsError as error:
        raise usage(str(error), file=str(file)) from None
    if as_json:
        machine.emit(_record(file, model, parts, settings, caches))
    else:
        _show(file, model, parts, settings, caches, with_blocks=blocks)


def _contexts(given: str | None, model: Model) -> list[int]:
    if given is not None:
        words = given.replace(" ", "").split(",")
        if not all(
            word.isascii() and word.isdecimal() and len(word) < 10 and int(word) for word in words
        ):
            raise usage(f"--context {given!r:.80}: numbers from 1, with commas between")
        return [int(word) for word in words]
    most = min(model.context_length or 32768, 1 << 30)
    powers = [1 << power for power in range(11, 31) if 1 << power < most]
    return [*powers, most]


def _offload(text_: str, model: Model) -> int:
    whole = model.count + 1
    if text_ == "all":
        return whole
    if not (text_.isascii() and text_.isdecimal()) or len(text_) > 9:
        raise usage(f"--gpu-layers {text_!r:.40}: a number from 0, or all")
    return min(int(text_), whole)


def _show(
    path: Path,
    model: Model,
    parts: Weights,
    settings: Settings,
    caches: list[Cache],
    *,
    with_blocks: bool,
) -> None:
    from ..memory.cache import logits

    screen.say(f"{text.printable(str(path))}: {_summary(model)}", "bold")
    for note in model.notes:
        screen.say(text.printable(note, 300), "yellow")
    _show_weights(parts, settings, model)
    if model.uncounted:
        screen.say(f"cache: not counted, {text.printable(model.uncounted, 300)}", "yellow")
    elif not model.has_cache:
        screen.say("cache: none, the model sees all tokens at once")
    if caches:
        whole = parts.on_host(settings.offload) + parts.on_device(settings.offload)
        screen.table(TABLE, [_row(cache, whole) for cache in caches], _cache_title(settings))
    if with_blocks and model.blocks:
        screen.table(_BLOCK_TABLE, _block_rows(model, parts), "blocks")
    screen.say()
    screen.say("formulas (bytes)", "bold")
    for name, formula in FORMULAS.items():
        screen.say(f"  {name}: {formula}")
    screen.say(f"not counted: {NOT_COUNTED}")
    if model.has_cache:
        size = text.size(logits(model, settings))
        screen.say(f"  here: {size} of logits, {text.size(caches[0].outputs)} of outputs")


def _summary(model: Model) -> str:
    kinds: dict[str, int] = {}
    for block in model.blocks if model.has_cache else ():
        kinds[block.kind] = kinds.get(block.kind, 0) + 1
    told = [text.printable(model.architecture) or "no architecture"]
    told.append(text.plural(model.count, "block"))
    if kinds:
        told.append("keeping " + ", ".join(f"{count} {kind}" for kind, count in kinds.items()))
    if model.window:
        told.append(f"window of {model.window:,} tokens")
    if model.context_length:
        told.append(f"context of {model.context_length:,}")
    return ", ".join(told)


def _show_weights(parts: Weights, settings: Settings, model: Model) -> None:
    offload = settings.offload
    rows = [("host", parts.on_host(offload)), ("device", parts.on_device(offload))]
    title = f"weights, {offload} of {model.count + 1} layers on the device"
    columns = (
        Column("where", style="cyan"),
        Column("weights", right=True),
        Column("bytes", right=True),
    )
    screen.table(columns, [(name, text.size(size), f"{size:,}") for name, size in rows], title)
    if parts.tied and offload:
        screen.say(f"the token embedding is the output, too: {text.size(parts.tied)} lie twice")


def _cache_title(settings: Settings) -> str:
    sequences = text.plural(settings.sequences, "sequence")
    return f"cache, keys in {settings.key_type}, values in {settings.value_type}, {sequences}"


def _row(cache: Cache, weights: int) -> tuple[str, ...]:
    cells = f"{cache.cells:,}"
    if cache.window_cells != cache.cells:
        cells += f" / {cache.window_cells:,}"
    if cache.streams > 1:
        cells = f"{cache.streams} x {cells}"
    kept = cache.host + cache.device
    return (
        f"{cache.context:,}",
        cells,
        text.size(cache.keys + cache.index),
        text.size(cache.values),
        text.size(cache.states),
        f"{kept:,}",
        text.size(cache.device),
        text.size(weights + cache.total),
    )


_BLOCK_TABLE = (
    Column("block", right=True),
    Column("keeps", style="cyan"),
    Column("keys", right=True),
    Column("values", right=True),
    Column("indexer", right=True),
    Column("state", right=True),
    Column("weights", right=True),
)


def _block_rows(model: Model, parts: Weights) -> list[tuple[str, ...]]:
    return [
        (
            str(place),
            block.kind,
            f"{block.keys:,}",
            f"{block.values:,}",
            f"{block.index_keys + block.index_values:,}",
            f"{block.state:,}",
            text.size(parts.blocks[place]),
        )
        for place, block in enumerate(model.blocks)
    ]


def _record(
    path: Path, model: Model, parts: Weights, settings: Settings, caches: list[Cache]
) -> dict[str, Any]:
    from ..memory.cache import logits

    offload = settings.offload
    told = asdict(settings)
    del told["context"]
    return {
        "file": str(path),
        "architecture": model.architecture,
        "block_count": model.count,
        "context_length": model.context_length,
        "tokens": model.tokens,
        "window": model.window,
        "latent": model.latent,
        "has_cache": model.has_cache,
        "uncounted": model.uncounted or None,
        "notes": list(model.notes),
        "settings": told,
        "weights": {
            "total": parts.total,
            "host": parts.on_host(offload),
            "device": parts.on_device(offload),
            "tied": parts.tied,
            "input": parts.host,
            "output": parts.output,
            "blocks": list(parts.blocks),
        },
        "contexts": [
            {
                **asdict(cache),
                "total": cache.total,
                "logits": logits(model, replace(settings, context=cache.context)),
            }
            for cache in caches
        ],
        "blocks": [{"kind": block.kind, **asdict(block)} for block in model.blocks],
        "formulas": FORMULAS,
        "not_counted": NOT_COUNTED,
    }
