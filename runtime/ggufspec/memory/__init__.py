"""What running a model with llama.cpp needs: weights by device, caches, recurrent states.

`describe` reads it from the header of a file, `weights` and `cache` calculate with what a
`Settings` says. Sizes are bytes. The rules of architectures are spec/memory.yaml.
"""

from __future__ import annotations

from .cache import Cache, cache
from .model import Block, Model, describe
from .settings import Settings, SettingsError
from .weights import Weights, weights

__all__ = [
    "Block",
    "Cache",
    "Model",
    "Settings",
    "SettingsError",
    "Weights",
    "cache",
    "describe",
    "weights",
]
