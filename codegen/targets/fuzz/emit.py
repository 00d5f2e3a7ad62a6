"""generated/fuzz: the hostile numbers as Python tables, as C tables, and as a dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...container import load_container
from ...container.load import FILES
from ...container.model import SECTIONS, Container
from ...output import Output
from ...spec import Spec
from .hostile import WIDEST, Hostile, find_hostile

_PYTHON = '''"""What fuzzers write where.

`KINDS`: every place of the container that holds a number, and the kind of mutation that changes
it. `NUMBERS`: what to write there; those that do not fit into the field are left out. `NAMES`:
what to rename keys and tensors to. `DEPTHS`: how many arrays to put around a value.
"""

from __future__ import annotations
'''


def outputs(spec: Spec) -> list[Output]:
    """__init__.py, numbers.h and gguf.dict; raises SpecError."""
    container = load_container(spec.root)
    hostile = find_hostile(container, spec)
    inputs = (*FILES, *(kind.file for kind in spec.types))
    return [
        Output("fuzz/__init__.py", _python(hostile), inputs),
        Output("fuzz/numbers.h", _c(hostile, container), inputs),
        Output("fuzz/gguf.dict", _dictionary(hostile, container), inputs),
    ]


def _python(hostile: Hostile) -> str:
    parts = [
        _PYTHON,
        _mapping("KINDS: dict[str, str]", hostile.kinds),
        "",
        _mapping("NUMBERS: dict[str, tuple[int, ...]]", hostile.numbers),
        "",
        _rows("NAMES: tuple[bytes, ...]", hostile.names),
        "",
        f"DEPTHS: tuple[int, ...] = {hostile.depths!r}",
    ]
    return "\n".join(parts) + "\n"


def _mapping(declaration: str, items: Mapping[str, object]) -> str:
    rows = (f"    {key!r}: {value!r}," for key, value in items.items())
    return "\n".join([f"{declaration} = {{", *rows, "}"])


def _rows(declaration: str, items: Iterable[object]) -> str:
    return "\n".join([f"{declaration} = (", *(f"    {item!r}," for item in items), ")"])


def _c(hostile: Hostile, container: Container) -> str:
    """Lists beside the cursor's own tables: the entries of `gs_fields` in the same order."""
    numbers: list[int] = []
    first = {}
    for place, found in hostile.numbers.items():
        first[place] = f"{{{len(numbers)}, {len(found)}}}"
        numbers += found
    fields = [
        f"{section}.{field.name}"
        for version in container.versions
        for section in SECTIONS
        for field in container.fields(section, version)
    ]
    others = [place for place in hostile.numbers if place not in fields]
    parts = [
        "/* What a fuzzer writes where; include it behind container_tables.h. */",
        "#ifndef GGUFSPEC_FUZZ_NUMBERS_H",
        "#define GGUFSPEC_FUZZ_NUMBERS_H",
        "",
        "static const uint64_t gs_fuzz_numbers[] = {",
        *(f"    UINT64_C({number})," for number in numbers),
        "};",
        "",
        "/* runs of the numbers: for the field at the same place in gs_fields */",
        "static const gs_list gs_fuzz_fields[] = {",
        *(f"    {first.get(place, '{0, 0}')}, /* {place} */" for place in fields),
        "};",
        "",
        "/* and for the parts of values */",
        *(
            f"static const gs_list gs_fuzz_{place.replace('.', '_')} = {first[place]};"
            for place in others
        ),
        "",
        "/* the key whose value the container itself reads, in the table of names */",
        f"enum {{ GS_FUZZ_ALIGNMENT = {hostile.names.index(container.alignment_key.encode())} }};",
        "",
        f"static const uint16_t gs_fuzz_depths[] = {{{', '.join(map(str, hostile.depths))}}};",
        "",
        "static const struct {",
        "    const char *text;",
        "    uint16_t length;",
        "} gs_fuzz_names[] = {",
        *(f'    {{"{_escaped(name)}", {len(name)}}},' for name in hostile.names),
        "};",
        "",
        "#endif",
    ]
    return "\n".join(parts) + "\n"


def _escaped(text: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text)


def _dictionary(hostile: Hostile, container: Container) -> str:
    """Words for libFuzzer and its like, in both byte orders."""
    magic = [field.literal for field in container.section("header").fields if field.literal]
    version = container.current
    widths = {4, container.bytes_of(container.string_length, version)}
    numbers = sorted({number for found in hostile.numbers.values() for number in found})
    words = [
        number.to_bytes(width, order)
        for order in ("little", "big")
        for width in sorted(widths)
        for number in numbers
        if number < min(1 << 8 * width, WIDEST)
    ]
    found = dict.fromkeys([*magic, *filter(None, hostile.names), *words])
    return "\n".join(f'"{_escaped(word)}"' for word in found) + "\n"
