"""Reading from servers that behave well, badly, and as none should."""

from __future__ import annotations

import errno
import gzip
import io
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ggufspec
from ggufspec.errors import GGUFError
from ggufspec.files.remote_http import RemoteError
from ggufspec.files.urls import UrlError
from support import models
from support.damaged import FORMS, everything
from support.fileserver import Behaviour, Exchange, Site, good, serving
from support.strategies import Sample, files

LEFT_OUT = "GG0902"


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small model whose header has more than one piece."""
    path = tmp_path_factory.mktemp("llama") / "llama.gguf"
    models.write_llama(path)
    return path.read_bytes()


def contents(file: ggufspec.File) -> dict[str, Any]:
    """All that can be said without the data."""
    metadata = file.metadata
    return {
        "form": (file.version, file.byte_order, file.alignment, file.size, file.dialect),
        "keys": {key: (metadata.type_of(key), repr(metadata[key])) for key in metadata},
        "tensors": [
            (t.name, t.type, t.shape, t.offset, t.nbytes, t.file_offset)
            for t in file.tensors.values()
        ],
    }


def same(site: Site, **options: Any) -> None:
    with ggufspec.open(site.remote(**options)) as there, ggufspec.open(site.data) as here:
        assert contents(there) == contents(here)


def once(first: Behaviour, times: int = 1) -> Behaviour:
    """Bad at first, then good."""

    def behave(exchange: Exchange, data: bytes, number: int) -> None:
        (first if number <= times else good)(exchange, data, number)

    return behave


# ---- how servers answer that are all right


def whole(exchange: Exchange, data: bytes, _: int) -> None:
    exchange.whole(data)


def chunked_range(exchange: Exchange, data: bytes, _: int) -> None:
    start, end = exchange.wanted[0], min(exchange.wanted[1], len(data))
    said = f"bytes {start}-{end - 1}/{len(data)}"
    exchange.head(206, Content_Range=said, Transfer_Encoding="chunked")
    for at in range(start, end, 1000):
        exchange.chunk(data[at : min(at + 1000, end)])
    exchange.chunk(b"")


def endless(exchange: Exchange, data: bytes, _: int) -> None:
    exchange.head(200, Transfer_Encoding="chunked")
    for at in range(0, len(data), 1000):
        exchange.chunk(data[at : at + 1000])
    while True:
        exchange.chunk(bytes(1000))


def unknown_size(exchange: Exchange, data: bytes, _: int) -> None:
    exchange.head(200, Transfer_Encoding="chunked")
    for at in range(0, len(data), 1000):
        exchange.chunk(data[at : at + 1000])
    exchange.chunk(b"")


def until_closed(exchange: Exchange, data: bytes, _: int) -> None:
    exchange.head(200, Connection="close")
    exchange.send(data)
    exchange.close_connection = True


def star(exchange: Exchange, data: bytes, _: int) -> None:
    start, end = exchange.wanted[0], min(exchange.wanted[1], len(data))
    if start >= end:
        exchange.head(416, Content_Length=0)
        return
    exchange.head(206, Content_Range=f"bytes {start}-{end - 1}/*", Content_Length=end - start)
    exchange.send(data[start:end])


def capped(exchange: Exchange, data: bytes, _: int) -> None:
    """Gives at most 500 bytes at once, and says so."""
    start, end = exchange.wanted[0], min(exchange.wanted[1], len(data), exchange.wanted[0] + 500)
    exchange.head(
        206, Content_Range=f"bytes {start}-{end - 1}/{len(data)}", Content_Length=end - start
    )
    exchange.send(data[start:end])


@pytest.mark.parametrize("behave", [good, whole, chunked_range], ids=lambda b: str(b.__name__))
@pytest.mark.parametrize("first", [1, 100, 4096, 1 << 16, 1 << 22])
def test_well_behaved_servers(llama: bytes, behave: Behaviour, first: int) -> None:
    with serving(llama, behave) as site:
        same(site, first=first)
        assert all(headers["Accept-Encoding"] == "identity" for headers in site.requests)


@pytest.mark.parametrize("behave", [good, whole], ids=lambda b: str(b.__name__))
def test_edges_between_answers(behave: Behaviour) -> None:
    """Every key, length and element stands on the edge of an answer once."""
    data = everything(FORMS["v3 little"])
    with serving(data, behave) as site:
        for first in range(1, len(data) + 2, 1 if behave is good else 7):
            same(site, first=first)


@settings(max_examples=30)
@given(files(), st.integers(1, 3000), st.booleans())
def test_any_file_equals_itself_from_a_server(sample: Sample, first: int, ranges: bool) -> None:
    with serving(sample.data, good if ranges else whole) as site:
        same(site, first=first)
        there = ggufspec.validate(site.remote(first=first))
    here = ggufspec.validate(sample.data)
    assert [f for f in there.findings if f.rule != LEFT_OUT] == list(here.findings)
    assert there.verdict == here.verdict


def test_little_more_than_the_header_is_sent(llama: bytes) -> None:
    data = llama + bytes(1 << 24)
    with ggufspec.open(llama) as here:
        header = here.parts[0].scan.data_offset
    for first in (1, 64, 4096):
        with serving(data) as site, ggufspec.open(site.remote(first=first)) as file:
            assert file.size == len(data)
        assert header <= site.sent <= 2 * header
    with serving(data, whole) as site, ggufspec.open(site.remote(first=64)) as file:
        assert file.parts[0].source.fetched <= 2 * header + (1 << 17)


@pytest.mark.parametrize("behave", [endless, unknown_size, until_closed, star])
def test_a_size_that_nobody_tells(llama: bytes, behave: Behaviour) -> None:
    with serving(llama, behave) as site:
        with ggufspec.open(site.remote(first=1000)) as there, ggufspec.open(llama) as here:
            assert contents(there)["keys"] == contents(here)["keys"]
            assert contents(there)["tensors"] == contents(here)["tensors"]
            last = max(t.file_offset + t.nbytes for t in here.tensors.values())
            assert there.size == last
        found = ggufspec.validate(site.remote(first=1000)).findings
        assert any("does not tell its size" in f.message for f in found if f.rule == LEFT_OUT)


@pytest.mark.parametrize("behave", [unknown_size, until_closed, star])
def test_the_end_of_a_file_of_unknown_size(llama: bytes, behave: Behaviour) -> None:
    for end in (3, 24, 1000, 2000):
        with serving(llama[:end], behave) as site:
            with pytest.raises(GGUFError) as there:
                ggufspec.open(site.remote(first=500))
            with pytest.raises(GGUFError) as here:
                ggufspec.open(llama[:end])
            assert str(there.value) == str(here.value)


def test_a_file_that_is_cut_in_its_header(llama: bytes) -> None:
    for end in (0, 3, 24, 1000, 2000):
        with serving(llama[:end]) as site:
            with pytest.raises(GGUFError) as there:
                ggufspec.open(site.remote(first=500))
            with pytest.raises(GGUFError) as here:
                ggufspec.open(llama[:end])
            assert str(there.value) == str(here.value)


def test_data_that_end_too_early(llama: bytes) -> None:
    with serving(llama[:-500]) as site:
        with pytest.raises(GGUFError, match="GG0"):
            ggufspec.open(site.remote())
        assert ggufspec.validate(site.remote()).verdict == "invalid"


# ---- what passes


def answers(status: int, **headers: object) -> Behaviour:
    return lambda exchange, _data, _number: exchange.head(status, Content_Length=0, **headers)


def resets_at_once(exchange: Exchange, _data: bytes, _: int) -> None:
    exchange.reset()


def resets_in_the_middle(exchange: Exchange, data: bytes, _: int) -> None:
    start, end = exchange.wanted[0], min(exchange.wanted[1], len(data))
    exchange.head(
        206, Content_Range=f"bytes {start}-{end - 1}/{len(data)}", Content_Length=end - start
    )
    exchange.send(data[start : start + (end - start) // 2])
    exchange.reset()


def breaks_off_whole(exchange: Exchange, data: bytes, _: int) -> None:
    exchange.head(200, Content_Length=len(data))
    exchange.send(data[:700])
    exchange.close_connection = True


def short_chunked(exchange: Exchange, data: bytes, _: int) -> None:
    """Says the range that was asked for and ends, in good order, before it does."""
    start, end = exchange.wanted[0], min(exchange.wanted[1], len(data))
    said = f"bytes {start}-{end - 1}/{len(data)}"
    exchange.head(206, Content_Range=said, Transfer_Encoding="chunked")
    exchange.chunk(data[start : start + 10])
    exchange.chunk(b"")


def silent(exchange: Exchange, _data: bytes, _: int) -> None:
    with suppress(OSError):
        exchange.connection.recv(1)  # until the client has gone
    exchange.close_connection = True


PASSING = {
    "429": answers(429, Retry_After="0"),
    "500": answers(500),
    "503": answers(503, Retry_After="Fri, 07 Nov 2036 23:59:59 GMT"),
    "reset at once": resets_at_once,
    "reset in the middle": resets_in_the_middle,
    "broken off": breaks_off_whole,
    "short": short_chunked,
    "silent": silent,
}


def patience(name: str) -> dict[str, float]:
    """Little where nothing is to come; elsewhere a busy machine may take its time."""
    return {"timeout": 1.0} if name == "silent" else {}


@pytest.mark.parametrize("name", PASSING)
def test_what_passes_is_tried_again(llama: bytes, name: str) -> None:
    with serving(llama, once(PASSING[name], 2)) as site:
        same(site, first=2000, **patience(name))
        assert len(site.requests) > 2


@pytest.mark.parametrize("name", PASSING)
def test_not_for_ever(llama: bytes, name: str) -> None:
    with serving(llama, PASSING[name]) as site:
        with pytest.raises(RemoteError, match="tried 3 times"):
            ggufspec.open(site.remote(**patience(name)))
        # Half of a range is a step, half of the last bytes is none.
        assert len(site.requests) == 3 or (name == "reset in the middle" and site.sent)
        assert len(site.requests) < 20


def test_short_answers_are_not_taken_for_ever(llama: bytes) -> None:
    """Each is right and brings something: 500 bytes are enough of 4,000 that were asked for."""
    with serving(llama, capped) as site:
        for first in (500, 2000, 4000):
            same(site, first=first)
        assert len(site.requests) > 10
        with pytest.raises(RemoteError, match="the answer was short"):
            ggufspec.open(site.remote(first=4001))
        assert len(site.requests) < 200


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_steady_progress_is_no_failure(llama: bytes, reset: bool) -> None:
    """Every answer breaks off, more often than tries are allowed, and each brings something."""

    def behave(exchange: Exchange, data: bytes, _: int) -> None:
        start, end = exchange.wanted[0], min(exchange.wanted[1], len(data))
        said = f"bytes {start}-{end - 1}/{len(data)}"
        exchange.head(206, Content_Range=said, Content_Length=end - start, Connection="close")
        exchange.send(data[start : min(end, start + 300)])
        if reset and end - start > 300:
            exchange.reset()
        exchange.close_connection = True

    with serving(llama, behave) as site:
        same(site, first=2000)
        assert len(site.requests) > 7


def test_the_rest_is_asked_for_where_an_answer_broke_off(llama: bytes) -> None:
    with serving(llama, once(resets_in_the_middle)) as site:
        same(site, first=2000)
        assert site.requests[0]["Range"] == "bytes=0-1999"
        assert site.requests[1]["Range"] == "bytes=1000-1999"


# ---- what does not pass


def fails(behave: Behaviour, data: bytes, number: int, message: str, **options: Any) -> Site:
    with serving(data, behave) as site:
        with pytest.raises(RemoteError, match=message) as caught:
            ggufspec.open(site.remote(**options)).close()
        assert caught.value.errno == number
        assert caught.value.filename.startswith("http://127.0.0.1:")
    return site


@pytest.mark.parametrize(
    ("status", "number"),
    [(404, errno.ENOENT), (403, errno.EACCES), (401, errno.EACCES), (400, errno.EIO)],
)
def test_refusals(llama: bytes, status: int, number: int) -> None:
    site = fails(answers(status), llama, number, f"answered {status}")
    assert len(site.requests) == 1


def test_416_for_a_file_that_has_bytes(llama: bytes) -> None:
    fails(answers(416, Content_Range="bytes */77"), llama, errno.EIO, "answered 416")
    fails(answers(416), llama, errno.EIO, "answered 416")


def test_a_file_that_shrinks(llama: bytes) -> None:
    def behave(exchange: Exchange, data: bytes, number: int) -> None:
        exchange.ranged(data if number == 1 else data[:500])

    fails(behave, llama, errno.EIO, "changed while it was read", first=1000)


def moved(start: int = 0, end: int = 0, size: int = 0, length: int = 0) -> Behaviour:
    """An answer whose numbers are off by so much."""

    def behave(exchange: Exchange, data: bytes, _: int) -> None:
        first, last = exchange.wanted[0], min(exchange.wanted[1], len(data)) - 1
        said = f"bytes {first + start}-{last + end}/{len(data) + size}"
        count = last - first + 1 + length
        exchange.head(206, Content_Range=said, Content_Length=count)
        exchange.send(data[first : first + count])

    return behave


@pytest.mark.parametrize(
    ("behave", "message"),
    [
        (moved(end=1, length=1), "another range"),
        (moved(start=1), "another range"),
        (moved(end=1), "another range"),
        (moved(end=-1), "has 1,000 bytes for a range of 999"),
        (moved(length=-1), "has 999 bytes for a range of 1,000"),
        (moved(length=1), "has 1,001 bytes for a range of 1,000"),
        (answers(206), "does not say its range"),
        (answers(206, Content_Range="bytes 0-1"), "does not say its range"),
        (answers(206, Content_Range="bytes */5"), "does not say its range"),
        (answers(206, Content_Range="items 0-1/2"), "does not say its range"),
        (answers(206, Content_Type="multipart/byteranges; boundary=x"), "does not say"),
    ],
)
def test_wrong_ranges(llama: bytes, behave: Behaviour, message: str) -> None:
    site = fails(behave, llama, errno.EIO, message, first=1000)
    assert len(site.requests) == 1


def test_more_bytes_than_the_range(llama: bytes) -> None:
    def behave(exchange: Exchange, data: bytes, _: int) -> None:
        exchange.head(206, Content_Range=f"bytes 0-999/{len(data)}", Transfer_Encoding="chunked")
        while True:
            exchange.chunk(data[:100])

    fails(behave, llama, errno.EIO, "too many bytes", first=1000)


def test_the_size_changes_between_answers(llama: bytes) -> None:
    def behave(exchange: Exchange, data: bytes, number: int) -> None:
        exchange.ranged(data if number == 1 else data + bytes(1))

    fails(behave, llama, errno.EIO, "changed while it was read", first=1000)


def test_the_tag_changes_between_answers(llama: bytes) -> None:
    def behave(exchange: Exchange, data: bytes, number: int) -> None:
        if number > 1:
            assert exchange.headers["If-Range"] == '"1"'
            exchange.whole(data, ETag='"2"')  # as RFC 9110 wants it
        else:
            exchange.ranged(data, ETag='"1"')

    fails(behave, llama, errno.EIO, "changed while it was read", first=1000)


def test_the_date_changes_between_answers(llama: bytes) -> None:
    def behave(exchange: Exchange, data: bytes, number: int) -> None:
        exchange.ranged(data, Last_Modified=f"Fri, 0{number} Nov 2024 23:59:59 GMT")

    fails(behave, llama, errno.EIO, "changed while it was read", first=1000)


def test_the_bytes_change_while_an_answer_is_resumed(llama: bytes) -> None:
    def behave(exchange: Exchange, data: bytes, number: int) -> None:
        if number == 1:
            breaks_off_whole(exchange, data, number)
        else:
            exchange.whole(data[:100] + b"?" + data[101:])

    fails(behave, llama, errno.EIO, "changed while it was read")


def test_ranges_that_end_after_the_first(llama: bytes) -> None:
    """A server that forgets about ranges is believed if the bytes are the same."""

    def behave(exchange: Exchange, data: bytes, number: int) -> None:
        (good if number == 1 else whole)(exchange, data, number)

    with serving(llama, behave) as site:
        same(site, first=1000)


def test_compressed_answers(llama: bytes) -> None:
    def behave(exchange: Exchange, data: bytes, _: int) -> None:
        exchange.whole(gzip.compress(data), Content_Encoding="gzip")

    fails(behave, llama, errno.EIO, "compressed")


def test_a_slow_drip(llama: bytes) -> None:
    def behave(exchange: Exchange, data: bytes, _: int) -> None:
        exchange.head(200, Content_Length=len(data))
        for at in range(len(data)):
            exchange.send(data[at : at + 1])
            time.sleep(0.05)

    began = time.monotonic()
    fails(behave, llama, errno.ETIMEDOUT, "too slowly", timeout=1.0)
    assert time.monotonic() - began < 60  # all of it would take two minutes


def test_more_is_needed_than_is_allowed(llama: bytes) -> None:
    site = fails(good, llama, errno.EFBIG, "more than 2,000 bytes", max_bytes=2000, first=500)
    assert site.sent <= 2000


def test_lengths_of_a_hostile_header_fetch_nothing() -> None:
    """A key of 2**40 bytes in a file that says it has as many."""
    data = b"GGUF" + (3).to_bytes(4, "little") + (0).to_bytes(8, "little")
    data += (1).to_bytes(8, "little") + (1 << 40).to_bytes(8, "little")

    def behave(exchange: Exchange, data: bytes, _: int) -> None:
        start, end = exchange.wanted
        exchange.head(
            206, Content_Range=f"bytes {start}-{end - 1}/{1 << 41}", Content_Length=end - start
        )
        body = data[start:end]
        exchange.send(body + bytes(end - start - len(body)))

    site = fails(behave, data, errno.EFBIG, "are needed")
    assert site.sent <= 1 << 16


# ---- redirects


def to(where: Callable[[Exchange], str], status: int = 302) -> Behaviour:
    return lambda exchange, _data, _number: exchange.head(
        status, Location=where(exchange), Content_Length=0
    )


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_and_remembered(llama: bytes, status: int) -> None:
    def behave(exchange: Exchange, data: bytes, _: int) -> None:
        if exchange.path.startswith("/folder/"):
            exchange.head(status, Location="/elsewhere?signed=1", Content_Length=0)
        else:
            exchange.ranged(data)

    with serving(llama, behave) as site:
        same(site, first=4000)
        assert len([r for r in site.requests if r["Range"] == "bytes=0-3999"]) == 2
        assert len(site.requests) == 1 + len({r["Range"] for r in site.requests})


def test_redirects_in_circles(llama: bytes) -> None:
    site = fails(to(lambda exchange: exchange.path), llama, errno.ELOOP, "more than 5 redirects")
    assert len(site.requests) == 6


@pytest.mark.parametrize(
    "target",
    [
        "http://example.invalid/x", "ftp://127.0.0.1/x", "file:///etc/passwd", "http://192.0.2.1/",
        "data:text/plain,GGUF", "data:", "javascript:alert(1)", "http://127.0.0.1:84301/x",
        "https://example.com:65536/x", "http://127.0.0.1:0/x", "http://127.0.0.1:-1/",
        "http://[x/y",
    ],
)  # fmt: skip
def test_redirects_to_less(llama: bytes, target: str) -> None:
    site = fails(to(lambda _: target), llama, errno.EACCES, r"^\[Errno .*refused: '[^']*'$")
    assert len(site.requests) == 1


@pytest.mark.parametrize("target", ["http://a:b/", "https://:::/", "http://[::1/", "http://\x01/"])
def test_redirects_to_no_url(llama: bytes, target: str) -> None:
    """One try, and no words of a library."""
    site = fails(to(lambda _: target), llama, errno.EIO, "it redirects to what is no URL: '")
    assert len(site.requests) == 1


@pytest.mark.parametrize("port", [65536, 65536 + 8080, 84301, 10**9, 0])
def test_ports_that_are_none(port: int) -> None:
    for url in (f"http://127.0.0.1:{port}/x.gguf", f"https://example.com:{port}/x.gguf"):
        with pytest.raises(UrlError, match="ports go from 1 to 65,535"):
            ggufspec.open(url)


def test_https_does_not_lead_to_http_or_inward() -> None:
    import httpx

    from ggufspec.files import remote_http

    for old, new in [
        ("https://a.example/", "http://a.example/"),
        ("https://a.example/", "http://127.0.0.1/"),
        ("https://a.example/", "https://127.0.0.1/"),
        ("https://a.example/", "https://[::1]/"),
    ]:
        response = httpx.Response(302, request=httpx.Request("GET", old))
        with pytest.raises(RemoteError, match="refused"):
            remote_http._check_redirect(response, httpx.URL(old), httpx.URL(new))
    remote_http._check_redirect(
        response, httpx.URL("http://127.0.0.1/"), httpx.URL("https://a.example/")
    )


# ---- what is asked for, and by whom


@pytest.mark.parametrize(
    "url", ["http://192.0.2.1/x.gguf", "http://example.com/x.gguf", "https:///x", "http://[x/y"]
)
def test_urls_that_are_not_read(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL|this machine"):
        ggufspec.open(url)


def test_http_to_others_where_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx

    from ggufspec.files import remote_http

    url = httpx.URL("http://192.0.2.1/x.gguf")
    assert not remote_http._allowed(url)
    monkeypatch.setenv("GGUFSPEC_ALLOW_HTTP", "1")
    assert remote_http._allowed(url)


def test_secrets_are_not_told() -> None:
    with serving(b"", answers(403)) as site:
        url = site.url.replace("//", "//user:secret@") + "?signature=abc#def"
        with pytest.raises(RemoteError) as caught:
            ggufspec.open(url)
        told = repr(caught.value) + str(caught.value)
        assert "secret" not in told
        assert "abc" not in told
        assert "?..." in told
        assert site.requests[0]["Authorization"].startswith("Basic ")


def test_nobody_listens() -> None:
    with serving(b"") as site:
        pass
    with pytest.raises(RemoteError, match="no connection"):
        ggufspec.open(site.remote())


def test_proxies_are_not_asked_for_loopback(llama: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(llama) as site:
        same(site)


def test_data_are_not_there(llama: bytes, tmp_path: Path) -> None:
    with serving(llama) as site, ggufspec.open(site.remote()) as file:
        tensor = next(iter(file.tensors.values()))
        for use in (
            lambda: tensor.data,
            tensor.dequantize,
            tensor.array,
            lambda: [*tensor.chunks()],
        ):
            with pytest.raises(io.UnsupportedOperation, match="download"):
                use()
        with pytest.raises(io.UnsupportedOperation):
            ggufspec.write(tmp_path / "copy.gguf", file.metadata, file.tensors)
        assert not list(tmp_path.iterdir())
        with pytest.raises(io.UnsupportedOperation):
            ggufspec.validate(site.remote(), data=True)
        source, start = file.parts[0].source, file.parts[0].scan.data_offset
        assert bytes(source.read(0, start)) == llama[:start]
        with pytest.raises(io.UnsupportedOperation):
            source.read(0, start + 1)


def test_after_close(llama: bytes) -> None:
    with serving(llama) as site:
        with ggufspec.open(site.remote()) as file:
            assert file.metadata["general.architecture"] == "llama"
        assert file.closed
        with pytest.raises(ValueError, match="closed"):
            file.metadata["general.architecture"]


def test_one_file_of_a_set(tmp_path: Path) -> None:
    path = tmp_path / "m-00001-of-00002.gguf"
    metadata = {
        "general.architecture": "llama",
        "split.no": ggufspec.Value("UINT16", 0),
        "split.count": ggufspec.Value("UINT16", 2),
        "split.tensors.count": ggufspec.Value("INT32", 0),
    }
    ggufspec.write(path, metadata, {})
    with serving(path.read_bytes()) as site:
        with ggufspec.open(site.remote()) as file:
            assert file.metadata["split.count"] == 2
        assert "GG0811" in {finding.rule for finding in ggufspec.validate(site.remote()).findings}
