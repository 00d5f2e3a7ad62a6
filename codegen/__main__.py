"""``python -m ggufspec.codegen``: regenerate the checkout around the working directory.

The command ``ggufspec generate`` does the same and more; this door works while generated/
is too broken for the command line to start.
"""

from __future__ import annotations

import sys
from pathlib import Path

from .errors import SpecError
from .generate import make_all, write


def main() -> int:
    root = next(
        (p for p in (Path.cwd(), *Path.cwd().parents) if (p / "spec/VERSION").is_file()), None
    )
    if root is None:
        print("no spec/VERSION above the working directory", file=sys.stderr)
        return 2
    try:
        touched = write(root / "generated", make_all(root))
    except SpecError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(touched)} files written" if touched else "everything is fresh")
    return 0


if __name__ == "__main__":
    sys.exit(main())
