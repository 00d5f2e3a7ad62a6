"""Outputs to files: headers, manifest, and the check that what is on disk is fresh."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path, PurePosixPath

from . import support
from .output import Output
from .spec import Spec, load_spec
from .targets import COPIES, TARGETS

GENERATOR = "1"
"""The generator's own version: part of each header, raised when output changes meaning."""

SUPPORT = {
    "c": (
        "check.c", "check.h", "dispatch.c", "dispatch.h", "kernel.h", "load.h", "simd.h", "types.h",
    )
}  # fmt: skip
"""Files of runtime/c that go along when a target is written into another project."""

BUILT = ("pages",)
"""Folders of generated/ that a bundler fills, from generated and hand-written sources; their own
PAGES.json says from what, and tests compare."""

_COMMENTS = {
    **dict.fromkeys((".py", ".dict", ".toml", ".txt", ".ksy"), ("# ", "")),
    **dict.fromkeys((".c", ".h", ".rs", ".go", ".mod", ".ts", ".java"), ("// ", "")),
    **dict.fromkeys((".md", ".xml"), ("<!-- ", " -->")),
}
"""How a line of comment starts and ends, by suffix; a file of another kind has no header."""


def find_root(start: Path) -> Path | None:
    """The checkout around ``start``: the nearest parent with spec/ and generated/."""
    for folder in (start, *start.parents):
        if (folder / "spec/VERSION").is_file() and (folder / "generated/MANIFEST.json").is_file():
            return folder
    return None


def make_all(root: Path) -> dict[str, str]:
    """Every generated file of the checkout at ``root``, the manifest included."""
    return _make(load_spec(root / "spec"), TARGETS)


def make_copy(spec: Spec, target: str, types: Sequence[str]) -> dict[str, str]:
    """One target for another project's tree, its manifest included."""
    kept = spec.only(types) if types else spec
    return {**_make(kept, [target], target=target, types=list(types)), **_support(target)}


def _support(target: str) -> dict[str, str]:
    """Hand-written files that a target's outputs include, beside the outputs."""
    return {f"c/{name}": support.source(name) for name in SUPPORT.get(target, ())}


def _make(spec: Spec, targets: Iterable[str], **what: object) -> dict[str, str]:
    """Path under generated/ to whole text, in a fixed order, and the manifest of it all."""
    outputs = sorted(
        (output for name in targets for output in COPIES[name](spec)), key=lambda made: made.path
    )
    files: dict[str, str] = {}
    for output in outputs:
        if output.path in files:
            raise ValueError(f"two targets make {output.path}")
        files[output.path] = _header(spec, output) + output.body.strip("\n") + "\n"
    return {**files, "MANIFEST.json": _manifest(spec, outputs, files, what)}


def _manifest(
    spec: Spec, outputs: Sequence[Output], files: Mapping[str, str], what: Mapping[str, object]
) -> str:
    """Each output with its hash, so that a stray edit shows by itself, and its spec files."""
    about = {"spec": spec.version, "generator": GENERATOR, **what}
    entries = {
        output.path: {
            "sha256": hashlib.sha256(files[output.path].encode()).hexdigest(),
            "inputs": list(output.inputs),
        }
        for output in outputs
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in about.items()]
    made = [f"{json.dumps(path)}: {json.dumps(entry)}" for path, entry in entries.items()]
    lines.append('"files": {\n  ' + ",\n  ".join(made) + "\n }")
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def edited(folder: Path) -> list[str]:
    """Files of ``folder`` that are not what its manifest says; needs no spec."""
    try:
        content = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))
        digests = {path: entry["sha256"] for path, entry in content["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return ["MANIFEST.json: not a manifest"]
    found = []
    for path, digest in digests.items():
        target = folder / path
        if not target.is_file():
            found.append(f"{path}: missing")
        elif hashlib.sha256(target.read_bytes()).hexdigest() != digest:
            found.append(f"{path}: not what the manifest says")
    return found


def differences(folder: Path, files: Mapping[str, str], *, strays: bool = True) -> list[str]:
    """What is stale, missing or (``strays``) left over in ``folder``, as diffs and lines."""
    found: list[str] = []
    for path, text in files.items():
        target = folder / path
        old = target.read_bytes() if target.is_file() else b""
        if old == text.encode():
            continue
        if path == "MANIFEST.json" and found and old:  # its lines are long, and follow from those
            found.append(f"{path}: stale like the files that it lists")
        else:
            before = old.decode(errors="backslashreplace")
            diff = unified_diff(
                before.splitlines(), text.splitlines(), f"{path} (on disk)",
                f"{path} (from spec)", lineterm="", n=2,
            )  # fmt: skip
            found.append("\n".join(diff) or f"{path}: differs in line ends")
    if strays:
        found += [f"{path}: nothing generates it" for path in _strays(folder, files)]
    return found


def write(folder: Path, files: Mapping[str, str], *, strays: bool = True) -> list[str]:
    """Write what changed, remove (``strays``) what nothing generates; the paths touched."""
    touched: list[str] = []
    for path, text in files.items():
        target = folder / path
        if target.is_file() and target.read_bytes() == text.encode():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
        touched.append(path)
    for path in _strays(folder, files) if strays else ():
        (folder / path).unlink()
        touched.append(path)
    return touched


def _strays(folder: Path, files: Mapping[str, str]) -> list[str]:
    here = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    return sorted(path for path in here - set(files) if path.split("/")[0] not in BUILT)


def _header(spec: Spec, output: Output) -> str:
    comment = _COMMENTS.get(PurePosixPath(output.path).suffix)
    if comment is None:
        return ""
    start, end = comment
    digest = hashlib.sha256(GENERATOR.encode())
    for name in output.inputs:
        digest.update((spec.root / name).read_bytes())
    shown = [f"spec/{name}" for name in output.inputs]
    source = (
        ", ".join(shown) if len(shown) <= 6 else f"{', '.join(shown[:3])} and {len(shown) - 3} more"
    )
    lines = [
        "Generated by `ggufspec generate`; do not edit: change the spec instead.",
        f"Source: {source or 'the generator'}",
        f"Spec {spec.version}, generator {GENERATOR}, inputs {digest.hexdigest()[:16]}",
    ]
    return "".join(f"{start}{line}{end}\n" for line in lines) + "\n"
