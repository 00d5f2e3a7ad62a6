"""What a file may hold at most that `open` reads again; writers keep to it."""

from __future__ import annotations

from ..generated.container import DEFAULT_PROFILE, PROFILES, RULES

_PROFILE = [profile.name for profile in PROFILES].index(DEFAULT_PROFILE["open"])


def limit(check: str, at: str) -> int:
    """The limit of a rule, by its check and place."""
    return next(r.limits[_PROFILE] for r in RULES if (r.check, r.at) == (check, at))


def writable(check: str, at: str, value: int, subject: str) -> None:
    """ValueError when a value is above the limit of a rule."""
    most = limit(check, at)
    if value > most:
        raise ValueError(f"{subject} has {value}, at most {most} can be read again ({at})")
