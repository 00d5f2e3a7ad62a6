"""The Rust target: a whole crate without dependencies and without unsafe code.

Files of templates/ without Jinja's suffix are the crate's hand-written part and are copied as they
are; they know bytes, bounds and buffers. Frames (`.j2`) are filled with what the spec says:

tables      the container: records, value types, rules and limits of the profiles
registry    the block types; codebooks and small floats
language    how Rust spells the loops of codegen/loops
emit        the files
"""

from .emit import outputs

__all__ = ["outputs"]
