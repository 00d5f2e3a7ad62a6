"""Sets: which tensors go where, what every file says, and what other readers find in it."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFReader

import ggufspec
from ggufspec import GGUFError, TensorData, Value
from ggufspec.jobs.convert import Options, Output, carry_out_all, make_plan
from ggufspec.jobs.endian import convert_endian
from ggufspec.jobs.errors import ConversionError
from ggufspec.jobs.sets import carry, carry_out, merge, plan_split, split
from support import crafted, models, oracle, realfiles
from support.command import command
from support.crafted import V3

SET_KEYS = [b"split.no", b"split.tensors.count", b"split.count"]


BY_LLAMA_GGUF_SPLIT: dict[tuple[str, ...], tuple[int, str]] = {
    (): (1, "885b4ea994a688648353618e751911cef72097ce9e0ad1cf3df20e4ef7a9e8fa"),
    ("--max-tensors", "10"): (
        4, "92fc44a7e2bb797e597cd979b6ea00f1472fec5599fcedcdda410187fc4b2f58",
    ),
    ("--max-tensors", "16", "--no-tensor-first-split"): (
        4, "96b97bb93170b7452f3e153e08b6be7bd9f43fe2b20aea036eb3fc5d987e0c47",
    ),
    ("--max-size", "4M"): (3, "dbfe4cef65d79f06d66f03f2c310bc589980fbdeccbe6df2b038d3fd0f0401b6"),
}  # fmt: skip
"""What llama-gguf-split (its source of llama-cpp-python 0.3.36, on ggml 0.20.2) makes of the
sample: how many files, and the SHA-256 of all of them one behind the other. At 4M it cuts where we
do, for no file comes near the limit that its header would take it over."""


@pytest.mark.parametrize("options", BY_LLAMA_GGUF_SPLIT, ids=" ".join)
def test_the_same_bytes_as_llama_gguf_split(
    options: tuple[str, ...], sample: Path, tmp_path: Path
) -> None:
    count, digest = BY_LLAMA_GGUF_SPLIT[options]
    assert command("split", sample, tmp_path / "out", *options).returncode == 0
    made = sorted(tmp_path.iterdir())
    assert len(made) == count
    assert hashlib.sha256(b"".join(path.read_bytes() for path in made)).hexdigest() == digest
    merge(made[-1], tmp_path / "back.gguf")
    assert (tmp_path / "back.gguf").read_bytes() == sample.read_bytes()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    rng = np.random.default_rng(1)
    tensors = {f"blk.{n}.w": rng.standard_normal((n % 5 + 1, 33), np.float32) for n in range(20)}
    ggufspec.write(path, {"general.architecture": "llama", "general.name": "x" * 40}, tensors)
    return path


def counts(paths: tuple[Path, ...]) -> list[int]:
    """Tensors of each file, as ggml's reader counts them."""
    return [len(found(path).tensors) for path in paths]


def found(path: Path) -> oracle.File:
    read = oracle.read(path)
    assert read is not None
    return read


def test_real_file_by_count_and_by_size(tmp_path: Path) -> None:
    source = realfiles.smollm2()
    whole = found(source)
    ways: list[dict[str, Any]] = [
        {"max_tensors": 100},
        {"max_tensors": 128, "tensorless_first": True},
        {"max_size": 30_000_000},
    ]
    for number, options in enumerate(ways):
        folder = tmp_path / str(number)
        folder.mkdir()
        plan = split(source, folder / "smol", **options)
        check_set(plan.paths, whole)
        if plan.files[0].items == ():  # gguf-py takes ten seconds for a vocabulary
            check_with_gguf_py(plan.paths[1:], source, whole)
        assert [change for change in plan.changes if change.kind != "removed"] == []
        if "max_size" in options:
            sizes = [path.stat().st_size for path in plan.paths]
            large = [n for n, size in enumerate(sizes) if size > options["max_size"]]
            assert [counts(plan.paths)[n] for n in large] == [1]  # the embeddings
        merged = merge(plan.paths[-1], folder / "whole.gguf")
        assert [change.kind for change in merged.changes] == ["removed"]
        assert (folder / "whole.gguf").read_bytes() == source.read_bytes()


