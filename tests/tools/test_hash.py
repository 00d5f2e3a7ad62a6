"""``hash``: equal to gguf-py's, sha256sum's and hashlib's; manifests find whatever has changed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from gguf.scripts import gguf_hash
from hypothesis import given, settings
from hypothesis import strategies as st

import ggufspec
from ggufspec import Value
from ggufspec.cli import machine
from ggufspec.jobs import hashing
from ggufspec.jobs.endian import convert_endian
from ggufspec.jobs.errors import ConversionError
from ggufspec.jobs.hashing import Hashes, ManifestError, Scope, hash_header, hash_model
from ggufspec.jobs.hashing import lanes as lanes_module
from ggufspec.jobs.hashing.listing import line, read_listing
from ggufspec.jobs.hashing.manifest import read_manifest, record
from support import forks, gguf_py, models, realfiles, strategies
from support.command import command
from support.fileserver import serving

EVERYTHING = Scope(header=True, keys=True, tensors=True, data=True, files=True)
ALGORITHMS = ["sha256", "sha1", "xxh64", "xxh3", "uuid"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model with tensors of several pieces, of no bytes, and such that gguf-py leaves out."""
    path = tmp_path / "model.gguf"
    rng = np.random.default_rng(2)
    tensors = {
        "token_embd.weight": rng.standard_normal((9, 33), np.float32),
        "blk.0.attention.bias": rng.standard_normal((4, 32), np.float32),
        "empty": np.zeros((0, 4), np.float32),
        "blk.0.w": rng.standard_normal((3, 7), np.float32),
        "blk.0.rotary_emb.inv_freq": np.ones(5, np.float32),
    }
    metadata = {"general.architecture": "llama", "general.name": "a", "a.list": np.arange(5)}
    ggufspec.write(path, metadata, tensors)
    return path


def hashed(path: Path | bytes, *algorithms: str, scope: Scope = EVERYTHING, **more: Any) -> Hashes:
    with ggufspec.open(path) as file:
        return hash_model(file, algorithms or ("sha256",), scope, **more)


# Against other programs


def by_gguf_py(path: Path, capsys: pytest.CaptureFixture[str], *, no_layer: bool = False) -> str:
    capsys.readouterr()
    gguf_hash.gguf_hash(gguf_py.read(path), str(path), True, no_layer)
    return capsys.readouterr().out


def test_lines_are_those_of_gguf_py(capsys: pytest.CaptureFixture[str]) -> None:
    path = realfiles.smollm2()
    done = command("hash", path, "-a", "sha1", "-a", "sha256,uuid")
    assert done.returncode == 0
    assert done.stdout == by_gguf_py(path, capsys)


