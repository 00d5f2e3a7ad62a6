"""`ggufspec serve` in a process of its own: whom it answers, what it gives, what it never does."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import httpx
import pytest

import ggufspec
from ggufspec.serve.patience import PATIENCE
from support import models
from support.command import command

NOT_FOUND = 404


@dataclass(frozen=True)
class Served:
    """A running server for a folder."""

    url: str
    folder: Path
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        return httpx.URL(self.url).port or 0

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, **options: object) -> httpx.Response:
        method = str(options.pop("method", "GET"))
        with httpx.Client(trust_env=False) as client:
            return client.request(method, self.url + path, **options)  # type: ignore[arg-type]

    def files(self) -> dict[str, dict[str, object]]:
        return {file["name"]: file for file in self.get("api/files").json()}

    def url_of(self, name: str) -> str:
        return str(self.files()[name]["url"])


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ggufspec", "serve", "--json", "--no-open", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stop(process: subprocess.Popen[str], number: int = signal.SIGINT) -> tuple[int, str]:
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    return process.returncode, err


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    top = tmp_path_factory.mktemp("top")
    folder = top / "models"
    (folder / "below").mkdir(parents=True)
    models.write_llama(folder / "llama.gguf")
    (folder / "below" / "a b#?%2e.gguf").write_bytes(b"GGUF" + bytes(20))
    (folder / "empty.GGUF").write_bytes(b"")
    (folder / "secret.txt").write_text("secret")
    (top / "outside.gguf").write_bytes(b"outside")
    (folder / "out.gguf").symlink_to(top / "outside.gguf")
    (folder / "in.gguf").symlink_to("below/a b#?%2e.gguf")
    (folder / "text.gguf").symlink_to("/etc/passwd")
    (folder / "other.gguf").symlink_to("secret.txt")
    (folder / "loop.gguf").symlink_to("loop.gguf")
    (folder / "dir.gguf").mkdir()
    (folder / "way").symlink_to(top)
    os.mkfifo(folder / "pipe.gguf")
    process = start(folder)
    assert process.stdout is not None
    url = json.loads(process.stdout.readline())["url"]
    yield Served(url, folder, process)
    code, err = stop(process)
    assert (code, err) == (0, "")


def test_the_page_knows_that_it_is_served(served: Served) -> None:
    answer = served.get("")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    charset = answer.text.lower().index('<meta charset="utf-8">')
    assert answer.text.index('<meta name="ggufspec-serve" content="1">') > charset
    assert answer.text.count("ggufspec-serve") >= 1


def test_files_below_the_folder_and_no_others(served: Served) -> None:
    found = served.files()
    assert sorted(found) == ["below/a b#?%2e.gguf", "empty.GGUF", "in.gguf", "llama.gguf"]
    assert found["llama.gguf"]["size"] == (served.folder / "llama.gguf").stat().st_size
    for name, file in found.items():
        where, number, label = str(file["url"]).split("/")
        assert (where, len(number)) == ("files", 32)
        assert unquote(label) == name.rpartition("/")[2]
    folder, number, _ = str(found["llama.gguf"]["url"]).split("/")
    data = (served.folder / "llama.gguf").read_bytes()
    assert served.get(f"{folder}/{number}/any%2fname").content == data  # the id decides


def test_every_file_is_given_byte_for_byte(served: Served) -> None:
    for name, file in served.files().items():
        answer = served.get(str(file["url"]))
        assert answer.content == (served.folder / name).read_bytes()
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["accept-ranges"] == "bytes"
        assert answer.headers["etag"].startswith('"')


def test_new_files_are_seen_and_gone_ones_are_gone(served: Served) -> None:
    path = served.folder / "new.gguf"
    path.write_bytes(b"new")
    url = served.url_of("new.gguf")
    assert served.get(url).content == b"new"
    path.unlink()
    assert served.get(url).status_code == NOT_FOUND
    path.symlink_to("/etc/passwd")
    assert served.get(url).status_code == NOT_FOUND
    path.unlink()
    assert "new.gguf" not in served.files()


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ("bytes=0-0", 0, 0),
        ("bytes=0-99", 0, 99),
        ("bytes=17-4000", 17, 4000),
        ("bytes=100-", 100, -1),
        ("bytes=-10", -10, -1),
        ("bytes=5-99999999999", 5, -1),
    ],
)
def test_ranges(served: Served, asked: str, first: int, last: int) -> None:
    data = (served.folder / "llama.gguf").read_bytes()
    size = len(data)
    first, last = (place + size if place < 0 else place for place in (first, last))
    url = served.url_of("llama.gguf")
    for method in ("GET", "HEAD"):
        answer = served.get(url, method=method, headers={"Range": asked})
        assert answer.status_code == 206
        assert answer.headers["content-range"] == f"bytes {first}-{last}/{size}"
        assert answer.headers["content-length"] == str(last - first + 1)
        assert answer.content == (data[first : last + 1] if method == "GET" else b"")


def test_ranges_that_are_not_there(served: Served) -> None:
    size = (served.folder / "llama.gguf").stat().st_size
    url = served.url_of("llama.gguf")
    for asked in (f"bytes={size}-", f"bytes={size + 5}-{size + 9}", "bytes=0-1,5-6", "bytes=0-,0-"):
        answer = served.get(url, headers={"Range": asked})
        assert answer.status_code == 416
        assert answer.headers["content-range"] == f"bytes */{size}"
    for asked in ("bytes=x-y", "bytes=9-2", "lines=1-2", "bytes"):
        assert served.get(url, headers={"Range": asked}).status_code in (200, 400, 416)


def test_a_range_only_of_the_file_that_it_was(served: Served) -> None:
    url = served.url_of("llama.gguf")
    tag = served.get(url, method="HEAD").headers["etag"]
    asked = {"Range": "bytes=0-9"}
    assert served.get(url, headers={**asked, "If-Range": tag}).status_code == 206
    assert served.get(url, headers={**asked, "If-Range": '"other"'}).status_code == 200


def test_nothing_without_the_token(served: Served) -> None:
    url = served.url_of("llama.gguf")
    token = served.url.rstrip("/").rpartition("/")[2]
    assert len(token) >= 32
    with httpx.Client(base_url=served.root, trust_env=False) as client:
        for path in (
            "/", "/api/files", f"/{url}", "/favicon.ico", f"/{token}", f"/{token[:-1]}/",
            f"/{token}x/api/files", f"//{token}/", f"/x/../{token[:-1]}/", "/%00",
            f"/?token={token}",
        ):  # fmt: skip
            answer = client.get(path)
            assert answer.status_code == NOT_FOUND, path
            assert answer.text == "not found\n"
        assert client.get(f"/{token}/").status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "X"])
def test_read_only(served: Served, method: str) -> None:
    for path in ("", "api/files", served.url_of("llama.gguf")):
        answer = served.get(path, method=method)
        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "path",
    [
        "files/../api/files/x", "files/..%2f..%2fetc%2fpasswd", "files/%2e%2e/secret.txt",
        "files/secret.txt", "secret.txt", "llama.gguf", "files/llama.gguf", "files//etc/passwd",
        "files/..%5c..%5csecret.txt", "files/" + "0" * 32 + "/x.gguf", "files/%00/x",
        "files/" + "a" * 5000 + "/x", "..%2foutside.gguf", "files/\u00e9.gguf",
    ],
)  # fmt: skip
def test_no_path_leads_anywhere(served: Served, path: str) -> None:
    answer = served.get(path)
    assert answer.status_code == NOT_FOUND
    assert b"secret" not in answer.content
    assert b"root:" not in answer.content


def raw(served: Served, request: bytes) -> bytes:
    """An answer to bytes that no client would send."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(1 << 16):
            answer += piece
    return answer