def check_set(paths: tuple[Path, ...], whole: oracle.File) -> None:
    """Keys and tensors as ggml's reader sees them, in the order of llama-gguf-split."""
    tensors = []
    for number, path in enumerate(paths):
        read = found(path)
        keys = list(read.metadata)
        assert keys == (list(whole.metadata) if number == 0 else []) + SET_KEYS
        assert read.metadata[b"split.no"] == number
        assert read.metadata[b"split.count"] == len(paths)
        assert read.metadata[b"split.tensors.count"] == len(whole.tensors)
        assert read.metadata[b"split.no"].dtype == np.uint16
        assert read.metadata[b"split.count"].dtype == np.uint16
        assert read.metadata[b"split.tensors.count"].dtype == np.int32
        assert read.alignment == whole.alignment
        for key in whole.metadata if number == 0 else ():
            assert np.array_equal(read.metadata[key], whole.metadata[key]), key
        tensors += [(t.name, t.type, t.shape, t.nbytes) for t in read.tensors]
    assert tensors == [(t.name, t.type, t.shape, t.nbytes) for t in whole.tensors]


def check_with_gguf_py(paths: tuple[Path, ...], source: Path, whole: oracle.File) -> None:
    """The data of what it finds are those of the source, where ggml's reader finds them there."""
    data = np.memmap(source, np.uint8, "r")
    places = {tensor.name: tensor for tensor in whole.tensors}
    for path in paths:
        for tensor in GGUFReader(path).tensors:
            place = places.pop(tensor.name)
            start = whole.data_offset + place.offset
            assert tensor.tensor_type == place.type
            stored = tensor.data.reshape(-1).view(np.uint8)
            assert np.array_equal(stored, data[start : start + place.nbytes])
    assert not places


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"max_tensors": 8}, [8, 8, 4]),
        ({"max_tensors": 8, "tensorless_first": True}, [0, 8, 8, 4]),
        ({"max_tensors": 10}, [10, 10]),
        ({"max_tensors": 20}, [20]),
        ({}, [20]),
        ({"tensorless_first": True}, [0, 20]),
        ({"max_size": 10**9}, [20]),
        ({"max_size": 10**9, "tensorless_first": True}, [0, 20]),
        ({"max_size": 1}, [0, *[1] * 20]),
    ],
    ids=str,
)  # fmt: skip
def test_which_tensors_go_where(
    options: dict[str, Any], expected: list[int], model: Path, tmp_path: Path
) -> None:
    plan = split(model, tmp_path / "out", **options)
    count = len(expected)
    names = [f"out-{number:05d}-of-{count:05d}.gguf" for number in range(1, count + 1)]
    assert [path.name for path in plan.paths] == names
    assert counts(plan.paths) == expected
    assert [file.size for file in plan.files] == [path.stat().st_size for path in plan.paths]


@pytest.mark.parametrize("limit", [1000, 1500, 2000, 3001, 5000, 8000])
@pytest.mark.parametrize("alignment", [32, 64])
def test_a_size_bounds_the_whole_file_and_is_used(
    limit: int, alignment: int, tmp_path: Path
) -> None:
    """No file is larger, and none had room for the tensor that the next one starts with."""
    path = tmp_path / "m.gguf"
    rng = np.random.default_rng(limit)
    tensors = {f"t{n}": np.zeros(int(rng.integers(1, 150)), np.float32) for n in range(60)}
    ggufspec.write(path, {"general.name": "n"}, tensors, alignment=alignment)
    plan = split(path, tmp_path / "out", max_size=limit)
    sizes = [made.stat().st_size for made in plan.paths]
    assert max(sizes) <= limit
    assert len(sizes) > 1
    names, start = list(tensors), 0
    for number, made in enumerate(counts(plan.paths)[:-1]):
        keys = {**({"general.name": "n"} if number == 0 else {}), **models.split_keys(0, 1, 1)}
        more = {name: tensors[name] for name in names[start : start + made + 1]}
        ggufspec.write(tmp_path / "more.gguf", keys, more, alignment=alignment)
        assert (tmp_path / "more.gguf").stat().st_size > limit
        start += made


