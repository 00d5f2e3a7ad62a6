"""Names that a spec may use: no keyword of a target language, nothing said twice."""

from __future__ import annotations

import keyword

_C_LIKE = """
auto bool boolean break byte case char class const continue default do double else enum
extern final finally float for goto if import inline int interface long native new null
package private protected public register restrict return short signed sizeof static
struct super switch this throw try typedef union unsigned void volatile while
""".split()
_RUST = """
as box crate dyn fn impl let loop macro match mod move mut pub ref self trait type unsafe use
where
""".split()
_GO = "chan defer fallthrough func go map range select string var".split()
_SCRIPT = """
any async await debugger delete export function instanceof number of readonly typeof undefined
yield
""".split()
_RESERVED = "x bits trit bit sign f16 sum finite array enum file".split()

KEYWORDS = frozenset([*keyword.kwlist, *_C_LIKE, *_RUST, *_GO, *_SCRIPT])
FUNCTIONS = frozenset(_RESERVED)


def fault(name: str, taken: dict[str, str]) -> str | None:
    """Why ``name`` cannot be used beside the names in ``taken`` (name -> what it is)."""
    if not (name.isidentifier() and name.isascii()):
        return f"{name!r} is no name"
    if name in KEYWORDS:
        return f"{name!r} is a keyword of a target language"
    if name in FUNCTIONS:
        return f"{name!r} is a word of the spec language"
    if name in taken:
        return f"{name!r} is already the name of {taken[name]}"
    return None