def test_tensors_that_gguf_py_leaves_out(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = command("hash", model, "-a", "sha1,sha256,uuid", "--no-tensors")
    assert done.stdout == by_gguf_py(model, capsys, no_layer=True)
    made = hashed(model, "sha256", "uuid")
    assert made.left_out == ("blk.0.attention.bias", "blk.0.rotary_emb.inv_freq")
    assert [tensor.name for tensor in made.tensors] == [
        "token_embd.weight", "blk.0.attention.bias", "empty", "blk.0.w", "blk.0.rotary_emb.inv_freq"
    ]  # fmt: skip


def test_every_hash_is_that_of_the_bytes(model: Path) -> None:
    xxhash = pytest.importorskip("xxhash")
    digests: dict[str, Callable[[bytes], str]] = {
        "sha256": lambda data: hashlib.sha256(data).hexdigest(),
        "sha1": lambda data: hashlib.sha1(data).hexdigest(),
        "xxh64": lambda data: str(xxhash.xxh64_hexdigest(data)),
        "xxh3": lambda data: str(xxhash.xxh3_64_hexdigest(data)),
    }
    made, data = hashed(model, *ALGORITHMS), model.read_bytes()
    with ggufspec.open(model) as file:
        start = file.parts[0].scan.data_offset
        stored = {name: tensor.data.tobytes() for name, tensor in file.tensors.items()}
    kept = b"".join(stored[name] for name in stored if name not in made.left_out)
    for name, digest in digests.items():
        assert {one.name: one.hashes[name] for one in made.tensors} == {
            key: digest(value) for key, value in stored.items()
        }
        assert made.data[name] == digest(kept)
        assert made.all_data[name] == digest(b"".join(stored.values()))
        assert made.files[0].header[name] == digest(data[:start])
        assert made.files[0].whole[name] == digest(data)
    namespace = uuid.uuid5(uuid.NAMESPACE_URL, "en.wikipedia.org/wiki/Llama.cpp")
    named = hashlib.sha1(namespace.bytes + kept).digest()
    assert made.data["uuid"] == str(uuid.UUID(bytes=named[:16], version=5))
    assert made.files[0].size == len(data)
    assert made.files[0].header_size == start


def test_whole_file_as_sha256sum() -> None:
    path = realfiles.smollm2()
    done = command("hash", path, "--file")
    tool = shutil.which("sha256sum")
    if tool is None:
        pytest.skip("needs sha256sum")
    theirs = subprocess.run([tool, path], capture_output=True, text=True, check=True).stdout
    assert done.stdout.split()[1] == theirs.split()[0]


@settings(max_examples=60)
@given(sample=strategies.files())
def test_any_file(sample: strategies.Sample) -> None:
    """What is hashed is what the file was made of; keys do not depend on its form."""
    with TemporaryDirectory() as folder:
        path, other = Path(folder, "a.gguf"), Path(folder, "b.gguf")
        path.write_bytes(sample.data)
        made = hashed(path)
        for tensor, one in zip(sample.tensors, made.tensors, strict=True):
            assert one.hashes["sha256"] == hashlib.sha256(tensor.data).hexdigest()
        assert made.files[0].whole["sha256"] == hashlib.sha256(sample.data).hexdigest()
        convert_endian(path, other, dialect="ggml")  # some sizes are a fork's, too
        turned = hashed(other)
        assert (turned.keys, turned.metadata) == (made.keys, made.metadata)
        assert read_manifest(json.dumps(record_of(path)).encode()) == made


def record_of(path: Path | bytes, *algorithms: str) -> Any:
    return machine.plain(record(hashed(path, *algorithms)))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_pieces_and_threads_do_not_matter(
    threads: int, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = hashed(model, *ALGORITHMS, threads=1)
    for size in (1, 7, 64):
        monkeypatch.setattr(lanes_module, "BATCH", 3 * size)
        monkeypatch.setattr("ggufspec.jobs.hashing.compute.CHUNK", size)
        monkeypatch.setattr("ggufspec.jobs.hashing.compute.at_most_processors", lambda n: n)
        told: list[int] = []
        assert hashed(model, *ALGORITHMS, threads=threads, advance=told.append) == expected
        assert sum(told) == model.stat().st_size


def test_tensors_whose_data_lie_in_another_order(tmp_path: Path) -> None:
    from support import crafted
    from support.crafted import V3

    data = bytes(range(64))
    infos = [V3.tensor("b", [8], crafted.F32, 32), V3.tensor("a", [8], crafted.F32, 0)]
    path = tmp_path / "a.gguf"
    path.write_bytes(crafted.file([], infos, data))
    made = hashed(path)
    assert made.data["sha256"] == hashlib.sha256(data[32:] + data[:32]).hexdigest()
    assert made.files[0].whole["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_types_that_nobody_knows(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(forks.model([forks.Entry("odd", [32], 99, bytes(range(64)))]))
    made = hashed(path)
    assert made.tensors[0].hashes["sha256"] == hashlib.sha256(bytes(range(64))).hexdigest()


def test_header_needs_nothing_but_read(model: Path) -> None:
    """What stands behind a URL has no more than this."""
    with ggufspec.open(model) as file:
        part = file.parts[0]
        asked: list[tuple[int, int]] = []

        class Source:
            def read(self, offset: int, size: int) -> memoryview:
                asked.append((offset, size))
                return part.source.read(offset, size)

        class Part:
            scan = part.scan
            source = Source()

        made = hash_header(Part(), ["sha256"])  # type: ignore[arg-type]
        start = part.scan.data_offset
        assert max(offset + size for offset, size in asked) == start
        assert made == {"sha256": hashlib.sha256(model.read_bytes()[:start]).hexdigest()}


def test_sets_are_hashed_whole(tmp_path: Path) -> None:
    weights = models.llama(2)
    single, folder = tmp_path / "single.gguf", tmp_path / "set"
    ggufspec.write(single, models.metadata(2), weights)
    folder.mkdir()
    assert command("split", single, folder / "m", "--max-tensors", "7").returncode == 0
    paths = sorted(folder.iterdir())
    one, other = hashed(single), hashed(paths[-1])
    assert len(other.files) == len(paths) > 1
    assert other.data == one.data
    assert other.tensors == one.tensors
    for path, file in zip(paths, other.files, strict=True):
        assert file.name == path.name
        assert file.whole["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    manifest = tmp_path / "m.json"
    assert command("hash", paths[0], "--manifest", manifest).returncode == 0
    assert command("hash", paths[1], "--verify", manifest).returncode == 0
    assert command("hash", single, "--verify", manifest, "--data").returncode == 0
    done = command("hash", single, "--verify", manifest, "--json")
    assert done.returncode == 1
    subjects = {one["subject"] for one in json.loads(done.stdout)["differences"]}
    assert subjects == {"set", "key", "header", "file"}


# Manifests


def verified(path: Path | str, manifest: Path, *options: str) -> tuple[int, list[Any]]:
    """The exit code, and what differs: subject, name and kind of each."""
    done = command("hash", path, "--verify", manifest, "--json", *options)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    assert found["ok"] == (not found["differences"])
    return done.returncode, [(d["subject"], d["name"], d["kind"]) for d in found["differences"]]


@pytest.fixture
def manifest(model: Path, tmp_path: Path) -> Path:
    """As --manifest writes it."""
    path = tmp_path / "model.json"
    path.write_text(json.dumps(record_of(model, "sha256", "uuid")))
    return path


def test_the_command_writes_the_same(model: Path, manifest: Path, tmp_path: Path) -> None:
    path = tmp_path / "written.json"
    done = command("hash", model, "--manifest", path, "-a", "sha256,uuid")
    assert done.returncode == 0
    assert json.loads(path.read_text()) == json.loads(manifest.read_text())


def test_manifest_of_a_copy(model: Path, manifest: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.gguf"
    shutil.copy(model, copy)
    assert verified(copy, manifest) == (0, [])
    done = command("hash", copy, "--verify", manifest)
    assert "as the manifest says (5 tensors, 3 keys, the data, the header, the file)" in done.stdout


def test_manifest_says_what_it_is(manifest: Path, model: Path) -> None:
    made = json.loads(manifest.read_text())
    assert (made["format"], made["version"]) == ("ggufspec manifest", 1)
    assert made["algorithms"] == ["sha256", "uuid"]
    (file,) = made["files"]
    assert file["hashes"]["sha256"] == hashlib.sha256(model.read_bytes()).hexdigest()
    assert (file["name"], file["size"]) == ("model.gguf", model.stat().st_size)
    first = made["tensors"][0]
    assert {**first, "hashes": 0} == {
        "name": "token_embd.weight", "type": "F32", "shape": [9, 33], "bytes": 4 * 9 * 33,
        "hashes": 0,
    }  # fmt: skip
    assert [key["key"] for key in made["metadata"]["keys"]] == [
        "general.architecture", "general.name", "a.list"
    ]  # fmt: skip


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Path:
    """The model again, with other keys or tensors."""
    with ggufspec.open(path) as file:
        metadata = {
            key: Value(file.metadata.type_of(key), file.metadata[key]) for key in file.metadata
        }
        tensors = {name: tensor.array().copy() for name, tensor in file.tensors.items()}
    change(metadata, tensors)
    other = path.with_name("other.gguf")
    ggufspec.write(other, metadata, tensors)
    return other


def test_what_has_changed_is_named(model: Path, manifest: Path) -> None:
    def change(metadata: dict[str, Any], tensors: dict[str, Any]) -> None:
        metadata["general.name"] = "b"
        del metadata["a.list"]
        metadata["new.key"] = "x"
        tensors["blk.0.w"][0, 0] += 1
        tensors["token_embd.weight"] = tensors["token_embd.weight"][:8]
        del tensors["empty"]
        tensors["new"] = np.ones(4, np.float32)

    code, found = verified(rewritten(model, change), manifest)
    assert code == 1
    assert set(found) == {
        ("tensor", "blk.0.w", "differs"), ("tensor", "token_embd.weight", "differs"),
        ("tensor", "empty", "missing"), ("tensor", "new", "extra"),
        ("key", "general.name", "differs"), ("key", "a.list", "missing"),
        ("key", "new.key", "extra"),
        ("data", "", "differs"), ("header", "other.gguf", "differs"),
        ("file", "other.gguf", "differs"),
    }  # fmt: skip


def test_edited_metadata_leave_the_data(model: Path, manifest: Path) -> None:
    assert command("meta", "set", model, "general.name=longer than it was").returncode == 0
    code, found = verified(model, manifest)
    assert code == 1
    assert {subject for subject, _, _ in found} == {"key", "header", "file"}
    assert verified(model, manifest, "--data") == (0, [])
    assert verified(model, manifest, "--header")[0] == 1


def test_order_of_keys(model: Path, manifest: Path) -> None:
    def change(metadata: dict[str, Any], _: dict[str, Any]) -> None:
        metadata["general.name"] = metadata.pop("general.name")

    code, found = verified(rewritten(model, change), manifest, "--header")
    assert code == 1
    assert found == [("metadata", "", "differs"), ("header", "other.gguf", "differs")]


def test_every_byte_of_the_data_counts(model: Path, manifest: Path) -> None:
    original = model.read_bytes()
    with ggufspec.open(model) as file:
        places = {
            name: t.file_offset + t.nbytes - 1 for name, t in file.tensors.items() if t.nbytes
        }
        expected = read_manifest(manifest.read_bytes())
    for name, place in places.items():
        model.write_bytes(original[:place] + bytes([original[place] ^ 1]) + original[place + 1 :])
        found = hashing.differences(expected, hashed(model, "sha256", "uuid"), EVERYTHING)
        assert {("tensor", name), ("file", "model.gguf")} <= {(d.subject, d.name) for d in found}
    model.write_bytes(original[:-1])
    assert verified(model, manifest)[0] == 1


def _without_hashes(made: Any) -> None:
    made["algorithms"] = ["uuid"]
    for tensor in made["tensors"]:
        tensor["hashes"] = {}
    for name in ("files", "metadata", "data"):
        made.pop(name)


DAMAGES: dict[str, Callable[[Any], Any]] = {
    "no format": lambda made: made.pop("format"),
    "another version": lambda made: made.update(version=2),
    "no algorithms": lambda made: made.pop("algorithms"),
    "unknown algorithm": lambda made: made["algorithms"].append("md5"),
    "no hash": lambda made: made["tensors"][0]["hashes"].pop("sha256"),
    "short hash": lambda made: made["tensors"][0]["hashes"].update(sha256="abc"),
    "no hex": lambda made: made["data"]["hashes"].update(sha256="x" * 64),
    "hash a number": lambda made: made["data"]["hashes"].update(sha256=1),
    "data hash gone": lambda made: made["data"]["hashes"].pop("uuid"),
    "tensors an object": lambda made: made.update(tensors={}),
    "tensor a text": lambda made: made["tensors"].append("x"),
    "tensor twice": lambda made: made["tensors"].append(made["tensors"][0]),
    "key twice": lambda made: made["metadata"]["keys"].append(made["metadata"]["keys"][0]),
    "negative size": lambda made: made["files"][0].update(size=-1),
    "size a bool": lambda made: made["files"][0].update(size=True),
    "shape of texts": lambda made: made["tensors"][0].update(shape=["9"]),
    "name no base64": lambda made: made["tensors"][0].update(name={"base64": "%"}),
    "nothing in it": lambda made: [made.pop(k) for k in ("files", "metadata", "data", "tensors")],
    "header hash gone": lambda made: made["files"][0]["header"]["hashes"].update(sha256="0" * 63),
    "data without size": lambda made: made["data"].pop("size"),
    "version a bool": lambda made: made.update(version=True),
    "version a float": lambda made: made.update(version=1.0),
    "algorithms empty": lambda made: made.update(algorithms=[]),
    "algorithm twice": lambda made: made["algorithms"].append("uuid"),
    "no hashes at all": _without_hashes,
    "tensors empty": lambda made: made.update(tensors=[]),
    "data empty": lambda made: made.update(data={}),
    "data hashes empty": lambda made: made["data"].update(hashes={}),
    "metadata empty": lambda made: made["metadata"].update(hashes={}),
    "header empty": lambda made: made["files"][0]["header"].update(hashes={}),
    "header without size": lambda made: made["files"][0]["header"].pop("size"),
    "file hashes empty": lambda made: made["files"][0].update(hashes={}),
    "left out without a hash of all": lambda made: made["data"].pop("all"),
    "size huge": lambda made: made["tensors"][0].update(bytes=10**900),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_manifests(damage: str, manifest: Path) -> None:
    made = json.loads(manifest.read_text())
    DAMAGES[damage](made)
    with pytest.raises(ManifestError):
        read_manifest(json.dumps(made).encode())


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("no hashes at all", "it holds no hashes"),
        ("algorithms empty", "it holds no hashes"),
        ("data hashes empty", "at data.hashes: it holds no hashes"),
        ("size huge", ": 10{39} is no number of bytes"),
        ("version a bool", "of version true; this program knows 1"),
    ],
)
def test_damages_are_told_in_plain_words(damage: str, words: str, manifest: Path) -> None:
    made = json.loads(manifest.read_text())
    DAMAGES[damage](made)
    with pytest.raises(ManifestError, match=words):
        read_manifest(json.dumps(made).encode())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "a number has 5,000 digits"),
        (b'{"format": "\xff"}', "it is not UTF-8"),
        (b'{"a":\n x}', "it is no JSON from line 2, character 2 on"),
        (b'{"tensors": 1, "tensors": 2}', "an object has the member 'tensors' twice"),
    ],
    ids=["deep", "digits", "bytes", "syntax", "twice"],
)
def test_what_is_no_json_is_told_in_plain_words(text: bytes, words: str) -> None:
    with pytest.raises(ManifestError, match=words):
        read_manifest(text)


def test_sizes_and_what_is_left_out_are_checked(tmp_path: Path) -> None:
    """They cover what no hash does: which hash of all data it is, and the end of a file."""
    path = tmp_path / "a.gguf"
    tensors = {
        name: np.ones(4, np.float32) for name in ("w", "x.attention.bias", "y.attention.bias")
    }
    ggufspec.write(path, {"general.name": "a"}, tensors)
    manifest = tmp_path / "m.json"
    original = json.loads(command("hash", path, "--json").stdout)
    assert original["data"]["left_out"] == ["x.attention.bias", "y.attention.bias"]
    for change, found in (
        (lambda made: made.update(more=1), []),
        (lambda made: made["files"][0].update(size=5), [("file", "a.gguf", "differs")]),
        (lambda made: made["data"].update(size=7), [("data", "", "differs")]),
        (lambda made: made["data"].update(left_out=["w"]), [("data", "", "differs")]),
        (lambda made: made["data"]["all"].update(sha256="0" * 64), [("data", "", "differs")]),
    ):
        made = json.loads(json.dumps(original))
        change(made)
        manifest.write_text(json.dumps(made))
        assert verified(path, manifest) == (int(bool(found)), found)
    made["files"][0]["size"] = 5
    manifest.write_text(json.dumps(made))
    assert verified(path, manifest, "--data") == (1, [("data", "", "differs")])


def test_what_a_manifest_is_asked_for_it_has_to_hold(model: Path, tmp_path: Path) -> None:
    manifest = tmp_path / "m.json"
    manifest.write_text(command("hash", model, "--no-tensors", "--json").stdout)
    assert verified(model, manifest, "--data") == (0, [])
    for option in ("--header", "--file"):
        done = command("hash", model, "--verify", manifest, option)
        assert done.returncode == 2
        assert "holds no hashes of what is to be checked" in done.stderr


def test_types_of_a_manifest_cannot_move_the_cursor(model: Path, manifest: Path) -> None:
    made = json.loads(manifest.read_text())
    made["tensors"][0]["type"] = "\x1b[2J" + "x" * 10_000
    manifest.write_text(json.dumps(made))
    done = command("hash", model, "--verify", manifest)
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    assert len(done.stdout) < 2000


@pytest.mark.parametrize("how", ["written to", "replaced", "gone"])
def test_a_file_that_changes_meanwhile(how: str, model: Path) -> None:
    data = model.read_bytes()

    def advance(_: int) -> None:
        if how == "written to":
            os.utime(model, ns=(1, 1))
        elif how == "replaced":
            model.with_name("new").write_bytes(data)
            model.with_name("new").replace(model)
        else:
            model.unlink(missing_ok=True)

    with ggufspec.open(model) as file:
        with pytest.raises(ConversionError, match="has changed since it was read") as caught:
            hashing.hash_model(file, advance=advance)
        assert (caught.value.kind, caught.value.file) == ("system", str(model))
    if how == "gone":
        return
    with ggufspec.open(model) as file:  # between opening and hashing
        os.utime(model, ns=(2, 2))
        with pytest.raises(ConversionError, match="has changed since it was read"):
            hashing.hash_model(file)


def test_a_manifest_of_a_file_that_changes_is_not_written(model: Path, tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; import ggufspec.jobs.hashing.compute as c\n"
        "real = c._hashes\n"
        "def late(file, *rest):\n"
        "    os.utime(file.paths[0], ns=(1, 1)); return real(file, *rest)\n"
        "c._hashes = late\n"
        "from ggufspec.cli import main; main()"
    )
    path = tmp_path / "m.json"
    done = subprocess.run(
        [sys.executable, "-c", script, "hash", str(model), "--manifest", str(path)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 4
    assert f"{model}: the file has changed since it was read" in done.stderr
    assert not path.exists()


def test_what_was_hashed_is_told(model: Path, tmp_path: Path) -> None:
    done = command("hash", model, "--no-tensors", "--manifest", tmp_path / "m.json")
    assert done.stdout == (
        f"{tmp_path / 'm.json'}: sha256 of 3 keys, the data, the header, the file\n"
    )


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=4,
)


@settings(max_examples=200)
@given(data=st.data())
def test_any_part_of_a_manifest_may_be_anything(data: st.DataObject) -> None:
    made: Any = record_of(_small())
    place = made
    while True:
        key = data.draw(
            st.sampled_from(list(place) if isinstance(place, dict) else range(len(place)))
        )
        inner = place[key]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.booleans()):
            place[key] = data.draw(_JSON)
            break
        place = inner
    with suppress(ManifestError):
        read_manifest(json.dumps(made).encode())


@cache
def _small() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.gguf")
        ggufspec.write(path, {"general.name": "a"}, {"w": np.ones((2, 2), np.float32)})
        return path.read_bytes()


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b"PK\x03\x04", b'{"a": NaN}']
)
def test_what_is_no_manifest(text: bytes) -> None:
    with pytest.raises(ManifestError):
        read_manifest(text)