@pytest.mark.parametrize("how", ["symbolic", "hard", "itself", "folder"])
def test_a_file_of_the_set_is_never_written_over(how: str, model: Path, tmp_path: Path) -> None:
    name = tmp_path / "out-00002-of-00003.gguf"
    if how == "symbolic":
        name.symlink_to(model)
    elif how == "hard":
        name.hardlink_to(model)
    elif how == "itself":
        model = model.rename(name)
    else:
        (tmp_path / "other").symlink_to(tmp_path)
        model = model.rename(name)
    before = model.read_bytes()
    prefix = tmp_path / ("other/out" if how == "folder" else "out")
    done = command("split", model, prefix, "--max-tensors", "8", "--force")
    assert done.returncode == 2
    assert "the output is the input" in done.stderr
    with pytest.raises(ConversionError, match="the output is the input"):
        split(model, prefix, max_tensors=8, replace=True)
    assert model.read_bytes() == before
    assert not (tmp_path / "out-00001-of-00003.gguf").exists()


@pytest.mark.parametrize("alignment", [8, 64, 4096])
def test_every_file_names_an_alignment_of_its_own(alignment: int, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    tensors = {f"t{n}": np.full(5, n, np.float32) for n in range(6)}
    ggufspec.write(path, {"general.name": "n"}, tensors, alignment=alignment)
    plan = split(path, tmp_path / "out", max_tensors=2)
    for number, made in enumerate(plan.paths):
        read = found(made)
        assert read.alignment == alignment
        assert [tensor.offset % alignment for tensor in read.tensors] == [0, 0]
        assert list(read.metadata)[:-3] == [b"general.name", b"general.alignment"][number > 0 :][:2]
        by_gguf_py = GGUFReader(made).tensors
        assert [tensor.data[0] for tensor in by_gguf_py] == [2 * number, 2 * number + 1]
    merge(plan.paths[1], tmp_path / "back.gguf")
    assert (tmp_path / "back.gguf").read_bytes() == path.read_bytes()


def test_a_set_is_split_again(model: Path, tmp_path: Path) -> None:
    first = split(model, tmp_path / "first", max_tensors=3)
    again = split(first.paths[4], tmp_path / "again", max_tensors=8)
    straight = split(model, tmp_path / "straight", max_tensors=8)
    for made, expected in zip(again.paths, straight.paths, strict=True):
        assert made.read_bytes() == expected.read_bytes()
    assert [change.kind for change in again.changes] == ["replaced"]


@pytest.mark.parametrize("count", [0, 1, 7])
def test_keys_that_an_old_merge_left_are_replaced(count: int, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    keys = {**models.split_keys(0, min(count, 1), 999), "general.name": "x"}
    ggufspec.write(path, keys, {f"t{n}": np.ones(3, np.float32) for n in range(4)})
    plan = split(path, tmp_path / "out", max_tensors=3)
    assert [change.kind for change in plan.changes] == ["replaced"]
    assert list(found(plan.paths[0]).metadata) == [b"general.name", *SET_KEYS]
    assert found(plan.paths[0]).metadata[b"split.tensors.count"] == 4


def test_a_vocabulary_is_a_set_of_one(tmp_path: Path) -> None:
    path = tmp_path / "v.gguf"
    ggufspec.write(path, {"general.architecture": "llama"})
    for tensorless_first in (False, True):
        plan = split(path, tmp_path / "out", tensorless_first=tensorless_first, replace=True)
        assert [made.name for made in plan.paths] == ["out-00001-of-00001.gguf"]
        merge(plan.paths[0], tmp_path / "back.gguf", replace=True)
        assert (tmp_path / "back.gguf").read_bytes() == path.read_bytes()


def test_files_that_are_too_large_are_told(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    tensors = {"small": np.ones(3, np.float32), "large\x1b": np.ones(5000, np.float32)}
    ggufspec.write(path, {"general.name": "x" * 2000}, tensors)
    done = command("split", path, tmp_path / "out", "--max-size", "1k")
    assert done.returncode == 0
    assert "out-00001-of-00003.gguf: the metadata alone exceed the limit" in done.stderr
    assert "out-00003-of-00003.gguf: 'large\\\\x1b' alone is more than" in done.stderr
    assert counts(tuple(sorted(tmp_path.glob("out-*")))) == [0, 1, 1]


def test_spellings_of_llama_gguf_split(model: Path, tmp_path: Path) -> None:
    for number, options in enumerate(
        [
            ("--split-max-tensors", "8", "--no-tensor-first-split"),
            ("--split_max_tensors", "8", "--no_tensor_first_split"),
            ("--max_tensors", "8", "--no-tensor-first-split"),
        ]
    ):
        prefix = tmp_path / f"out{number}.gguf"  # the ending is not doubled
        done = command("split", *options, model, prefix)
        assert done.returncode == 0, done.stderr
        assert counts(tuple(sorted(tmp_path.glob(f"out{number}-*")))) == [0, 8, 8, 4]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("out", "--max-size", "1M", "--max-tensors", "3"), "either a size or a number"),
        (("out", "--max-size", "0"), "lets nothing in"),
        (("out", "--max-size", "many"), "is no size"),
        (("out", "--max-tensors", "0"), "0"),
        (("out/",), "names start with"),
        (("m-00001-of-00002.gguf",), "in front of -00001-of-"),
    ],
    ids=str,
)
def test_wrong_usage(arguments: tuple[str, ...], message: str, model: Path, tmp_path: Path) -> None:
    first, *options = arguments
    done = command("split", model, f"{tmp_path}/{first}", *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]


