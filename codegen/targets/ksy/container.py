"""The container of one byte order as a Kaitai tree.

Everything that a version, an alignment or a limit decides comes from spec/container; the limits
are those of one profile, the one that `open` uses. A check is a `valid` of the field itself where
the field alone decides, else a field of no bytes behind the ones it looks at (`check_...`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ...container.model import Container, Field, ValueType
from ...model import BlockType
from .expressions import number, truth
from .words import safe
from .yaml import Tree

SMALL = 65536
"""A length below this is read before it is compared with the file: cheaper, and never too much."""

PROFILE_OF = "open"

MEANS = {
    "contents": "the bytes that a file starts with",
    "any-of": "a list of numbers",
    "expr": "a condition (`valid/expr`)",
    "end": "reading behind the end, which every runtime refuses",
}
"""What a check in a tree is made of."""


@dataclass
class _Rules:
    """The severe rules of a profile, and by what the tree checks some of them."""

    container: Container
    profile: int
    used: dict[str, str] = field(default_factory=dict)

    def limit(self, place: str, check: str, by: str = "expr") -> int | None:
        """What a check at a place compares with; None where no rule of the profile asks."""
        for rule in self.container.rules:
            severe = rule.severities[self.profile] == "error"
            if severe and (rule.at, rule.check) == (place, check):
                self.used[rule.id] = by
                return rule.limits[self.profile]
        return None

    def use(self, check: str, by: str = "expr") -> int | None:
        """The limit of a check that has one place in the walk."""
        rule = next(rule for rule in self.container.rules if rule.check == check)
        return self.limit(rule.at, check, by)


@dataclass(frozen=True)
class File:
    """A tree; the profile, and the rules that the tree checks, each with what checks it.

    That is a key of `MEANS`.
    """

    tree: Tree
    profile: str
    checked: Mapping[str, str]


def container_file(
    container: Container, types: Sequence[BlockType], version: str, order: str
) -> File:
    """The container in a byte order, ``le`` or ``be``."""
    profile = [entry.default_of for entry in container.profiles].index(PROFILE_OF)
    return _Writer(container, types, _Rules(container, profile)).file(version, order)


def number_type(size: int) -> str:
    return f"u{size}"


class _Writer:
    def __init__(self, container: Container, types: Sequence[BlockType], rules: _Rules) -> None:
        self.container = container
        self.types = [kind for kind in types if kind.id is not None and kind.regions]
        self.named = [kind for kind in types if kind.id is not None]
        self.rules = rules

    def file(self, version: str, order: str) -> File:
        name = f"gguf_{order}"
        words = {"le": "little", "be": "big"}[order]
        tree: Tree = {
            "meta": {
                "id": name,
                "title": f"GGUF, {words}-endian (spec {version})",
                "file-extension": "gguf",
                "license": "MIT",
                "ks-version": "0.11",
                "endian": order,
            },
            "doc": _doc(self.container, words),
            "seq": self._root(),
            "instances": self._root_instances(),
            "types": {
                "string_value": self._string(),
                "metadata_entry": self._metadata(),
                "alignment_probe": self._probe(),
                "array_value": self._array(),
                "tensors_entry": self._tensor(),
                "dimension": self._dimension(),
                "tensor_data": self._data(),
                **self._scalars(),
                **self._arrays(),
            },
            "enums": {
                "value_type": {kind.id: kind.name.lower() for kind in self.container.value_types},
                "ggml_type": ids(self.named),
            },
        }
        return File(tree, self.container.profiles[self.rules.profile].name, self.rules.used)

    # ---- the file

    def _root(self) -> list[Tree]:
        c = self.container
        seq: list[Tree] = []
        for item in c.section("header").fields:
            if item.kind == "literal":
                self.rules.use("literal", "contents")
                seq.append({"id": item.name, "contents": list(item.literal), "doc": item.doc})
            elif item.kind == "version":
                self.rules.use("known_version", "any-of")
                seq.append({"id": item.name, "type": "u4", "valid": {"any-of": list(c.versions)},
                            "doc": item.doc})  # fmt: skip
            else:
                seq += self._number(item, "version", self._count_checks(item))
        for section in ("metadata", "tensors"):
            count = self._count_of(section)
            entry = f"{section}_entry"
            if section == "metadata":
                before = f"{c.alignment_default} if _index == 0 else metadata[_index - 1].alignment"
                entry += number(before)
            seq.append({"id": section, "type": entry, "repeat": "expr", "repeat-expr": count})
        tensors = self._count_of("tensors")
        self.rules.use("data_start", "end")
        self.rules.use("inside", "end")
        return [
            *seq,
            {
                "id": "padding",
                "size": number("(alignment - _io.pos % alignment) % alignment"),
                "if": truth(f"{tensors} > 0"),
            },
            {"id": "pin_data_start", "size": 0, "if": truth("data_start >= 0 and alignment >= 1")},
            {
                "id": "tensor_blocks",
                "type": "tensor_data(data_start.as<u8>, tensors[_index].offset.as<u8>, "
                "tensors[_index].nbytes.as<u8>, tensors[_index].is_sized)",
                "repeat": "expr",
                "repeat-expr": tensors,
                "doc": "The bytes of each tensor, in the order of the infos; read when asked for.",
            },
        ]

    def _root_instances(self) -> Tree:
        c, made = self.container, {}
        for item in c.section("header").fields:
            if item.kind == "number":
                made[item.name] = {"value": self._pick(item.name, item.width, "version")}
        count = self._count_of("metadata")
        made["alignment"] = {
            "value": number(
                f"metadata[{count} - 1].alignment if {count} > 0 else {c.alignment_default}"
            ),
            "doc": f"Of the data section: {c.alignment_key}, else {c.alignment_default}.",
        }
        made["data_start"] = {
            "value": "_io.pos.as<u8>",
            "doc": "Byte of the file where tensor data start.",
        }
        return made

    def _count_of(self, section: str) -> str:
        fields = self.container.section("header").fields
        return next(item.name for item in fields if item.counts == section)

    def _count_checks(self, item: Field) -> dict[int, str]:
        """For each step of the width: the count leaves room for its entries."""
        if not item.counts:
            return {}
        self.rules.use("count_fits")
        c = self.container
        return {
            since: truth(f"_ >= 0 and _ <= {REMAINING} // {c.smallest(item.counts, since)}")
            for since in c.widths[item.width]
        }

    # ---- numbers whose width depends on the version

    def _steps(self, width: str) -> dict[int, int]:
        return self.container.widths[width]

    def _number(
        self, item: Field, version: str, checks: dict[int, str] | None = None, doc: str = ""
    ) -> list[Tree]:
        """The fields of a number: one for each width, of which a file has one."""
        return self._stored(safe(item.name), item.width, version, checks or {}, item.doc or doc)

    def _stored(
        self, name: str, width: str, version: str, checks: dict[int, str], doc: str
    ) -> list[Tree]:
        steps = self._steps(width)
        made = []
        for since, size in steps.items():
            entry: Tree = {"id": _at(name, steps, since), "type": number_type(size)}
            if len(steps) > 1:
                entry["if"] = _holds(version, list(steps), since)
            if since in checks:
                entry["valid"] = {"expr": checks[since]}
            if doc:
                entry["doc"] = doc
            made.append(entry)
        return made

    def _pick(self, name: str, width: str, version: str) -> str:
        """The number, whichever field holds it."""
        steps = self._steps(width)
        sinces = list(steps)
        text = f"{_at(name, steps, sinces[-1])}.as<u8>"
        for since, after in reversed(list(pairwise(sinces))):
            text = f"{version} < {after} ? {_at(name, steps, since)}.as<u8> : {text}"
        return text

    # ---- strings

    def _string(self) -> Tree:
        width = self.container.string_length
        self.rules.use("fits", "end")
        checks = dict.fromkeys(
            self._steps(width), truth(f"_ >= 0 and (_ < {SMALL} or _ <= {REMAINING})")
        )
        return {
            "doc": "A length and as many bytes; `text` fails or replaces where they are not UTF-8.",
            "seq": [
                *self._stored("len", width, "_root.version", checks, ""),
                {"id": "data", "size": "len"},
            ],
            "instances": {
                "len": {"value": self._pick("len", width, "_root.version")},
                "text": {"value": 'data.to_s("UTF-8")'},
            },
        }

    def _text_checks(self, section: str, item: Field) -> list[str]:
        place, made = f"{section}.{item.name}", []
        least, most = self.rules.limit(place, "at_least"), self.rules.limit(place, "at_most")
        if least is not None:
            made.append(truth(f"{item.name}.len >= {least}"))
        if most is not None:
            made.append(truth(f"{item.name}.len <= {most}"))
        return made

    # ---- metadata

    def _metadata(self) -> Tree:
        c = self.container
        seq: list[Tree] = []
        fields = c.section("metadata").fields
        key = next(item for item in fields if item.kind == "string")
        earlier: list[str] = []
        for item in fields:
            if item.kind == "string":
                seq.append({"id": item.name, "type": "string_value", "doc": item.doc})
                earlier += self._text_checks("metadata", item)
            else:
                self.rules.use("alignment_integer")
                integers = _one_of("_", [kind.id for kind in self._integers()])
                earlier.append(f"(not is_alignment or ({integers}))")
                seq.append(self._tag(f"{item.name}_tag", item.width, earlier, item.doc))
                seq += [
                    {"id": "probe", "type": "alignment_probe(value_tag)", "if": "is_alignment"},
                    {
                        "id": item.name,
                        "type": {"switch-on": "value_type", "cases": self._value_cases()},
                    },
                ]
        letters = ", ".join(str(byte) for byte in c.alignment_key.encode())
        return {
            "params": [{"id": "alignment_before", "type": "u8"}],
            "seq": seq,
            "instances": {
                "value_type": {"value": "value_tag", "enum": "value_type"},
                "is_alignment": {
                    "value": f"{key.name}.data == [{letters}]",
                    "doc": f"Whether the key is {c.alignment_key}.",
                },
                "alignment": {
                    "value": "is_alignment ? probe.number.as<u8> : alignment_before.as<u8>",
                    "doc": "As far as the metadata are read.",
                },
            },
        }

    def _tag(self, name: str, width: str, earlier: Sequence[str], doc: str = "") -> Tree:
        """The id of a value type that the version has."""
        c = self.container
        self.rules.use("known_value")
        (size,) = self._steps(width).values()
        parts = [f"({_one_of('_', [kind.id for kind in c.value_types])})"]
        previous: list[int] = []
        for version in c.versions:
            late = [kind.id for kind in c.value_types if kind.since > version]
            if late and (version == 1 or late != previous):
                parts.append(f"(_root.version > {version} or not ({_one_of('_', late)}))")
            previous = late
        holds = " and ".join([*parts, *earlier])
        entry: Tree = {"id": name, "type": number_type(size), "valid": {"expr": holds}}
        if doc:
            entry["doc"] = doc
        return entry

    def _value_cases(self) -> Tree:
        return {
            f"value_type::{kind.name.lower()}": "array_value(0)"
            if kind.kind == "array"
            else "string_value"
            if kind.kind == "string"
            else f"{kind.name.lower()}_value"
            for kind in self.container.value_types
        }

    def _integers(self) -> list[ValueType]:
        return [kind for kind in self.container.value_types if kind.kind in ("uint", "int")]

    def _alignment_holds(self) -> str:
        least = self.rules.use("alignment_at_least") or 1
        most, multiple = self.rules.use("alignment_at_most"), self.rules.use("alignment_either")
        parts = [f"_ >= {least}"]
        if most is not None:
            parts.append(truth(f"_ <= {most}"))
        if multiple is not None:
            if multiple & (multiple - 1):
                raise ValueError("alignment_either: powers of two are found by multiples of one")
            smaller = [1 << bit for bit in range(multiple.bit_length() - 1)]
            others = _one_of("_", smaller)
            parts.append(f"(_ % {multiple} == 0 or {others})")
        return " and ".join(parts)

    def _probe(self) -> Tree:
        """Looks ahead at the value of the alignment's key, whatever integer type it has."""
        number, holds = "0.as<u8>", self._alignment_holds()
        instances: Tree = {"start": {"value": "_io.pos.as<u8>"}}
        for kind in reversed(self._integers()):
            name = f"as_{kind.name.lower()}"
            number = f"tag == {kind.id} ? {name}.as<u8> : ({number})"
        for kind in self._integers():
            name = f"as_{kind.name.lower()}"
            instances[name] = {"pos": "start", "type": _scalar_type(kind), "valid": {"expr": holds}}
        return {
            "doc": "The alignment, read ahead of the value; 0 where its type is no integer.",
            "params": [{"id": "tag", "type": "u4"}],
            "seq": [{"id": "pin_start", "size": 0, "if": truth("start >= 0")}],
            "instances": {**instances, "number": {"value": number}},
        }

    # ---- values

    def _plain(self) -> list[ValueType]:
        return [k for k in self.container.value_types if k.kind not in ("string", "array")]

    def _scalars(self) -> Tree:
        return {
            f"{kind.name.lower()}_value": {"seq": [{"id": "value", "type": _scalar_type(kind)}]}
            for kind in self._plain()
        }

    def _array(self) -> Tree:
        c = self.container
        self.rules.use("count_fits")
        deepest = self.rules.limit("array.depth", "at_most")
        array = next(kind.id for kind in c.value_types if kind.kind == "array")
        (tag_name, tag_width), (count_name, width) = c.array
        if (tag_name, count_name) != ("element_type", "count"):
            raise ValueError("an array is an element type and a count")
        cases = {}
        for kind in c.value_types:
            inner = {"string": "array_of_string(count.as<u8>)",
                     "array": "array_of_array(count.as<u8>, depth.as<s4>)"}  # fmt: skip
            cases[f"value_type::{kind.name.lower()}"] = inner.get(
                kind.kind, f"array_of_{kind.name.lower()}(count.as<u8>)"
            )
        least = "1.as<u8>"
        for kind in reversed(c.value_types):
            sizes = [c.smallest_value(kind, version) for version in c.versions]
            size = f"{sizes[-1]}.as<u8>"
            for version, here in reversed(list(zip(c.versions, sizes, strict=True))):
                if here != sizes[-1]:
                    size = f"(_root.version <= {version} ? {here}.as<u8> : {size})"
            least = f"element_tag == {kind.id} ? {size} : ({least})"
        depth = [] if deepest is None else [f"(_ != {array} or depth < {deepest})"]
        room = dict.fromkeys(self._steps(width), truth(f"_ >= 0 and _ <= {REMAINING} // smallest"))
        return {
            "doc": "An element type, a count, the elements; `depth` counts the arrays around it.",
            "params": [{"id": "depth", "type": "s4"}],
            "seq": [
                self._tag("element_tag", tag_width, depth),
                *self._stored("count", width, "_root.version", room, ""),
                {"id": "body", "type": {"switch-on": "element_type", "cases": cases}},
            ],
            "instances": {
                "element_type": {"value": "element_tag", "enum": "value_type"},
                "count": {"value": self._pick("count", width, "_root.version")},
                "smallest": {"value": least, "doc": "The fewest bytes that an element takes."},
            },
        }

    def _arrays(self) -> Tree:
        count = [{"id": "count", "type": "u8"}]
        repeat = {"repeat": "expr", "repeat-expr": "count"}
        made: Tree = {}
        for kind in self._plain():
            made[f"array_of_{kind.name.lower()}"] = {
                "params": count,
                "seq": [
                    {"id": "pin_start", "size": 0, "if": truth("start >= 0")},
                    {
                        "id": "data",
                        "size": number("count" if kind.bytes == 1 else f"count * {kind.bytes}"),
                    },
                ],
                "instances": {
                    "start": {"value": "_io.pos.as<u8>"},
                    "elements": {"pos": "start", "type": _scalar_type(kind), **repeat},
                },
            }
        made["array_of_string"] = {
            "params": count,
            "seq": [{"id": "elements", "type": "string_value", **repeat}],
        }
        made["array_of_array"] = {
            "params": [*count, {"id": "depth", "type": "s4"}],
            "seq": [{"id": "elements", "type": "array_value(depth.as<s4> + 1)", **repeat}],
        }
        return made

    # ---- tensors

    def _tensor(self) -> Tree:
        seq: list[Tree] = []
        repeated = ""
        earlier: list[str] = []
        fields = self.container.section("tensors").fields
        for item in fields:
            name = safe(item.name)
            if item.kind == "string":
                seq.append({"id": name, "type": "string_value", "doc": item.doc})
                earlier += self._text_checks("tensors", item)
            elif item.repeat:
                repeated = name
                seq.append(self._dims(item, name))
            else:
                most = self.rules.limit(f"tensors.{item.name}", "at_most")
                holds = earlier if most is None else [*earlier, f"_ <= {most}"]
                if item is fields[-1]:
                    holds = [*holds, *self._size_holds()]
                checks = dict.fromkeys(
                    self._steps(item.width) if holds else (), " and ".join(holds)
                )
                seq += self._number(item, "_root.version", checks)
                earlier = []
        rank, last = "n_dims", f"{repeated}[n_dims - 1]"
        return {
            "seq": seq,
            "instances": {
                "ggml_type": {
                    "value": "type_id", "enum": "ggml_type",
                    "doc": "A number that is not in the list stays in type_id.",
                },
                "block_elements": {"value": self._by_type("elements")},
                "block_bytes": {"value": self._by_type("bytes")},
                "prefix_bytes": {"value": self._by_type("prefix_bytes")},
                "suffix_bytes": {"value": self._by_type("suffix_bytes")},
                "row": {"value": number(f"{repeated}[0].value if {rank} > 0 else 1")},
                "elements": {"value": number(f"{last}.elements if {rank} > 0 else 1")},
                "rows": {"value": number("0 if elements == 0 else elements // row")},
                "is_sized": {
                    "value": truth(
                        "block_elements != 0 "
                        "and row % (1 if block_elements == 0 else block_elements) == 0"
                    ),
                    "doc": "Whether the type is known and rows are whole blocks.",
                },
                "row_bytes": {
                    "value": number(
                        "row // block_elements * block_bytes + prefix_bytes if is_sized else 1"
                    ),
                },
                "nbytes": {
                    "value": number(
                        "rows * row_bytes + suffix_bytes if is_sized and elements != 0 else 0"
                    ),
                    "doc": "The tensor's bytes; 0 where is_sized is false.",
                },
            },
        }  # fmt: skip

    def _dims(self, item: Field, name: str) -> Tree:
        """Each dimension gets the products so far: of all that are not 0, and of all."""
        given = (
            number(f"{first} if _index == 0 else {name}[_index - 1].{what}")
            for first, what in ((0, "product"), (1, "elements"))
        )
        return {
            "id": name,
            "type": f"dimension({', '.join(given)})",
            "repeat": "expr",
            "repeat-expr": item.repeat,
            "doc": item.doc,
        }

    def _size_holds(self) -> list[str]:
        """The size can be computed, and is no larger than the file; where it lies shows later."""
        most = self.rules.use("bytes")
        return [
            truth(f"not is_sized or elements == 0 or rows <= {most} // row_bytes"),
            truth(
                "(is_sized and nbytes == 0) or "
                "(_ >= 0 and _ <= _io.size and nbytes <= _io.size - _)"
            ),
        ]

    def _by_type(self, what: str) -> str:
        """A number of the type's layout, 0 for other types; equal numbers stand together."""
        groups: dict[int, list[int]] = {}
        for kind in self.types:
            groups.setdefault(getattr(kind, what), []).append(kind.id or 0)
        groups.pop(0, None)
        text = "0.as<u8>"
        for value, members in reversed(groups.items()):
            text = f"{_one_of('type_id', members)} ? {value}.as<u8> : ({text})"
        return text

    def _dimension(self) -> Tree:
        most, largest = self.rules.use("elements"), self.rules.limit("tensors.dims", "at_most")
        width = self.container.section("tensors").field("dims").width
        holds = truth(
            f"_ >= 0 and _ <= {largest} and (before == 0 or _ <= 1 or {most} // _ > before)"
        )
        return {
            "doc": "A dimension, and its products with those before it (one leaves out zeros).",
            "params": [{"id": "before", "type": "u8"}, {"id": "elements_before", "type": "u8"}],
            "seq": [
                *self._stored(
                    "value", width, "_root.version", dict.fromkeys(self._steps(width), holds), ""
                )
            ],
            "instances": {
                "value": {"value": self._pick("value", width, "_root.version")},
                "product": {
                    "value": number("(1 if before == 0 else before) * (1 if value == 0 else value)")
                },
                "elements": {"value": number("elements_before * value")},
            },
        }

    def _data(self) -> Tree:
        return {
            "doc": "Where a tensor's bytes are, and the bytes.",
            "params": [
                {"id": "data_start", "type": "u8"},
                {"id": "offset", "type": "u8"},
                {"id": "nbytes", "type": "u8"},
                {"id": "is_sized", "type": "bool"},
            ],
            "seq": [{"id": "pin_last", "size": 0, "if": "is_empty or last_byte >= 0"}],
            "instances": {
                "is_empty": {"value": "is_sized and nbytes == 0"},
                "last_byte": {
                    "pos": number("data_start + offset + nbytes - 1"),
                    "type": "u1",
                    "doc": "Read at once, so that a tensor outside of the file is refused.",
                },
                "data": {"pos": number("data_start + offset"), "size": "nbytes", "if": "is_sized"},
            },
        }


