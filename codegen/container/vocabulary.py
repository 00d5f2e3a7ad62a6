"""The checks that the cursors know, and what a rule may say about each.

A rule names one of them. Those of `VALUE_CHECKS` look at one number or text, wherever a
rule puts them; each of the others is a place in the walk of its own, so exactly one rule
must claim it.
"""

from __future__ import annotations

from typing import NamedTuple


class Check(NamedTuple):
    """`first` and `second` are the names, in messages, of what a finding carries.

    `limited`: the rule gives the number to compare with; `keyed`: it names a metadata key.
    `special`: further names that messages may use, found out when the message is written.
    `fatal`: nothing behind it can be read, so every profile has to call it an error.
    """

    doc: str
    first: str = ""
    second: str = ""
    limited: bool = False
    keyed: bool = False
    special: tuple[str, ...] = ()
    fatal: bool = False

    @property
    def names(self) -> frozenset[str]:
        """What may stand in the braces of a message."""
        return frozenset({"subject", self.first, self.second, *self.special} - {""})


#: Checks of one number (a number field, a scalar value, a count, a depth) or one text
#: (a string field or value; `at_least` and `at_most` compare its length in bytes).
VALUE_CHECKS = {
    "at_least": Check("not below the limit", "value", "limit", limited=True),
    "at_most": Check("not above the limit", "value", "limit", limited=True),
    "utf8": Check("strict UTF-8", "count"),
    "printable": Check("none of the forbidden code points"),
    "dotted": Check("words joined by separators"),
    "unique": Check("no earlier record has the same text", "first"),
}

#: Which of them make sense for a number, for a text, and where every record counts.
NUMBER_CHECKS = frozenset({"at_least", "at_most"})
TEXT_CHECKS = frozenset({"at_least", "at_most", "utf8", "printable", "dotted"})
RECORD_CHECKS = frozenset({"unique"})

#: Checks with one place in the walk.
WALK_CHECKS = {
    "fits": Check("a field ends inside of the file", "need", "left", fatal=True),
    "count_fits": Check("a count leaves room for its entries", "count", "most", fatal=True),
    "literal": Check("the bytes are those of the field", special=("lookalike",), fatal=True),
    "known_version": Check("a version of the list", "value", special=("known",), fatal=True),
    "little_endian": Check("the byte order is little"),
    "known_value": Check("a value type of the version", "value", fatal=True),
    "alignment_uint32": Check("the key's type is UINT32", special=("type",)),
    "alignment_integer": Check("the key's type is an integer", special=("type",)),
    "alignment_power_of_two": Check("a power of two", "value"),
    "alignment_multiple": Check("a multiple of the limit", "value", "limit", limited=True),
    "alignment_either": Check(
        "a power of two or a multiple of the limit", "value", "limit", limited=True
    ),
    "alignment_at_most": Check("not above the limit", "value", "limit", limited=True),
    "alignment_at_least": Check("not below the limit", "value", "limit", limited=True),
    "elements": Check("the product of the dimensions but zero", "", "limit", limited=True),
    "known_type": Check("a type of the table", "value"),
    "live_type": Check("a type that has a layout", "value"),
    "whole_rows": Check("the block divides the first dimension", "value", "block"),
    "bytes": Check("the size of the tensor", "", "limit", limited=True),
    "data_start": Check("the file reaches the data section", "value", "size"),
    "inside": Check("the tensor ends inside of the file", "value", "size"),
    "aligned": Check("the offset is a multiple of the alignment", "value", "alignment"),
    "no_gap": Check("the offset is not behind the padded end", "value", "expected"),
    "in_order": Check("the offset is not before the padded end", "value", "expected"),
    "no_overlap": Check("no byte belongs to two tensors", "value", "end"),
    "data_size": Check("the sum of the padded sizes", "", "limit", limited=True),
    "zero_padding": Check("padding holds the padding byte", "count", "length"),
    "no_tail": Check("nothing follows the data", "count"),
    "present": Check("the metadata has the key", keyed=True),
    "present_if_quantized": Check("the same if a type has blocks", keyed=True),
    "all_shown": Check("no more findings than the limit", "errors", "others", limited=True),
}

CHECKS = VALUE_CHECKS | WALK_CHECKS
