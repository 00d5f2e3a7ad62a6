"""files.txt, and the containers and their content in files/."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from . import bad, good

HEAD = """\
# Every file of files/ under every profile, spec {version}.
# name, profile, "ok" or the rule of the first error, its offset in the file or "-".
"""


def made(spec: Path, version: str) -> Iterator[tuple[str, bytes]]:
    """Path and bytes of every file."""
    lines = [HEAD.format(version=version)]
    names: set[str] = set()
    for file in good.files(spec):
        names.add(file.name)
        yield f"files/{file.name}.gguf", file.data
        yield f"files/{file.name}.json", content_text(file.json()).encode()
        lines += _lines(file.name, file.refused)
    for hostile in bad.files():
        if hostile.name in names:
            raise ValueError(f"two files are called {hostile.name}")
        names.add(hostile.name)
        yield f"files/{hostile.name}.gguf", hostile.data
        lines += _lines(hostile.name, hostile.verdicts)
    yield "files.txt", "".join(lines).encode()


def content_text(content: Mapping[str, object]) -> str:
    """Strict JSON, a line a key and a tensor, in ASCII."""
    lines = []
    for name, value in content.items():
        if isinstance(value, list) and value:
            inner = ",\n  ".join(_dumped(item) for item in value)
            lines.append(f'"{name}": [\n  {inner}\n ]')
        else:
            lines.append(f'"{name}": {_dumped(value)}')
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def _dumped(value: object) -> str:
    return json.dumps(value, allow_nan=False)


def _lines(name: str, refused: Mapping[str, object]) -> Iterator[str]:
    for profile in bad.PROFILES:
        verdict = refused.get(profile)
        rule, offset = verdict or ("ok", None)  # type: ignore[misc]
        yield f"{name}\t{profile}\t{rule}\t{'-' if offset is None else offset}\n"  # type: ignore[has-type]
