"""Every fault of a spec is refused with file, line, YAML path and a sentence.

bad/ holds one fault a file; its first line is the whole message that the fault must give.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ggufspec.codegen.errors import SpecError
from ggufspec.codegen.source import load_yaml
from ggufspec.codegen.spec import load_spec
from ggufspec.codegen.targets.quantizers.model import quantizers
from support.specs import BASE, small_tree

BAD = sorted((BASE.parent / "bad").rglob("*.yaml"))


def _place(path: Path) -> str:
    """Where in a spec a file of bad/ belongs: scalars are one file, types and tables folders.

    In quantize/ are types whose fault lies in how they are quantized.
    """
    folder = path.parent.name
    if folder == "scalars":
        return "scalars.yaml"
    return f"{'types' if folder == 'quantize' else folder}/{path.name}"


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_message(path: Path, tmp_path: Path) -> None:
    expected = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    root = small_tree(tmp_path, {_place(path): path.read_bytes()})
    with pytest.raises(SpecError) as caught:
        quantizers(load_spec(root))
    assert str(caught.value) == expected


def test_base_is_good(tmp_path: Path) -> None:
    """What bad files stand in is right, so that their fault is the only one."""
    spec = load_spec(small_tree(tmp_path, {}))
    assert [kind.name for kind in spec.types] == ["GOOD"]
    assert quantizers(spec) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name: \xff\n", "types/file.yaml:1: (top): not UTF-8 text (byte 6)"),
        (b"name: A\ndoc: \x07\n", "types/file.yaml:2: (top): character 0x7 is not allowed"),
        (b'doc: "\\ud800"\n', "types/file.yaml:1: (top): half a character (a lone surrogate)"),
        (b"a: " + b"[" * 3000 + b"]" * 3000, "types/file.yaml:1: (top): nested deeper than 20"),
        (
            b"a: " + b"{a: " * 30 + b"1" + b"}" * 30,
            "types/file.yaml:1: (top): nested deeper than 20",
        ),
        (b"\x00\x01\x02GGUF", "types/file.yaml:1: (top): "),
        (b"a: [" + b"0," * 20_000 + b"]", "types/file.yaml:1: (top): more than 20000 keys and"),
        (b"#" * (1 << 20) + b"\n", "types/file.yaml:1: (top): more than 1048576 bytes"),
        (b"GGUF", 'types/file.yaml:1: (top): "GGUF" is not a mapping'),
    ],
)
def test_hardly_text(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        load_spec(small_tree(tmp_path, {"types/file.yaml": content}))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("text", [b"", b"1.0", b"1.0.0; import os", b"\xff\xfe"])
def test_version(text: bytes, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"^VERSION:1: \(top\): '.*' is not major\.minor\.patch$"):
        load_spec(small_tree(tmp_path, {"VERSION": text}))


def test_error_has_parts() -> None:
    error = SpecError("types/a.yaml", 7, ("codes", "q", 1), "what is wrong")
    assert (error.file, error.line, error.path) == ("types/a.yaml", 7, ("codes", "q", 1))
    assert str(error) == "types/a.yaml:7: codes.q[1]: what is wrong"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_only_regular_files_are_read(tmp_path: Path) -> None:
    pipe = tmp_path / "a.yaml"
    os.mkfifo(pipe)
    with pytest.raises(SpecError, match=r"^a\.yaml:1: \(top\): not a regular file$"):
        load_yaml(pipe)
    (tmp_path / "b.yaml").symlink_to("/dev/zero")
    with pytest.raises(SpecError, match=r"^b\.yaml:1: \(top\): not a regular file$"):
        load_yaml(tmp_path / "b.yaml")


def test_error_is_one_line() -> None:
    assert str(SpecError("\u202e\n\u00e4", 1, ("a",), "\x1b")) == "\\u202e\\n\u00e4:1: a: \\x1b"
    assert str(SpecError("a.yaml", 1, ("a\nb", "c"), "no")) == "a.yaml:1: a\\nb.c: no"
