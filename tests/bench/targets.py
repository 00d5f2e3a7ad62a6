"""What quantizing should reach, as times ggml's speed, and what limits it, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """The least and a good ratio to ggml; None where nothing is called good."""

    minimum: float
    good: float | None


OF_MEMORY = 0.7
"""A simple type that moves its bytes at this share of plain loads and stores is fast enough."""

_SEARCHED = Target(5, 8)
_SIMPLE = Target(2, None)

_BOTH = {
    **dict.fromkeys(("IQ4_NL", "IQ4_XS"), Target(10, 25)),
    "IQ2_XS": Target(8, 16),
    "IQ2_XXS": Target(6, 9),
    "IQ2_S": Target(4, 7),
    "IQ3_S": Target(4.5, 7),
    "IQ3_XXS": Target(4, 6),
    "IQ1_S": Target(5, 8),
    "IQ1_M": Target(4, 6),
    **dict.fromkeys(("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"), _SEARCHED),
}
_PLAIN = {"Q3_K": Target(3, 4.5)}
_WEIGHTED = dict.fromkeys(("Q4_0", "Q4_1", "Q5_0", "Q5_1"), _SEARCHED)


def target(name: str, *, weighted: bool) -> Target:
    """The target of a type without or with an importance."""
    return (_WEIGHTED if weighted else _PLAIN).get(name) or _BOTH.get(name, _SIMPLE)


@dataclass(frozen=True)
class Published:
    """MB/s that a ggml newer than the oracle reached on another machine.

    ``beside_rate`` is what the oracle reached there with another type: that carries the figure
    over to this machine.
    """

    rate: float
    beside: str
    beside_rate: float


PUBLISHED = {"IQ1_M": Published(20.0, "IQ1_S", 22.0)}
"""ggml 0.25.3; the oracle, 0.20.2, has an older, slower search with other bytes."""

MEMORY = "memory"


def limit(name: str, *, weighted: bool, of_memory: float) -> str:
    """What takes most of the time: memory by this run's measure, else by a profile."""
    if of_memory >= OF_MEMORY:
        return MEMORY
    return (_WEIGHTED_LIMITS if weighted else {}).get(name) or _LIMITS.get(name, _FIRST_READ)


# Shares of samples (perf, AMD Zen 3, AVX2), by the function that was inlined.
_FIRST_READ = "reading the floats"
"""The look for numbers that are not finite, which brings them into cache: 35 to 49 %."""
_TRIALS = "search: trial scales"
"""symmetric_fit 68 to 74 %, affine_fit 70 to 77 %."""
_ROWS = "search: nearest rows of the grid"
"""eight_rows, _nearest, _least and _distances 60 to 70 %; three_lines_of to three_rows 50 %."""

_LIMITS = {
    **dict.fromkeys(("Q2_K", "Q4_K", "Q5_K", "Q6_K"), _TRIALS),
    "Q3_K": "search: sweeps",  # of one run in five, 24 %; then the first read
    **dict.fromkeys(("IQ4_NL", "IQ4_XS"), "search: trial scales, nearest values"),  # 45 %, 30 %
    **dict.fromkeys(("IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"), _ROWS),
    **dict.fromkeys(("IQ1_S", "IQ1_M"), "search: splits"),  # 45 %
    **dict.fromkeys(("MXFP4", "NVFP4"), "encoding: nearest values"),  # 54 %, 38 %
    "Q8_K": "encoding: sums of levels",  # 48 %
    "Q1_0": "encoding: sums in order",  # 45 %
}
_WEIGHTED_LIMITS = dict.fromkeys(("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q3_K"), _TRIALS)