def test_paths_that_clients_tidy_up(served: Served) -> None:
    token = served.url.rstrip("/").rpartition("/")[2]
    for path in (f"/{token}/files/../../../etc/passwd", f"/{token}/../{token}/secret.txt", "*"):
        request = (
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nConnection: close\r\n\r\n"
        )
        answer = raw(served, request.encode())
        assert answer.split()[1] in (b"404", b"400")
        assert b"root:" not in answer


@pytest.mark.parametrize(
    "host", ["example.com", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.example.com:{port}", "0:{port}"]
)
def test_names_that_lead_here_are_not_ours(served: Served, host: str) -> None:
    answer = served.get("", headers={"Host": host.format(port=served.port)})
    assert answer.status_code == 403
    assert "gguf" not in answer.text


def test_no_host_and_two_hosts(served: Served) -> None:
    token = served.url.rstrip("/").rpartition("/")[2]
    good = f"Host: 127.0.0.1:{served.port}\r\n"
    for hosts in ("", good + "Host: example.com\r\n", good + good):
        request = f"GET /{token}/ HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n"
        assert raw(served, request.encode()).split()[1] in (b"400", b"403")


def test_localhost_is_a_name_of_it(served: Served) -> None:
    assert served.get("", headers={"Host": f"localhost:{served.port}"}).status_code == 200


def test_headers_of_every_answer(served: Served) -> None:
    answers = [
        served.get(""), served.get("api/files"), served.get(served.url_of("llama.gguf")),
        served.get("nothing"), served.get("", method="POST"), served.get("", headers={"Host": "x"}),
    ]  # fmt: skip
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert "server" not in answer.headers


def test_other_sites_get_no_leave(served: Served) -> None:
    answer = served.get("api/files", headers={"Origin": "https://example.com"})
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_many_at_once(served: Served) -> None:
    data = (served.folder / "llama.gguf").read_bytes()
    url = served.url + served.url_of("llama.gguf")
    with httpx.Client(trust_env=False, timeout=60) as client, ThreadPoolExecutor(16) as pool:

        def part(number: int) -> bool:
            first = number * 37 % (len(data) - 100)
            answer = client.get(url, headers={"Range": f"bytes={first}-{first + 99}"})
            return answer.content == data[first : first + 100]

        assert all(pool.map(part, range(400)))


def unfinished(served: Served, request: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", served.port), timeout=30)
    connection.sendall(request.replace(b"HOST", b"127.0.0.1:%d" % served.port))
    return connection


UNFINISHED = {
    "nothing": b"",
    "half a head": b"GET / HTTP/1.1\r\n",
    "a body that does not come": b"POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 9\r\n\r\n",
    "the next head": b"GET / HTTP/1.1\r\nHost: HOST\r\n\r\nGET / HTTP/1.1\r\n",
}


@pytest.mark.parametrize("name", UNFINISHED)
def test_unfinished_requests_lock_nobody_out(served: Served, name: str) -> None:
    """Far more of them than connections are allowed, by somebody without the token."""
    others = [unfinished(served, UNFINISHED[name]) for _ in range(100)]
    try:
        # Whole requests among them are answered first; so many at once may turn us away.
        deadline = time.monotonic() + 30
        while served.get("").status_code != 200 and time.monotonic() < deadline:
            time.sleep(0.1)
        for _ in range(5):
            assert served.get("").status_code == 200
    finally:
        for connection in others:
            connection.close()


def test_unfinished_requests_come_to_an_end(served: Served) -> None:
    """Also those that bring a byte now and then."""
    others = [unfinished(served, request) for request in UNFINISHED.values()]
    drip = unfinished(served, b"GET /")
    with suppress(OSError):
        for _ in range(40):
            time.sleep(0.5)
            drip.sendall(b"x")
    for connection in (*others, drip):
        with connection, suppress(ConnectionResetError):
            while connection.recv(1 << 16):
                pass


def test_a_long_answer_is_no_unfinished_request(served: Served) -> None:
    path = served.folder / "long.gguf"
    with path.open("wb") as file:
        file.truncate(60_000_000)
    try:
        url = served.url + served.url_of("long.gguf")
        with httpx.Client(trust_env=False, timeout=60) as client, client.stream("GET", url) as got:
            pieces = got.iter_raw()
            count = len(next(pieces))
            time.sleep(PATIENCE + 1)
            others = [unfinished(served, b"G") for _ in range(100)]
            assert count + sum(map(len, pieces)) == 60_000_000
            for connection in others:
                connection.close()
    finally:
        path.unlink()


@pytest.mark.parametrize("asked", [{}, {"Range": "bytes=10-49999999"}], ids=["whole", "range"])
@pytest.mark.parametrize("left", [0, 1000, 1 << 16, 1 << 20])
def test_a_file_that_shrinks_while_it_is_sent(
    tmp_path: Path, asked: dict[str, str], left: int
) -> None:
    path = tmp_path / "cut.gguf"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    process = start(tmp_path)
    assert process.stdout is not None
    try:
        url = json.loads(process.stdout.readline())["url"]
        with httpx.Client(trust_env=False, timeout=30) as client:
            url += client.get(url + "api/files").json()[0]["url"]
            with client.stream("GET", url, headers=asked) as answer:
                pieces = answer.iter_raw(1000)
                next(pieces)
                os.truncate(path, left)
                with pytest.raises(httpx.RemoteProtocolError):
                    for _ in pieces:
                        pass
            assert client.get(url).content == path.read_bytes()
    finally:
        code, err = stop(process)
    assert code == 0
    assert err == "error: cut.gguf became shorter while it was sent\n"


def test_a_file_that_grows_while_it_is_sent(served: Served) -> None:
    path = served.folder / "grows.gguf"
    path.write_bytes(bytes(30_000_000))
    try:
        url = served.url + served.url_of("grows.gguf")
        with httpx.Client(trust_env=False, timeout=30) as client, client.stream("GET", url) as got:
            pieces = got.iter_raw(1000)
            count = len(next(pieces))
            os.truncate(path, 31_000_000)
            assert count + sum(map(len, pieces)) == 30_000_000
    finally:
        path.unlink()


def test_our_reader_reads_through_it(served: Served) -> None:
    url = served.url + served.url_of("llama.gguf")
    with ggufspec.open(url) as there, ggufspec.open(served.folder / "llama.gguf") as here:
        assert there.size == here.size
        assert list(there.tensors) == list(here.tensors)
    done = command("info", url, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["size"] == here.size
    told = [json.loads(command("validate", file, "--json").stdout) for file in (url, here.paths[0])]
    assert told[0]["verdict"] == told[1]["verdict"]


def test_other_addresses_of_this_machine_are_not_listened_on(served: Served) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", served.port), timeout=5)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "localhost", "example.com", ""])
def test_addresses_that_are_not_this_machine_alone(tmp_path: Path, host: str) -> None:
    done = command("serve", tmp_path, "--host", host, "--no-open")
    assert done.returncode == 2
    assert "127.0.0.1" in done.stderr


def test_single_files_and_the_end_by_a_signal(tmp_path: Path) -> None:
    for name in ("one.gguf", "two.gguf", "three.gguf"):
        (tmp_path / name).write_bytes(name.encode())
    for number in (signal.SIGINT, signal.SIGTERM):
        process = start(tmp_path / "one.gguf", tmp_path / "two.gguf")
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        with httpx.Client(trust_env=False) as client:
            files = client.get(url + "api/files").json()
            assert [file["name"] for file in files] == ["one.gguf", "two.gguf"]
            assert client.get(url + files[1]["url"]).content == b"two.gguf"
            assert stop(process, number) == (0, "")


def test_what_cannot_be_served(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("x")
    assert command("serve", text).returncode == 2
    assert command("serve", tmp_path / "missing").returncode == 4
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = command("serve", tmp_path, "--port", str(port))
        assert done.returncode == 4
        assert f"127.0.0.1:{port} is in use" in done.stderr
        assert "hint: without --port" in done.stderr
