"""All vectors of a specification, by path."""

from __future__ import annotations

from pathlib import Path

from . import blocks, files
from .storage import kinds

README = Path(__file__).with_name("readme.md")


def make(spec: Path) -> dict[str, bytes]:
    """Path below spec/conformance -> bytes."""
    version = (spec / "VERSION").read_text(encoding="utf-8").strip()
    made = {"README.md": README.read_text(encoding="utf-8").format(version=version).encode()}
    for kind in kinds(spec):
        made[f"blocks/{kind.name.lower()}.txt"] = blocks.text(kind, version).encode()
    made.update(files.made(spec, version))
    return made


def stale(folder: Path, made: dict[str, bytes]) -> list[str]:
    """The paths that are missing, differ, or that nothing makes."""
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    changed = (
        path for path in made if path in there and (folder / path).read_bytes() != made[path]
    )
    return sorted({*changed, *(there ^ set(made))})


def write(folder: Path, made: dict[str, bytes]) -> list[str]:
    """Make a folder hold these files and no others; the paths that changed."""
    changed = stale(folder, made)
    for path in changed:
        target = folder / path
        if path in made:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(made[path])
        else:
            target.unlink()
    return changed
