"""The inspector in Chromium: what it shows is what gguf-py and ggufspec read."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

import ggufspec
from support import realfiles
from support.inspector import Inspector
from support.web import PAGE, Browser
from support.web_server import Server

LONGEST_TASK = 3000
"""Milliseconds that the page may be deaf: a limit for hangs, a tenth of it on a free machine."""

TIMES = " \N{MULTIPLICATION SIGN} "
TOKENS = "tokenizer.ggml.tokens"


@pytest.fixture
def page(browser: Browser) -> Inspector:
    page = Inspector(browser)
    page.start()
    return page


def _no_trouble(page: Inspector, *, url: str = PAGE.as_uri()) -> None:
    """No error, no request but for the page itself."""
    seen = page.seen()
    assert seen["errors"] == []
    assert seen["requests"] == [url]


# ---- real files


@pytest.fixture(scope="module")
def smollm2() -> Path:
    return realfiles.smollm2()


@pytest.fixture(scope="module")
def reader(smollm2: Path) -> gguf.GGUFReader:
    return gguf.GGUFReader(smollm2)


@pytest.fixture(scope="module")
def fields(reader: gguf.GGUFReader) -> dict[str, gguf.ReaderField]:
    """The keys of the file, without gguf-py's own for the header."""
    return {name: f for name, f in reader.fields.items() if not name.startswith("GGUF.")}


def test_summary(page: Inspector, smollm2: Path, reader: gguf.GGUFReader) -> None:
    page.drop(smollm2)
    facts = page.facts()
    assert facts["Architecture"] == reader.fields["general.architecture"].contents()
    assert facts["File type"] == gguf.LlamaFileType(
        reader.fields["general.file_type"].contents()
    ).name.removeprefix("MOSTLY_")
    assert facts["Tensors"] == str(len(reader.tensors))
    assert facts["Layers"] == str(reader.fields["llama.block_count"].contents())
    assert facts["Size"].endswith(f"({smollm2.stat().st_size:,} bytes)")
    assert facts["Data starts at"] == f"byte {reader.data_offset:,}"
    weights = sum(int(tensor.n_elements) for tensor in reader.tensors)
    stored = sum(int(tensor.n_bytes) for tensor in reader.tensors)
    assert float(facts["Bits per weight"]) == pytest.approx(8 * stored / weights, abs=0.0005)
    assert "Valid." in page.run("document.querySelector('.verdict').textContent")
    said = "document.querySelector('.status').textContent.includes('Valid.')"
    page.browser("until", script=said)
    _no_trouble(page)


def test_metadata(page: Inspector, smollm2: Path, fields: dict[str, gguf.ReaderField]) -> None:
    page.drop(smollm2)
    page.tab("metadata")
    rows = page.rows("metadata")
    assert [row[0] for row in rows] == list(fields)
    for key, kind, text in rows:
        field = fields[key]
        if field.types[0] == gguf.GGUFValueType.ARRAY:
            assert kind == f"{field.types[-1].name}[{len(field.data):,}]"
            continue
        assert kind == field.types[0].name
        _check_value(field.contents(), field.types[0], text)
    page.search("metadata", "rope", said="2 of 33 keys")
    assert {row[0] for row in page.rows("metadata")} == {name for name in fields if "rope" in name}


def _check_value(value: Any, kind: gguf.GGUFValueType, text: str) -> None:
    if kind == gguf.GGUFValueType.FLOAT32:
        assert np.float32(text) == np.float32(value)
    elif kind == gguf.GGUFValueType.BOOL:
        assert text == str(value).lower()
    elif kind == gguf.GGUFValueType.STRING:
        shown = value.replace("\n", "\\n")
        assert text == shown or (text.endswith("…") and shown.startswith(text[:-1]))
    else:
        assert text.partition(" (")[0] == str(value)


def test_array_by_pages(page: Inspector, smollm2: Path, reader: gguf.GGUFReader) -> None:
    """The window shows a hundred elements at a time, and goes to any."""
    page.drop(smollm2)
    page.tab("metadata")
    page.search("metadata", "merges", said="1 of 33 keys")
    page.browser("click", selector="[data-panel=metadata] .open")
    merges = reader.fields["tokenizer.ggml.merges"].contents()
    items = "[...document.querySelectorAll('dialog li')].map((li) => [li.value, li.textContent])"
    assert page.run(items) == [[i, f'"{merges[i]}"'] for i in range(100)]
    page.browser("fill", selector="dialog input", text="1234")
    page.browser("press", keys=["Enter"])
    assert page.run(items) == [[i, f'"{merges[i]}"'] for i in range(1200, 1300)]
    page.browser("press", keys=["Escape"])
    assert page.run("document.querySelector('dialog').open") is False
    assert page.run("document.activeElement.textContent") == "tokenizer.ggml.merges"


