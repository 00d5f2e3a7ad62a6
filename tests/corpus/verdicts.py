"""What the structure's rules say of a file: first error and its offset under each profile."""

from __future__ import annotations

from pathlib import Path

from ggufspec.container.scan import scan
from support.container import PROFILES, scan_all

PATH = Path(__file__).with_name("verdicts.json")

LONG = 1 << 20

Verdict = dict[str, list[str | int | None] | None]


def verdict(data: bytes) -> Verdict:
    """Rule and offset of the first error by profile, None where there is none.

    The cursors have to agree, but for long files, which take the one in Python seconds.
    """
    scanned = scan_all if len(data) < LONG else scan
    found = {profile: scanned(data, profile=profile).first_error() for profile in PROFILES}
    return {
        profile: None if error is None else [error.rule, error.offset]
        for profile, error in found.items()
    }
