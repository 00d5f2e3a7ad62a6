"""``ggufspec sample``: a small model to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from . import machine, screen, text
from .options import Force, Json, file_argument
from .paths import check_output, check_space, writing


def command(
    target: Annotated[Path, file_argument("OUT", "The file to write.")],
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a small llama model with made-up, heavy-tailed weights; always the same bytes."""
    check_output(target, (), force=force)
    from ..jobs.sample import SIZE, write_sample

    check_space(target, SIZE)
    with writing(target):
        write_sample(target)
    written = target.stat().st_size
    if as_json:
        machine.emit({"output": str(target), "size": written})
    else:
        screen.say(f"{text.printable(str(target))}: {text.size(written)}")
