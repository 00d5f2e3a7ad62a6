"""Hashing a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...blocks.kernels import at_most_processors
from ...files.arrays import Form
from ...files.encode import Encoder
from ..errors import ConversionError
from ..unchanged import unchanged
from .algorithms import Algorithm, find_algorithm
from .hashes import FileHashes, Hashes, KeyHashes, TensorHashes
from .lanes import CHUNK, DataLane, FileLane, Lane, Piece, TensorLane, run

if TYPE_CHECKING:
    from ...files.encode import Piece as Bytes
    from ...files.metadata import Metadata
    from ...files.part import Part
    from ...files.reader import File
    from ...files.tensor import Tensor

LEFT_OUT = (".attention.masked_bias", ".attention.bias", ".rotary_emb.inv_freq")
"""Ends of the names of tensors that gguf-py's hashes of a whole model leave out."""

_CANONICAL = Form(3, "little")


@dataclass(frozen=True)
class Scope:
    """What is to be hashed: only `files`, `data` and `tensors` need a file's data.

    sizes: of checks, whether the files have to have the sizes that they had.
    """

    header: bool = False
    keys: bool = False
    tensors: bool = True
    data: bool = True
    files: bool = False
    sizes: bool = False

    @property
    def reads_data(self) -> bool:
        """Whether more than the header is read."""
        return self.tensors or self.data or self.files

    def bytes_of(self, file: File) -> int:
        """How many bytes will be read of the data, for a progress bar."""
        if self.files:
            return file.size
        tensors = self.tensors or self.data
        return sum(tensor.nbytes for tensor in file.tensors.values()) if tensors else 0


