"""How a model is run."""

from __future__ import annotations

from dataclasses import dataclass

from ..generated.memory import CACHES, PADDING
from ..registry import types


class SettingsError(ValueError):
    """llama.cpp would not run a model with these settings."""


@dataclass(frozen=True)
class Settings:
    """Settings of llama.cpp, by its defaults. Lengths are tokens.

    context: of all `sequences` together. unified: they share one cache; each has its own else.
    swa_full: blocks with a sliding window keep the whole context, too. offload: so many of
    blocks and output, from the end, are on the device. offload_cache: the caches of these blocks
    are there as well.
    """

    context: int = 4096
    batch: int = 2048
    ubatch: int = 512
    sequences: int = 1
    unified: bool = False
    key_type: str = "F16"
    value_type: str = "F16"
    flash_attention: bool = True
    swa_full: bool = False
    offload: int = 0
    offload_cache: bool = True

    def __post_init__(self) -> None:
        """Raise SettingsError for what makes no sense for any model."""
        for name in (self.key_type, self.value_type):
            if name not in CACHES:
                raise SettingsError(f"{name} is no type of a cache; known: {', '.join(CACHES)}")
        for what in ("context", "batch", "ubatch", "sequences"):
            if getattr(self, what) < 1:
                raise SettingsError(f"{what} is {getattr(self, what)}; it starts at 1")
        if self.sequences > _MOST_SEQUENCES:
            raise SettingsError(f"llama.cpp has room for {_MOST_SEQUENCES} sequences")
        if not self.flash_attention and types[self.value_type].elements > 1:
            raise SettingsError(f"values in {self.value_type} need flash attention")


_MOST_SEQUENCES = 256


def padded(cells: int) -> int:
    """The next multiple of what the cells of caches come in."""
    return -(-cells // PADDING) * PADDING
