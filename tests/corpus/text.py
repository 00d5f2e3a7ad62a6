"""Files whose texts attack what shows, renders or stores them."""

from __future__ import annotations

from collections.abc import Iterator

from support.crafted import ARCHITECTURE, F32, STRING, UINT32, V3, file

from . import Hostile

TEMPLATE = "tokenizer.chat_template"


def files() -> Iterator[Hostile]:
    """All of them."""
    yield from _names()
    yield from _templates()


def _text(key: str, text: str | bytes) -> bytes:
    return file([ARCHITECTURE, V3.pair(key, STRING, V3.string(text))])


def _names() -> Iterator[Hostile]:
    for what, name in (
        ("terminal escapes", "a\x1b[2J\x1b]0;owned\x07"),
        ("bidirectional text", "a\u202egnp.exe"),
        ("a path", "../../etc/passwd"),
        ("an option", "--output=/etc/passwd"),
        ("a formula", "=cmd|' /C calc'!A0"),
        ("quotes and braces", '"}]}<script>alert(1)</script>'),
        ("only a NUL", "\0"),
    ):
        yield Hostile(
            f"names with {what}",
            "names reach terminals, file systems, tables and pages",
            lambda name=name: file(  # type: ignore[misc]
                [ARCHITECTURE, V3.pair(name, UINT32, V3.u32(1))],
                [V3.tensor(name, [8], F32)],
                bytes(32),
            ),
        )
    for link in (
        "javascript:alert(1)",
        "file:///etc/passwd",
        "\\\\evil\\share",
        "http://169.254.169.254/",
    ):
        yield Hostile(
            f"link to {link[:20]}",
            "general.* links are shown to people and followed by programs",
            lambda link=link: _text("general.url", link),  # type: ignore[misc]
        )
    yield Hostile(
        "every byte as a one-byte token",
        "R37: texts that are not UTF-8, which replacement characters destroy",
        lambda: file(
            [
                ARCHITECTURE,
                V3.pair(
                    "tokenizer.ggml.tokens",
                    9,
                    V3.array(STRING, 256, b"".join(V3.string(bytes([n])) for n in range(256))),
                ),
            ]
        ),
    )


def _templates() -> Iterator[Hostile]:
    for what, text in (
        ("runs a program", '{{ lipsum.__globals__["os"].popen("id").read() }}'),
        ("hides the dunder", "{{ ''['__cla' ~ 'ss__'] }}"),
        ("uses attr", "{{ ''|attr('\\x5f\\x5fclass\\x5f\\x5f') }}"),
        ("includes a file", "{% include '/etc/passwd' %}"),
        ("loops for ever", "{% for i in range(10**12) %}x{% endfor %}"),
        ("multiplies", "{{ 'x' * 10**12 }}"),
        ("is no template", "{% if %}{{"),
        ("nests brackets", "{{" + "(" * 5000 + ")" * 5000 + "}}"),
        ("nests blocks", "{% if 1 %}" * 2000 + "{% endif %}" * 2000),
        ("nests lists", "{{" + "[" * 50000 + "]" * 50000 + "}}"),
        ("adds up", "{{ 1" + "+1" * 20000 + " }}"),
        ("negates", "{{ " + "not " * 20000 + "1 }}"),
    ):
        for key in (TEMPLATE, f"{TEMPLATE}.rag"):
            yield Hostile(
                f"{key} that {what}",
                "R25: a template is a program from a stranger; parsing it must not hang or crash",
                lambda key=key, text=text: _text(key, text),  # type: ignore[misc]
            )
    yield Hostile(
        "template of 2 MiB",
        "a template that is too long to be parsed",
        lambda: _text(TEMPLATE, "{{ x }}" * (1 << 18)),
    )
