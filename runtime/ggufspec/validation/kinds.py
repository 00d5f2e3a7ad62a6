"""GG13: files that are no whole models, and whether they fit the model they belong to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..generated.kinds import MODALITIES, OUTPUTS, REQUIRES
from .model import KIND_OF_ARCHITECTURE, KIND_OF_TYPE, dims_text

if TYPE_CHECKING:
    from .findings import Collector
    from .model import Kind, Model

_A, _B = ".lora_a", ".lora_b"
_NORM = "_norm.weight"  # ignored in adapters
_TRANSPOSED = "token_embd.weight"  # whose halves are the other way round
_SUMS, _COUNTS = ".in_sum2", ".counts"
_DIRECTION = re.compile(r"direction\.0*[1-9][0-9]{0,8}", re.ASCII)
_PROJECTION = "mm."

Pairs = dict[str, dict[str, str]]
"""By the name that is common to both: the names of tensors by their ending."""


def check(model: Model, found: Collector) -> None:
    """Add what is wrong with a file of its kind, and with it as a part of its base."""
    _check_kind(model, found)
    if look := _LOOKS.get(model.kind):
        look(model, found)
        if not len(model.tensors):
            found.add("GG1302", path="tensors", kind=model.kind)
    if model.base is not None:
        _check_base(model, found, model.base)


def _check_kind(model: Model, found: Collector) -> None:
    key = "general.type"
    type_ = model.value(key)
    of_type = KIND_OF_TYPE.get(type_) if isinstance(type_, str) else None
    of_architecture = KIND_OF_ARCHITECTURE.get(model.architecture or "")
    differ = of_type != of_architecture and (of_architecture or of_type == "projector")
    if of_type and model.architecture and differ:
        found.add("GG1303", **model.place(key), type=type_, architecture=model.architecture)
    lacking = [name for name in REQUIRES.get(model.kind, ()) if name not in model.metadata]
    if model.kind == "projector":
        lacking += _lacking_of_projector(model)
    if lacking:
        found.add("GG1301", path="metadata", kind=model.kind, keys=lacking)


def _lacking_of_projector(model: Model) -> list[str]:
    lacking = []
    for modality in MODALITIES:
        if model.value(modality.flag) is True:
            lacking += [key for key in modality.requires if key not in model.metadata]
        elif modality.flag not in model.metadata and _count(model, modality.tensors):
            lacking.append(modality.flag)
    return lacking


def _count(model: Model, start: str) -> int:
    return sum(name.startswith(start) for name in model.tensors)


def _dims(model: Model, name: str) -> tuple[int, ...]:
    """Rows' length first, without dimensions of 1 behind the second."""
    dims = model.tensors[name].shape[::-1]
    while len(dims) > 2 and dims[-1] == 1:
        dims = dims[:-1]
    return (*dims, *[1] * (2 - len(dims)))


def _pairs(model: Model, *ends: str) -> tuple[Pairs, list[str]]:
    """Tensors by the name without one of the ends, and the names of all others."""
    pairs: Pairs = {}
    others = []
    for name in model.tensors:
        end = next((end for end in ends if name.endswith(end)), None)
        if end is None:
            others.append(name)
        else:
            pairs.setdefault(name.removesuffix(end), {})[end] = name
    return pairs, others


def _halves(pairs: Pairs) -> list[str]:
    """Tensors without the other one of their pair."""
    return [name for pair in pairs.values() if len(pair) == 1 for name in pair.values()]


def _check_adapter(model: Model, found: Collector) -> None:
    pairs, others = _pairs(model, _A, _B)
    strange = [name for name in others if not name.endswith(_NORM)]
    if strange:
        place = model.tensor_place(strange[0], "name")
        found.add("GG1311", **place, count=len(strange), tensor=strange[0])
    if halves := _halves(pairs):
        place = model.tensor_place(halves[0], "name")
        found.add("GG1312", **place, count=len(halves), tensor=halves[0])
    for name, a, b in _whole_pairs(model, pairs):
        if not name.endswith(_TRANSPOSED) and a[1] != b[0]:
            place = model.tensor_place(name + _A, "dims")
            found.add("GG1313", **place, tensor=name, a=dims_text(a), b=dims_text(b))


