"""Model-level recipes: which tensor of a model gets which type, and why.

What llama-quantize of llama.cpp with ggml 0.25.3 does, from spec/recipes.
"""

from ..generated.recipes import FileType
from .engine import Decision, plan
from .facts import ModelFacts, model_facts
from .names import display_name, file_type, guess, visiting_order
from .patterns import Pattern, pattern_of

__all__ = [
    "Decision",
    "FileType",
    "ModelFacts",
    "Pattern",
    "display_name",
    "file_type",
    "guess",
    "model_facts",
    "pattern_of",
    "plan",
    "visiting_order",
]
