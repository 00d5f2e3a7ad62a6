"""Nothing lost and nothing half-written, whatever happens."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ggufspec
from ggufspec.cli import paths
from support import imatrix, models

from .conftest import command_line

Run = Callable[..., Any]

SLOW = """
import time
from ggufspec.files.writer import Writer
feed = Writer.feed
def slow_feed(self, data):
    feed(self, data)
    self.flush()
    time.sleep(1)
Writer.feed = slow_feed
"""
"""Makes every command that writes tensors take a second for each."""


@pytest.fixture
def model(sample: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of the sample, which has to be the same at the end."""
    path = tmp_path / "model.gguf"
    path.write_bytes(sample.read_bytes())
    yield path
    assert path.read_bytes() == sample.read_bytes()


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def quantize(model: Path, out: Path) -> tuple[str, Path, Path, str]:
    return ("quantize", model, out, "Q8_0")


@pytest.mark.parametrize("way", ["same", "dotted", "symbolic", "hard", "dangling chain"])
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_output_that_is_the_input(
    run: Run, model: Path, tmp_path: Path, way: str, force: list[str]
) -> None:
    out = tmp_path / "out.gguf"
    match way:
        case "same":
            out = model
        case "dotted":
            (tmp_path / "folder").mkdir()
            out = tmp_path / "folder" / ".." / model.name
        case "symbolic":
            out.symlink_to(model)
        case "hard":
            out.hardlink_to(model)
        case "dangling chain":
            (tmp_path / "middle").symlink_to(model.name)
            out.symlink_to("middle")
    before = names(tmp_path)
    result = run(*quantize(model, out), *force)
    assert result.code == 2
    assert "the output is the input" in result.err
    assert names(tmp_path) == before


def test_output_that_is_a_shard_of_the_input(run: Run, tmp_path: Path) -> None:
    import numpy as np

    weights = {f"blk.{n}.ffn_up.weight": np.full((2, 32), n, np.float32) for n in range(2)}
    first = models.write_set(tmp_path / "m", weights, {"general.architecture": "llama"}, 1)
    second = tmp_path / "m-00002-of-00002.gguf"
    assert run("quantize", first, second, "Q8_0", "--force").code == 2
    assert run("quantize", second, tmp_path / "out.gguf", "Q8_0").code == 0
    with ggufspec.open(tmp_path / "out.gguf") as file:
        assert list(file.tensors) == ["blk.0.ffn_up.weight", "blk.1.ffn_up.weight"]


@pytest.mark.parametrize("command", ["quantize", "dequantize", "sample"])
def test_existing_output_needs_force(run: Run, model: Path, tmp_path: Path, command: str) -> None:
    out = tmp_path / "out.gguf"
    out.write_text("precious")
    out.chmod(0o640)
    arguments = {
        "quantize": quantize(model, out),
        "dequantize": ("dequantize", model, out),
        "sample": ("sample", out),
    }[command]
    result = run(*arguments)
    assert result.code == 2
    assert "--force" in result.err
    assert out.read_text() == "precious"
    assert run(*arguments, "--force").code == 0
    with ggufspec.open(out) as file:
        assert file.tensors
    assert out.stat().st_mode & 0o777 == 0o640


