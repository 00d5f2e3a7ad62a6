"""The verdict on a file: every rule of the container that it breaks."""

from __future__ import annotations

from ..files.source import ByteSource, Source
from ..generated import container as tables
from ..report import Report
from .scan import profile_number, scan


def validate(source: ByteSource, profile: str = tables.DEFAULT_PROFILE["validate"]) -> Report:
    """Check a file, given by its path or as bytes, under a profile.

    Never raises for what a file holds. Raises ValueError for an unknown profile, OSError
    where the file cannot be read. One file of a split set is checked as the file it is.
    """
    profile_number(profile)  # before the file is touched
    opened = Source(source)
    try:
        return Report(scan(opened.view, profile=profile).findings, profile)
    finally:
        opened.close()
