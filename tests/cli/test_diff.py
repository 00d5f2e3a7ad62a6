"""``ggufspec diff``: what it prints, and how it exits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ggufspec

Run = Callable[..., Any]
ONES = np.ones((4, 64), np.float32)


def written(path: Path, metadata: Any, tensors: Any, **options: Any) -> Path:
    ggufspec.write(path, metadata, tensors, **options)
    return path


def test_differences(run: Run, tmp_path: Path) -> None:
    template = "{% for m in messages %}\n{{ m }}\n{% endfor %}\n"
    tokens = [f"t{n}" for n in range(1000)]
    keys = {
        "general.name": "a\x1b[2J", "tokenizer.chat_template": template,
        "tokenizer.ggml.tokens": tokens,
    }  # fmt: skip
    x = np.random.default_rng(4).standard_normal((4, 64), np.float32)
    a = written(tmp_path / "a.gguf", keys, {"x": x})
    keys["tokenizer.chat_template"] = template.replace("{{ m }}", "{{ m.content }}")
    keys["tokenizer.ggml.tokens"] = [*tokens[:500], "new", *tokens[500:]]
    keys["general.author"] = "me"
    y = x.copy()
    y[2, 3] += 1
    b = written(tmp_path / "b.gguf", keys, {"x": y})
    done = run("diff", a, b)
    assert done.code == 1
    for line in (
        "3 keys: 1 added, 2 changed",
        "-   {{ m }}",
        "+   {{ m.content }}",
        "  other elements: 1 inserted, the first is number 500 of the new: new inserted",
        "+ general.author = STRING:me",
        "the files differ: 3 keys, the data of 1 tensor",
    ):
        assert line in done.out.splitlines(), done.out
    told = run("diff", a, b, "--json").json
    assert (told["equal"], told["identical"]) == (False, False)
    assert told["metadata"][1]["elements"] == {
        "changed": 0, "inserted": 1, "deleted": 0,
        "first": [
            {
                "kind": "insert", "before_index": None, "after_index": 500,
                "before": None, "after": "new",
            }
        ],
    }  # fmt: skip
    assert told["metadata"][1]["before"] == {"type": "ARRAY[STRING]", "count": 1000}
    assert told["data"][0]["first_element"] == 2 * 64 + 3
    assert run("diff", a, b, "--only", "tensors").code == 0
    assert run("diff", a, b, "--no-data", "--ignore", "*").code == 0
    assert "not compared" in run("diff", a, b, "--no-data", "--ignore", "*").out
    assert run("diff", a, b, "--only", "colours").code == 2
    assert run("diff", a, tmp_path / "none.gguf").code == 4
    assert run("diff", a, a).out == "the files are equal, byte for byte\n"


def test_equal_models_and_exact(run: Run, tmp_path: Path) -> None:
    a = written(tmp_path / "a.gguf", {"a.b": "c"}, {"x": ONES})
    b = written(tmp_path / "b.gguf", {"a.b": "c"}, {"x": ONES}, byte_order="big")
    done = run("diff", a, b)
    assert done.code == 0
    assert done.out.splitlines()[-1] == "equal as models; the files' bytes differ: byte order"
    assert run("diff", a, b, "--exact").code == 1
    assert run("diff", a, b, "--json").json["equal"] is True


def test_nothing_of_a_file_moves_the_cursor(run: Run, tmp_path: Path) -> None:
    a = written(tmp_path / "a.gguf", {"a\x1b[1mb": "x\x1b[2J"}, {"x\x1b[0m": ONES})
    b = written(tmp_path / "b.gguf", {"a\x1b[1mb": "y\u202e" * 300}, {"y\x1b[0m": ONES})
    out = run("diff", a, b).out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "a\\x1b[1mb" in out
    long = written(tmp_path / "c.gguf", {"a\x1b[1mb": "y\u202e" * 299 + "z"}, {"y\x1b[0m": ONES})
    out = run("diff", b, long).out
    assert "they differ from character 598 of 600 on, now 599" in out
    assert "\u202e" not in out


def test_broken_files(run: Run, tmp_path: Path) -> None:
    good = written(tmp_path / "a.gguf", {}, {"x": ONES})
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(good.read_bytes()[:100])
    result = run("diff", good, bad)
    assert result.code == 1
    assert str(bad) in result.err
    assert run("diff", good, tmp_path).code == 4


def test_many_keys_are_told_in_few_lines(run: Run, tmp_path: Path) -> None:
    """Also where each has many lines of its own; JSON has all."""
    text = "\n".join(f"line {number}" for number in range(20))
    for name, count in (("few", 250), ("many", 700)):
        mine = {f"{name}.a.{n}": text + "a" * n for n in range(count)}
        theirs = {f"{name}.b.{n}": ggufspec.Value("UINT32", n) for n in range(count)}
        changed = {key: value + "!" for key, value in mine.items()}
        a = written(tmp_path / "a.gguf", mine, {"x": ONES})
        for other in (theirs, changed):
            b = written(tmp_path / "b.gguf", other, {"x": ONES})
            done = run("diff", a, b)
            total = count if other is changed else 2 * count
            assert done.out.startswith(f"{total:,} keys: ")
            if total > 500:
                assert f"... and {total - 500:,} more; --json has all" in done.out
            assert len(done.out.splitlines()) < 10_000
            assert len(run("diff", a, b, "--json").json["metadata"]) == total


def test_no_empty_line_comes_first(run: Run, tmp_path: Path) -> None:
    a = written(tmp_path / "a.gguf", {"a.b": "c", "a.c": "d"}, {"x": ONES})
    for keys, tensors in (
        ({"a.c": "d", "a.b": "c"}, {"x": ONES}),
        ({"a.b": "c", "a.c": "d"}, {"x": ONES + 1}),
        ({"a.b": "c", "a.c": "d"}, {"y": ONES}),
        ({"a.b": "c"}, {"x": ONES}),
    ):
        b = written(tmp_path / "b.gguf", keys, tensors)
        assert run("diff", a, b).out.splitlines()[0].strip()
