"""``ggufspec validate`` of many files: folders, patterns, sets, processes; JSON and SARIF."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import ggufspec
from ggufspec import Value
from ggufspec.cli import validate as command
from ggufspec.cli.sarif import uri
from ggufspec.files.shard_names import shard_name
from support.crafted import ARCHITECTURE, STRING, V3, file

from .conftest import command_line

Run = Callable[..., Any]


def names(result: Any) -> list[str]:
    return [Path(record["file"]).name for record in result.json["files"]]


@pytest.fixture
def folder(sample: Path, tmp_path: Path) -> Path:
    """Two good files, a bad one, something else, and a link that leads back."""
    data = sample.read_bytes()
    (tmp_path / "below" / "deeper").mkdir(parents=True)
    (tmp_path / "good.gguf").write_bytes(data)
    (tmp_path / "below" / "deeper" / "Upper.GGUF").write_bytes(data)
    (tmp_path / "below" / "bad.gguf").write_bytes(data[:2000])
    (tmp_path / "below" / "notes.txt").write_text("no model")
    (tmp_path / "below" / "again").symlink_to(tmp_path)
    return tmp_path


def write_set(folder: Path, count: int = 3, prefix: str = "m") -> list[Path]:
    paths = []
    for number in range(count):
        metadata: dict[str, Any] = {
            "split.no": Value("UINT16", number),
            "split.count": Value("UINT16", count),
        }
        if not number:
            metadata["general.architecture"] = "llama"
        paths.append(folder / shard_name(prefix, number + 1, count))
        ggufspec.write(paths[-1], metadata, {f"t{number}": np.ones(4, np.float32)})
    return paths


def test_a_folder_is_searched(run: Run, folder: Path) -> None:
    result = run("validate", folder, "--json")
    assert names(result) == ["good.gguf", "bad.gguf", "Upper.GGUF"]
    assert result.code == 1
    assert result.json["verdict"] == "invalid"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.gguf", ["good.gguf"]),
        ("**/*.gguf", ["bad.gguf", "good.gguf"]),
        ("below/d*", ["Upper.GGUF"]),
        ("below/[ab]ad.gguf", ["bad.gguf"]),
    ],
)
def test_patterns(
    pattern: str, expected: list[str], run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "below" / "again").unlink()
    monkeypatch.chdir(folder)
    assert names(run("validate", pattern, "--json")) == expected


@pytest.mark.parametrize("pattern", ["**/*.gguf", "**", "**/**/*.gguf", "*/**/*", "a/**/c/*.gguf"])
def test_patterns_and_links_that_lead_round(
    pattern: str, run: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "g"
    (folder / "a" / ".hidden").mkdir(parents=True)
    for link in ("b", "c"):
        (folder / "a" / link).symlink_to("..")
    small.rename(folder / "ok.gguf")
    monkeypatch.chdir(folder)
    assert names(run("validate", pattern, "--json")) == ["ok.gguf"]


def test_a_folder_by_two_paths(run: Run, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    paths = write_set(tmp_path)
    again = [tmp_path / "link" / path.name for path in paths]
    assert len(run("validate", *again, *paths, "--json").json["files"]) == 1


def test_a_link_to_a_file_is_a_name_of_its_own(run: Run, tmp_path: Path) -> None:
    """Only the name of the set leads to its other files."""
    link = tmp_path / "link.gguf"
    paths = write_set(tmp_path)
    link.symlink_to(paths[0])
    records = run("validate", link, paths[0], "--json").json["files"]
    assert [len(record.get("set", [1])) for record in records] == [1, 3]


def test_a_name_that_looks_like_a_pattern(run: Run, sample: Path, tmp_path: Path) -> None:
    path = tmp_path / "model [x].gguf"
    path.write_bytes(sample.read_bytes())
    assert names(run("validate", path, "--json")) == [path.name]


def test_nothing_to_check(run: Run, tmp_path: Path) -> None:
    for argument in (tmp_path, tmp_path / "*.gguf", tmp_path / "none.gguf"):
        result = run("validate", argument)
        assert result.code == 4
        assert str(tmp_path) in result.err


def test_each_file_once(run: Run, folder: Path) -> None:
    good = folder / "good.gguf"
    result = run("validate", good, good, folder, str(folder / "g*"), "--json")
    assert names(result) == ["good.gguf", "bad.gguf", "Upper.GGUF"]


def test_quiet(run: Run, folder: Path) -> None:
    result = run("validate", folder, "-q", "--checks", "structure")
    assert [line.partition(": ")[2] for line in result.out.splitlines()] == [
        "valid (profile strict)",
        "invalid (profile strict): 1 error",
        "valid (profile strict)",
    ]


def test_a_set_is_one_thing(run: Run, tmp_path: Path) -> None:
    paths = write_set(tmp_path)
    for given in ([paths[1]], paths, [tmp_path], [str(tmp_path / "*.gguf")]):
        result = run("validate", *given, "--json")
        [record] = result.json["files"]
        assert record["set"] == list(map(str, paths))
        assert result.code == 0
    assert "3 files" in run("validate", tmp_path, "-q").out
    # ggml's reader knows of no sets
    assert len(run("validate", tmp_path, "--json", "--profile", "ggml").json["files"]) == 3


def test_sets_side_by_side(run: Run, sample: Path, tmp_path: Path) -> None:
    one, two = write_set(tmp_path), write_set(tmp_path, 2, "n")
    three = write_set(tmp_path, 2)  # the same prefix, another count
    given = [two[1], sample, one[2], three[0], two[0], one[0]]
    records = run("validate", *given, "--json", "--threads", "2").json["files"]
    assert [record["file"] for record in records] == list(map(str, given[:4]))
    assert [len(record.get("set", [1])) for record in records] == [2, 1, 3, 2]


def test_a_file_of_a_set_that_is_alone(run: Run, tmp_path: Path) -> None:
    paths = write_set(tmp_path)
    paths[0].unlink()
    result = run("validate", tmp_path, "--json")
    [record] = result.json["files"]
    missing = record["findings"][0]
    assert (missing["rule"], result.code) == ("GG0803", 1)
    table = run("validate", tmp_path).out
    assert "m-00001-of-00003.gguf is missing" in table


def test_names_of_a_set_whose_files_are_none(run: Run, sample: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / shard_name("m", number, 2)).write_bytes(sample.read_bytes())
    assert len(run("validate", tmp_path, "--json").json["files"]) == 2


# ---- processes


DIE = """
import os, signal
from ggufspec import validation
check = validation.validate
def validate(path, *args, **options):
    if "bad" in str(path):
        {how}
    return check(path, *args, **options)
