"""What the spec says about a type's quantizer; generated/quantizers.py holds the values.

The names of the classes are those of the strategies, and the C structs have the same members.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Rule = Literal["magnitude", "rms_plus_magnitude", "square", "importance", "importance_rms"]
MeanOver = Literal["none", "block", "row"]
Error = Literal["square", "magnitude"]
Scales = Literal["largest", "search"]

HALF_MAX = 65504.0
BFLOAT_MAX = (2 - 2**-7) * 2.0**127
FLOAT_MAX = (2 - 2**-23) * 2.0**127


@dataclass(frozen=True)
class Convert:
    """Each element by its own, rounded to nearest even."""

    scalar: Literal["f32", "f16", "bf16"]

    @property
    def limit(self) -> float:
        """The largest magnitude that is sure to be stored finite."""
        return HALF_MAX if self.scalar == "f16" else BFLOAT_MAX


@dataclass(frozen=True)
class Absmax:
    """The element of largest magnitude takes level zero +- reach, the others the nearest.

    Levels beyond the code are brought to 0..top (``clamp``) or keep their low byte.
    """

    elements: int
    reach: int
    zero: int
    top: int
    clamp: bool
    sum: bool

    @property
    def limit(self) -> float:
        """The largest magnitude whose scale (and sum of scaled levels) a half holds."""
        return HALF_MAX if self.sum else HALF_MAX * self.reach


@dataclass(frozen=True)
class SignedAbsmax:
    """The first element of largest magnitude takes level 0; ``zero`` means 0."""

    elements: int
    zero: int
    top: int

    @property
    def limit(self) -> float:
        """The largest magnitude whose scale a half holds."""
        return HALF_MAX * self.zero


@dataclass(frozen=True)
class ReciprocalAbsmax:
    """The first element of largest magnitude takes level -reach; ``sums`` sums of levels."""

    elements: int
    reach: int
    sums: int

    @property
    def limit(self) -> float:
        """Every float32 has a scale."""
        return FLOAT_MAX


@dataclass(frozen=True)
class MeanSign:
    """A bit an element, its sign; the scale is the mean magnitude."""

    elements: int

    @property
    def limit(self) -> float:
        """The largest magnitude of a single element whose mean a half holds."""
        return HALF_MAX * self.elements


@dataclass(frozen=True)
class MinMax:
    """The smallest element takes level 0, the largest the top level."""

    elements: int
    top: int

    @property
    def limit(self) -> float:
        """The largest magnitude of an offset that a half holds."""
        return HALF_MAX


@dataclass(frozen=True)
class NearestValue:
    """The nearest of the codebook ``values`` times a scale for each sub-block.

    ``rule`` says how the largest magnitude gives the scale's code: floor(log2) plus
    ``number``, or divided by ``number`` and rounded; ``scales`` are the values of the codes.
    """

    sub_blocks: int
    length: int
    values: str
    scales: str
    rule: Literal["floor_log2", "half_up_one_bit"]
    number: int

    @property
    def limit(self) -> float:
        """Every float32 has a scale."""
        return FLOAT_MAX


@dataclass(frozen=True)
class AffineSearch:
    """x = scale * level + offset for levels 0..top, of least weighted error.

    Trial t = 0..steps takes ``top + start + t * step`` steps for the range of the block.
    """

    length: int
    top: int
    weights: Rule
    mean_over: MeanOver
    mean_times: int
    start: float
    step: float
    steps: int
    error: Error

    @property
    def limit(self) -> float:
        """About the largest magnitude whose offset and scale halves hold."""
        return HALF_MAX


@dataclass(frozen=True)
class NestedAffineSearch:
    """``sub_blocks`` of ``length`` elements: x = d * sub_scale * level - dmin * sub_minimum.

    Levels are 0..top, codes of scales and minimums 0..sub_top; each sub-block is searched as
    in AffineSearch. ``spill`` says what becomes of a
    searched scale's code that is larger.
    """

    sub_blocks: int
    length: int
    top: int
    sub_top: int
    weights: Rule
    mean_over: MeanOver
    mean_times: int
    start: float
    step: float
    steps: int
    error: Error
    scales: Scales
    spill: Literal["none", "top", "later", "minimum"]

    @property
    def limit(self) -> float:
        """About the largest magnitude whose minimum and scale halves hold."""
        return HALF_MAX * self.sub_top


@dataclass(frozen=True)
class SymmetricSearch:
    """x = scale * (level - zero) for levels 0..2 * zero - 1, of least weighted squares."""

    length: int
    zero: int
    weights: Rule
    mean_over: MeanOver
    mean_times: int

    @property
    def limit(self) -> float:
        """About the largest magnitude whose scale a half holds."""
        return HALF_MAX * self.zero


@dataclass(frozen=True)
class NestedSymmetricSearch:
    """``sub_blocks`` of ``length`` elements: x = d * (sub_scale - scale_zero) * (level - zero).

    ``search``: trial scales, or sweeps over single levels. A block whose scales are all
    smaller in magnitude than ``empty`` is all zeros.
    """

    sub_blocks: int
    length: int
    zero: int
    scale_reach: int
    scale_zero: int
    weights: Rule
    mean_over: MeanOver
    mean_times: int
    search: Literal["trials", "sweeps"]
    scales: Scales
    empty: float

    @property
    def limit(self) -> float:
        """About the largest magnitude whose scale a half holds."""
        return HALF_MAX * self.scale_reach * self.zero


@dataclass(frozen=True)
class CodebookSearch:
    """x = scale * value[level], or d * (sub_scale - scale_reach) * value[level].

    ``values`` is an ascending codebook; ``scale_reach`` is 0 for blocks with one scale only.
    """

    sub_blocks: int
    length: int
    values: str
    scale_reach: int
    weights: Rule
    mean_over: MeanOver
    mean_times: int
    trials: int

    @property
    def limit(self) -> float:
        """About the largest magnitude whose scale a half holds."""
        return HALF_MAX * max(1, self.scale_reach) * 100


@dataclass(frozen=True)
class GridSearch:
    """x = sign * d * (2 * sub_scale + 1) * (2 * level + 1), levels being rows of a grid.

    ``sub_blocks`` of ``length`` elements, in groups of ``group`` that are one row each. Levels
    that are no row may become any at one of the ``distances`` smallest distances. With
    ``even_signs`` the last of 8 signs is such that their product is positive.

    ``weights`` "square_plus_mean" adds ``mean_share`` of the mean square (``mean_times`` it) to
    the square. Trial t = -reach..reach divides the largest magnitude into top + t * step steps
    for the top level's odd number; with a ``first_top`` the scale that a positive search finds
    for codes up to it stands for the largest magnitude. ``empty`` sub-blocks have a largest
    magnitude that is 0 or smaller.

    ``refine`` says which groups get levels anew from the scale found: all; all if one was off
    the grid; those off the grid. ``untried_on_grid`` is what they count as without any trial.

    ``fudge`` multiplies the stored scale. The low ``shifted_bits`` of row numbers, and signs,
    move up over empty sub-blocks, as ggml writes them; and a block whose scales are all 0 keeps
    its rows and signs (``keep_scaleless``), or is all zeros.
    """

    sub_blocks: int
    length: int
    grid: str
    group: int
    levels: int
    distances: int
    even_signs: bool
    scale_top: int
    weights: Literal["square", "square_plus_mean", "importance_rms"]
    mean_times: int
    mean_share: float
    first_top: int
    reach: int
    step: float
    empty: float
    refine: Literal["always", "if_off_grid", "where_off_grid"]
    untried_on_grid: bool
    fudge: float
    shifted_bits: int
    keep_scaleless: bool

    @property
    def limit(self) -> float:
        """About the largest magnitude whose scale a half holds."""
        return HALF_MAX * self.scale_top * self.levels


@dataclass(frozen=True)
class TernaryGrid:
    """x = d * (2 * sub_scale + 1) * (level +- shift) for levels -1, 0, 1, rows of a grid.

    ``sub_blocks`` of ``length`` elements, in groups of ``group`` that are one row each. Levels
    that are no row may become any at one of the ``distances`` smallest distances. With the
    ``sums`` "spans" a sub-block has one shift, up or down; with "totals" each half has its own.
    A sub-block whose largest magnitude is below ``empty`` is all zeros. ``fit`` says whether
    the block's scale is fitted anew to all of it; ``fudge`` multiplies what is stored.
    """

    sub_blocks: int
    length: int
    grid: str
    group: int
    distances: int
    shift: float
    sums: Literal["spans", "totals"]
    weights: Rule
    mean_over: MeanOver
    mean_times: int
    empty: float
    scale_top: int
    fit: Literal["largest", "block"]
    fudge: float

    @property
    def limit(self) -> float:
        """About the largest magnitude whose scale a half holds."""
        return HALF_MAX * self.scale_top


Recipe = (
    Convert
    | Absmax
    | SignedAbsmax
    | ReciprocalAbsmax
    | MeanSign
    | MinMax
    | NearestValue
    | AffineSearch
    | NestedAffineSearch
    | SymmetricSearch
    | NestedSymmetricSearch
    | CodebookSearch
    | GridSearch
    | TernaryGrid
)


@dataclass(frozen=True)
class Quantizer:
    """How a type is quantized without (``plain``) and with (``weighted``) an importance.

    ``equals`` names the reference whose bytes these are; ``roles`` says in which field or
    code of the type the strategy's numbers are stored.
    """

    equals: str
    roles: Mapping[str, str]
    plain: Recipe | None
    weighted: Recipe | None

    def recipe(self, weighted: bool) -> Recipe:
        """The recipe that runs; a type without a weighted one ignores the importance."""
        recipe = self.weighted if weighted and self.weighted else self.plain
        assert recipe is not None, "checked before"
        return recipe
