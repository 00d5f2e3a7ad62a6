"""Recurrent states: what a block remembers of a sequence, however long it is."""

from __future__ import annotations

from .keys import Keys

BYTES = 4
"""States are FLOAT32."""


def state_elements(keys: Keys, heads: int) -> int:
    """Elements a sequence of one block: the end of its convolution's input, and its state.

    heads: those of attention in the first block. Which form it is the keys tell: RWKV, short
    convolution, delta attention, lightning attention, or state space.
    """
    embedding = keys.number("embedding_length")
    if head := keys.number("wkv.head_size", 0):
        return keys.number("token_shift_count", 2) * embedding + embedding * head
    if length := keys.number("shortconv.l_cache", 0):
        return embedding * (length - 1)
    kernel = keys.number("ssm.conv_kernel", 0)
    if head := keys.number("kda.head_dim", 0):
        rows = kernel - 1 if kernel else 3
        return 3 * rows * heads * head + head * head * heads
    inner, state = keys.number("ssm.inner_size", 0), keys.number("ssm.state_size", 0)
    if not inner:  # lightning attention
        return keys.number("attention.key_length", embedding // max(heads, 1)) ** 2 * heads
    groups = keys.number("ssm.group_count", 0)
    rows = max(kernel - 1, 0)
    return rows * (inner + 2 * groups * state) + state * inner