validation.validate = validate
"""

DEATHS = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "exits": "os._exit(3)",
    "crash": "os.kill(os.getpid(), signal.SIGSEGV)",
    "memory": "raise MemoryError",
    "fault": "raise RuntimeError('oh')",
}


@pytest.mark.skipif(sys.platform != "linux", reason="patches what a fork inherits")
@pytest.mark.parametrize("threads", ["1", "4"])
@pytest.mark.parametrize("how", DEATHS)
def test_no_file_takes_the_others_down(how: str, threads: str, spawn: Run, folder: Path) -> None:
    script = DIE.format(how=DEATHS[how])
    result = spawn("validate", folder, "--json", "--threads", threads, script=script)
    assert result.code == 4
    assert names(result) == ["good.gguf", "bad.gguf", "Upper.GGUF"]
    records = result.json["files"]
    assert [record.get("verdict") for record in records] == ["valid", None, "valid"]
    assert records[1]["error"]["exit"] == 4
    assert result.json["verdict"] is None
    assert "bad.gguf" in result.err


def test_processes_that_cannot_be_made(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr("ggufspec.cli.workers._start", refuse)
    assert names(run("validate", folder, "--json")) == ["good.gguf", "bad.gguf", "Upper.GGUF"]


@pytest.mark.parametrize(
    ("count", "most", "expected"), [(2, 64, (2, 32)), (3, 2, (2, 1)), (2, 3, (2, 1))]
)
def test_no_more_processes_than_files_or_processors(
    count: int, most: int, expected: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def each(work: Any, groups: Any, _: Any, processes: int) -> list[Any]:
        asked.append((processes, work.keywords["options"]["threads"]))
        return [[] for _ in groups]

    monkeypatch.setattr("ggufspec.cli.workers.each", each)
    monkeypatch.setattr("ggufspec.blocks.kernels.processors", lambda: most)
    groups = [(Path(f"{number}.gguf"),) for number in range(count)]
    for threads in (1_000_000, None):
        list(command._many(groups, {}, threads))
    assert asked == [expected, expected]


def test_many_files_in_order(run: Run, small: Path) -> None:
    paths = [small.with_name(f"{number:03}.gguf") for number in range(60)]
    for path in paths:
        path.write_bytes(small.read_bytes())
    small.unlink()
    result = run("validate", small.parent, "--json", "--threads", "3")
    assert names(result) == [path.name for path in paths]


@pytest.mark.skipif(not hasattr(signal, "SIGTERM"), reason="needs signals")
def test_nobody_is_left_behind(folder: Path) -> None:
    """Told to stop, the command takes its processes along."""
    script = DIE.format(how="print(os.getpid(), flush=True); signal.pause()")
    process = subprocess.Popen(
        command_line("validate", folder, "-q", script=script),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    number = next(line for line in process.stdout if line.strip().isdigit())
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    with pytest.raises(ProcessLookupError):
        os.kill(int(number), 0)


# ---- options


def test_wrong_options(run: Run, sample: Path) -> None:
    for options in (
        ["--checks", "x"], ["--checks", ""], ["--dialect", "x"], ["--json", "--sarif"],
        ["--profile", "x"], ["--fail-on", "x"], ["--threads", "0"],
    ):  # fmt: skip
        assert run("validate", sample, *options).code == 2, options


def test_checks(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(file([V3.pair("general.name", STRING, V3.string("\u202e"))]))

    def found(*options: str) -> set[str]:
        [record] = run("validate", path, "--json", *options).json["files"]
        return {finding["rule"] for finding in record["findings"]}

    assert found("--checks", "structure") == {"GG0701"}
    assert "GG1703" in found("--checks", "meaning")
    assert "GG0701" not in found("--checks", "meaning, templates")
    assert {"GG0701", "GG1703"} <= found()


def test_base_is_opened(run: Run, sample: Path, tmp_path: Path) -> None:
    assert run("validate", sample, "--with", sample).code in (0, 1)
    missing = run("validate", sample, "--with", tmp_path / "none.gguf")
    assert missing.code == 4
    assert "none.gguf" in missing.err


# ---- for machines


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Names and text that are no text, in a file whose own name is none."""
    path = tmp_path / os.fsdecode(b"a\xff\n\x1b.gguf")
    pairs = [
        ARCHITECTURE,
        V3.pair(b"\xff\x00\"'<b>\x1b", STRING, V3.string(b"\xfe")),
        V3.pair("general.url", STRING, V3.string("javascript:x\x1b\u202e" + "y" * 100_000)),
    ]
    path.write_bytes(file(pairs, [V3.tensor(b"\xff/..", [(1 << 64) - 1])]))
    return path


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("form", ["--json", "--sarif"])
def test_what_machines_get_is_strict_and_bounded(form: str, run: Run, hostile: Path) -> None:
    result = run("validate", hostile, form)
    assert result.code == 1
    assert result.out.isascii()
    assert "18446744073709551615" in result.out
    for text in strings(result.json):
        assert len(text) < 2000
        assert text.replace("\n", "").isprintable()