def test_outputs_that_exist(model: Path, tmp_path: Path) -> None:
    old = tmp_path / "out-00002-of-00003.gguf"
    old.write_bytes(b"old")
    done = command("split", model, tmp_path / "out", "--max-tensors", "8")
    assert done.returncode == 2
    assert "the output exists" in done.stderr
    with pytest.raises(FileExistsError):
        split(model, tmp_path / "out", max_tensors=8)
    assert old.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.gguf", old.name]
    done = command("split", model, tmp_path / "out", "--max-tensors", "8", "--force")
    assert done.returncode == 0
    assert counts(tuple(sorted(tmp_path.glob("out-*")))) == [8, 8, 4]


def test_another_set_of_that_name_is_told(model: Path, tmp_path: Path) -> None:
    split(model, tmp_path / "out", max_tensors=5)
    done = command("split", model, tmp_path / "out", "--max-tensors", "8")
    assert done.returncode == 0
    assert "out-00001-of-00004.gguf and 3 more: of another set of that name" in done.stderr


def test_dry_run(model: Path, tmp_path: Path) -> None:
    done = command("split", model, tmp_path / "out", "--max-tensors", "8", "--dry-run", "--json")
    record = json.loads(done.stdout)
    assert record["written"] is False
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]
    assert command("split", model, tmp_path / "out", "--max-tensors", "8").returncode == 0
    assert [file["size"] for file in record["files"]] == [
        Path(file["file"]).stat().st_size for file in record["files"]
    ]
    assert [file["tensors"] for file in record["files"]] == [8, 8, 4]