def test_output_through_a_link_keeps_the_link(run: Run, model: Path, tmp_path: Path) -> None:
    real, link = tmp_path / "real.gguf", tmp_path / "link.gguf"
    real.write_text("old")
    link.symlink_to(real)
    assert run(*quantize(model, link), "--force").code == 0
    assert link.is_symlink()
    with ggufspec.open(real) as file:
        assert file.tensors


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_output_that_is_no_file(run: Run, model: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    match kind:
        case "folder":
            out.mkdir()
        case "pipe":
            os.mkfifo(out)
        case "device":
            out = Path(os.devnull)
    result = run(*quantize(model, out), "--force")
    assert result.code == 2
    assert out.exists()
    assert not out.is_file()


def test_folder_that_is_not_there(run: Run, model: Path, tmp_path: Path) -> None:
    result = run(*quantize(model, tmp_path / "none" / "out.gguf"))
    assert result.code == 4
    assert "the folder does not exist" in result.err


def test_folder_that_is_read_only(spawn: Run, model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with read_only(folder):
        result = spawn(*quantize(model, folder / "out.gguf"))
    assert result.code == 4
    assert str(folder) in result.err
    assert not names(folder)


def test_input_in_a_read_only_folder(spawn: Run, sample: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "model.gguf").write_bytes(sample.read_bytes())
    with read_only(folder):
        assert spawn(*quantize(folder / "model.gguf", tmp_path / "out.gguf")).code == 0


class read_only:  # noqa: N801 - reads as what it does
    """A folder that cannot be written to, for root too where mounts are allowed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mounted = False

    def __enter__(self) -> None:
        if os.geteuid():
            self.folder.chmod(0o555)
            return
        self.mounted = mount("--bind", str(self.folder), str(self.folder))
        if not self.mounted or not mount("-o", "remount,bind,ro", str(self.folder)):
            self.__exit__()
            pytest.skip("root without mounts can write anywhere")

    def __exit__(self, *error: object) -> None:
        if self.mounted:
            subprocess.run(["umount", str(self.folder)], check=True)
        self.folder.chmod(0o755)


def mount(*arguments: str) -> bool:
    try:
        done = subprocess.run(["mount", *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return done.returncode == 0


def test_disk_without_room(run: Run, model: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(paths, "SPARE", 1 << 60)
    result = run(*quantize(model, tmp_path / "out.gguf"))
    assert result.code == 4
    assert "are free" in result.err
    assert names(tmp_path) == ["model.gguf"]


def test_limit_on_file_sizes(spawn: Run, model: Path, tmp_path: Path) -> None:
    """The system refuses in the middle of writing, as a quota or a full disk does."""
    result = spawn(
        *quantize(model, tmp_path / "out.gguf"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)),
    )
    assert result.code == 4
    assert "out.gguf: file too large" in result.err
    assert names(tmp_path) == ["model.gguf"]


def test_disk_that_fills(spawn: Run, model: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() or not mount("-t", "tmpfs", "-o", "size=2m", "none", str(disk)):
        pytest.skip("needs to mount a small file system")
    try:
        result = spawn(*quantize(model, disk / "out.gguf"))
        assert result.code == 4
        assert "are free" in result.err
        script = "import ggufspec.cli.conversion as c; c.check_space = lambda *_: None"
        result = spawn(*quantize(model, disk / "out.gguf"), script=script)
        assert result.code == 4
        assert "out.gguf: no space left on device" in result.err
        assert not names(disk)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def as_a_terminal_starts_it() -> None:
    """Signals have their effect, whatever the tests themselves were told to ignore."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def started(model: Path, folder: Path) -> subprocess.Popen[str]:
    """A conversion in the middle of its work: its temporary file has grown."""
    process = subprocess.Popen(
        command_line(*quantize(model, folder / "out.gguf"), script=SLOW),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=as_a_terminal_starts_it,  # noqa: PLW1509
    )
    for _ in range(600):
        if any(path.name != "model.gguf" and path.stat().st_size for path in folder.iterdir()):
            return process
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("the conversion does not start")


def test_kill_leaves_no_file_of_that_name(model: Path, tmp_path: Path) -> None:
    process = started(model, tmp_path)
    process.kill()
    process.communicate(timeout=60)
    assert not (tmp_path / "out.gguf").exists()
    for path in tmp_path.iterdir():
        assert path == model or path.suffix != ".gguf"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_remove_what_is_half_done(model: Path, tmp_path: Path, number: int) -> None:
    process = started(model, tmp_path)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "error: interrupted\n")
    assert names(tmp_path) == ["model.gguf"]


def test_failure_keeps_the_earlier_output(spawn: Run, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.gguf"
    out.write_text("precious")
    result = spawn(
        *quantize(model, out),
        "--force",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)),
    )
    assert result.code == 4
    assert out.read_text() == "precious"
    assert names(tmp_path) == ["model.gguf", "out.gguf"]


@pytest.mark.parametrize("option", ["--tensor-type-file", "--imatrix"])
@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_output_that_an_option_reads(
    run: Run, small: Path, tmp_path: Path, option: str, resume: list[str]
) -> None:
    read = tmp_path / ("read.partial" if resume else "read")
    if option == "--imatrix":
        read.write_bytes(imatrix.gguf_form({"blk.0.ffn_up.weight": ([1.0] * 512, [1])}))
    else:
        read.write_text("ffn_up=Q4_0")
    before = read.read_bytes()
    words = ("Q8_0", option, read, "--force", *resume)
    result = run("quantize", small, tmp_path / "read", *words)
    assert result.code == 2
    assert "the output is the input" in result.err
    assert read.read_bytes() == before
    assert names(tmp_path) == sorted([read.name, "small.gguf"])


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_two_outputs_that_are_one(
    run: Run, small: Path, tmp_path: Path, there: bool, resume: list[str]
) -> None:
    if there:
        (tmp_path / "same").write_text("precious")
    for kind in ("Q8_0", "Q4_0"):
        (tmp_path / f"out-{kind}").symlink_to("same")
    before = names(tmp_path)
    result = run("quantize", small, tmp_path / "out-{type}", "Q8_0,Q4_0", "--force", *resume)
    assert result.code == 2
    assert "this is written to as" in result.err
    assert names(tmp_path) == before
    assert not there or (tmp_path / "same").read_text() == "precious"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_summary_that_cannot_be_written(small: Path, tmp_path: Path) -> None:
    """The output is there then, and nothing says that it is not."""
    out = tmp_path / "out.gguf"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command_line(*quantize(small, out)),
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 4
    assert done.stderr == "error: no space left on device\n"
    with ggufspec.open(out) as file:
        assert len(file.tensors) == 3