def test_template(page: Inspector, smollm2: Path, reader: gguf.GGUFReader) -> None:
    page.drop(smollm2)
    page.tab("template")
    template = reader.fields["tokenizer.chat_template"].contents()
    assert page.run("document.querySelector('.template').textContent") == template
    assert page.run("document.querySelectorAll('.template .statement').length") > 1


def test_tensors(page: Inspector, smollm2: Path, reader: gguf.GGUFReader) -> None:
    page.drop(smollm2)
    page.tab("tensors")
    expected = [
        (str(i), t.name, t.tensor_type.name, TIMES.join(map(str, reversed(t.shape.tolist()))))
        for i, t in enumerate(reader.tensors)
    ]
    assert [tuple(row[:4]) for row in page.rows("tensors")] == expected
    tensors = reader.tensors
    page.browser("click", selector="[data-panel=tensors] .head .bytes button")
    sizes = {t.name: int(t.n_bytes) for t in tensors}
    order = [sizes[row[1]] for row in page.rows("tensors")]
    assert order == sorted(sizes.values(), reverse=True)
    head = "document.querySelector('[data-panel=tensors] .head .bytes').getAttribute('aria-sort')"
    assert page.run(head) == "descending"
    page.browser("select", selector="[data-panel=tensors] select", value="F32")
    page.search("tensors", "blk.1", said="22 of 272")
    assert {row[1] for row in page.rows("tensors")} == {
        t.name for t in tensors if "blk.1" in t.name and t.tensor_type.name == "F32"
    }
    page.browser("click", selector="[data-panel=tensors] .rows .open")
    assert page.facts("dialog")["As stored"].startswith("576 ")


def test_types(page: Inspector, smollm2: Path, reader: gguf.GGUFReader) -> None:
    page.drop(smollm2)
    page.tab("types")
    cells = "(row) => [...row.cells].map((cell) => cell.innerText)"
    rows = page.run(f"[...document.querySelectorAll('.types tr')].map({cells})")
    table = {row[0]: row[1:] for row in rows[1:]}
    tensors = reader.tensors
    for name in {t.tensor_type.name for t in tensors}:
        assert table[name][0] == str(sum(t.tensor_type.name == name for t in tensors))
        assert float(table[name][4]) == ggufspec.types[name].bits_per_weight
    page.browser("click", selector=".types button")  # the largest type's picture
    assert page.run("document.querySelector('[data-panel=blocks] h2').textContent") == "Q4_1"


# ---- a large vocabulary


@pytest.fixture(scope="module")
def gemma4() -> Path:
    return realfiles.vocabulary("ggml-vocab-gemma-4.gguf")


def test_large_vocabulary(page: Inspector, gemma4: Path) -> None:
    """262,144 tokens: nothing takes long, a few rows exist, search finds all."""
    with ggufspec.open(gemma4) as file:
        tokens = list(file.metadata[TOKENS])
        scores = file.metadata["tokenizer.ggml.scores"]
    page.drop(gemma4)
    page.tab("metadata")
    page.tab("tokens")
    assert page.listed("tokens") == len(tokens) == 262_144
    page.run("document.querySelector('[data-panel=tokens] .scroller').scrollTop = 1e9")
    last = "document.querySelector('[data-panel=tokens] [aria-rowindex=\"262145\"]')"
    page.browser("until", script=f"{last} !== null")
    cells = page.run(f"[...{last}.children].map((cell) => cell.textContent)")
    assert cells[:3] == ["262143", tokens[-1], "normal"]
    assert np.float32(cells[3]) == np.float32(scores[-1])
    assert page.run("document.querySelectorAll('[data-panel=tokens] .row').length") < 100
    hits = [i for i, token in enumerate(tokens) if "wissenschaft" in token.lower()]
    assert len(hits) > 3
    page.search("tokens", "wissenschaft", said=f"{len(hits)} of 262,144 tokens")
    assert [int(row[0]) for row in page.rows("tokens")] == hits
    assert not any("#5555" in token for token in tokens)
    page.search("tokens", "#5555", said="1 of 262,144 tokens")
    assert page.rows("tokens")[0][:2] == ["5555", tokens[5555]]
    escaped = [i for i, token in enumerate(tokens) if "\n\n\n\n" in token]
    page.search("tokens", r"\n\n\n\n", said=f"{len(escaped)} of 262,144 tokens")
    assert [int(row[0]) for row in page.rows("tokens")] == escaped
    assert max(page.seen()["long"], default=0) < LONGEST_TASK
    _no_trouble(page)


