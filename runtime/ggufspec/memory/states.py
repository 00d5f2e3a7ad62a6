"""Recurrent states: what a block remembers of a sequence, however long it is."""

from __future__ import annotations

from .keys import Keys, UncountedError

BYTES = 4
"""States are FLOAT32."""


_LIGHTNING = ("minimax-01",)
"""Architectures whose states need no key but those of attention."""

_NEEDED = {
    **dict.fromkeys(("rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"), "wkv.head_size"),
    **dict.fromkeys(("lfm2", "lfm2moe"), "shortconv.l_cache"),
    **dict.fromkeys(("kimi-linear", "kimi-k3", "bailingmoe3"), "kda.head_dim"),
}
"""The key that tells of the states of an architecture; of all others it is ssm.inner_size."""


def state_elements(keys: Keys, heads: int) -> int:
    """Elements a sequence of one block: the end of its convolution's input, and its state.

    heads: those of attention in the first block. Which form it is the keys tell: RWKV, short
    convolution, delta attention, lightning attention, or state space. UncountedError where they
    do not tell it.
    """
    if keys.architecture not in _LIGHTNING:
        keys.positive(_NEEDED.get(keys.architecture, "ssm.inner_size"))
    elements = _elements(keys, heads)
    if not elements:
        raise UncountedError(f"a recurrent state of {keys.architecture} would have no elements")
    return elements


def _elements(keys: Keys, heads: int) -> int:
    embedding = keys.positive("embedding_length")
    if head := keys.number("wkv.head_size", 0):
        return keys.number("token_shift_count", 2) * embedding + embedding * head
    if length := keys.number("shortconv.l_cache", 0):
        return embedding * (length - 1)
    kernel = keys.number("ssm.conv_kernel", 0)
    if head := keys.number("kda.head_dim", 0):
        rows = kernel - 1 if kernel else 3
        return 3 * rows * heads * head + head * head * heads
    inner = keys.number("ssm.inner_size", 0)
    if not inner:  # lightning attention
        return keys.number("attention.key_length", embedding // max(heads, 1)) ** 2 * heads
    state, rows = keys.positive("ssm.state_size"), keys.positive("ssm.conv_kernel") - 1
    groups = keys.number("ssm.group_count", 0)
    return rows * (inner + 2 * groups * state) + state * inner
