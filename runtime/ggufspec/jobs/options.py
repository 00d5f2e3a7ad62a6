"""What can be asked of a quantization, apart from the file type."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..files.values import Value

Override = tuple[str, Value]


@dataclass(frozen=True)
class Options:
    """Everything that changes the bytes of the output; the defaults are those of llama-quantize.

    pure: every tensor that allows it gets the file type's own type, without the mixture.
    allow_requantize: take tensors that are quantized already. leave_output: output.weight stays.
    output_type, token_embedding_type: types of these tensors. tensor_types: pairs of a regular
    expression and a type; the first that is found in a tensor's name counts.
    fallback: rows that are no whole blocks of their type get another type; False refuses.

    prune: layers to leave out. keep_split: as many files as the input has. overrides: keys and
    values of the output's metadata.

    imatrix: the path of an importance matrix, stored as given. include, exclude: use only (or
    all but) its entries whose name contains one of these words. fix_imatrix: blocks of weights
    without any importance get ones.

    non_finite, clamp_scales: as in `ggufspec.quantize`.
    """

    pure: bool = False
    allow_requantize: bool = False
    leave_output: bool = False
    output_type: str | None = None
    token_embedding_type: str | None = None
    tensor_types: tuple[tuple[str, str], ...] = ()
    fallback: bool = True
    prune: tuple[int, ...] = ()
    keep_split: bool = False
    overrides: tuple[Override, ...] = ()
    imatrix: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    fix_imatrix: bool = False
    non_finite: Literal["error", "zero"] = "error"
    clamp_scales: bool = False

    def record(self) -> dict[str, Any]:
        """What differs from the defaults, in the terms of JSON."""
        default = asdict(Options())
        own = {name: value for name, value in asdict(self).items() if value != default[name]}
        if self.overrides:
            own["overrides"] = [[key, kv.type, repr(kv.value)] for key, kv in self.overrides]
        return own