def test_byte_level_tokens(page: Inspector, smollm2: Path, reader: gguf.GGUFReader) -> None:
    """GPT-2's alphabet is turned into what it means, and both are searched."""
    page.drop(smollm2)
    page.tab("tokens")
    page.search("tokens", " hello", said="of 49,152 tokens")
    tokens = reader.fields[TOKENS].contents()
    found = page.rows("tokens")
    assert [int(row[0]) for row in found] == [
        i for i, token in enumerate(tokens) if " hello" in token.replace("Ġ", " ").lower()
    ]
    assert {"Ġhello", "␣hello"} <= {text for row in found for text in row[1:3]}


def test_many_tensors(page: Inspector, tmp_path: Path) -> None:
    """100,000 tensors are sorted and filtered without a hang."""
    path = tmp_path / "many.gguf"
    _write_many(path, 100_000)
    page.drop(path)
    page.tab("tensors")
    assert page.listed("tensors") == 100_000
    page.browser("click", selector="[data-panel=tensors] .head .name button")
    page.search("tensors", "t.777", said="111 of 100,000 tensors")
    assert [row[1] for row in page.rows("tensors")[:3]] == ["t.777", "t.7770", "t.7771"]
    assert max(page.seen()["long"], default=0) < LONGEST_TASK
    _no_trouble(page)


def _write_many(path: Path, count: int) -> None:
    """One F32 value each."""
    infos = bytearray()
    for i in range(count):
        name = f"t.{i}".encode()
        infos += struct.pack("<Q", len(name)) + name + struct.pack("<IQIQ", 1, 1, 0, 32 * i)
    key = b"general.architecture"
    head = b"GGUF" + struct.pack("<IQQ", 3, count, 1) + struct.pack("<Q", len(key)) + key
    head += struct.pack("<IQ", 8, 5) + b"llama"
    header = bytes(head + infos)
    path.write_bytes(header + bytes(-len(header) % 32) + bytes(32 * count))


# ---- addresses


def test_url_reads_the_header_alone(
    page: Inspector, server: Server, smollm2: Path, reader: gguf.GGUFReader
) -> None:
    data = smollm2.read_bytes()
    server.files["a.gguf"] = data
    page.address(f"{server.url}/ranges/a.gguf")
    page.browser("wait", selector="[role=tab]")
    start = reader.data_offset
    assert page.facts()["Name"] == "a.gguf"
    assert start <= server.sent["/ranges/a.gguf"] < 2 * start + (1 << 19)
    assert page.facts()["Vocabulary"] == "49,152 tokens"
    assert page.seen()["errors"] == []


def test_url_in_the_address(browser: Browser, server: Server, sample: Path) -> None:
    server.files["a b.gguf"] = sample.read_bytes()
    server.files["a%20b.gguf"] = sample.read_bytes()
    page = Inspector(browser)
    page.start(f"{PAGE.as_uri()}#url={server.url}/ranges/a%2520b.gguf")
    browser("wait", selector="[role=tab]")
    assert page.facts()["Name"] == "a b.gguf"


def test_server_without_ranges(page: Inspector, server: Server, sample: Path) -> None:
    """It is read from the start, and the page says so."""
    server.files["a.gguf"] = sample.read_bytes()
    page.address(f"{server.url}/whole/a.gguf")
    page.browser("wait", selector="[role=tab]")
    assert "the server knows no ranges" in page.run("document.querySelector('.read').textContent")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/ranges/missing.gguf", "no such file on the server"),
        ("/closed/a.gguf", "CORS"),
        ("/hidden/a.gguf", "Access-Control-Expose-Headers"),
    ],
)
def test_server_trouble(
    page: Inspector, server: Server, sample: Path, path: str, said: str
) -> None:
    server.files["a.gguf"] = sample.read_bytes() + bytes(1 << 19)
    page.address(server.url + path)
    assert said in page.problem()
    assert page.run("document.querySelector('.problem').getAttribute('role')") == "alert"


