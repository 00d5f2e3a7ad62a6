"""Kaitai Struct: the container in both byte orders, the blocks, and what each target checks.

The shape of the text follows what ksc 0.11 and its fifteen targets can take: one file a byte
order; every scalar of a switch in a type of its own; casts in all arithmetic; names that are no
keyword anywhere; checks across fields as fields without bytes; whatever an alignment, a product
or a depth accumulates handed on as a parameter; a block's codes cut out of plain words.
"""

from .emit import outputs

__all__ = ["outputs"]
