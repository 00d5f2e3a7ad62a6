"""Every fault of the container's description is refused with file, line and YAML path."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ggufspec.codegen.container import load_container
from ggufspec.codegen.container.emit_c import emit_c
from ggufspec.codegen.container.emit_python import emit_python
from ggufspec.codegen.errors import SpecError
from support.project import SPEC

FAULTS: dict[str, tuple[str, str, str, str]] = {
    # ---- the shape of the files
    "not YAML": (
        *("layout", "current: 3", "current: [3"),
        "container/layout.yaml:11: (top): not YAML: while parsing a flow sequence, expected",
    ),
    "duplicate key": (
        *("values", "INT8: {id: 1", "UINT8: {id: 1"),
        "container/values.yaml:4: UINT8: duplicate key",
    ),
    "unknown key": (
        *("layout", "current: 3", "newest: 3"),
        "container/layout.yaml:9: newest: unknown key; known here: doc, versions, current, widths, "
        "byte_order, sections, string, array, data, syntax",
    ),
    "missing key": (
        *("layout", "string: {length: size}\n", ""),
        "container/layout.yaml:4: (top): missing key: string",
    ),
    "no number": (
        *("layout", "current: 3", "current: three"),
        'container/layout.yaml:9: current: "three" is not a whole number',
    ),
    "unknown severity": (
        *("rules", "severity: error", "severity: fatal"),
        'container/rules.yaml:19: GG0001.severity: "fatal" is not one of error, warning, info',
    ),
    # ---- versions and widths
    "versions out of order": (
        *("layout", "[1, 2, 3]", "[1, 3, 2]"),
        "container/layout.yaml:8: versions: versions are not in rising order",
    ),
    "current is no version": (
        *("layout", "current: 3", "current: 4"),
        "container/layout.yaml:9: current: 4 is not one of the versions",
    ),
    "version above the bound": (
        *("layout", "below: 65536", "below: 3"),
        "container/layout.yaml:17: byte_order.below: version 3 is not below it",
    ),
    "width of an unknown version": (
        *("layout", "{v1: u32, v2: u64}", "{v1: u32, v4: u64}"),
        "container/layout.yaml:13: widths.size.v4: not one of the versions",
    ),
    "width without a start": (
        *("layout", "{v1: u32, v2: u64}", "{v2: u64}"),
        "container/layout.yaml:13: widths.size: says nothing of version 1",
    ),
    "width that is none": (
        *("layout", "{v1: u32, v2: u64}", "{v1: u32, v2: u48}"),
        'container/layout.yaml:13: widths.size.v2: "u48" is not one of u8, u16, u32, u64',
    ),
    "unknown width": (
        *("layout", "offset: {number: u64", "offset: {number: offset"),
        "container/layout.yaml:41: sections.tensors.offset.number: unknown width 'offset'; "
        "known are u8, u16, u32, u64, tag, size",
    ),
    "unknown width of an array": (
        *("layout", "count: size}", "count: sizes}"),
        "container/layout.yaml:45: array.count: unknown width 'sizes'; "
        "known are u8, u16, u32, u64, tag, size",
    ),
    # ---- records
    "two kinds of field": (
        *("layout", "key: {string: size", "key: {number: u32, string: size"),
        "container/layout.yaml:34: sections.metadata.key: a field is one of bytes, number, string, "
        "value",
    ),
    "missing role": (
        *("layout", "    offset: {number", "    place: {number"),
        "container/layout.yaml:36: sections.tensors: needs a field 'offset' that is a number",
    ),
    "role of another kind": (
        *("layout", "key: {string: size", "key: {number: size"),
        "container/layout.yaml:33: sections.metadata: needs a field 'key' that is a string",
    ),
    "column that stands twice": (
        *("layout", "    key: {string", "    count: {number: u32}\n    key: {string"),
        "container/layout.yaml:33: sections.metadata: "
        "two columns of a scan would be called 'count'",
    ),
    "value outside of the metadata": (
        *("layout", "    offset: {number", "    note: {value: tag}\n    offset: {number"),
        "container/layout.yaml:41: sections.tensors.note: values stand in the metadata only",
    ),
    "repeat of nothing": (
        *("layout", "repeat: n_dims", "repeat: rank"),
        "container/layout.yaml:39: sections.tensors.dims.repeat: "
        "no earlier number is called 'rank'",
    ),
    "version behind what depends on it": (
        *(
            "layout",
            "    version: {number: u32",
            "    length: {number: size}\n    version: {number: u32",
        ),
        "container/layout.yaml:31: sections.header.version: "
        "'length' depends on the version that is read after it",
    ),
    "field of an unknown version": (
        *("layout", "    kv_count:", "    flags: {number: u32, since: 4}\n    kv_count:"),
        "container/layout.yaml:32: sections.header.flags.since: not one of the versions",
    ),
    "section that nothing counts": (
        *("layout", "kv_count: {number: size, counts: metadata", "kv_count: {number: size"),
        "container/layout.yaml:20: sections.header: metadata is counted 0 times",
    ),
    "section that is counted twice": (
        *("layout", "counts: metadata", "counts: tensors"),
        "container/layout.yaml:20: sections.header: metadata is counted 0 times",
    ),
    "count that old versions lack": (
        *("layout", "kv_count: {number: size", "kv_count: {since: 2, number: size"),
        "container/layout.yaml:32: sections.header.kv_count.since: a count stands in every version",
    ),
    # ---- value types
    "id that stands twice": (
        *("values", "INT8: {id: 1,", "INT8: {id: 0,"),
        "container/values.yaml:4: INT8.id: 0 is UINT8 already",
    ),
    "scalar without bytes": (
        *("values", "BOOL: {id: 7, kind: bool, bytes: 1}", "BOOL: {id: 7, kind: bool}"),
        "container/values.yaml:10: BOOL: a bool needs bytes",
    ),
    "string with bytes": (
        *("values", "STRING: {id: 8, kind: string}", "STRING: {id: 8, kind: string, bytes: 8}"),
        "container/values.yaml:11: STRING: a string has no bytes",
    ),
    "float of 3 bytes": (
        *("values", "kind: float, bytes: 4", "kind: float, bytes: 3"),
        "container/values.yaml:9: FLOAT32.bytes: a float has 2, 4 or 8 bytes",
    ),
    "type of an unknown version": (
        *(
            "values",
            "INT64: {id: 11, kind: int, bytes: 8, since: 2}",
            "INT64: {id: 11, kind: int, bytes: 8, since: 9}",
        ),
        "container/values.yaml:14: INT64.since: not one of the versions",
    ),
    "two types of strings": (
        *(
            "values",
            "ARRAY: {id: 9, kind: array}",
            "ARRAY: {id: 9, kind: array}\nTEXT: {id: 13, kind: string}",
        ),
        "container/values.yaml:3: (top): needs exactly one type of kind string",
    ),
    # ---- profiles and rules
    "no default profile": (
        *("profiles", "lenient: {default_of: open, ", "lenient: {"),
        "container/profiles.yaml:2: (top): needs exactly one default_of: open, has 0",
    ),
    "unknown check": (
        *("rules", "check: literal", "check: magic"),
        "container/rules.yaml:49: GG0101.check: unknown check; known are at_least, at_most, utf8, "
        "printable, dotted, unique, fits, count_fits, literal, ",
    ),
    "no such place": (
        *("rules", "at: metadata.key\n  check: unique", "at: metadata.name\n  check: unique"),
        "container/rules.yaml:121: GG0202.at: no such place: metadata.name",
    ),
    "check that cannot be tested there": (
        *("rules", "at: metadata.key\n  check: unique", "at: array.count\n  check: unique"),
        "container/rules.yaml:122: GG0202.check: cannot be tested at array.count",
    ),
    "check without its limit": (
        *("rules", "  check: at_least\n  limit: 2\n", "  check: at_least\n"),
        "container/rules.yaml:75: GG0103: needs a limit for the profile ggml",
    ),
    "limit that a profile lacks": (
        *(
            "rules",
            "limit: {ggml: 63, spec: 64, strict: 63, lenient: 65536}",
            "limit: {ggml: 63, spec: 64, strict: 63}",
        ),
        "container/rules.yaml:397: GG0502: needs a limit for the profile lenient",
    ),
    "limit without use": (
        *("rules", "  check: literal\n", "  check: literal\n  limit: 4\n"),
        "container/rules.yaml:50: GG0101.limit: the check literal has no use for a limit",
    ),
    "unknown profile": (
        *("rules", "{ggml: error, strict: info}", "{ggml: error, stern: info}"),
        "container/rules.yaml:93: GG0104.severity.stern: unknown profile; known are ggml, spec, "
        "strict, lenient",
    ),
    "key without use": (
        *("rules", "  check: no_tail\n", "  check: no_tail\n  key: a.b\n"),
        "container/rules.yaml:670: GG0609: has no use for a key",
    ),
    "message with an unknown name": (
        *(
            "rules",
            'message: the file does not start with "GGUF"{lookalike}',
            "message: it starts with '{value}'",
        ),
        "container/rules.yaml:52: GG0101.message: "
        "{value} is not known; known are lookalike, subject",
    ),
    "message with a lone brace": (
        *("rules", "the file does not start", "the file { does not start"),
        "container/rules.yaml:52: GG0101.message: unexpected '{' in field name",
    ),
    "rule that stops but is no error": (
        *(
            "rules",
            "  check: literal\n  severity: error",
            "  check: literal\n  severity: {spec: error}",
        ),
        "container/rules.yaml:50: GG0101.severity: "
        "reading stops here, so it is an error everywhere",
    ),
    "rules out of order": (
        *("rules", "GG0103:", "GG0999:"),
        "container/rules.yaml:89: GG0104: stands behind GG0999; keep the ids in order",
    ),
    "name that stands twice": (
        *("rules", "name: version-unknown", "name: magic"),
        "container/rules.yaml:61: GG0102.name: GG0101 has that name already",
    ),
    "check that is claimed twice": (
        *("rules", "check: live_type", "check: known_type"),
        "container/rules.yaml:525: GG0511.check: GG0510 has that check already",
    ),
    "check that no rule claims": (
        *("rules", "  check: no_tail\n", "  check: data_start\n"),
        "container/rules.yaml:676: GG0609.message: "
        "{count} is not known; known are size, subject, value",
    ),
    "depth without a bound": (
        *(
            "rules",
            "limit: {ggml: 16, spec: 16, strict: 4, lenient: 16}\n  severity: error",
            "limit: {ggml: 16, spec: 16, strict: 4, lenient: 16}\n"
            "  severity: {ggml: error, strict: error, lenient: error}",
        ),
        "container/rules.yaml:15: (top): spec needs an at_most error at array.depth, up to 16",
    ),
    "more dimensions than there is room for": (
        *(
            "rules",
            "limit: {ggml: 4, spec: 4, strict: 4, lenient: 8}",
            "limit: {ggml: 4, spec: 4, strict: 4, lenient: 9}",
        ),
        "container/rules.yaml:15: (top): lenient needs an at_most error at tensors.n_dims, up to 8",
    ),
}
"""Name -> file, text, what it is replaced by, and the message that must come of it."""


def _tree(folder: Path, name: str = "", old: str = "", new: str = "") -> Path:
    root = folder / "spec"
    shutil.copytree(SPEC / "container", root / "container")
    shutil.copytree(SPEC / "schema", root / "schema")
    if name:
        path = root / "container" / f"{name}.yaml"
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return root


@pytest.mark.parametrize("fault", FAULTS)
def test_message(fault: str, tmp_path: Path) -> None:
    name, old, new, message = FAULTS[fault]
    with pytest.raises(SpecError) as caught:
        load_container(_tree(tmp_path, name, old, new))
    assert str(caught.value).startswith(message)


def test_emitting_is_deterministic(tmp_path: Path) -> None:
    one, two = load_container(_tree(tmp_path)), load_container(SPEC)
    assert (emit_c(one), emit_python(one)) == (emit_c(two), emit_python(two))


def test_comments_change_nothing(tmp_path: Path) -> None:
    root = _tree(tmp_path, "layout", "# The container", "# Another word about the container")
    assert emit_c(load_container(root)) == emit_c(load_container(SPEC))
