"""Writes the codebooks of this folder from the numbers in the installed ``gguf`` package.

Run by hand when ggml changes a codebook; the numbers are data of ggml (MIT, see LICENSE).
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gguf import quants

GRIDS = {
    "iq2xxs_grid": (quants.IQ2_XXS, "magnitudes of 8 elements, IQ2_XXS"),
    "iq2xs_grid": (quants.IQ2_XS, "magnitudes of 8 elements, IQ2_XS"),
    "iq2s_grid": (quants.IQ2_S, "magnitudes of 8 elements, IQ2_S"),
    "iq3xxs_grid": (quants.IQ3_XXS, "magnitudes of 4 elements, IQ3_XXS"),
    "iq3s_grid": (quants.IQ3_S, "magnitudes of 4 elements, IQ3_S"),
    "iq1s_grid": (quants.IQ1_S, "ternary values of 8 elements, IQ1_S and IQ1_M"),
}
LISTS = {
    "kvalues_mxfp4": (quants.MXFP4.kvalues, "2 * E2M1, index 8 is plain 0; MXFP4 and NVFP4"),
    "kvalues_iq4nl": (quants.IQ4_NL.kvalues, "non-linear 4-bit levels; IQ4_NL and IQ4_XS"),
    "ksigns": (
        np.frombuffer(quants.IQ2_XXS.ksigns, np.uint8),
        "8 sign bits from a 7-bit index: bit 7 makes the number of ones even",
    ),
}


def _head(name: str, doc: str, data: npt.NDArray[Any]) -> str:
    digest = hashlib.sha256(data.astype(np.int16).astype(np.uint8).tobytes()).hexdigest()
    shape = ", ".join(map(str, data.shape))
    return f'name: {name}\ndoc: "{doc}"\nshape: [{shape}]\nsha256: {digest}\n'


def _grid_text(name: str, source: Any, doc: str) -> str:
    source.init_grid()
    grid = source.grid.reshape(source.grid_shape)
    values = sorted({int(value) for value in grid.flat})
    rows = ["".join(str(values.index(int(value))) for value in row) for row in grid]
    lines = [" ".join(rows[start : start + 10]) for start in range(0, len(rows), 10)]
    body = "".join(f"  {line}\n" for line in lines)
    return f"{_head(name, doc, grid)}values: {values}\nrows: |\n{body}"


def _list_text(name: str, values: Any, doc: str) -> str:
    data = np.asarray(values)
    numbers = [str(int(value)) for value in data]
    lines = [", ".join(numbers[start : start + 16]) for start in range(0, len(numbers), 16)]
    return f"{_head(name, doc, data)}data: [\n  " + ",\n  ".join(lines) + "]\n"


def texts() -> dict[str, str]:
    """File name to content, for every codebook."""
    grids = {name: _grid_text(name, source, doc) for name, (source, doc) in GRIDS.items()}
    lists = {name: _list_text(name, values, doc) for name, (values, doc) in LISTS.items()}
    return {f"{name}.yaml": text for name, text in {**grids, **lists}.items()}


if __name__ == "__main__":
    for file, text in texts().items():
        (Path(__file__).parent / file).write_text(text, encoding="utf-8")
