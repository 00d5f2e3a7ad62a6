"""The kept corpus: hostile files, each with the reason why it is kept.

Nothing is stored: every file is a few lines of code that make it, under a name that stays. What
the profiles say of each is in verdicts.json (`python -m corpus --write` writes it anew).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from support.crafted_cases import GROUPS
from support.damaged import FORMS, everything

SMALL = 1 << 14


class Hostile(NamedTuple):
    """A file that is made when asked for, and why it is here."""

    name: str
    reason: str
    make: Callable[[], bytes]


def hostile() -> Iterator[Hostile]:
    """Every file but the prefixes, those of the crafted cases included."""
    from . import bombs, models, structure, text

    for group in GROUPS:
        for case in group():
            reason = f"{(group.__doc__ or '').rstrip('.')}: {case.name}"
            yield Hostile(case.name, reason, lambda data=case.data: data)  # type: ignore[misc]
    for module in (structure, text, models, bombs):
        yield from module.files()


def prefixes() -> Iterator[tuple[str, bytes]]:
    """Each beginning of a valid file of every version and byte order."""
    for form in FORMS:
        whole = everything(FORMS[form])
        for length in range(len(whole)):
            yield f"{length} bytes of {form}", whole[:length]


def small() -> Iterator[bytes]:
    """What a fuzzer starts from: valid files, and those of the corpus that are short."""
    for form in FORMS.values():
        yield everything(form)
    for file in hostile():
        if file.name not in BIG:
            data = file.make()
            if 0 < len(data) <= SMALL:
                yield data


BIG = frozenset({"a million keys", "200,000 tensors"})
"""Names of files whose structure alone may take more than the second that the others have."""