def test_screen_is_escaped(run: Run, hostile: Path) -> None:
    for options in ([], ["-q"]):
        result = run("validate", hostile, *options)
        assert result.out.replace("\n", "").isprintable()
        assert r"a\xff\n\x1b.gguf" in result.out


def test_a_file_name_that_is_not_utf8(run: Run, hostile: Path) -> None:
    [record] = run("validate", hostile, "--json").json["files"]
    assert set(record["file"]) == {"base64"}


# What the SARIF 2.1.0 standard requires of the objects that are used (its sections 3.13 to 3.58).
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "physicalLocation": {
            "type": "object",
            "additionalProperties": False,
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": {"$ref": "#/$defs/artifact"},
                "region": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["byteOffset"],
                    "properties": {"byteOffset": {"type": "integer", "minimum": 0}},
                },
            },
        },
        "logicalLocations": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"fullyQualifiedName": {"type": "string"}},
            },
        },
    },
}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
SARIF = {
    "$defs": {
        "artifact": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "uri": {"type": "string", "pattern": r"^[A-Za-z0-9:/?#\[\]@!$&'()*+,;=._~%-]+$"}
            },
        }
    },
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool"],
                "additionalProperties": False,
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "additionalProperties": False,
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "additionalProperties": False,
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "informationUri": {"type": "string", "pattern": "^https://"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "id": {"pattern": "^GG[0-9]{4}$"},
                                                "name": {"pattern": "^[A-Za-z0-9]+$"},
                                                "shortDescription": TEXT,
                                                "fullDescription": TEXT,
                                                "help": TEXT,
                                                "defaultConfiguration": {
                                                    "properties": {"level": LEVEL}
                                                },
                                                "properties": {"type": "object"},
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "additionalProperties": False,
                            "properties": {
                                "executionSuccessful": {"type": "boolean"},
                                "toolExecutionNotifications": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "required": ["message"],
                                        "additionalProperties": False,
                                        "properties": {
                                            "message": TEXT,
                                            "level": LEVEL,
                                            "locations": {"type": "array", "items": LOCATION},
                                        },
                                    },
                                },
                            },
                        },
                    },
                    "artifacts": {
                        "type": "array",
                        "uniqueItems": True,
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "properties": {"location": {"$ref": "#/$defs/artifact"}},
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": LEVEL,
                                "message": TEXT,
                                "locations": {"type": "array", "items": LOCATION},
                            },
                        },
                    },
                },
            },
        },
    },
}


