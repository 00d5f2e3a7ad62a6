"""The body of one C function."""

from __future__ import annotations

from ...loops import text
from .language import C


class Body(text.Body):
    """Nested blocks of C, with local arrays."""

    def __init__(self) -> None:
        super().__init__(C())

    def array(self, ctype: str, name: str, count: int) -> str:
        """Declare an aligned local array, once, in the function's own block."""
        self.first(f"GGUFSPEC_ALIGNED {ctype} {name}[{count}];")
        return name