def test_a_file_that_appears_meanwhile_stays(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that cannot have its name: then none has."""
    late = tmp_path / "out-00002-of-00003.gguf"
    name = carry._name
    monkeypatch.setattr(carry, "_name", lambda outputs: (late.write_bytes(b"x"), name(outputs)))
    with pytest.raises(FileExistsError):
        split(model, tmp_path / "out", max_tensors=8)
    assert late.read_bytes() == b"x"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.gguf", late.name]


def test_a_source_that_changes_meanwhile(model: Path, tmp_path: Path) -> None:
    with ggufspec.open(model) as f:
        plan = plan_split(f, tmp_path / "out", max_tensors=8)
        os.utime(model, ns=(1, 1))
        with pytest.raises(ConversionError, match="has changed since it was read"):
            carry_out(plan)
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]


def test_more_files_than_descriptors(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    ggufspec.write(path, {}, {f"t{n}": np.full(1, n, np.float32) for n in range(120)})
    done = limited(
        "split", path, tmp_path / "out", "--max-tensors", "1",
        limit=resource.RLIMIT_NOFILE, most=64,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = sorted(tmp_path.glob("out-*"))
    assert len(made) == 120
    merge(made[7], tmp_path / "back.gguf")
    assert (tmp_path / "back.gguf").read_bytes() == path.read_bytes()


def limited(
    *arguments: str | Path, limit: int, most: int, script: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command under a limit of the system's."""
    program = f"{script}\nfrom ggufspec.cli import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True, text=True, timeout=120, check=False,
        preexec_fn=lambda: resource.setrlimit(limit, (most, most)),
    )  # fmt: skip


@pytest.mark.parametrize("job", ["split", "merge"])
def test_the_system_writes_no_more(job: str, tmp_path: Path) -> None:
    """In the middle of the data of a file, as a quota or a full disk does."""
    path = tmp_path / "m.gguf"
    ggufspec.write(path, {}, {f"t{n}": np.full(5000, n, np.float32) for n in range(20)})
    source = path
    if job == "merge":
        source = split(path, tmp_path / "set", max_tensors=5).paths[2]
    target = tmp_path / ("out" if job == "split" else "out.gguf")
    before = {made.name: made.read_bytes() for made in tmp_path.iterdir()}
    done = limited(job, source, target, limit=resource.RLIMIT_FSIZE, most=150_000)
    assert done.returncode == 4
    assert "file too large" in done.stderr
    assert "out" in done.stderr
    assert {made.name: made.read_bytes() for made in tmp_path.iterdir()} == before


