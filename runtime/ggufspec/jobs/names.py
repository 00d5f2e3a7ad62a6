"""Standard file names: taken apart, and made from what a model says and holds.

The form, of ggml's description of the format:
``[Sidecar-]BaseName[-SizeLabel[-FineTune]]-Version[-Encoding][-Type][-Shard].gguf``
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import prod
from typing import TYPE_CHECKING, Any

from ..files.shard_names import parse_shard_name, shard_name
from .errors import ConversionError

if TYPE_CHECKING:
    from ..files.reader import File
    from ..files.tensor import Tensor

SUFFIX = ".gguf"
SIDECARS = ("mmproj", "mtp")
TYPES = ("LoRA", "vocab")
UNNAMED = "ggml-model"
"""What gguf-py calls a model that has no name."""

MOST = 255
"""Bytes of a file's name on the usual file systems."""

_FIRST = re.compile(r"[A-Za-z0-9\s]+", re.ASCII)
_FURTHER = re.compile(r"[A-Za-z\s][A-Za-z0-9\s]*|[0-9\s]+", re.ASCII)
_SIZE = re.compile(r"(?:[0-9]+x)?(?:[0-9]+\.)?[0-9]+[QTBMK]")
_ATTRIBUTE = re.compile(r"[A-Za-z]+(?:[0-9]+\.)?[0-9]+[A-Za-z]+")
_VERSION = re.compile(r"v[0-9]+(?:\.[0-9]+)*")
_ENCODING = re.compile(r"(?!LoRA|vocab)\w+", re.ASCII)
_FOREIGN = re.compile(r'[/\\<>:"|?*]')
"""What not every system lets be in a name."""

_DEVICES = re.compile(r"(?:CON|PRN|AUX|NUL|(?:COM|LPT)[0-9\u00b9\u00b2\u00b3])", re.IGNORECASE)
"""Names that are no files on Windows, whatever follows a dot."""

_LEADING = "-."
"""What makes a name an option of commands, or a hidden file, where it stands first."""

_UNITS = ((1e12, 1e-12, "T"), (1e9, 1e-9, "B"), (1e6, 1e-6, "M"))


@dataclass(frozen=True)
class StandardName:
    """The parts of a file's name, "" for those that are not there; `shard` counts from 1."""

    base_name: str
    size_label: str = ""
    fine_tune: str = ""
    version: str = ""
    encoding: str = ""
    type: str = ""
    sidecar: str = ""
    shard: tuple[int, int] | None = None

    def __str__(self) -> str:
        """The file's name."""
        parts = (
            self.sidecar, self.base_name, self.size_label, self.fine_tune, self.version,
            self.encoding, self.type,
        )  # fmt: skip
        stem = "-".join(part for part in parts if part)
        return shard_name(stem, *self.shard) if self.shard else stem + SUFFIX


PARTS = tuple(field.name for field in fields(StandardName) if field.name != "shard")
"""Names of the parts that are text."""


@dataclass(frozen=True)
class ModelName:
    """The standard name of a model, and what is to be known about it."""

    name: StandardName
    notes: tuple[str, ...]


def parse_name(name: str) -> StandardName | None:
    """The parts of a standard file name; None for any other."""
    try:
        return read_name(name)
    except ValueError:
        return None


def read_name(name: str) -> StandardName:
    """The parts of a standard file name; ValueError says where it leaves the form.

    A name without SizeLabel may have one hyphen in front of its Version, as the form has it, or
    two, as the pattern published with the form asks for.
    """
    if not name.endswith(SUFFIX):
        raise ValueError(f"the name does not end in {SUFFIX}")
    shard = parse_shard_name(name)
    stem = shard.prefix if shard else name.removesuffix(SUFFIX)
    if shard and not 1 <= shard.number <= shard.count:
        raise ValueError(f"there is no file {shard.number} of {shard.count}")
    parts = stem.split("-")
    kind = parts.pop() if parts[-1] in TYPES else ""
    encoding = ""
    if len(parts) > 1 and not _VERSION.fullmatch(parts[-1]) and _VERSION.fullmatch(parts[-2]):
        encoding = parts.pop()
        if not _ENCODING.fullmatch(encoding):
            raise ValueError(f"{encoding!r:.80} cannot be an Encoding")
    if not _VERSION.fullmatch(parts[-1]):
        raise ValueError("there is no Version, such as v1.0, where one has to be")
    version = parts.pop()
    sidecar = parts.pop(0) if parts and parts[0] in SIDECARS else ""
    base, size, tune = _front(parts)
    return StandardName(
        base, size, tune, version, encoding, kind, sidecar,
        (shard.number, shard.count) if shard else None,
    )  # fmt: skip


