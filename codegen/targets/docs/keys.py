"""The well-known metadata keys, a page for each file of spec/metadata."""

from __future__ import annotations

from ...metadata import Key, key_files
from ...output import Output
from ...spec import Spec
from .markdown import code, codes, page, plain, table

TITLES = {
    "architecture": "Keys of architectures",
    "clip": "Keys of projectors",
    "files": "Keys of kinds of files",
    "general": "General keys",
    "tokenizer": "Keys of tokenizers",
}


def outputs(spec: Spec) -> list[Output]:
    """keys/index.md and keys/NAME.md."""
    files = key_files(spec.root)
    made = [Output("keys/index.md", _index(files), tuple(files))]
    for file, keys in files.items():
        made.append(Output(f"keys/{_stem(file)}.md", _page(file, keys), (file,)))
    return made


def _stem(file: str) -> str:
    return file.rsplit("/", 1)[-1].removesuffix(".yaml")


def _title(file: str) -> str:
    return TITLES.get(_stem(file), _stem(file))


def _index(files: dict[str, tuple[Key, ...]]) -> str:
    rows = [
        (f"[{_title(file)}]({_stem(file)}.md)", str(len(keys)), code(f"spec/{file}"))
        for file, keys in files.items()
    ]
    return page(
        "# Keys",
        "Well-known metadata keys with the types that readers expect. `{arch}` stands for the "
        "architecture, `{id}` for a number, `{name}` for a word. A key that is not here is valid: "
        "readers pass over what they do not know.",
        table(("page", "keys", "described in"), rows),
    )


def _page(file: str, keys: tuple[Key, ...]) -> str:
    rows = [(code(key.key), codes(key.types), _about(key)) for key in keys]
    values = [_values(key) for key in keys if key.values]
    return page(
        f"# {_title(file)}",
        table(("key", "type", "what it is"), rows),
        "## Known values" if values else "",
        *values,
    )


def _about(key: Key) -> str:
    parts = [plain(key.doc)] if key.doc else []
    if key.minimum is not None:
        parts.append(f"at least {key.minimum}")
    if key.above is not None:
        parts.append(f"above {key.above}")
    if key.maximum is not None:
        parts.append(f"at most {key.maximum}")
    if key.power_of_two:
        parts.append("a power of two")
    if key.exact:
        parts.append("readers take no other width")
    if key.length:
        parts.append(f"elements: {code(key.length)}")
    if key.indexes:
        parts.append(f"a place in {code(key.indexes)}")
    if key.counts:
        parts.append(f"counts {code(key.counts)}")
    if key.deprecated:
        parts.append(f"**deprecated**, use {code(key.deprecated)}")
    if key.dangerous:
        parts.append(f"changes only with `--force`: {plain(key.dangerous)}")
    return "; ".join(parts)


def _values(key: Key) -> str:
    rows = [(code(value), plain(meaning)) for value, meaning in key.values]
    closed = " Readers refuse others." if key.closed else ""
    return page(f"{code(key.key)}:{closed}", table(("value", "meaning"), rows))
