"""The frames of generated files: Jinja templates beside the emitter that fills them."""

from __future__ import annotations

from pathlib import Path

import jinja2


def frames(folder: Path, *, comment: tuple[str, str] = ("{#", "#}")) -> jinja2.Environment:
    """The templates of a folder; an undefined name is an error. ``comment`` starts and ends one."""
    start, end = comment
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        comment_start_string=start,
        comment_end_string=end,
    )