def _front(parts: Sequence[str]) -> tuple[str, str, str]:
    """BaseName, SizeLabel and FineTune of what stands in front of the Version."""
    if not parts or not _FIRST.fullmatch(parts[0]):
        raise ValueError("there is no BaseName of letters, digits and spaces")
    end = 1
    while end < len(parts) and _FURTHER.fullmatch(parts[end]):
        end += 1
    base, rest = "-".join(parts[:end]), list(parts[end:])
    if not rest or rest == [""]:
        return base, "", ""
    size = rest.pop(0)
    if not _SIZE.fullmatch(size):
        raise ValueError(f"{size!r:.80} is neither part of a BaseName nor a SizeLabel, such as 7B")
    if rest and _ATTRIBUTE.fullmatch(rest[0]):
        size += "-" + rest.pop(0)
    for word in rest:
        if not _FIRST.fullmatch(word):
            raise ValueError(f"{word!r:.80} is no FineTune of letters, digits and spaces")
    return base, size, "-".join(rest)


def standard_name(
    *,
    name: str | None = None,
    base_name: str | None = None,
    size_label: str | None = None,
    fine_tune: str | None = None,
    version: str | None = None,
    encoding: str | None = None,
    type: str | None = None,  # noqa: A002 - the form's word
    sidecar: str | None = None,
) -> StandardName:
    """A standard name of parts, as gguf-py makes it.

    BaseName is `base_name`, else `name`, else `ggml-model`. Spaces, path separators and what
    Windows has in no name become hyphens, the Encoding upper case. A part that is missing is left
    out, the Version too.
    """
    base = base_name if base_name and base_name.strip() else name
    return StandardName(
        base_name=_tidy(base) or UNNAMED,
        size_label=_tidy(size_label),
        fine_tune=_tidy(fine_tune),
        version=_tidy(version),
        encoding=_tidy(encoding).upper(),
        type=_tidy(type),
        sidecar=_tidy(sidecar),
    )


def _tidy(text: str | None) -> str:
    return _FOREIGN.sub("-", (text or "").strip().replace(" ", "-"))


def size_label(shapes: Mapping[str, Sequence[int]]) -> str:
    """How many weights tensors have, by name and shape (NumPy's order), as gguf-py labels it.

    `8x7B` for eight experts of 7 billion weights each, those that all share counted in. "" where
    nobody can tell: without weights, and for adapters.
    """
    total = shared = each = experts = stacks = 0
    for name, shape in shapes.items():
        if name.endswith((".lora_a", ".lora_b")):
            return ""
        count = prod(shape)
        total += count
        held = _experts(name, shape)
        if held:
            each += count // held
            experts += held
            stacks += 1
        else:
            shared += count
    if not total:
        return ""
    held = experts // stacks if stacks else 0
    return f"{held}x{_rounded(shared + each)}" if held else _rounded(total)


def _experts(name: str, shape: Sequence[int]) -> int:
    """How many experts a tensor holds one behind the other; 0 for any other tensor."""
    if "_exps." not in name or len(shape) < 3:
        return 0
    return shape[-2 if ".bias" in name else -3]


def _rounded(count: int) -> str:
    """A count in its unit, with two digits at least."""
    scaled, letter = next(
        ((count * factor, letter) for least, factor, letter in _UNITS if count > least),
        (count * 1e-3, "K"),
    )
    digits = len(str(round(scaled)).lstrip("0"))
    return f"{scaled:.{max(2 - digits, 0)}f}{letter}"


