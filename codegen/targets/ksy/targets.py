"""What each target of ksc 0.11 does with the trees: found by compiling and running, not by reading.

tests/languages/test_kaitai.py compares this table with what the compiler and the compiled text do.
"""

from __future__ import annotations

from dataclasses import dataclass

from .container import MEANS

ALL = tuple(MEANS)
END = ("end",)


@dataclass(frozen=True)
class Target:
    """A target: the form it takes, what of `MEANS` its text acts on, and what to know.

    `form` is "main" or "nim". `ran` says how far it was tried: "vectors" (the tests run
    vectors), "compiled" (the target language's compiler takes the text, tried by hand),
    "made" (ksc makes it).
    """

    name: str
    form: str
    means: tuple[str, ...]
    ran: str
    note: str


TARGETS = (
    Target("python", "main", ALL, "vectors",
           "`text` of a string that is not UTF-8 raises UnicodeDecodeError, when asked for."),
    Target("javascript", "main", ALL, "vectors",
           "64-bit numbers are doubles: exact to 2^53, rounded beyond; INT64 values near -2^63 "
           "come out wrong (the runtime's readS8)."),
    Target("java", "main", ALL, "vectors",
           "u8 is a signed long; an enum value that is not in the list is null, so use `type_id`."),
    Target("go", "main", ALL, "vectors",
           "ksc's text has no package clause from npm: put one in front."),
    Target("rust", "main", ALL, "compiled",
           "the runtime is in the project's repository only: `kaitai` of the crates registry is "
           "another program."),
    Target("cpp_stl", "main", ALL, "compiled",
           "C++98 from npm; lengths are compared with the file before they are allocated."),
    Target("csharp", "main", ALL, "made", "u8 is ulong; casts keep computed numbers in 64 bits."),
    Target("php", "main", ALL, "made", "integers are signed 64-bit numbers."),
    Target("ruby", "main", ALL, "made", ""),
    Target("lua", "main", ALL, "made", "numbers of 64 bits need Lua 5.3."),
    Target("perl", "main", END, "made",
           "no check at all, the magic included; parameters are dropped: the alignment is wrong."),
    Target("construct", "main", END, "made",
           "no check at all, the magic included; parameters are dropped: not of use for files."),
    Target("nim", "nim", END, "made",
           "refuses valid/expr, hence the form without; checks nothing, the magic included."),
    Target("html", "main", (), "made", "a page to read."),
    Target("graphviz", "main", (), "made", "a picture to look at."),
)  # fmt: skip