@pytest.mark.parametrize("job", ["split", "merge"])
def test_a_disk_that_fills(job: str, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)]
    if os.geteuid() or subprocess.run(mounted, capture_output=True, check=False).returncode:
        pytest.skip("needs to mount a small file system")
    try:
        path = tmp_path / "m.gguf"
        ggufspec.write(path, {}, {f"t{n}": np.full(50_000, n, np.float32) for n in range(6)})
        source = path
        if job == "merge":
            source = split(path, tmp_path / "set", max_tensors=2).paths[0]
        target = disk / ("out" if job == "split" else "out.gguf")
        options = ("--max-tensors", "2") if job == "split" else ()
        done = command(job, source, target, *options)
        assert done.returncode == 4
        assert "are free" in done.stderr
        script = "import ggufspec.cli.sets as s; s.check_space = lambda *_: None"
        done = limited(
            job, source, target, *options, script=script,
            limit=resource.RLIMIT_CORE, most=0,
        )  # fmt: skip
        assert done.returncode == 4
        assert "no space left on device" in done.stderr
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_memory_is_bounded(tmp_path: Path) -> None:
    source = realfiles.smollm2()
    script = f"""
import re
from pathlib import Path
from ggufspec.jobs.sets import merge, split
def peak():
    return 1024 * int(re.search(r"VmHWM:\\s*([0-9]+)", Path("/proc/self/status").read_text())[1])
split({str(source)!r}, "warm", max_tensors=1000)
before = peak()
plan = split({str(source)!r}, "out", max_size=40_000_000)
merge(plan.paths[0], "back.gguf")
print(before, peak() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    start, more = map(int, done.stdout.split())
    assert start < 120_000_000
    assert more < 20_000_000


def test_raw_bytes_of_types_that_nobody_knows(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    tensors: dict[str, Any] = {
        "a": TensorData(b"\1" * 64, 9999, (7, 3)),
        "b": np.ones(3, np.float32),
        "c": TensorData(b"\2" * 96, 200, (5,)),
        "d": TensorData(b"\3" * 32, 31, (32,)),  # Q4_0_4_4, which was removed
    }
    ggufspec.write(path, {"a.b": Value("UINT64", 5)}, tensors)
    plan = split(path, tmp_path / "out", max_tensors=1)
    with ggufspec.open(plan.paths[1]) as f:
        assert [t.type_id for t in f.tensors.values()] == [9999, 0, 200, 31]
        assert f.tensors["c"].data.tobytes() == b"\2" * 96
    merge(plan.paths[1], tmp_path / "back.gguf")
    assert (tmp_path / "back.gguf").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("job", ["split", "meta"])
def test_a_source_that_is_cut_is_named(job: str, tmp_path: Path) -> None:
    """Not the output, which is what was written when it happened."""
    path = tmp_path / "m.gguf"
    ggufspec.write(path, {}, {f"t{n}": np.full(5000, n, np.float32) for n in range(4)})
    script = (
        "import os; from ggufspec.edits import beside, transfer\n"
        "from ggufspec.jobs.sets import carry\n"
        "def cut(source, *rest):\n"
        f"    os.truncate({str(path)!r}, 9000); return transfer.transfer(source, *rest)\n"
        "carry.transfer = beside.transfer = cut"
    )
    arguments = ("split", path, tmp_path / "out")
    if job == "meta":
        arguments = ("meta", "set", path, "a.b=STRING:x", "-o", tmp_path / "out.gguf")
    done = limited(*arguments, limit=resource.RLIMIT_NOFILE, most=200, script=script)
    assert done.returncode == 4
    assert f"error: {path}: the file has changed since it was read" in done.stderr
    assert [made.name for made in tmp_path.iterdir()] == ["m.gguf"]


@pytest.mark.parametrize("job", ["split", "convert-endian", "hash", "rename"])
def test_what_was_done_is_told_where_standard_output_is_full(
    job: str, model: Path, tmp_path: Path
) -> None:
    arguments, words = {
        "split": ((model, tmp_path / "out", "--max-tensors", "8"), "and 2 more are written"),
        "convert-endian": ((model, tmp_path / "big.gguf"), "big.gguf is written"),
        "hash": ((model, "--manifest", tmp_path / "m.json"), "m.json is written"),
        "rename": ((model,), "it has the new name"),
    }[job]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ggufspec", job, *map(str, arguments), "--json"],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 4
    assert words in done.stderr


def test_what_is_no_file(tmp_path: Path, model: Path) -> None:
    with ggufspec.open(model.read_bytes()) as f, pytest.raises(ConversionError, match="buffer"):
        plan_split(f, tmp_path / "out")
    with pytest.raises(FileNotFoundError):
        split(tmp_path / "none.gguf", tmp_path / "out")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(GGUFError):
        split(tmp_path / "text", tmp_path / "out")
    done = command("split", model, tmp_path / "nowhere" / "out")
    assert done.returncode == 4
    assert "the folder does not exist" in done.stderr


def test_a_tensor_of_unknown_type_takes_no_bytes_of_another(tmp_path: Path) -> None:
    """Both start at one place: they are those of the one that is known to have some."""
    infos = [V3.tensor("a", [8]), V3.tensor("b", [0], kind=200), V3.tensor("c", [8], offset=32)]
    path = tmp_path / "m.gguf"
    path.write_bytes(crafted.file([], infos, b"a" * 32 + b"c" * 32))
    plan = split(path, tmp_path / "out", max_tensors=1)
    with ggufspec.open(plan.paths[0]) as f:
        stored = [tensor.data.tobytes() for tensor in f.tensors.values()]
    assert stored == [b"a" * 32, b"", b"c" * 32]
    done = command("meta", "set", path, "general.alignment=UINT32:64", "--force")
    assert done.returncode == 0, done.stderr
    with ggufspec.open(path) as f:
        assert [tensor.data.tobytes()[:32] for tensor in f.tensors.values()] == stored


@pytest.mark.parametrize("length", range(32))
def test_padding_behind_the_keys_of_a_vocabulary_stays_or_is_told(
    length: int, tmp_path: Path
) -> None:
    """Also where it is more, less or something else than padding, wherever the keys end."""
    path = tmp_path / "v.gguf"
    ggufspec.write(path, {"general.name": "x" * length})
    whole = path.read_bytes()
    padding = bytes(-len(whole) % 32)
    kept = 0
    for tail in (b"", padding, padding[1:], padding + bytes(32), b"\1" * len(padding), b"tail"):
        path.write_bytes(whole + tail)
        plan = split(path, tmp_path / "out", replace=True)
        assert len(merge(plan.paths[0], tmp_path / "back.gguf", replace=True).changes) == 1
        same = (tmp_path / "back.gguf").read_bytes() == whole + tail
        assert same == (not plan.changes)
        kept += same and tail == padding != b""
        if plan.changes:
            assert (tmp_path / "back.gguf").read_bytes() == whole
    assert kept or not padding or length == ALIGNED_AS_A_SET


ALIGNED_AS_A_SET = 22
"""Bytes of the name with which the keys of a set end where padding would: then it cannot be told
from none."""


def test_dry_runs_refuse_what_the_real_ones_do(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out-00002-of-00003.gguf"
    folder.mkdir()
    link = tmp_path / "out-00003-of-00003.gguf"
    for options in (["--dry-run", "--force"], ["--force"], ["--dry-run"], []):
        done = command("split", model, tmp_path / "out", "--max-tensors", "8", *options)
        assert (done.returncode, "the output is a folder" in done.stderr) == (2, True)
    folder.rmdir()
    link.symlink_to(model)
    for options in (["--dry-run", "--force"], ["--force"], ["--dry-run"], []):
        done = command("split", model, tmp_path / "out", "--max-tensors", "8", *options)
        assert (done.returncode, "the output is the input" in done.stderr) == (2, True)
    assert {made.name for made in tmp_path.iterdir()} == {"model.gguf", link.name}


@pytest.fixture
def over_a_set(model: Path, tmp_path: Path) -> tuple[Path, dict[str, bytes]]:
    """A model to be split over the files of another set, and what there is then."""
    split(model, tmp_path / "out", max_tensors=8)
    ggufspec.write(
        model, {"general.name": "y"}, {f"t{n}": np.full(9, n, np.float32) for n in range(20)}
    )
    return model, {made.name: made.read_bytes() for made in tmp_path.iterdir()}


@pytest.mark.parametrize("error", [OSError(1, "no"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("late", [False, True])
def test_an_old_set_stays_where_the_new_one_cannot_have_its_names(
    error: BaseException, late: bool, over_a_set: tuple[Path, dict[str, bytes]], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """In front of each renaming, and behind it; the first file is missing as long as others are."""
    model, before = over_a_set
    real = {name: getattr(Path, name) for name in ("rename", "replace")}
    left = 0

    def failing(name: str) -> Any:
        def call(path: Path, target: Path) -> Any:
            nonlocal left
            left -= 1
            if left == 0 and not late:
                raise error
            made = real[name](path, target)
            if left == 0:
                raise error
            return made

        return call

    for name in real:
        monkeypatch.setattr(Path, name, failing(name))
    for number in range(1, 7):
        left = number
        with pytest.raises(type(error)):
            split(model, tmp_path / "out", max_tensors=8, replace=True)
        assert {made.name: made.read_bytes() for made in tmp_path.iterdir()} == before
    left = 0
    plan = split(model, tmp_path / "out", max_tensors=8, replace=True)
    assert counts(plan.paths) == [8, 8, 4]
    assert {made.name for made in tmp_path.iterdir()} == before.keys()


def test_no_mixture_even_where_the_old_set_cannot_come_back(
    over_a_set: tuple[Path, dict[str, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, before = over_a_set
    real, count = Path.rename, 0

    def rename(path: Path, target: Path) -> Any:
        nonlocal count
        count += 1
        if count > 2:  # the first and the last are set aside
            raise OSError(1, "no")
        return real(path, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OSError, match=r"is now out-00003-of-00003\.gguf\.\w+\.ggufspec-tmp, out-0"):
        split(model, tmp_path / "out", max_tensors=8, replace=True)
    there = {made.name: made.read_bytes() for made in tmp_path.iterdir()}
    assert sorted(there.values()) == sorted(before.values())
    assert "out-00001-of-00003.gguf" not in there


RESUMED = ("--resume", "--allow-requantize")


def test_quantize_leaves_no_mixture_either(
    over_a_set: tuple[Path, dict[str, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A set in place of an old one: what cannot have its name stops all, and nothing is lost."""
    _, before = over_a_set
    (tmp_path / "in").mkdir()
    source = tmp_path / "in" / "m.gguf"
    ggufspec.write(source, {}, {f"t{n}": np.full(32, n, np.float32) for n in range(20)})
    first = split(source, tmp_path / "in" / "m", max_tensors=8).paths[0]
    real = Path.rename

    def rename(path: Path, target: Path) -> Any:
        if path.name == "out-00002-of-00003.gguf":
            raise OSError(1, "no")
        return real(path, target)

    with ggufspec.open(first) as file:
        outputs = [Output(make_plan(file, "Q8_0", Options(keep_split=True)), tmp_path / "out")]
        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", rename)
            with pytest.raises(OSError, match="no"):
                carry_out_all(outputs)
        there = {made.name: made.read_bytes() for made in tmp_path.glob("*.gguf")}
        assert there == before
        carry_out_all(outputs)
    assert counts(tuple(sorted(tmp_path.glob("out-*.gguf")))) == [8, 8, 4]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o666])