def _whole_pairs(
    model: Model, pairs: Pairs
) -> Iterator[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """The tensor to change, and the dimensions of both halves."""
    for name, pair in pairs.items():
        if len(pair) == 2:
            yield name, _dims(model, pair[_A]), _dims(model, pair[_B])


def _check_imatrix(model: Model, found: Collector) -> None:
    pairs, others = _pairs(model, _SUMS, _COUNTS)
    if others:
        place = model.tensor_place(others[0], "name")
        found.add("GG1324", **place, count=len(others), tensor=others[0])
    if halves := _halves(pairs):
        place = model.tensor_place(halves[0], "name")
        found.add("GG1322", **place, count=len(halves), tensor=halves[0])
    names = [name for pair in pairs.values() for name in pair.values()]
    if strange := [name for name in names if model.tensors[name].type != "F32"]:
        first = model.tensors[strange[0]]
        place = model.tensor_place(first.name, "type")
        found.add("GG1321", **place, count=len(strange), tensor=first.name, type=first.type)
    for name, pair in pairs.items():
        if len(pair) == 2:
            sums, counts = _dims(model, pair[_SUMS]), _dims(model, pair[_COUNTS])
            if len(sums) > 2 or counts != (1, sums[1]):
                place = model.tensor_place(pair[_COUNTS], "dims")
                given = dims_text(counts)
                found.add("GG1323", **place, tensor=name, sums=dims_text(sums), counts=given)


def _check_projector(model: Model, found: Collector) -> None:
    for modality in MODALITIES:
        value, count = model.value(modality.flag), _count(model, modality.tensors)
        promised = value is True and not count and not _count(model, _PROJECTION)
        if len(model.tensors) and (promised or (value is False and count)):
            found.add(
                "GG1331",
                **model.place(modality.flag),
                flag=modality.flag,
                value=str(value).lower(),
                count=count,
                prefix=modality.tensors,
            )


def _check_directions(model: Model, found: Collector) -> None:
    names: list[str] = []
    strange: list[str] = []
    for name in model.tensors:
        (names if _DIRECTION.fullmatch(name) else strange).append(name)
    if strange:
        place = model.tensor_place(strange[0], "name")
        found.add("GG1341", **place, count=len(strange), tensor=strange[0])
    length = _dims(model, names[0])[0] if names else 0
    bad = [
        name
        for name in names
        if model.tensors[name].type != "F32" or _dims(model, name) != (length, 1)
    ]
    if bad:
        first = model.tensors[bad[0]]
        found.add(
            "GG1342",
            **model.tensor_place(first.name, "dims"),
            count=len(bad),
            length=length,
            tensor=first.name,
            dims=dims_text(first.shape[::-1]),
            type=first.type,
        )


_LOOKS: dict[Kind, Callable[[Model, Collector], None]] = {
    "adapter": _check_adapter,
    "imatrix": _check_imatrix,
    "projector": _check_projector,
    "control-vector": _check_directions,
}


def _check_base(model: Model, found: Collector, base: Model) -> None:
    if base.kind not in ("model", "vocabulary"):
        found.add("GG1314", path="metadata", kind=base.kind)
    elif model.kind == "adapter":
        _check_adapted(model, found, base)
    elif model.kind == "projector":
        output = OUTPUTS.get(_projector(model))
        if output and output.tensor in model.tensors and "mm.3.weight" not in model.tensors:
            width = _dims(model, output.tensor)[output.axis]
            _check_width(model, found, base, output.tensor, width)
    elif model.kind == "control-vector":
        for name in model.tensors:
            if _DIRECTION.fullmatch(name):
                _check_width(model, found, base, name, _dims(model, name)[0])
                break
    else:
        why = f"adapters, projectors and control vectors have one, this is kind '{model.kind}'"
        found.add("GG0902", checks="whether it fits the base", why=why)


def _projector(model: Model) -> str:
    value = model.value("clip.projector_type", model.value("clip.vision.projector_type", "mlp"))
    return value if isinstance(value, str) else ""


def _check_width(model: Model, found: Collector, base: Model, tensor: str, width: int) -> None:
    wanted = base.value(f"{base.architecture}.embedding_length")
    if isinstance(wanted, int) and wanted != width:
        place = model.tensor_place(tensor, "dims")
        found.add("GG1318", **place, tensor=tensor, value=width, base=wanted)


def _check_adapted(model: Model, found: Collector, base: Model) -> None:
    own, other = model.architecture, base.architecture
    if own and other and own != other:
        found.add("GG1315", **model.place("general.architecture"), architecture=own, base=other)
    pairs, _ = _pairs(model, _A, _B)
    foreign = [name for name in pairs if name not in base.tensors]
    if foreign and len(base.tensors):
        first = next(iter(pairs[foreign[0]].values()))
        place = model.tensor_place(first, "name")
        found.add("GG1316", **place, count=len(foreign), tensor=foreign[0])
    bad = []
    for name, a, b in _whole_pairs(model, pairs):
        if name in base.tensors and not _changes(name, a, b, _dims(base, name)):
            bad.append((name, a, b))
    if bad:
        name, a, b = bad[0]
        found.add(
            "GG1317",
            **model.tensor_place(name + _A, "dims"),
            tensor=name,
            base=dims_text(_dims(base, name)),
            a=dims_text(a),
            b=dims_text(b),
            count=len(bad),
        )


def _changes(name: str, a: tuple[int, ...], b: tuple[int, ...], base: tuple[int, ...]) -> bool:
    """Whether the product of both halves has the shape of the tensor."""
    if name.endswith(_TRANSPOSED):
        return (base[0], base[1]) == (b[1], a[1])
    return (base[0], base[1]) == (a[0], b[1]) and base[2:] == a[2:] == b[2:]