REMAINING = "(_io.size - _io.pos)"


def ids(types: Iterable[BlockType]) -> Tree:
    """The enum of type ids, removed ones included."""
    return {kind.id: kind.name.lower() for kind in types if kind.id is not None}


def _scalar_type(kind: ValueType) -> str:
    letter = {"uint": "u", "bool": "u", "int": "s", "float": "f"}[kind.kind]
    return f"{letter}{kind.bytes}"


def _at(name: str, steps: dict[int, int], since: int) -> str:
    return f"{name}_v{since}" if len(steps) > 1 else name


def _holds(version: str, sinces: list[int], since: int) -> str:
    after = [later for later in sinces if later > since]
    parts = [f"{version} >= {since}"] if since != sinces[0] else []
    if after:
        parts.append(f"{version} < {after[0]}")
    return " and ".join(parts)


def _one_of(name: str, numbers: list[int]) -> str:
    """Whether a number is in a list, runs as ranges."""
    parts: list[str] = []
    numbers = sorted(numbers)
    while numbers:
        end = 1
        while end < len(numbers) and numbers[end] == numbers[0] + end:
            end += 1
        if end == 1:
            parts.append(f"{name} == {numbers[0]}")
        elif numbers[0] == 0:
            parts.append(f"{name} <= {numbers[end - 1]}")
        else:
            parts.append(f"({name} >= {numbers[0]} and {name} <= {numbers[end - 1]})")
        numbers = numbers[end:]
    return " or ".join(parts)


def _doc(container: Container, words: str) -> str:
    return (
        f"{container.doc}\n\n"
        f"This file reads {words}-endian files of the versions "
        f"{', '.join(map(str, container.versions))}; the other byte order has a file of its own,\n"
        "and the version field tells which one is right: the wrong one refuses the version.\n"
        "What each target of the compiler checks, and what it drops in silence, is in README.md:\n"
        "Perl, Nim and Construct check nothing at all, the magic included."
    )
