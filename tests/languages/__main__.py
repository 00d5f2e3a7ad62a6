"""`python -m languages [NAME...]`: build, ask, print the matrix."""

from __future__ import annotations

import os
import sys

from .runner import Outcome, matrix, report
from .session import everything, examine, skipped, wanted


def main(names: list[str]) -> int:
    """0 when every answer is right; in CI a missing toolchain is a failure too."""
    outcomes: list[Outcome] = []
    missing: list[str] = []
    broken: list[str] = []
    with everything() as questions:
        for language in wanted(names):
            reason = skipped(language)
            if reason:
                missing.append(reason)
                continue
            try:
                outcomes.append(examine(language, questions))
            except RuntimeError as error:
                broken.append(f"{language.name}: does not build: {error}")
                continue
            text = report(outcomes[-1])
            if text:
                print(text, flush=True)
    print(matrix(outcomes, missing))
    print("\n".join(broken))
    failed = broken or not all(outcome.good for outcome in outcomes)
    return int(bool(failed or (missing and os.environ.get("CI"))))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
