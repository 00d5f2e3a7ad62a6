"""`python -m vectors`: write spec/conformance anew, or `--check` that it is fresh."""

from __future__ import annotations

import argparse
from pathlib import Path

from support.project import SPEC

from .make import make, stale, write


def main() -> int:
    """0 when all is fresh or written, 1 when `--check` finds a difference."""
    parser = argparse.ArgumentParser(prog="python -m vectors", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    parser.add_argument("--spec-dir", type=Path, default=SPEC, help="another specification")
    parser.add_argument("--out", type=Path, help="folder of the vectors (SPEC/conformance)")
    options = parser.parse_args()
    out = options.out or options.spec_dir / "conformance"
    made = make(options.spec_dir.resolve())
    changed = stale(out, made) if options.check else write(out, made)
    for path in changed:
        print(f"{'stale' if options.check else 'wrote'} {path}")
    if options.check and changed:
        print("run `PYTHONPATH=tests python -m vectors`")
    return int(options.check and bool(changed))


if __name__ == "__main__":
    raise SystemExit(main())
