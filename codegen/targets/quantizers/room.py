"""How large a block may be that a strategy quantizes: its C form has buffers of these sizes.

The constants stand in headers of runtime/c/strategies; the generated C asserts that they are
what they are here.
"""

from __future__ import annotations

from collections.abc import Mapping

HEADERS: Mapping[str, Mapping[str, int]] = {
    "absmax": {"ABSMAX_ELEMENTS": 256},
    "signed_absmax": {"SIGNED_ABSMAX_ELEMENTS": 32},
    "reciprocal_absmax": {"RECIPROCAL_ELEMENTS": 256, "RECIPROCAL_SUMS": 16},
    "mean_sign": {"MEAN_SIGN_ELEMENTS": 128},
    "min_max": {"MIN_MAX_ELEMENTS": 32},
    "nearest_value": {"NEAREST_VALUES": 16, "NEAREST_SUB_BLOCKS": 4, "NEAREST_ELEMENTS": 64},
    "flight": {"MOST_LENGTH": 32, "MOST_SUB_BLOCKS": 16, "MOST_ELEMENTS": 256},
    "symmetric": {"SWEEP_LENGTH": 16},
    "codebook_search": {"CODEBOOK": 16, "TRIALS": 16},
    "grid_search": {"THREE_TRIALS": 24, "EIGHT_TRIALS": 32},
    "ternary_grid_rows": {"MOST_ROWS": 2048},
}

CONSTANTS = {name: value for header in HEADERS.values() for name, value in header.items()}

RUN = 16
"""Every run of elements is a multiple of so many: two vectors of the widest lanes."""

_RUNS = {"elements": "MOST_ELEMENTS", "sub_blocks": "MOST_SUB_BLOCKS", "length": "MOST_LENGTH"}

ROOM: Mapping[str, Mapping[str, str]] = {
    "convert": {},
    "absmax": {"elements": "ABSMAX_ELEMENTS"},
    "signed_absmax": {"elements": "SIGNED_ABSMAX_ELEMENTS"},
    "reciprocal_absmax": {"elements": "RECIPROCAL_ELEMENTS", "sums": "RECIPROCAL_SUMS"},
    "mean_sign": {"elements": "MEAN_SIGN_ELEMENTS"},
    "min_max": {"elements": "MIN_MAX_ELEMENTS"},
    "nearest_value": {"elements": "NEAREST_ELEMENTS", "sub_blocks": "NEAREST_SUB_BLOCKS"},
    "affine_search": {"length": "MOST_LENGTH"},
    "symmetric_search": {"length": "MOST_LENGTH"},
    "nested_affine_search": _RUNS,
    "nested_symmetric_search": _RUNS,
    "codebook_search": _RUNS,
    "grid_search": _RUNS,
    "ternary_grid": _RUNS,
}
"""The sizes of a strategy's block that have a largest value."""

_WORDS = {
    "elements": "elements",
    "sub_blocks": "sub-blocks",
    "length": "elements a sub-block",
    "sums": "sums",
}


def fault(strategy: str, sizes: Mapping[str, object], elements: int) -> str | None:
    """Why a strategy cannot quantize a block with these constants; None if it can."""
    run = sizes.get("length", elements)
    assert isinstance(run, int)
    if strategy != "convert" and run % RUN:
        return f"{strategy} takes runs of {RUN}, 32, ... elements, not of {run}"
    for name, constant in ROOM[strategy].items():
        size, most = {"elements": elements, **sizes}[name], CONSTANTS[constant]
        assert isinstance(size, int)
        if size > most:
            return f"{size} {_WORDS[name]} are too many for {strategy}; at most {most}"
    return None
