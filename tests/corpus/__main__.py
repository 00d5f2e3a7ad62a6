"""`python -m corpus --write` writes verdicts.json; `python -m corpus FOLDER` writes the files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from . import BIG, hostile
from .verdicts import PATH, verdict


def main(target: str) -> None:
    """Write the one or the others."""
    if target == "--write":
        found = {file.name: verdict(file.make()) for file in hostile() if file.name not in BIG}
        lines = (f"{json.dumps(name)}: {json.dumps(said)}" for name, said in found.items())
        PATH.write_text("{\n " + ",\n ".join(lines) + "\n}\n", encoding="utf-8")
        return
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    for number, file in enumerate(hostile()):
        (folder / f"{number:03}.gguf").write_bytes(file.make())
        print(f"{number:03}\t{file.name}\t{file.reason}")


if __name__ == "__main__":
    main(*sys.argv[1:])
