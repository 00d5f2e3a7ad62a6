"""What the structure's rules say of a file: first error and its offset under each profile."""

from __future__ import annotations

from pathlib import Path

from support.container import PROFILES, scan_all

PATH = Path(__file__).with_name("verdicts.json")

Verdict = dict[str, list[str | int | None] | None]


def verdict(data: bytes) -> Verdict:
    """Rule and offset of the first error by profile, None where there is none."""
    found = {profile: scan_all(data, profile).first_error() for profile in PROFILES}
    return {
        profile: None if error is None else [error.rule, error.offset]
        for profile, error in found.items()
    }
