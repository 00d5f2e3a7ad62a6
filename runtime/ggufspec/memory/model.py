"""What the header of a file says about memory: its blocks, and what each of them keeps.

Source of the rules: llama.cpp's hyperparameters and memories (build of llama-cpp-python 0.3.36),
as in spec/memory.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..generated.memory import KEEPS, Keeps
from .keys import MOST_BLOCKS, Keys, UncountedError
from .states import state_elements

if TYPE_CHECKING:
    from ..files.metadata import Metadata
    from ..files.reader import File
    from ..generated.memory import Index, Recurrent, Window

TOKENS = "tokenizer.ggml.tokens"


@dataclass(frozen=True)
class Block:
    """What a block keeps: elements a token of keys and values, elements a sequence of a state.

    key_head and value_head: elements a head. index_keys and index_values: rows of an indexer.
    shared: the block uses the cache of another one. window: it keeps the last tokens only.
    """

    keys: int = 0
    values: int = 0
    key_head: int = 0
    value_head: int = 0
    index_keys: int = 0
    index_values: int = 0
    state: int = 0
    window: bool = False
    shared: bool = False

    @property
    def kind(self) -> str:
        """What to call it: full, window, shared, state, full+state, none."""
        if self.shared:
            return "shared"
        attention = ("window" if self.window else "full") if self.keys or self.values else ""
        return "+".join(filter(None, (attention, "state" if self.state else ""))) or "none"


@dataclass(frozen=True)
class Model:
    """A file by what matters here.

    blocks: those that keep something while the model runs; those that predict further tokens
    are not among them. count: all blocks, as offloading counts them. window: tokens that blocks
    with a sliding window see, 0 without such. most_values: the longest row of values of a block.
    uncounted: why the cache is not known, or "". notes: what to know.
    """

    architecture: str
    blocks: tuple[Block, ...]
    count: int
    window: int
    context_length: int | None
    tokens: int
    embedding_length: int
    causal: bool
    has_cache: bool
    has_logits: bool
    latent: bool
    most_values: int
    uncounted: str
    notes: tuple[str, ...]


def describe(file: File) -> Model:
    """What `file` says, from its header alone. Never raises for what a file holds."""
    metadata = file.metadata
    name = metadata.get("general.architecture")
    architecture = name if isinstance(name, str) else ""
    keys = Keys(metadata, architecture)
    notes: list[str] = []
    rules = KEEPS.get(architecture, Keeps())
    found: list[Block] = []
    window, most_values, uncounted = 0, 0, ""
    try:
        _check_kind(file, architecture)
        if architecture not in KEEPS:
            notes.append(
                f"nothing is known here of the architecture {architecture!r:.80}: counted as if "
                "each block had keys and values of all tokens"
            )
        found, window, most_values = _blocks(keys, rules)
    except UncountedError as reason:
        uncounted = str(reason)
    notes += _notes(metadata, keys, rules, uncounted)
    further = _number(keys, "nextn_predict_layers") or 0
    if further and not uncounted:
        notes.append(
            f"the last {further} blocks predict further tokens: their weights are counted, but "
            "llama.cpp loads and uses them only when asked to"
        )
    return Model(
        architecture,
        tuple(found),
        _number(keys, "block_count") or 0,
        window,
        _number(keys, "context_length"),
        _tokens(metadata, keys),
        _number(keys, "embedding_length_out") or _number(keys, "embedding_length") or 0,
        _number(keys, "attention.causal") != 0,
        not uncounted and rules.cache,
        rules.logits and architecture != "clip",
        rules.latent and _is_latent(keys),
        most_values,
        uncounted,
        tuple(notes),
    )


def _check_kind(file: File, architecture: str) -> None:
    """Raise UncountedError for files that are no language model."""
    kind = file.metadata.get("general.type", "model")
    if architecture == "clip" or kind == "mmproj":
        raise UncountedError("a projector has no cache of its own")
    if isinstance(kind, str) and kind not in ("model", ""):
        raise UncountedError(f"a file of the type {kind!r:.40} is not run by itself")
    if not architecture:
        raise UncountedError(_nameless(file.metadata))
    if not len(file.tensors):
        raise UncountedError("there are no tensors, so there is nothing to run")


def _nameless(metadata: Metadata) -> str:
    """Why no architecture is known."""
    key = "general.architecture"
    if key not in metadata:
        return f"the key {key} is missing"
    if metadata.type_of(key) != "STRING":
        return f"{key} is {metadata.type_of(key)}, not STRING"
    return f"{key} is not UTF-8" if metadata[key] else f"{key} is empty"


def _notes(metadata: Metadata, keys: Keys, rules: Keeps, uncounted: str) -> Iterator[str]:
    """What a reader of the numbers should know of keys that do not say what they should."""
    name = "context_length"
    if name in keys and not _number(keys, name):
        yield f"{keys.called(name)} does not say how many tokens the model sees"
    if rules.logits and rules.cache and not uncounted and not _tokens(metadata, keys):
        yield "how many tokens there are is not told, so that outputs are not counted"


def _tokens(metadata: Metadata, keys: Keys) -> int:
    if TOKENS in metadata and metadata.stored(TOKENS).is_array:
        return metadata.stored(TOKENS).count
    return _number(keys, "vocab_size") or 0


def _number(keys: Keys, name: str) -> int | None:
    """A number where the key has a sensible one."""
    try:
        return keys.number(name)
    except UncountedError:
        return None


def _is_latent(keys: Keys) -> bool:
    return all(_number(keys, f"attention.{name}_length_mla") for name in ("key", "value"))


def _blocks(keys: Keys, rules: Keeps) -> tuple[list[Block], int, int]:
    """The blocks that keep something; tokens of a window; the longest row of values."""
    if rules.uncounted:
        raise UncountedError(rules.uncounted)
    count = keys.number("block_count")
    if not 0 < count <= MOST_BLOCKS:
        raise UncountedError(f"there are {count:,} blocks; llama.cpp takes 1 to {MOST_BLOCKS}")
    used = count - keys.number("nextn_predict_layers", 0)
    if used < 0:
        raise UncountedError("more blocks predict further tokens than there are")
    used = used or count
    if not rules.cache:
        return [Block()] * used, 0, 0
    heads = keys.each("attention.head_count", count, [0] * count, exact=True)
    heads_kv = keys.each("attention.head_count_kv", count, heads, exact=True)
    states = _states(keys, rules.recurrent, heads_kv, used, count)
    window, windows = _windows(keys, rules.window, states, used)
    lengths = _lengths(keys, heads)
    indexed = _indexed(keys, rules.indexer, used)
    own = _own(keys, rules, count)
    attends = _attends(keys, rules.recurrent, states, count)
    attending = [place for place in range(min(used, own)) if attends[place]]
    _check_heads(keys, heads, heads_kv, attending)
    latent = rules.latent and _is_latent(keys)
    blocks, most_values = [], 0
    for place in range(used):
        key_head, value_head = lengths[windows[place]]
        most_values = max(most_values, heads_kv[place] * value_head)
        state = state_elements(keys, heads[0]) if states[place] else 0
        if place >= own:
            blocks.append(Block(shared=True, window=windows[place]))
        elif place not in attending:
            blocks.append(Block(state=state))
        else:
            index = keys.positive("attention.indexer.key_length") if indexed[place] else 0
            if heads_kv[place] and not (key_head and (value_head or latent)):
                raise UncountedError(
                    f"a head of {'values' if key_head else 'keys'} would have no elements"
                )
            blocks.append(
                Block(
                    heads_kv[place] * key_head,
                    0 if latent else heads_kv[place] * value_head,
                    key_head,
                    0 if latent else value_head,
                    index,
                    0 if latent or not index else value_head,
                    state,
                    windows[place],
                )
            )
    if all(block.kind in ("shared", "none") for block in blocks):
        raise UncountedError("by its keys no block would keep anything")
    return blocks, window if any(windows) else 0, most_values


def _check_heads(keys: Keys, heads: list[int], heads_kv: list[int], attending: list[int]) -> None:
    """UncountedError where blocks with keys and values have no heads, or impossible ones."""
    if not attending:
        return
    name, name_kv = "attention.head_count", "attention.head_count_kv"
    if name not in keys:
        raise UncountedError(f"the key {keys.called(name)} is missing")
    if not heads[0]:
        raise UncountedError(f"{keys.called(name)} is 0 in the first block")
    for place in attending:
        if heads_kv[place] > heads[place]:
            raise UncountedError(
                f"{keys.called(name_kv)} is {heads_kv[place]:,} in block {place}, more than the "
                f"{heads[place]:,} of {keys.called(name)}"
            )
    # An array may leave some blocks without any, as those of Deci do.
    if not any(heads_kv[place] for place in attending):
        raise UncountedError(f"{keys.called(name_kv if name_kv in keys else name)} is 0")


def _lengths(keys: Keys, heads: list[int]) -> dict[bool, tuple[int, int]]:
    """Elements a head of keys and values, by whether a block has a window."""
    if not heads[0]:
        return {False: (0, 0), True: (0, 0)}
    default = keys.positive("embedding_length") // heads[0]
    key = keys.number("attention.key_length", default)
    value = keys.number("attention.value_length", default)
    window = (
        keys.number("attention.key_length_swa", key),
        keys.number("attention.value_length_swa", value),
    )
    return {False: (key, value), True: window}


def _windows(
    keys: Keys, rules: Window | None, states: list[bool], used: int
) -> tuple[int, list[bool]]:
    """Tokens of a window, and which blocks have one."""
    name, pattern = "attention.sliding_window", "attention.sliding_window_pattern"
    none = 0, [False] * used
    if rules is None or (rules.blocks and rules.blocks != used):
        return none
    case = "given" if keys.number(name, 0) else "zero" if name in keys else "missing"
    if case in rules.off:
        return none
    size = rules.fixed or keys.number(name, rules.size or None)
    if rules.all:
        return size, [not state for state in states]
    if keys.is_array(pattern):
        return size, [flag != 0 for flag in keys.each(pattern, used, [])]
    every = keys.number(pattern, rules.every) if rules.every else 0
    if not rules.every:
        raise UncountedError(f"the key {pattern} lists no blocks")
    full = 0 if rules.full_first else every - 1
    return size, [every == 0 or place % every != full for place in range(used)]


def _states(
    keys: Keys, rules: Recurrent | None, heads_kv: list[int], used: int, count: int
) -> list[bool]:
    """Which blocks have a recurrent state."""
    if rules is None:
        return [False] * used
    if rules.where in ("all", "both"):
        return [True] * used
    if rules.where == "heads":
        return [not heads for heads in heads_kv[:used]]
    if rules.where == "heads_ffn":
        forward = keys.each("feed_forward_length", count, [0] * count, exact=True)
        return [not heads_kv[place] and not forward[place] for place in range(used)]
    if "attention.recurrent_layers" in keys:
        return [flag != 0 for flag in keys.each("attention.recurrent_layers", used, [])]
    every = keys.number("full_attention_interval", rules.every) or rules.every
    return [(place + 1) % every != 0 for place in range(used)]


def _attends(keys: Keys, rules: Recurrent | None, states: list[bool], count: int) -> list[bool]:
    """Which blocks have keys and values."""
    if rules is None or rules.where == "both":
        return [True] * len(states)
    if rules.where == "heads_ffn":
        forward = keys.each("feed_forward_length", count, [0] * count, exact=True)
        return [not state and not forward[place] for place, state in enumerate(states)]
    return [not state for state in states]


def _indexed(keys: Keys, rules: Index | None, used: int) -> list[bool]:
    """Which blocks keep the keys of an indexer."""
    if rules is None or (rules.switch and not keys.number(rules.switch, 0)):
        return [False] * used
    if rules.where == "dense":
        dense = keys.number("leading_dense_block_count", 0)
        return [place >= dense for place in range(used)]
    if rules.where == "all":
        return [True] * used
    types = "attention.indexer.types"
    if types not in keys and keys.number("context_length") >= _NEWER:
        raise UncountedError(
            f"the key {types} is missing, and which blocks have an indexer is not told"
        )
    return [flag != 0 for flag in keys.each(types, used, [1] * used)]


_NEWER = 1 << 20
"""GLM models with this context or more have indexers in some blocks only."""


def _own(keys: Keys, rules: Keeps, count: int) -> int:
    """How many of the first blocks have a cache of their own."""
    if rules.own:
        return rules.own
    shared = keys.number(rules.shared, 0) if rules.shared else 0
    if shared >= count:
        raise UncountedError(f"{keys.called(rules.shared)} is {shared:,}, of {count:,} blocks")
    return count - shared
