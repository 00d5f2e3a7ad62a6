"""Where llama.cpp puts the weights."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ..generated.memory import EACH, FIRST, HOST
from .keys import MOST_BLOCKS

if TYPE_CHECKING:
    from ..files.tensor import Tensor
    from .model import Model

_BLOCK = re.compile(r"(?:enc\.|dec\.)?blk\.([0-9]{1,9})\.", re.ASCII)
_TIED = "token_embd.weight"
_OUTPUT = "output.weight"


@dataclass(frozen=True)
class Weights:
    """Bytes of tensors by where they belong.

    host: never offloaded. each: on every device with blocks. output: at the end, without what is
    `tied`: the token embedding, of which an offloaded output needs a copy. blocks: a number each.
    """

    host: int
    each: int
    output: int
    tied: int
    blocks: tuple[int, ...]

    @property
    def total(self) -> int:
        """All tensors of the file."""
        return self.host + self.each + self.output + sum(self.blocks)

    def on_device(self, offload: int) -> int:
        """Bytes on the device when `offload` of blocks and output are there.

        The output goes first, then the last block, and so on: llama.cpp counts blocks + 1.
        """
        if not offload:
            return 0
        blocks = self._offloaded(offload)
        each = self.each if blocks else 0
        return sum(blocks) + self.output + self.tied + each

    def on_host(self, offload: int) -> int:
        """Bytes on the host then."""
        kept = len(self.blocks) - len(self._offloaded(offload))
        each = self.each if kept or not self.blocks else 0
        return self.host + sum(self.blocks[:kept]) + each + (0 if offload else self.output)

    def _offloaded(self, offload: int) -> tuple[int, ...]:
        start = max(len(self.blocks) + 1 - offload, 0) if offload else len(self.blocks)
        return self.blocks[start:]


def weights(tensors: Iterable[Tensor], model: Model) -> Weights:
    """The tensors of `model` by where they go."""
    host = each = output = 0
    blocks = [0] * min(model.count, MOST_BLOCKS)
    sizes = {_TIED: 0, _OUTPUT: 0}
    for tensor in tensors:
        name, size = tensor.name, tensor.nbytes
        if name in sizes:
            sizes[name] = size
        block = _BLOCK.match(name)
        if block and int(block[1]) < len(blocks):
            blocks[int(block[1])] += size
        elif _is_one(name, HOST):
            host += size
        elif _is_one(name, EACH):
            each += size
        elif _is_one(name, FIRST) and blocks:
            blocks[0] += size
        else:
            output += size
    is_tied = model.has_logits and not sizes[_OUTPUT]
    return Weights(host, each, output, sizes[_TIED] if is_tied else 0, tuple(blocks))


def _is_one(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