@pytest.mark.usefixtures("hostile")
def test_sarif(run: Run, folder: Path) -> None:
    write_set(folder)[1].unlink()
    missing = folder / "none.gguf"
    result = run("validate", folder, missing, "--sarif")
    assert result.code == 4
    log = result.json
    Draft202012Validator(SARIF).validate(log)
    [made] = log["runs"]
    rules = made["tool"]["driver"]["rules"]
    assert made["results"]
    for found in made["results"]:
        assert rules[found["ruleIndex"]]["id"] == found["ruleId"]
    assert {"GG0803", "GG1705"} <= {rule["id"] for rule in rules}
    for rule in rules:
        assert "What to do:" in rule["help"]["text"]
    assert made["invocations"][0]["executionSuccessful"] is False
    assert len(made["invocations"][0]["toolExecutionNotifications"]) == 1
    places = [found["locations"][0]["physicalLocation"] for found in made["results"]]
    assert any("region" in place for place in places)
    assert any("%FF" in place["artifactLocation"]["uri"] for place in places)


def test_sarif_of_valid_files(run: Run, sample: Path) -> None:
    result = run("validate", sample, "--sarif")
    Draft202012Validator(SARIF).validate(result.json)
    assert result.json["runs"][0]["results"] == []
    assert result.code == 0


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a b.gguf", "a%20b.gguf"),
        ("x/y.gguf", "x/y.gguf"),
        ("c:d.gguf", "c%3Ad.gguf"),
        ("/tmp/ä.gguf", "file:///tmp/%C3%A4.gguf"),
        (os.fsdecode(b"\xff"), "%FF"),
    ],
)
def test_references(path: str, expected: str) -> None:
    assert uri(path) == expected


def test_profiles_are_those_of_the_spec() -> None:
    from ggufspec.generated.container import PROFILES

    assert {profile.value for profile in command.Profile} == {known.name for known in PROFILES}