def name_of_model(file: File, given: Mapping[str, str] | None = None) -> ModelName:
    """The standard name of an open model: from its metadata, and first of all its tensors.

    given: parts (of PARTS) that are known better. What a file is of (its Encoding) its tensors
    tell; `general.file_type` is believed where they do not contradict it. ConversionError for
    parts that cannot be in a file's name.
    """
    notes: list[str] = []
    tensors = list(file.tensors.values())
    said = {key: _text_of(file.metadata, f"general.{key}", notes) for key in _KEYS}
    made = standard_name(
        name=said["name"],
        base_name=said["basename"],
        size_label=said["size_label"] or size_label({t.name: t.shape for t in tensors}),
        fine_tune=said["finetune"],
        version=said["version"],
        encoding=_encoding(file.metadata.get("general.file_type"), tensors, notes),
        type=_type(said["type"], tensors),
        sidecar="mmproj" if _is_projector(file.metadata, said["type"]) else "",
    )
    made = replace(made, **_given(given or {}))
    texts = [*(given or {}).values(), *(text for key, text in said.items() if key != "type")]
    if any(_FOREIGN.search(text) for text in texts):
        notes.append(
            'characters that not all systems let be in names (/ \\ < > : " | ? *) are hyphens'
        )
    made = _led(made, notes)
    _check(made, len(file.paths))
    if made.base_name == UNNAMED:
        notes.append("the metadata have no name (general.basename, general.name)")
    try:
        same = read_name(str(made)) == made
    except ValueError as error:
        notes.append(f"readers may not be able to take the name apart: {error}")
    else:
        if not same:
            notes.append("readers will take the name apart in another way than it was put together")
    return ModelName(made, tuple(notes))


_KEYS = ("name", "basename", "size_label", "finetune", "version", "type")


def _text_of(metadata: Mapping[str, Any], key: str, notes: list[str]) -> str:
    value = metadata.get(key, "")
    if isinstance(value, str):
        return value
    notes.append(f"{key} is no text and is left out")
    return ""


def _given(given: Mapping[str, str]) -> dict[str, Any]:
    for part in given:
        if part not in PARTS:
            raise ConversionError(
                f"a name has no part {part!r:.40}", "usage", hint=f"parts are {', '.join(PARTS)}"
            )
    parts = {part: _tidy(text) for part, text in given.items()}
    return {part: text.upper() if part == "encoding" else text for part, text in parts.items()}


def _led(name: StandardName, notes: list[str]) -> StandardName:
    """The name, with a letter or so in front."""
    bare = replace(
        name, sidecar=name.sidecar.lstrip(_LEADING), base_name=name.base_name.lstrip(_LEADING)
    )
    if not str(name).startswith(tuple(_LEADING)) or not bare.base_name:
        return name
    notes.append(f"the name would begin with {str(name)[0]!r}, which is left out")
    return bare if name.sidecar else replace(name, base_name=bare.base_name)


def _check(name: StandardName, files: int) -> None:
    """ConversionError for what cannot be the name of a file, or of one of so many files."""
    text = str(replace(name, shard=(files, files) if files > 1 else None))
    bad = next((character for character in text if not character.isprintable()), None)
    if bad is not None:
        raise ConversionError(
            f"a file's name cannot have the character {bad!r}", "data",
            hint="--set gives a part another text",
        )  # fmt: skip
    if not name.base_name.strip("-."):
        raise ConversionError("the BaseName has neither letters nor digits", "data",
                              hint="--set base_name=... gives one")  # fmt: skip
    if _DEVICES.fullmatch(text.partition(".")[0].rstrip()):
        raise ConversionError(
            f"Windows takes {text.partition('.')[0]} for a device, not for a file", "data",
            hint="--set gives a part another text",
        )  # fmt: skip
    size = len(text.encode())
    if size > MOST:
        raise ConversionError(
            f"the name would have {size} bytes of at most {MOST}: {text:.40}...", "data",
            hint="--set gives a part another text",
        )  # fmt: skip


def _type(said: str, tensors: Sequence[Tensor]) -> str:
    if said == "adapter":
        return "LoRA"
    return "" if tensors else "vocab"


def _is_projector(metadata: Mapping[str, Any], said: str) -> bool:
    return said == "mmproj" or metadata.get("general.architecture") == "clip"


def _encoding(number: Any, tensors: Iterable[Tensor], notes: list[str]) -> str:
    """The file type by name where the tensors are of it, else the type of most weights."""
    from ..generated.recipes import FILE_TYPES, GUESS

    weights: Counter[str] = Counter()
    for tensor in tensors:
        weights[tensor.type] += prod(tensor.shape)
    if not weights:
        return ""
    most = weights.most_common(1)[0][0]
    stated = number & ~GUESS.bit if isinstance(number, int) and number >= 0 else None
    kind = next((one for one in FILE_TYPES if one.id is not None and one.id == stated), None)
    if kind is not None and (kind.type or kind.name) in weights:
        return kind.name
    if number is not None:
        said = kind.name if kind else f"{number!r:.40}"
        notes.append(
            f"general.file_type says {said}, which no tensor is of: most weights are {most}"
        )
    return most
