"""URLs on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ggufspec
from support import models
from support.command import command
from support.fileserver import Exchange, serving


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("llama") / "llama.gguf"
    models.write_llama(path)
    return path


def test_info_tells_the_same_of_a_url(llama: Path) -> None:
    with serving(llama.read_bytes()) as site:
        there = json.loads(command("info", site.url, "--json").stdout)
        shown = command("info", site.url)
    here = json.loads(command("info", llama, "--json").stdout)
    assert there.pop("fetched") == 1 << 16 or there["size"] < 1 << 16
    assert there.pop("file") == site.url
    assert there.pop("files") == []
    assert {key: here[key] for key in there} == there
    assert shown.returncode == 0
    assert site.url in shown.stdout


def test_validate_tells_the_same_of_urls_and_files(llama: Path) -> None:
    with serving(llama.read_bytes()) as site:
        done = command("validate", site.url, llama, site.url + "?twice", "--json")
    there, here, twice = json.loads(done.stdout)["files"]
    assert there["file"] == site.url
    assert twice["file"] == site.url + "?..."
    assert [f for f in there["findings"] if f["rule"] != "GG0902"] == here["findings"]
    assert [f["message"] for f in there["findings"] if f["rule"] == "GG0902"] == [
        "not checked: the padding between tensors; only the header was fetched"
    ]
    assert done.returncode == command("validate", llama, "--json").returncode


def test_sarif_names_the_url(llama: Path) -> None:
    with serving(llama.read_bytes()) as site:
        done = command("validate", site.url, "--sarif")
    assert site.url in json.dumps(json.loads(done.stdout))


def test_the_header_of_a_url_has_the_same_hash(llama: Path) -> None:
    here = command("hash", llama, "--header", "--json")
    with serving(llama.read_bytes()) as site:
        there = command("hash", site.url, "--header", "--json")
    assert there.returncode == 0, there.stderr
    headers = [json.loads(done.stdout)["files"][0]["header"] for done in (here, there)]
    assert headers[0] == headers[1]


def test_exit_codes_by_content(llama: Path) -> None:
    data = llama.read_bytes()
    for made, code in [
        (b"GGML" + data[4:], 1), (data[:1000], 1), (data[:4] + b"\x09\0\0\0" + data[8:], 3),
        (b"", 1), (b"<!doctype html><title>Log in</title>", 1),
    ]:  # fmt: skip
        with serving(made) as site:
            for name in ("info", "validate"):
                assert command(name, site.url).returncode == code


@pytest.mark.parametrize("name", ["info", "validate"])
def test_exit_code_of_the_servers_failures(llama: Path, name: str) -> None:
    def behave(exchange: Exchange, _data: bytes, _number: int) -> None:
        exchange.head(404, Content_Length=0)

    with serving(llama.read_bytes(), behave) as site:
        url = site.url.replace("//", "//me:secret@")
        done = command(name, url, "--json")
    assert done.returncode == 4
    assert "404" in done.stderr
    assert "secret" not in done.stdout + done.stderr
    assert json.loads(done.stdout)
    assert command(name, site.url).returncode == 4  # nobody listens any more


def test_wrong_usage(llama: Path, tmp_path: Path) -> None:
    with serving(llama.read_bytes()) as site:
        for arguments in (
            ["info", "http://192.0.2.1/x.gguf"],
            ["info", "https:///x.gguf"],
            ["validate", site.url, "--data"],
            ["quantize", site.url, tmp_path / "out.gguf", "Q4_0"],
            ["info", site.url, "--max-bytes", "many"],
        ):
            done = command(*arguments)
            assert done.returncode == 2, arguments
            assert "rror" in done.stderr
        assert command("info", site.url, "--max-bytes", "1K").returncode == 4
    assert not list(tmp_path.iterdir())


def test_without_httpx(llama: Path, tmp_path: Path) -> None:
    (tmp_path / "httpx.py").write_text("raise ImportError('no httpx')")
    for name in ("info", "validate"):
        done = command(name, "https://example.com/x.gguf", PYTHONPATH=str(tmp_path))
        assert done.returncode == 4
        assert "ggufspec[remote]" in done.stderr
    assert command("info", llama, PYTHONPATH=str(tmp_path)).returncode == 0


def test_httpx_is_not_loaded_for_files(llama: Path) -> None:
    program = (
        "import sys, ggufspec; ggufspec.open(sys.argv[1]); ggufspec.validate(sys.argv[1]); "
        "assert not {'httpx', 'starlette', 'ggufspec.files.remote_http'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, str(llama)], check=True)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://127.0.0.1:84301/m.gguf", 2),
        ("http://192.0.2.1/m.gguf", 2),
        ("https:///m.gguf", 2),
        ("http://127.0.0.1:9/m.gguf", 4),
    ],
)
@pytest.mark.parametrize("name", ["info", "validate", "hash"])
def test_errors_name_the_address_once(name: str, url: str, code: int) -> None:
    done = command(name, url, *["--header"] * (name == "hash"))
    assert done.returncode == code
    first = done.stderr.splitlines()[0]
    assert first.startswith(f"error: {url}: ")
    assert first.count(url.rpartition("/")[0]) == 1
    assert ".." not in first.replace("...", "")


def test_a_later_file_of_a_set_by_its_url(tmp_path: Path) -> None:
    """It has no keys of the model, and nothing is said of paths and bytes."""
    path = tmp_path / "m-00002-of-00002.gguf"
    split = {
        "split.no": ggufspec.Value("UINT16", 1),
        "split.count": ggufspec.Value("UINT16", 2),
        "split.tensors.count": ggufspec.Value("INT32", 1),
    }
    block = ggufspec.quantize(np.ones(32, np.float32), "Q4_0")
    ggufspec.write(path, split, {"t": ggufspec.TensorData(block, "Q4_0", (32,))})
    with serving(path.read_bytes()) as site:
        for profile in ("strict", "spec"):
            done = command("validate", site.url, "--profile", profile, "--json")
            found = {f["rule"]: f for f in json.loads(done.stdout)["files"][0]["findings"]}
            assert "GG0811" in found
            assert not {"GG0701", "GG0702"} & set(found)
            assert "bytes" not in found["GG0811"]["hint"]
            assert "download all files" in found["GG0811"]["hint"]