def test_no_output_is_for_more_people_than_its_source(
    mode: int, sample: Path, tmp_path: Path
) -> None:
    """As with cp: the source's permissions, as far as the umask lets them be."""
    source = tmp_path / "m.gguf"
    shutil.copy(sample, source)
    source.chmod(mode)
    before = os.umask(0o022)
    try:
        shards = split(source, tmp_path / "set", max_tensors=16).paths
        convert_endian(source, tmp_path / "big.gguf")
        merge(shards[1], tmp_path / "whole.gguf")
        for arguments in (
            ("meta", "set", source, "general.name=x", "-o", tmp_path / "meta.gguf"),
            ("meta", "export", source, "-o", tmp_path / "meta.json"),
            ("dequantize", source, tmp_path / "f32.gguf"),
            ("quantize", source, tmp_path / "resumed.gguf", "Q8_0", *RESUMED),
        ):
            done = command(*arguments)
            assert done.returncode == 0, done.stderr
        (tmp_path / "there.gguf").touch(0o606)
        (tmp_path / "there.gguf").chmod(0o606)
        merge(shards[1], tmp_path / "there.gguf", replace=True)
        shards[2].chmod(0o600)  # of several files none may be shown
        merge(shards[1], tmp_path / "less.gguf")
    finally:
        os.umask(before)
    modes = {made.name: made.stat().st_mode & 0o777 for made in tmp_path.iterdir()}
    assert modes.pop("m.gguf") == mode
    assert modes.pop("there.gguf") == 0o606
    assert modes.pop(shards[2].name) == 0o600
    assert modes.pop("less.gguf") == mode & 0o600
    assert set(modes.values()) == {mode & ~0o022}
    assert len(modes) == 8
