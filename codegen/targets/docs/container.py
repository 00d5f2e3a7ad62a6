"""The container: a page on its records, value types, byte order and profiles."""

from __future__ import annotations

from ...container import load_container
from ...container.load import FILES
from ...container.model import Container, Field
from ...output import Output
from ...spec import Spec
from .markdown import code, page, plain, table

_SAYS = {
    "header": "The file starts with the header.",
    "metadata": "One record a key-value pair, as many as the header counts.",
    "tensors": "One record a tensor, as many as the header counts.",
}


def outputs(spec: Spec) -> list[Output]:
    """container.md."""
    container = load_container(spec.root)
    return [Output("container.md", _page(container), FILES)]


def _page(container: Container) -> str:
    versions = ", ".join(map(str, container.versions))
    sections = [
        page(
            f"## {section.name.capitalize()}",
            _SAYS[section.name],
            table(
                ("field", "bytes", "since version", "what it is"),
                [_field(container, field) for field in section.fields],
            ),
        )
        for section in container.sections
    ]
    return page(
        "# Container",
        plain(container.doc),
        f"Versions {versions}; a writer writes {container.current}. Numbers are stored in the "
        "byte order of the file, without padding between fields. The magic reads the same in both "
        f"orders: the order is the one in which the version is below {container.below:,}.",
        "Widths that a version changed:",
        table(
            ("width", *(f"version {version}" for version in container.versions)),
            [
                (code(name), *(f"{container.bytes_of(name, v)} bytes" for v in container.versions))
                for name in container.widths
                if len(container.widths[name]) > 1
            ],
        ),
        *sections,
        "## Values",
        "A value is the id of its type and the value. A string is its length in bytes and UTF-8 "
        "without a terminator; an array the id of its elements' type, their number, and the "
        "elements.",
        table(
            ("id", "type", "bytes", "since version"),
            [
                (str(kind.id), code(kind.name), str(kind.bytes or "with a length"), str(kind.since))
                for kind in container.value_types
            ],
        ),
        "## Data",
        f"Behind the last tensor info the file is padded with bytes {container.padding} to a "
        f"multiple of the alignment: the key {code(container.alignment_key)}, "
        f"{container.alignment_default} where there is none. There the data section starts; each "
        "tensor's offset counts from it and is a multiple of the alignment. "
        "[Types](types/index.md) says what the bytes of each tensor mean. A big-endian file "
        "stores every multi-byte word of a block in its own order; bytes, and what is packed "
        "into them, stay.",
        "## Profiles",
        "Readers do not agree on what a file may be. A profile says whom it has to please:",
        table(
            ("profile", "default of", "accepts"),
            [
                (code(profile.name), code(profile.default_of) if profile.default_of else "",
                 plain(profile.doc))
                for profile in container.profiles
            ],
        ),
        "Every thing that a file must keep to is a [rule](rules/index.md).",
    )  # fmt: skip


def _field(container: Container, field: Field) -> tuple[str, ...]:
    if field.kind == "literal":
        size = f"{len(field.literal)}: {code(field.literal.decode())}"
    elif field.kind == "string":
        size = f"{_width(container, field.width)}, then so many"
    elif field.kind == "value":
        size = f"{_width(container, field.width)}, then the value"
    else:
        size = _width(container, field.width)
    if field.repeat:
        size += f" each, {code(field.repeat)} times, at most {field.most}"
    return (code(field.name), size, str(field.since), plain(field.doc))


def _width(container: Container, width: str) -> str:
    sizes = [container.bytes_of(width, version) for version in container.versions]
    last = str(sizes[-1])
    return last if len(set(sizes)) == 1 else f"{last} ({sizes[0]} in version 1)"
