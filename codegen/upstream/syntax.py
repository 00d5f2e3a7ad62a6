"""C and C++ through tree-sitter: enums, structs, tables, macros, with a small evaluator.

Whatever is asked for is found in the syntax tree; what the grammar does not understand elsewhere
in a file does not matter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from math import prod
from typing import TYPE_CHECKING

from .facts import Place, StructField, UnreadError
from .preprocess import Preprocessor

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

SIZES = {
    "char": 1, "bool": 1, "int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "short": 2,
    "int": 4, "int32_t": 4, "uint32_t": 4, "float": 4, "int64_t": 8, "uint64_t": 8, "double": 8,
    "size_t": 8,
}  # fmt: skip
"""Bytes of C's own types on the machines that ggml's files come from."""

Number = int | float


@cache
def parser(language: str) -> Parser:
    """A parser of "c" or "cpp"; ImportError names what to install."""
    from tree_sitter import Language, Parser

    if language == "cpp":
        import tree_sitter_cpp

        return Parser(Language(tree_sitter_cpp.language()))
    import tree_sitter_c

    return Parser(Language(tree_sitter_c.language()))


@dataclass
class Unit:
    """What was read so far: numbers of names, types, structs. Files add to it in turn.

    places: where constants are declared. unread: enums, structs and constants with a fault.
    """

    numbers: dict[str, Number] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    structs: dict[str, Struct] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    unread: dict[str, Unread] = field(default_factory=dict)
    preprocessor: Preprocessor = field(init=False)

    def __post_init__(self) -> None:
        self.preprocessor = Preprocessor(self.number)

    def read(self, text: str, file: str) -> File:
        """Parse a file; its macros, enums and types are known from then on."""
        language = "cpp" if file.endswith(".cpp") else "c"
        before = dict(self.preprocessor.macros)
        plain = self.preprocessor.run(text)
        root = parser(language).parse(plain.encode()).root_node
        after = self.preprocessor.macros
        own = {name: m.line for name, m in after.items() if before.get(name) is not m}
        made = File(self, file, root, own)
        made.learn()
        return made

    def number(self, text: str) -> Number | None:
        """The value of a C expression, None where it has none."""
        try:
            return self.evaluated(text)
        except UnreadError:
            return None

    def evaluated(self, text: str) -> Number:
        """The value of a C expression; UnreadError says why it has none."""
        root = parser("c").parse(f"long long x = {text};".encode()).root_node
        for node in walk(root):
            if node.type == "init_declarator":
                return self.value(node.child_by_field_name("value"))
        raise UnreadError(f"{text[:60]!r} is no expression")

    def macro(self, name: str) -> Number | str | None:
        """The number or text that a macro stands for."""
        macro = self.preprocessor.macros.get(name)
        if macro is None or macro.parameters is not None or not macro.text:
            return None
        if macro.text.startswith('"'):
            try:
                return str(ast.literal_eval(macro.text))
            except (SyntaxError, ValueError):
                return None
        return self.number(macro.text)

    def value(self, node: Node | None) -> Number:
        """The number of an expression; UnreadError where it is none that we know."""
        if node is None:
            raise UnreadError("an expression is missing")
        if node.has_error:
            raise UnreadError(f"{_text(node)[:60]!r} is no C that is understood")
        match node.type:
            case "char_literal":
                return _character(_text(node))
            case "conditional_expression":
                condition = self.value(node.child_by_field_name("condition"))
                chosen = "consequence" if condition else "alternative"
                return self.value(node.child_by_field_name(chosen))
            case "number_literal":
                return _literal(_text(node))
            case "true" | "false":
                return int(node.type == "true")
            case "identifier" | "type_identifier":
                return self._named(_text(node))
            case "parenthesized_expression":
                return self.value(node.named_children[0])
            case "cast_expression":
                value = self.value(node.child_by_field_name("value"))
                return self.cast(_text(node.child_by_field_name("type")), value)
            case "sizeof_expression":
                return self.size_of(_sizeof_name(node))
            case "unary_expression":
                value = self.value(node.child_by_field_name("argument"))
                return _said(node, _unary, _operator(node), value)
            case "binary_expression":
                left = self.value(node.child_by_field_name("left"))
                right = self.value(node.child_by_field_name("right"))
                return _said(node, _binary, _operator(node), left, right)
        raise UnreadError(f"{_text(node)[:60]!r} has no value that is known")

    def cast(self, name: str, value: Number) -> Number:
        """The value in another type: integers wrap."""
        name = self.resolved(" ".join(name.split()))
        if name in {"float", "double"}:
            return float(value)
        words = [word for word in name.split() if word not in {"signed", "unsigned", "const"}]
        bits = 8 * (8 if words.count("long") else SIZES.get(words[0] if words else "int", 0))
        if not bits:
            raise UnreadError(f"a cast to {name[:60]!r} is not known")
        whole = int(value)
        if words == ["bool"]:
            return int(bool(value))
        wrapped = whole & (1 << bits) - 1
        unsigned = name.startswith(("unsigned", "uint", "size_t"))
        return wrapped if unsigned or not wrapped >> bits - 1 else wrapped - (1 << bits)

    def _named(self, name: str) -> Number:
        if name in self.numbers:
            return self.numbers[name]
        found = self.macro(name)
        if isinstance(found, int | float):
            return found
        fault = self.unread.get(name)
        why = f": {fault.why}" if fault else ""
        raise UnreadError(f"{name!r} has no value that is known{why}")

    def size_of(self, name: str) -> int:
        """Bytes of a type."""
        name = self.resolved(name)
        if name in self.structs:
            return self.structs[name].bytes
        if name in SIZES:
            return SIZES[name]
        if name in self.unread:
            raise UnreadError(f"{name} is not understood: {self.unread[name].why}")
        raise UnreadError(f"the size of {name!r} is not known")

    def resolved(self, name: str) -> str:
        """The type behind typedefs."""
        seen = set()
        while name in self.aliases and name not in seen:
            seen.add(name)
            name = self.aliases[name]
        return name


@dataclass(frozen=True)
class Struct:
    """A struct with a name of its own: members in order, bytes with what aligns them."""

    name: str
    fields: tuple[StructField, ...]
    offsets: tuple[int, ...]
    bytes: int
    place: Place


@dataclass(frozen=True)
class Unread:
    """Why something that is declared could not be read."""

    why: str
    place: Place


@dataclass(frozen=True)
class Enumerator:
    name: str
    value: int
    place: Place


@dataclass
class File:
    """One parsed file, and the lines of the macros that it defines."""

    unit: Unit
    name: str
    root: Node
    macros: dict[str, int]
    enums: dict[str, tuple[Enumerator, ...]] = field(default_factory=dict)

    def learn(self) -> None:
        """Take in enums, typedefs and structs, in order."""
        for node in walk(self.root):
            if node.type == "enum_specifier":
                self._enum(node)
            elif node.type in {"type_definition", "alias_declaration"}:
                self._typedef(node)
            elif node.type == "declaration":
                self._constant(node)

    @property
    def trouble(self) -> int:
        """The first line that the grammar does not understand, 0 if there is none."""
        return _wrong(self.root).start_point[0] + 1 if self.root.has_error else 0

    def mentioned(self, name: str) -> Place | None:
        """Where a name occurs first, in whatever case."""
        text = _text(self.root)
        found = re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE)
        line = self.root.start_point[0] + 1
        return Place(self.name, line + text.count("\n", 0, found.start())) if found else None

    def _constant(self, node: Node) -> None:
        """A ``static const int`` of the file."""
        words = {_text(child) for child in node.children if child.type == "type_qualifier"}
        inside = node.parent is not None and node.parent.type == "compound_statement"
        if inside or not words & {"const", "constexpr"}:
            return
        for child in node.children_by_field_name("declarator"):
            name = child.child_by_field_name("declarator")
            if child.type != "init_declarator" or name is None or name.type != "identifier":
                continue
            label, kind = _text(name), _text(node.child_by_field_name("type"))
            try:
                value = self.unit.value(child.child_by_field_name("value"))
                self.unit.numbers[label] = self.unit.cast(kind, value)
                self.unit.places[label] = self.place(child)
            except UnreadError as error:
                self.unit.unread[label] = Unread(str(error), self.place(child))

    def place(self, node: Node) -> Place:
        return Place(self.name, node.start_point[0] + 1)

    def initialized(self, name: str) -> tuple[Node, Node] | None:
        """The declarator and the initializer list of a variable."""
        for node in walk(self.root):
            if node.type != "init_declarator":
                continue
            declarator = node.child_by_field_name("declarator")
            value = node.child_by_field_name("value")
            if declarator and value and declared(declarator) == name:
                return declarator, value
        return None

    def tables(self) -> Iterator[tuple[str, str, Node, Node]]:
        """Constant arrays with a list of values: name, type, declaration and list."""
        for node in walk(self.root):
            if node.type != "declaration":
                continue
            kind = node.child_by_field_name("type")
            for child in node.named_children:
                if child.type != "init_declarator" or kind is None:
                    continue
                declarator = child.child_by_field_name("declarator")
                value = child.child_by_field_name("value")
                if declarator is None or value is None or declarator.type != "array_declarator":
                    continue
                if value.type == "initializer_list":
                    yield declared(declarator), _text(kind), node, value

    def asserts(self) -> Iterator[tuple[Node, Node]]:
        """Static assertions: the node and its condition."""
        for node in walk(self.root):
            if node.type == "call_expression":
                function = node.child_by_field_name("function")
                arguments = node.child_by_field_name("arguments")
                named = function is not None and _text(function) == "static_assert"
                if named and arguments is not None and arguments.named_children:
                    yield node, arguments.named_children[0]

    def _enum(self, node: Node) -> None:
        body, name = node.child_by_field_name("body"), node.child_by_field_name("name")
        if body is None:
            return
        following = 0
        made = []
        for item in body.named_children:
            if item.type != "enumerator":
                continue
            given = item.child_by_field_name("value")
            label = _text(item.child_by_field_name("name"))
            try:
                value = int(self.unit.value(given)) if given else following
            except UnreadError as error:
                self._enum_unread(name, f"{label}: {error}", item)
                return
            following = value + 1
            self.unit.numbers[label] = value
            self.unit.places[label] = self.place(item)
            made.append(Enumerator(label, value, self.place(item)))
        if node.has_error:
            self._enum_unread(name, "no C that is understood", _wrong(node))
        elif name is not None:
            self.enums[_text(name)] = tuple(made)

    def _enum_unread(self, name: Node | None, why: str, at: Node) -> None:
        if name is not None:
            self.unit.unread[_text(name)] = Unread(why, self.place(at))

    def _typedef(self, node: Node) -> None:
        kind, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
        if kind is None or declarator is None:
            return
        name = declared(declarator)
        body = kind.child_by_field_name("body")
        if kind.type == "struct_specifier" and body is not None:
            self.unit.structs.pop(name, None)
            try:
                self.unit.structs[name] = self._struct(name, node, body)
            except UnreadError as error:  # blocks consist of numbers; other structs need not
                self.unit.unread[name] = Unread(str(error), self.place(node))
        elif kind.type in {"primitive_type", "type_identifier"} and declarator.type in {
            "type_identifier",
            "primitive_type",
        }:
            self.unit.aliases[name] = _text(kind)

    def _struct(self, name: str, node: Node, body: Node) -> Struct:
        if node.has_error:
            line = _wrong(node).start_point[0] + 1
            raise UnreadError(f"line {line} is no C that is understood")
        members = list(self._members(body))
        offsets, at, widest = [], 0, 1  # at: in bits
        for member in members:
            size = self.unit.size_of(member.ctype)
            if member.bits is None or not member.bits or at % (8 * size) + member.bits > 8 * size:
                at = -(-at // (8 * size)) * 8 * size
            offsets.append(at // 8)
            many = 1 if member.count is None else member.count
            at += 8 * size * many if member.bits is None else member.bits
            widest = max(widest, size)
        total = -(-at // (8 * widest)) * widest
        return Struct(name, tuple(members), tuple(offsets), total, self.place(node))

    def _members(self, body: Node) -> Iterator[StructField]:
        for item in body.named_children:
            if item.type == "comment":
                continue
            kind = item.child_by_field_name("type")
            if item.type != "field_declaration" or kind is None:
                raise UnreadError(f"{_text(item)[:60]!r} is no member that is understood")
            declarators = item.children_by_field_name("declarator")
            inner = kind.child_by_field_name("body")
            if inner is not None:
                if declarators:
                    raise UnreadError(f"{_text(declarators[0])[:60]!r} is a struct of its own")
                yield from self._nested(kind, inner)
                continue
            widths = [c for c in item.named_children if c.type == "bitfield_clause"]
            if not declarators and not widths:
                raise UnreadError(f"{_text(item)[:60]!r} declares nothing")
            if not declarators:
                yield self._member(item, kind, None, widths[0])
            for declarator in declarators:
                after = declarator.next_named_sibling
                width = after if after is not None and after.type == "bitfield_clause" else None
                yield self._member(item, kind, declarator, width)

    def _nested(self, kind: Node, body: Node) -> Iterator[StructField]:
        """A struct inside goes on with its members; of a union the first way to see it counts."""
        if kind.type == "struct_specifier":
            yield from self._members(body)
            return
        for item in body.named_children:
            inner = item.child_by_field_name("type") if item.type == "field_declaration" else None
            nested = inner.child_by_field_name("body") if inner is not None else None
            if nested is not None:
                yield from self._members(nested)
                return
        yield from islice(self._members(body), 1)

    def _member(
        self, item: Node, kind: Node, declarator: Node | None, width: Node | None
    ) -> StructField:
        bits = None if width is None else int(self.unit.value(width.named_children[0]))
        at = self.place(declarator or item)
        if declarator is None:
            return StructField("", _text(kind), None, at, bits)
        counts: list[int] = []
        while declarator.type == "array_declarator":
            counts.append(int(self.unit.value(declarator.child_by_field_name("size"))))
            declarator = declarator.child_by_field_name("declarator") or declarator
        if declarator.type != "field_identifier" or any(count < 0 for count in counts):
            raise UnreadError(f"{_text(item)[:60]!r} is no plain member")
        return StructField(
            _text(declarator), _text(kind), prod(counts) if counts else None, at, bits
        )


def _wrong(node: Node) -> Node:
    """The first thing in a node that the grammar does not understand, or misses."""
    while node.type != "ERROR" and not node.is_missing:
        inner = next((c for c in node.children if c.has_error or c.is_missing), None)
        if inner is None:
            break
        node = inner
    return node


def walk(node: Node) -> Iterator[Node]:
    """A node and what is below it, in order of the text."""
    pending = [node]
    while pending:
        here = pending.pop()
        yield here
        pending += reversed(here.named_children)


def declared(node: Node) -> str:
    """The name that a declarator declares."""
    while (inner := node.child_by_field_name("declarator")) is not None:
        node = inner
    return _text(node)


def string(node: Node) -> str | None:
    """The text of a string literal, of several in a row too; None for anything else."""
    if node.type not in {"string_literal", "concatenated_string"}:
        return None
    parts = node.named_children if node.type == "concatenated_string" else [node]
    try:
        return "".join(str(ast.literal_eval(_text(part))) for part in parts)
    except (SyntaxError, ValueError):
        return None


def _text(node: Node | None) -> str:
    return (node.text or b"").decode() if node is not None else ""


text_of = _text


def _operator(node: Node) -> str:
    return _text(node.child_by_field_name("operator"))


def _sizeof_name(node: Node) -> str:
    kind = node.child_by_field_name("type") or node.child_by_field_name("value")
    return _text(kind).strip("() ")


def _literal(text: str) -> Number:
    sign = -1 if text.startswith("-") else 1  # the grammar takes a sign into the literal
    plain = text.lstrip("+-").strip().replace("'", "").lower()
    try:
        if "_" in plain:
            raise ValueError
        if plain[:2] == "0x":
            return sign * (float.fromhex(plain.rstrip("fl")) if "p" in plain
                           else int(plain.rstrip("ul"), 16))  # fmt: skip
        if plain[:2] == "0b":
            return sign * int(plain.rstrip("ul"), 2)
        if any(letter in plain for letter in ".e"):
            return sign * float(plain.rstrip("fl"))
        plain = plain.rstrip("ul")
        return sign * int(plain, 8 if plain.startswith("0") and len(plain) > 1 else 10)
    except (ValueError, OverflowError):
        raise UnreadError(f"{text[:60]!r} is no number") from None


def _character(text: str) -> int:
    """The number of a character: ``'A'``."""
    try:
        value = ast.literal_eval(f"b{text}")
        (number,) = value
    except (SyntaxError, ValueError):
        raise UnreadError(f"{text[:60]!r} is no character that is known") from None
    return int(number) - (256 if number > 127 else 0)


def _said(node: Node, operation: Callable[..., Number], *arguments: object) -> Number:
    """What an operation makes; where it makes nothing, the whole expression is named."""
    try:
        return operation(*arguments)
    except UnreadError as error:
        raise UnreadError(f"{_text(node)[:60]!r} has no value: {error}") from None


def _unary(operator: str, value: Number) -> Number:
    match operator:
        case "-":
            return -value
        case "+":
            return value
        case "!":
            return int(not value)
        case "~" if isinstance(value, int):
            return ~value
    raise UnreadError(f"operator {operator}")


def _binary(operator: str, a: Number, b: Number) -> Number:
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "&&":
            return int(bool(a) and bool(b))
        case "||":
            return int(bool(a) or bool(b))
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            holds = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
            return int(holds[operator])
    return _of_integers(operator, a, b)


def _of_integers(operator: str, a: Number, b: Number) -> Number:
    if operator == "/" and isinstance(a, float | int) and b:
        exact = isinstance(a, int) and isinstance(b, int)
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if exact else a / b
    if isinstance(a, float) or isinstance(b, float) or (operator in {"/", "%"} and not b):
        raise UnreadError(f"operator {operator}")
    match operator:
        case "%":
            return a - b * int(_of_integers("/", a, b))
        case "<<" if 0 <= b < 64:
            return a << b
        case ">>" if 0 <= b < 64:
            return a >> b
        case "&":
            return a & b
        case "|":
            return a | b
        case "^":
            return a ^ b
    raise UnreadError(f"operator {operator}")