@pytest.mark.parametrize("typed", ["http://", "file:///etc/passwd", "javascript:alert(1)"])
def test_bad_addresses(page: Inspector, typed: str) -> None:
    page.address(typed)
    assert page.run("document.querySelector('.problem-line').textContent") != ""
    _no_trouble(page)


def test_served(browser: Browser, server: Server, sample: Path) -> None:
    """What `ggufspec serve` serves: the page with a mark, a list of files, and the files."""
    mark = '<meta charset="utf-8"><meta name="ggufspec-serve" content="1">'
    html = PAGE.read_text(encoding="utf-8").replace('<meta charset="utf-8">', mark, 1)
    listed = (
        f'[{{"name": "d/<b>.gguf", "size": {sample.stat().st_size}, "url": "../ranges/s.gguf"}}]'
    )
    server.files |= {"inspector.html": html.encode(), "s.gguf": sample.read_bytes()}
    server.files["api/files"] = listed.encode()
    page = Inspector(browser)
    page.start(f"{server.url}/page/inspector.html")
    browser("wait", selector=".served button")
    assert page.run("document.querySelector('.served button').textContent") == "d/<b>.gguf"
    browser("click", selector=".served button")
    browser("wait", selector="[role=tab]")
    assert page.facts()["Name"] == "d/<b>.gguf"
    assert server.asked[:2] == ["/page/inspector.html", "/page/api/files"]
    assert set(server.asked[2:]) <= {"/ranges/s.gguf", "/favicon.ico"}
    assert page.seen()["errors"] == []