def test_damaged_manifest_on_the_command_line(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text("{")
    done = command("hash", model, "--verify", path)
    assert done.returncode == 1
    assert f"{path}: the manifest is damaged" in done.stderr


def test_cut_manifests(manifest: Path) -> None:
    text = manifest.read_bytes()
    for end in range(0, len(text.rstrip()), 37):
        with pytest.raises(ManifestError):
            read_manifest(text[:end])


# Lists


def test_list_of_gguf_py(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = by_gguf_py(model, capsys)
    path = tmp_path / "list.txt"
    path.write_text(text)
    moved = tmp_path / "moved.gguf"
    shutil.copy(model, moved)
    assert verified(moved, path) == (0, [])
    path.write_text(text.replace("blk.0.w", "blk.0.other"))
    assert verified(moved, path) == (
        1, [("tensor", "blk.0.other", "missing"), ("tensor", "blk.0.w", "extra")]
    )  # fmt: skip
    path.write_text("\n".join(text.splitlines()[:-3]))  # no totals
    assert verified(moved, path) == (0, [])
    path.write_text("\n".join(text.splitlines()[-3:]))  # totals alone
    assert verified(moved, path) == (0, [])
    path.write_text(text.splitlines()[-2].replace(text.splitlines()[-2].split()[1], "0" * 64))
    assert verified(moved, path) == (1, [("data", "", "differs")])


def test_list_whose_total_has_all_tensors(model: Path, tmp_path: Path) -> None:
    """As llama-gguf-hash makes it, which leaves no tensor out."""
    pytest.importorskip("xxhash")
    made = hashed(model, "xxh64")
    path = tmp_path / "list.txt"
    lines = [line("xxh64", one.hashes["xxh64"], f"m:x.gguf:{one.name}") for one in made.tensors]
    lines.append(line("xxh64", made.all_data["xxh64"], "m:x.gguf"))
    path.write_text("\n".join(lines) + "\n")
    assert verified(model, path) == (0, [])
    path.write_text("\n".join(f"{one}  -  Ok" for one in lines) + "\n")  # as its --check prints it
    assert verified(model, path) == (0, [])


@pytest.mark.parametrize(
    "text",
    [
        "sha256",
        "sha256  " + "0" * 63 + "  a.gguf",
        "md5  " + "0" * 32 + "  a.gguf",
        "sha256  " + "0" * 64 + "  a.gguf\nsha256  " + "1" * 64 + "  a.gguf",
        "sha256  " + "0" * 64 + "  a.gguf:w\nsha256  " + "1" * 64 + "  b.gguf:v",
    ],
)
def test_damaged_lists(text: str) -> None:
    with pytest.raises(ManifestError):
        read_listing(text.encode(), ["w", "v"])


# The command


def test_header_alone(model: Path) -> None:
    with ggufspec.open(model) as file:
        start = file.parts[0].scan.data_offset
    done = command("hash", model, "--header")
    digest = hashlib.sha256(model.read_bytes()[:start]).hexdigest()
    assert done.stdout == f"sha256    {digest}  {model}#header\n"
    made = json.loads(command("hash", model, "--header", "--json").stdout)
    assert made["files"][0]["header"] == {"size": start, "hashes": {"sha256": digest}}
    assert len(made["metadata"]["keys"]) == 3
    assert "tensors" not in made
    assert "data" not in made


def test_vocabulary_without_tensors() -> None:
    path = realfiles.vocabulary("ggml-vocab-bert-bge.gguf")
    done = command("hash", path)
    assert done.stdout == f"sha256    {hashlib.sha256(b'').hexdigest()}  {path}\n"
    header, whole = command("hash", path, "--header", "--file").stdout.splitlines()
    assert header.split()[1] == whole.split()[1] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_all(model: Path) -> None:
    pytest.importorskip("xxhash")
    lines = command("hash", model, "--all").stdout.splitlines()
    assert [one.split()[0] for one in lines[-4:]] == ["xxh64", "sha1", "sha256", "uuid"]
    assert len(lines) == 5 * 3 + 4


def test_without_the_library(model: Path) -> None:
    script = (
        "import sys; sys.modules['xxhash'] = None\n"
        "from ggufspec.cli import main; main()"
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", script, "hash", str(model), "-a", "xxh64"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "xxh64 needs the library xxhash" in done.stderr
    assert "ggufspec[hash]" in done.stderr


def test_wrong_uses(model: Path, manifest: Path, tmp_path: Path) -> None:
    for options, words in (
        (["-a", "md5"], "unknown algorithm 'md5'"),
        (["--manifest", model], "the output is the input"),
        (["--manifest", manifest], "the output exists"),
        (["--manifest", "x", "--verify", manifest], "exclude each other"),
        (["--data"], "--data goes with --verify"),
        (["--verify", manifest, "-a", "sha1"], "takes the algorithms of the manifest"),
        (["--header", "-a", "uuid"], "a uuid is of a model's data alone"),
    ):
        done = command("hash", model, *options)
        assert done.returncode == 2, options
        assert words in done.stderr
    assert command("hash", model, "--verify", tmp_path / "no.json").returncode == 4
    done = command("hash", "https://127.0.0.1:1/model.gguf")
    assert done.returncode == 2
    assert "of a URL the header alone is read" in done.stderr
    assert command("hash", model, "--manifest", manifest, "--force").returncode == 0


def test_names_cannot_move_the_cursor(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(forks.model([forks.Entry("a\x1b[2Jb", [8], 0, bytes(32))]))
    done = command("hash", path)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    manifest = tmp_path / "m.json"
    assert command("hash", path, "--manifest", manifest).returncode == 0
    assert verified(path, manifest) == (0, [])


def test_uuid_alone_has_no_header(model: Path) -> None:
    with pytest.raises(ConversionError):
        hashed(model, "uuid")
    assert hashed(model, "uuid", scope=Scope()).data


def test_header_of_a_url(model: Path, manifest: Path) -> None:
    """The same hashes as those of the file."""
    pytest.importorskip("httpx")
    here = json.loads(command("hash", model, "--header", "--json").stdout)
    with serving(model.read_bytes()) as site:
        there = command("hash", site.url, "--header", "--json")
        assert there.returncode == 0, there.stderr
        found = json.loads(there.stdout)
        assert found["metadata"] == here["metadata"]
        assert found["files"][0]["header"] == here["files"][0]["header"]
        assert verified(site.url, manifest, "--header") == (0, [])
        assert command("hash", site.url, "--verify", manifest).returncode == 2
