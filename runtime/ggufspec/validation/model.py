"""What the checks of meaning look at: a file, or a whole set, whose structure can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..files.reader import File
from ..files.values import architecture_of

if TYPE_CHECKING:
    from ..files.metadata import Metadata
    from ..files.part import Part
    from ..files.tensor import Tensor, Tensors

Kind = Literal["model", "vocabulary", "adapter", "projector", "imatrix", "control-vector"]

KIND_OF_TYPE: Mapping[str, Kind] = {
    "adapter": "adapter",
    "mmproj": "projector",
    "imatrix": "imatrix",
}
KIND_OF_ARCHITECTURE: Mapping[str, Kind] = {"clip": "projector", "controlvector": "control-vector"}
_KIND_OF_KEY: Mapping[str, Kind] = {"adapter.type": "adapter", "imatrix.chunk_count": "imatrix"}


@dataclass(frozen=True)
class Model:
    """Keys are those of the first file, tensors those of all; see `File` for their values.

    `kind` follows from `general.type`, the architecture and what there is; `architecture` is
    None where the key is missing or no text. `base` is the model that an adapter or projector
    shall fit, if one is given; `threads` the processors that a check may use (None: all);
    `advance` wants to be told how many bytes of tensor data have been looked at.
    """

    file: File
    kind: Kind
    architecture: str | None
    base: Model | None = field(default=None, repr=False)
    threads: int | None = None
    advance: Callable[[int], object] = field(default=lambda _: None, repr=False)

    @property
    def metadata(self) -> Metadata:
        """Values by key, made when asked for."""
        return self.file.metadata

    @property
    def tensors(self) -> Tensors:
        """Tensors by name; `whole` is False for one whose size cannot be known."""
        return self.file.tensors

    def value(self, key: str, default: Any = None) -> Any:
        """The value of a key: bool, int, float, str (bytes if not UTF-8), or an array."""
        return self.metadata.get(key, default)

    def type(self, key: str) -> str | None:
        """`UINT32`, `ARRAY[STRING]`; None for a key that the file does not have."""
        return self.metadata.type_of(key) if key in self.metadata else None

    def offset(self, key: str) -> int | None:
        """The byte of the first file at which a key's value starts; None without the key."""
        return self.metadata.stored(key).offset if key in self.metadata else None

    def path(self, key: str) -> str:
        """The place of a key's value, `metadata[3].value`; `metadata` without the key."""
        return f"metadata[{self.metadata.row(key)}].value" if key in self.metadata else "metadata"

    def place(self, key: str) -> dict[str, Any]:
        """Offset and path of a key's value, for `Collector.add(..., **model.place(key))`."""
        return {"offset": self.offset(key), "path": self.path(key)}

    def key_place(self, key: str) -> dict[str, Any]:
        """Offset and path of the key itself, which the file must have."""
        row = self.metadata.row(key)
        offset = self.file.parts[0].scan.keys.key_offset[row]
        return {"offset": offset, "path": f"metadata[{row}].key"}

    def tensor_place(self, name: str, info: str = "") -> dict[str, Any]:
        """File, offset and path of a tensor's info, for `Collector.add` as well.

        info: the part of it that is to blame: `name`, `dims`, `type`, `offset`.
        """
        part, row = self.tensors.place(name)
        path = f"tensors[{row}]" + (f".{info}" if info else "")
        return {"shard": part.number, "offset": part.scan.tensors.start[row], "path": path}

    def data_place(self, tensor: Tensor, byte: int = 0) -> dict[str, Any]:
        """File, offset and path of a byte of a tensor's data."""
        _, row = self.tensors.place(tensor.name)
        return {
            "shard": tensor.shard,
            "offset": tensor.file_offset + byte,
            "path": f"tensors[{row}].data",
        }


def model_of(parts: Sequence[Part], profile: str, **rest: Any) -> Model | None:
    """The model that the files are; None where damage leaves keys or tensors that are not known.

    rest: `base`, `threads` and `advance` of the `Model`.
    """
    if not all(part.scan.whole for part in parts):
        return None
    file = File(list(parts), profile)
    kind = kind_of(file.metadata, len(file.tensors))
    return Model(file, kind, architecture_of(file.metadata), **rest)


def kind_of(metadata: Mapping[str, Any], tensors: int) -> Kind:
    """What a file says it is; one with a vocabulary and no tensors is that vocabulary."""
    said, architecture = metadata.get("general.type"), architecture_of(metadata)
    if isinstance(said, str) and said in KIND_OF_TYPE:
        return KIND_OF_TYPE[said]
    if architecture is not None and architecture in KIND_OF_ARCHITECTURE:
        return KIND_OF_ARCHITECTURE[architecture]
    for key, kind in _KIND_OF_KEY.items():
        if key in metadata:
            return kind
    if not tensors and "tokenizer.ggml.tokens" in metadata:
        return "vocabulary"
    return "model"


def dims_text(dims: Sequence[int | None]) -> str:
    """Dimensions in a message; None stands for any."""
    return ", ".join("any" if dim is None else str(dim) for dim in dims)


def undecodable(tensor: Tensor) -> str:
    """Why the data of tensors like this one cannot be decoded; empty where they can be."""
    kind, choice = tensor.kind, tensor.part.choice
    if kind is None or not kind.elements or kind.status in ("sized", "named"):
        return "the layout of their types is unknown"
    if choice and tensor.type_id in choice.disputed:
        return "the dialects disagree about the layout of their types"
    if not tensor.whole:
        return "their rows are no whole blocks of their types"
    if tensor.file_offset + tensor.nbytes > tensor.part.source.size:
        return "the file ends before their data do"
    return ""