def hash_model(
    file: File,
    algorithms: Sequence[str] = ("sha256",),
    scope: Scope | None = None,
    *,
    threads: int | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> Hashes:
    """Hash an open file, or the set of files that it is one of.

    algorithms: names of ALGORITHMS. threads: None for all processors; more than there are hashes
    to be made are of no use. advance: is told bytes as they are done. ValueError for an algorithm
    that is not known; ConversionError where its library is missing, or where a hash of a header
    is asked for and `uuid` alone, or where a file has changed meanwhile; OSError when it was cut.
    """
    scope = scope or Scope()
    with unchanged(file.parts):
        return _hashes(file, algorithms, scope, threads, advance)


def _hashes(
    file: File,
    algorithms: Sequence[str],
    scope: Scope,
    threads: int | None,
    advance: Callable[[int], object],
) -> Hashes:
    chosen = tuple(dict.fromkeys(find_algorithm(name) for name in algorithms))
    of_bytes = [algorithm for algorithm in chosen if not algorithm.of_data]
    if not of_bytes and (scope.header or scope.keys or scope.files):
        raise ConversionError(
            "a uuid is of a model's data alone", "usage", hint="name sha256, say, too"
        )
    tensors = list(file.tensors.values())
    left_out = frozenset(i for i, one in enumerate(tensors) if one.name.endswith(LEFT_OUT))
    of_tensors = [TensorLane(algorithm) for algorithm in of_bytes if scope.tensors]
    of_data = [DataLane(algorithm, left_out) for algorithm in chosen if scope.data]
    of_all = [DataLane(algorithm) for algorithm in chosen if scope.data and left_out]
    of_files = [FileLane(algorithm, len(file.parts)) for algorithm in of_bytes if scope.files]
    lanes: list[Lane] = [*of_files, *of_data, *of_all, *of_tensors]  # the largest work first
    count = at_most_processors(threads)
    if of_files and _in_order(file, tensors):
        run(_everything(file.parts, tensors), lanes, count, advance)
    else:
        of_some = lanes[len(of_files) :]
        if of_some:
            run(_of_tensors(tensors), of_some, count, advance)
        if of_files:
            run(_of_files(file.parts), of_files, count, advance)
    return Hashes(
        algorithms=tuple(algorithm.name for algorithm in chosen),
        files=_files(file.parts, of_bytes if scope.header else [], of_files),
        metadata=hash_metadata(file.parts[0].metadata, of_bytes) if scope.keys else {},
        keys=hash_keys(file.parts[0].metadata, of_bytes) if scope.keys else (),
        data={lane.algorithm.name: lane.text() for lane in of_data},
        all_data={lane.algorithm.name: lane.text() for lane in of_all},
        data_size=sum(t.nbytes for t in tensors) if scope.data else None,
        left_out=tuple(tensors[i].name for i in sorted(left_out)) if scope.data else (),
        tensors=tuple(
            TensorHashes(
                tensor.name,
                {lane.algorithm.name: lane.texts[number] for lane in of_tensors},
                tensor.type,
                tensor.shape,
                tensor.nbytes,
            )
            for number, tensor in enumerate(tensors)
            if scope.tensors
        ),
    )


def hash_header(part: Part, algorithms: Sequence[str] = ("sha256",)) -> dict[str, str]:
    """Hashes, by algorithm, of everything in front of a file's data: header, keys, tensor infos.

    Takes nothing of the file but `part.source.read(offset, size)` and what its scan found, so that
    any source will do, one behind a URL too. Raises what `hash_model` does.
    """
    chosen = {name: find_algorithm(name) for name in algorithms}
    return _hashed(_read(part, 0, header_size(part)), chosen)


def header_size(part: Part) -> int:
    """Bytes in front of the data, with the padding; of a file without tensors all keys."""
    return min(part.scan.data_offset, part.scan.file_size)


def hash_metadata(metadata: Metadata, algorithms: Sequence[Algorithm]) -> dict[str, str]:
    """Hashes of all keys and values, in their order, one behind the other as in `hash_keys`."""
    pieces = (piece for key in metadata for piece in _record(metadata, key))
    return _hashed(pieces, {algorithm.name: algorithm for algorithm in algorithms})


def hash_keys(metadata: Metadata, algorithms: Sequence[Algorithm]) -> tuple[KeyHashes, ...]:
    """Hashes of each key and value, independent of byte order and version of the file."""
    chosen = {algorithm.name: algorithm for algorithm in algorithms}
    return tuple(
        KeyHashes(key, metadata.type_of(key), _hashed(_record(metadata, key), chosen))
        for key in metadata
    )


def _hashed(pieces: Iterable[Bytes], algorithms: Mapping[str, Algorithm]) -> dict[str, str]:
    """Hashes of bytes that come in pieces, under the names of the algorithms there."""
    hashers = {name: algorithm.new() for name, algorithm in algorithms.items()}
    for piece in pieces:
        for hasher in hashers.values():
            hasher.update(piece)
    return {name: hasher.text() for name, hasher in hashers.items()}


def _record(metadata: Metadata, key: str) -> Iterator[Bytes]:
    return Encoder(_CANONICAL).pair(key, metadata.stored(key), None)


def _files(
    parts: Sequence[Part], header: Sequence[Algorithm], lanes: Sequence[FileLane]
) -> tuple[FileHashes, ...]:
    whole: list[Mapping[str, str]] = [
        {lane.algorithm.name: lane.texts()[number] for lane in lanes}
        for number in range(len(parts))
    ]
    return tuple(
        FileHashes(
            part.file,
            part.scan.file_size,
            header_size(part),
            hash_header(part, [algorithm.name for algorithm in header]),
            whole[number],
        )
        for number, part in enumerate(parts)
    )


def _in_order(file: File, tensors: Sequence[Tensor]) -> bool:
    """Whether the tensors' data lie in the order of their infos, so that one pass will do."""
    ends = [0] * len(file.parts)
    for tensor in tensors:
        if tensor.nbytes:
            if tensor.file_offset < ends[tensor.shard]:
                return False
            ends[tensor.shard] = tensor.file_offset + tensor.nbytes
    return True


def _everything(parts: Sequence[Part], tensors: Sequence[Tensor]) -> Iterator[Piece]:
    """All bytes of all files, those of tensors as such."""
    at = [0] * len(parts)
    for number, tensor in enumerate(tensors):
        file = tensor.shard
        if tensor.nbytes:
            yield from _between(parts[file], file, at[file], tensor.file_offset)
            at[file] = tensor.file_offset + tensor.nbytes
        yield from _of_tensor(number, tensor)
    for file, part in enumerate(parts):
        yield from _between(part, file, at[file], part.scan.file_size)


def _of_files(parts: Sequence[Part]) -> Iterator[Piece]:
    for file, part in enumerate(parts):
        yield from _between(part, file, 0, part.scan.file_size)


def _of_tensors(tensors: Sequence[Tensor]) -> Iterator[Piece]:
    for number, tensor in enumerate(tensors):
        yield from _of_tensor(number, tensor)


def _of_tensor(number: int, tensor: Tensor) -> Iterator[Piece]:
    left = tensor.nbytes
    if not left:
        yield Piece(tensor.shard, number, b"", last=True)
    start = tensor.file_offset
    for data in _read(tensor.part, start, start + left):
        left -= len(data)
        yield Piece(tensor.shard, number, data, last=not left)


def _between(part: Part, file: int, first: int, last: int) -> Iterator[Piece]:
    for data in _read(part, first, last):
        yield Piece(file, None, data)


def _read(part: Part, first: int, last: int) -> Iterator[memoryview]:
    for start in range(first, last, CHUNK):
        yield part.source.read(start, min(CHUNK, last - start))