def test_served_by_our_own_server(
    browser: Browser, server: Server, sample: Path, tmp_path: Path
) -> None:
    """Its policy allows https and its own files: of other addresses the page says so."""
    (tmp_path / "s.gguf").write_bytes(sample.read_bytes())
    server.files["a.gguf"] = sample.read_bytes()
    process = subprocess.Popen(
        [sys.executable, "-m", "ggufspec", "serve", tmp_path, "--json", "--no-open"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        url = json.loads(process.stdout.readline())["url"]
        page = Inspector(browser)
        page.start(url)
        browser("wait", selector=".served button")
        for address in (f"{server.url}/ranges/a.gguf", "http://example.org/a.gguf", "ftp://x/a"):
            page.address(address)
            said = page.run("document.querySelector('.problem-line').textContent")
            assert said.startswith("Only https addresses and the files that are served here")
        browser("click", selector=".served button")
        browser("wait", selector="[role=tab]")
        assert page.facts()["Name"] == "s.gguf"
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


# ---- hostile files


MARKUP = "<img src=x onerror=window.owned=1><script>window.owned=1</script>"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "hostile.gguf"
    metadata = {
        "general.architecture": MARKUP,
        "general.name": f"'\"{MARKUP}\u202e\u0000",
        f"a.{MARKUP}": MARKUP,
        "tokenizer.chat_template": f"</pre>{MARKUP}{{% if {MARKUP} %}}{{{{ '{MARKUP}' }}}}{{#",
        TOKENS: [MARKUP, "\u200b\u202e\n", "plain"],
    }
    ggufspec.write(path, metadata, {f"t.{MARKUP}"[:60]: np.zeros((2, 32), np.float32)})
    return path


def test_markup_stays_text(page: Inspector, hostile: Path) -> None:
    page.drop(hostile)
    for tab in ("summary", "metadata", "template", "tokens", "tensors", "types", "findings"):
        page.tab(tab)
    for panel in ("metadata", "tokens", "tensors"):
        page.tab(panel)
        assert any(MARKUP[:50] in text for row in page.rows(panel) for text in row)
        page.browser("click", selector=f"[data-panel={panel}] .rows .open")
        page.browser("press", keys=["Escape"])
    assert page.run("window.owned") is None
    assert page.run("document.querySelectorAll('main :is(img, script, b)').length") == 0
    assert page.rows("tokens")[1][1] == r"\u{200b}\u{202e}\n"
    _no_trouble(page)


def test_a_file_with_findings(page: Inspector, hostile: Path, tmp_path: Path) -> None:
    """The rules that the validator names, each with its reasons; what can be read is shown."""
    path = tmp_path / "cut.gguf"
    path.write_bytes(hostile.read_bytes()[:-200])
    report = ggufspec.validate(path, checks=["structure"])
    assert report.verdict == "invalid"
    page.drop(path)
    assert "Invalid." in page.run("document.querySelector('.verdict').textContent")
    page.tab("findings")
    shown = page.run("[...document.querySelectorAll('.rule h3')].map((h) => h.innerText)")
    rules = {re.search(r"GG\d{4}", text)[0] for text in shown}  # type: ignore[index]
    assert rules == {finding.rule for finding in report.findings}
    text = page.run("document.querySelector('.findings').innerText")
    assert "Why: " in text
    assert "What to do: " in text
    page.tab("tensors")
    assert page.listed("tensors") == 1
    page.tab("findings")
    page.browser("select", selector="[data-panel=findings] select", value="ggml")
    ggml = {finding.rule for finding in ggufspec.validate(path, profile="ggml").findings}
    page.browser("until", script="document.querySelectorAll('.rule').length === " + str(len(ggml)))


@pytest.mark.parametrize("data", [b"", b"GGUF", b"PK\3\4" + bytes(60), b"GGUF" + b"\xff" * 60])
def test_no_gguf_at_all(page: Inspector, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "no.gguf"
    path.write_bytes(data)
    page.drop(path)
    report = ggufspec.validate(path, checks=["structure"])
    page.tab("findings")
    text = page.run("document.querySelector('[data-panel=findings]').innerText")
    assert all(finding.rule in text for finding in report.findings)
    for tab in ("metadata", "template", "tokens", "tensors", "types", "blocks"):
        page.tab(tab)
    _no_trouble(page)


# ---- split sets


def _shards(folder: Path, count: int) -> list[Path]:
    paths = []
    for i in range(count):
        metadata = {
            "general.architecture": "llama",
            "split.no": ggufspec.Value("UINT16", i),
            "split.count": ggufspec.Value("UINT16", count),
            "split.tensors.count": ggufspec.Value("INT32", count),
        }
        path = folder / f"m-{i + 1:05}-of-{count:05}.gguf"
        ggufspec.write(path, metadata, {f"t{i}": np.zeros((1, 32), np.float32)})
        paths.append(path)
    return paths


def test_a_part_of_a_set(page: Inspector, tmp_path: Path) -> None:
    parts = _shards(tmp_path, 3)
    page.drop(parts[1])
    said = page.run("document.querySelector('.set').textContent")
    assert "File 2 of 3" in said
    assert "not here: 1, 3" in said


def test_a_whole_set(page: Inspector, tmp_path: Path) -> None:
    parts = _shards(tmp_path, 3)
    page.drop(*reversed(parts))
    assert "All files of the set are open" in page.run("document.querySelector('.set').textContent")
    assert page.run("document.querySelectorAll('.files button').length") == 3
    parts[2].write_bytes(parts[1].read_bytes())  # says that it is the second, and holds t1 again
    page.start()
    page.drop(*parts)
    page.tab("findings")
    text = page.run("document.querySelector('[data-panel=findings]').innerText")
    assert "GG0804" in text
    assert "GG0806" in text


# ---- block layouts


def test_every_picture(page: Inspector) -> None:
    """Each type has one, and its boxes cover every bit of the block."""
    script = """[...document.querySelectorAll('.blocks option')].map(({ value }) => {
      const select = document.querySelector('.blocks select');
      select.value = value;
      select.dispatchEvent(new Event('change'));
      const boxes = [...document.querySelectorAll('.block-picture rect')];
      const bits = boxes.map((box) => (Number(box.getAttribute('width')) + 1) / 6);
      const label = document.querySelector('.block-picture')?.getAttribute('aria-label') ?? '';
      return [value, bits.reduce((a, b) => a + b, 0), label];
    })"""
    found = {name: (bits, label) for name, bits, label in page.run(script)}
    for name, kind in ggufspec.types.items():
        bits, label = found[name]
        assert bits == 8 * kind.bytes, name
        assert not kind.bytes or label.startswith(f"A block of {name}, {kind.bytes} byte")
