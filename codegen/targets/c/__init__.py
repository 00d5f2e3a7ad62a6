"""The C back end: for each type plain loops, and a form in eight lanes where one fits.

The plain loops (portable) serve every type of the language on every machine. The form in lanes
(wide, for AVX2) is chosen by what the layout is like; no rule knows a type:

gather      a lane's bits one byte or word behind the lane's before: one load widens eight;
            all lanes' bits within 32: the word is broadcast and each lane shifts it;
            within 16 bytes: a byte shuffle brings them to their lanes
integers    else lanes are filled one by one; the last bits of a code are those of one byte:
            a table row for each byte; a table of 16 bytes: a shuffle, of 16 codes at once
            where they lie in a row; a table row for eight lanes: one load
planes      codes of several fields, each a row of bytes, and rows of base-3 digits: put
            together 32 bytes at a time for the whole block, then widened
reals       x has one varying code of at most 2 bits: its values once, then looked up; a table
            row for four lanes: one load of floats; signs: the sign bit flipped, or masks from
            a table
beforehand  named values that all lanes share, grid indices of several parts: eight at a time
            for the whole block
tables      8-bit floats: 256 values
plain       numbers stored as themselves: 32 as one block

Loads never leave the block. An axis of runs is a loop unless a shift, case or digit needs its
value (schedule). Each value is computed once, as far out as its axes allow (text).
"""

from .emit import outputs

__all__ = ["outputs"]
