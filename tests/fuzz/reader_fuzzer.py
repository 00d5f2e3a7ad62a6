"""Coverage-guided damage to files for the reader in Python, under atheris.

    PYTHONPATH=tests python tests/fuzz/reader_fuzzer.py [libFuzzer's options] FOLDER...

Each file is scanned by the cursor in Python and read whole; one of eight is scanned by both
cursors, which have to agree, and validated. Anything but a result or a GGUFError ends the run.
"""

from __future__ import annotations

import inspect
import sys
from random import Random

import atheris

from ggufspec.container.scan import scan
from ggufspec.validation import validate
from support.container import PROFILES, scan_all
from support.mutations import random_mutations
from support.reading import read_all

PACKAGES = ("ggufspec.container", "ggufspec.files", "ggufspec.validation")
RARE = 8  # validation takes several times as long as reading


def instrument() -> None:
    """Make the functions of the reader tell where they have been.

    Function by function: what an editable install imports escapes the hook that atheris has.
    """
    empty = b"GGUF" + (3).to_bytes(4, "little") + bytes(16)
    validate(empty, "strict", data=True)  # loads what is loaded on first use
    read_all(empty)
    modules = [module for name, module in sys.modules.items() if name.startswith(PACKAGES)]
    for module in modules:
        for owner in (module, *filter(inspect.isclass, vars(module).values())):
            for found in list(vars(owner).values()):
                function = found.fget if isinstance(found, property) else found
                if inspect.isfunction(function) and function.__module__ == module.__name__:
                    atheris.instrument_func(function)


def one_input(data: bytes) -> None:
    """Read it in every way, under a profile that its size chooses."""
    profile = PROFILES[len(data) % len(PROFILES)]
    if sum(data) % RARE:
        scan(data, profile=profile, backend="python")
    else:
        scan_all(data, profile)
        assert validate(data, profile, data=True).verdict
    read_all(data, profile)


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """Typed damage three times of four."""
    random = Random(seed)
    if data and random.randrange(4):
        return random_mutations(data, random)[:max_size]
    return atheris.Mutate(data, max_size)


def main() -> None:
    """Run until the options say stop."""
    atheris.Setup(sys.argv, one_input, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    instrument()
    main()
