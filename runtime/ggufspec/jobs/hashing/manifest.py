"""Manifests: hashes as JSON, so that somebody else can check a copy.

An object with `format` ("ggufspec manifest"), `version` (1), `algorithms` (names), and as far as
they were asked for: `files` (name, size, header {size, hashes}, hashes), `metadata` (hashes, keys:
key, type, hashes), `data` (size, hashes, left_out, all) and `tensors` (name, type, shape, bytes,
hashes). `hashes` are objects of text by algorithm. Names that are not UTF-8 are {"base64": ...}.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from ...edits.json_text import brief, parse_json
from ..errors import ConversionError
from .algorithms import ALGORITHMS
from .hashes import FileHashes, Hashes, KeyHashes, TensorHashes

FORMAT = "ggufspec manifest"
VERSION = 1
MOST = 1 << 30
"""Bytes of a manifest at most."""

_MOST = 1 << 64
_HEX = re.compile(r"[0-9a-f-]+")


class ManifestError(ConversionError):
    """Why a manifest cannot be used."""

    def __init__(self, message: str, file: str | None = None, *, hint: str = "") -> None:
        super().__init__(message, "data", hint=hint, file=file)


def record(hashes: Hashes) -> dict[str, Any]:
    """The manifest as plain values, for JSON."""
    made: dict[str, Any] = {
        "format": FORMAT, "version": VERSION, "algorithms": list(hashes.algorithms)
    }  # fmt: skip
    made["files"] = [_file_record(file) for file in hashes.files]
    if hashes.keys or hashes.metadata:
        keys = [{"key": k.key, "type": k.type, "hashes": dict(k.hashes)} for k in hashes.keys]
        made["metadata"] = {"hashes": dict(hashes.metadata), "keys": keys}
    if hashes.data:
        made["data"] = {"size": hashes.data_size, "hashes": dict(hashes.data)}
        if hashes.left_out:
            made["data"] |= {"left_out": list(hashes.left_out), "all": dict(hashes.all_data)}
    if hashes.tensors:
        made["tensors"] = [
            {
                "name": tensor.name,
                "type": tensor.type,
                "shape": list(tensor.shape or ()),
                "bytes": tensor.nbytes,
                "hashes": dict(tensor.hashes),
            }
            for tensor in hashes.tensors
        ]
    return made


def _file_record(file: FileHashes) -> dict[str, Any]:
    made: dict[str, Any] = {"name": file.name, "size": file.size}
    if file.header:
        made["header"] = {"size": file.header_size, "hashes": dict(file.header)}
    if file.whole:
        made["hashes"] = dict(file.whole)
    return made


def read_manifest(text: bytes) -> Hashes:
    """What a manifest says; ManifestError where it is damaged or of another kind."""
    made = _parsed(text)
    if not isinstance(made, dict) or made.get("format") != FORMAT:
        raise ManifestError(
            f"this is JSON, but no manifest: it has no format {FORMAT!r}",
            hint="hash --manifest makes one",
        )
    version = made.get("version")
    if type(version) is not int or version != VERSION:
        raise ManifestError(
            f"the manifest is of version {brief(version)}; this program knows {VERSION}"
        )
    return _Reader("").hashes(made)


def _parsed(text: bytes) -> Any:
    try:
        return parse_json(text)
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as error:
        syntax = error.__context__
        reason = str(error)
        if isinstance(syntax, json.JSONDecodeError):
            reason = f"it is no JSON from line {syntax.lineno}, character {syntax.colno} on"
    raise ManifestError(f"the manifest is damaged: {reason}")


class _Reader:
    """Takes values out of the document; each says where it stands when it is not what it is."""

    def __init__(self, place: str) -> None:
        self.place = place

    def hashes(self, made: Mapping[str, Any]) -> Hashes:
        names = tuple(self.text(one) for one in self.of("algorithms").items(made))
        for name in names:
            if name not in ALGORITHMS:
                raise self.of("algorithms").wrong(f"algorithm {name!r:.40} is not known")
            if names.count(name) > 1:
                raise self.of("algorithms").wrong(f"{name} stands there twice")
        if not names:
            raise self.wrong("it holds no hashes")
        metadata = self.of("metadata").part(made)
        data = self.of("data").part(made)
        keys = self.of("metadata.keys").items(metadata, optional=True)
        tensors = self.of("tensors").items(made, optional=True)
        if "tensors" in made and not tensors:
            raise self.of("tensors").wrong("it holds no hashes")
        files = self.of("files").items(made, optional=True)
        found = Hashes(
            algorithms=names,
            files=tuple(self.of(f"files[{i}]").file(one) for i, one in enumerate(files)),
            metadata=self.of("metadata").hashed(made),
            keys=tuple(self.of(f"metadata.keys[{i}]").key(one) for i, one in enumerate(keys)),
            data=self.of("data").hashed(made),
            all_data=self.of("data.all").texts(data.get("all", {})),
            data_size=self.of("data.size").size(data.get("size")) if data else None,
            left_out=tuple(
                self.of("data.left_out").name(one)
                for one in self.of("data.left_out").items(data, optional=True)
            ),
            tensors=tuple(self.of(f"tensors[{i}]").tensor(one) for i, one in enumerate(tensors)),
        )
        self._check(found)
        return found

    def _check(self, found: Hashes) -> None:
        """Every name once, and with a hash of every algorithm."""
        of_bytes = {name for name in found.algorithms if not ALGORITHMS[name].of_data}
        for place, entries in (
            ("tensors", [(tensor.name, tensor.hashes) for tensor in found.tensors]),
            ("metadata.keys", [(key.key, key.hashes) for key in found.keys]),
        ):
            seen: set[str] = set()
            for name, texts in entries:
                if name in seen:
                    raise self.of(place).wrong(f"{name!r:.80} stands there twice")
                if set(texts) != of_bytes:
                    raise self.of(place).wrong(f"{name!r:.80} lacks a hash")
                seen.add(name)
        for place, texts in (("data.hashes", found.data), ("data.all", found.all_data)):
            if texts and set(texts) != set(found.algorithms):
                raise self.of(place).wrong("a hash is missing")
        if bool(found.left_out) != bool(found.all_data):
            raise self.of("data.all").wrong("it goes with tensors that are left out")
        for texts in (found.metadata, *(t for one in found.files for t in (one.header, one.whole))):
            if texts and set(texts) != of_bytes:
                raise self.wrong("a hash of metadata, header or file is missing")
        of_files = any(one.header or one.whole for one in found.files)
        if not (found.data or found.metadata or of_files or (found.tensors and of_bytes)):
            raise self.wrong("it holds no hashes")

    def of(self, place: str) -> _Reader:
        return _Reader(place)

    def wrong(self, message: str) -> ManifestError:
        where = f" at {self.place}" if self.place else ""
        return ManifestError(f"the manifest is damaged{where}: {message}")

    def file(self, made: Any) -> FileHashes:
        made = self.mapping(made)
        header = self.mapping(made.get("header", {}))
        of_header = self.of(f"{self.place}.header")
        return FileHashes(
            name=self.name(made.get("name")),
            size=self.size(made.get("size")),
            header_size=of_header.size(header.get("size")) if "header" in made else 0,
            header=of_header.some(header.get("hashes")) if "header" in made else {},
            whole=self.some(made["hashes"]) if "hashes" in made else {},
        )

    def key(self, made: Any) -> KeyHashes:
        made = self.mapping(made)
        return KeyHashes(
            self.name(made.get("key")), self.text(made.get("type")), self.texts(made.get("hashes"))
        )

    def tensor(self, made: Any) -> TensorHashes:
        made = self.mapping(made)
        return TensorHashes(
            self.name(made.get("name")),
            self.texts(made.get("hashes")),
            self.text(made.get("type")),
            tuple(self.size(extent) for extent in self.items(made, "shape")),
            self.size(made.get("bytes")),
        )

    def part(self, made: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.mapping(made.get(self.place, {}))

    def hashed(self, made: Mapping[str, Any]) -> dict[str, str]:
        """The hashes of a part, which there have to be where the part is."""
        name = self.place
        return self.of(f"{name}.hashes").some(self.part(made).get("hashes")) if name in made else {}

    def some(self, made: Any) -> dict[str, str]:
        found = self.texts(made)
        if not found:
            raise self.wrong("it holds no hashes")
        return found

    def items(self, made: Mapping[str, Any], name: str = "", *, optional: bool = False) -> Any:
        value = made.get(name or self.place.rpartition(".")[2], [] if optional else None)
        if not isinstance(value, list):
            raise self.wrong("no list")
        return value

    def mapping(self, made: Any) -> Mapping[str, Any]:
        if not isinstance(made, dict):
            raise self.wrong("no object")
        return made

    def texts(self, made: Any) -> dict[str, str]:
        found = self.mapping(made)
        for name, text in found.items():
            algorithm = ALGORITHMS.get(name)
            if algorithm is None:
                raise self.wrong(f"algorithm {name!r:.40} is not known")
            if not is_hash(text, algorithm.digits):
                raise self.wrong(f"{brief(text, 80)} is no {name}")
        return dict(found)

    def name(self, made: Any) -> str:
        if isinstance(made, dict) and list(made) == ["base64"]:
            try:
                return b64decode(self.text(made["base64"]), validate=True).decode(
                    "utf-8", "surrogateescape"
                )
            except ValueError:
                raise self.wrong("a name is no base64") from None
        return self.text(made)

    def text(self, made: Any) -> str:
        if not isinstance(made, str):
            raise self.wrong(f"{brief(made)} is no text")
        return made

    def size(self, made: Any) -> int:
        if type(made) is not int or not 0 <= made < _MOST:
            raise self.wrong(f"{brief(made)} is no number of bytes or elements")
        return made


def is_hash(text: object, digits: int) -> bool:
    """Whether it is text of so many hexadecimal digits (of a uuid with its dashes)."""
    return isinstance(text, str) and len(text) == digits and bool(_HEX.fullmatch(text))
