"""The runtime's hand-written C as parts of one header: the same text under private names.

What a header puts into a user's file must not meet his own names, so everything that the sources
of runtime/c define begins with ``ggs_`` here. What does not fit into a header is cut out: the
includes, the AVX2 form of UTF-8, and the list of findings, of which the header keeps the least.
"""

from __future__ import annotations

import re

from ...container.emit_c import emit_c
from ...container.model import Container
from ...support import source

_WORDS = "|".join(
    (
        *("half_value", "half_lane", "bfloat_value", "single_value", "single_bits"),
        *("double_value", "add_trit", "seal_trits", "trit", "load", "load_native"),
        *("multiply", "add", "severity", "limit", "report_at", "fits", "breaks"),
        *("check_number", "check_text", "check_scalars", "check_strings", "check_depth"),
        *("read_number", "read_numbers", "read_string", "read_value", "read_field"),
        *("read_literal", "read_version", "read_array_head", "find_value_type"),
        *("known_value_type", "find_bad_strings", "walk_strings_of", "walk_strings"),
        *("walk_scalars", "walk_elements", "walk_array", "find_type", "count_elements"),
        *("dimension_range", "count_bytes", "report_tensor", "size_tensor", "decode"),
        *("in_ranges",),
    )
)
_RENAMED = (
    (rf"\b({_WORDS})(?=\()", r"ggs_\1"),
    (r"\b((?:load|store|or)_[ui](?:8|16|32|64)|(?:load|store|or)_[ui](?=##))", r"ggs_\1"),
    (r"\b((?:table|scalar)_\w+(?=\[))", r"ggs_\1"),
    (r"\bgs_", "ggs_"),
    (r"\bGS_", "GGS_"),
    (r"\bGGUFSPEC_(ROLLED|LITTLE|WORD|BIG_ENDIAN_HOST|TYPE_COLUMNS|ARRAY_COLUMNS)\b", r"GGS_\1"),
    (r"\b(HOST_IS_BIG|TEXT_AT_ONCE)\b", r"GGS_\1"),
    (r"\bggufspec_(pow3|scan_records|utf8_valid)\b", r"ggs_\1"),
    (r"\bcursor(?= \*)", "ggs_cursor"),
    (r"\bbad_strings\b", "ggs_bad_strings"),
    (r"\bclass\b(?! [1-9])", "kind"),  # a word of C++
)


def private(text: str) -> str:
    """C text with the private names of the header."""
    for pattern, replacement in _RENAMED:
        text = re.sub(pattern, replacement, text)
    return text


def loads() -> str:
    """runtime/c/load.h: words and small floats."""
    text = _body("load.h").replace("_cvtsh_ss(bits)", "GGS_HALF(bits)")
    text = _cut(text, "#if defined(__F16C__)\n#include", "#endif\n\n")
    return private(text).replace("defined(__F16C__)", "defined(GGS_HALF)")


def texts() -> str:
    """runtime/c/scan_text.c, with the plain form of UTF-8 alone."""
    text = _body("scan_text.c")
    text = _cut(text, "#if defined(__GNUC__) && defined(__x86_64__)", "#else\n").replace(
        "#endif\n", "", 1
    )
    public = re.compile(r"^int (?=gs_|ggufspec_)", re.MULTILINE)
    return private(public.sub("static int ", text))


def cursor() -> tuple[str, str]:
    """runtime/c/scan.c; what it calls a finding, the least of them is kept."""
    text = _body("scan.c")
    for start in (
        "typedef ggufspec_cursor cursor;",
        "const char *ggufspec_container_digest",
        "static void report_at(",
        "uint64_t ggufspec_scan_tiled(",
        "int ggufspec_index_strings(",
        "int ggufspec_index_arrays(",
    ):
        text = _cut(text, start, "\n\n" if start.endswith((";", "digest")) else "\n}\n")
    text = re.sub(r"\nuint64_t (?=ggufspec_scan_records)", "\nstatic uint64_t ", text)
    text = re.sub(r"\n#if defined\(__GNUC__\)\n__attribute__.*\n#endif\n", "\nGGS_INLINE\n", text)
    report = text.index("/* Whether `bytes` more")
    head, rest = text[:report], text[report:]
    return private(head), private(rest)


def tables(container: Container) -> str:
    """The container's tables, as the runtime compiles them, and their types."""
    made = emit_c(container)
    made = re.sub(r"^#(ifndef|define) GGUFSPEC_CONTAINER_TABLES_H\n", "", made, flags=re.MULTILINE)
    made = re.sub(r"^#define GS_DIGEST.*\n\n?", "", made, flags=re.MULTILINE)
    made = re.sub(r"\n#endif\s*$", "\n", made)
    made = re.sub(r"UINT64_C\(0\)", "0", made)
    made = re.sub(r",(\n\s*\})", r"\1", made)
    return private(_body("scan_tables.h") + made)


def _body(name: str) -> str:
    """A source without its guard and includes."""
    text = source(name)
    text = re.sub(r"^#ifndef (\w+_H)\n#define \1\n(.*)^#endif\n\Z", r"\2", text, flags=_WHOLE)
    text = re.sub(r"^#include <std\w+\.h>\n|^#include <string\.h>\n", "", text, flags=re.MULTILINE)
    text = re.sub(r'^#include "[\w.]+"\n', "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text.lstrip("\n"))


_WHOLE = re.MULTILINE | re.DOTALL


def _cut(text: str, start: str, end: str) -> str:
    """The text without what stands from ``start`` to ``end``, both included."""
    first = text.index(start)
    last = text.index(end, first) + len(end)
    return text[:first] + text[last:].lstrip("\n")
