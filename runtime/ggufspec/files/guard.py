"""Files that are cut while they are read."""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Iterator
from contextlib import contextmanager

from .. import native
from ..container.memory import Held
from .source import Source


@contextmanager
def guarded(source: Source) -> Iterator[None]:
    """Raise OSError at the end if the file was cut, or could not be read, meanwhile.

    A mapped file that another program cuts makes the system end whoever touches what is gone. In
    here such reads give zeros (runtime/c/guard.c); without the compiled part, or on Windows, which
    does not let anyone cut a mapped file, nothing is done but to look at the size.
    """
    view = source.view
    lib = native.lib() if source.path is not None and len(view) else None
    begin = getattr(lib, "ggufspec_guard_begin", None)
    if lib is None or begin is None:
        yield
    else:
        memory = Held(view)
        number = begin(ctypes.c_void_p(memory.address), ctypes.c_size_t(len(view)))
        try:
            yield
        finally:
            broken = lib.ggufspec_guard_end(number)
            memory.release()
            if broken:
                reason = "the file was cut, or could not be read, while it was open"
                raise OSError(errno.EIO, reason, source.path)
    source.view  # noqa: B018 - looks at the size
