"""Small files with a bit of everything, to be damaged."""

from __future__ import annotations

from support.crafted import ARRAY, BOOL, I8, STRING, UINT8, UINT32, Form, file

FORMS = {f"v{v} {order}": Form(v, order) for v in (1, 2, 3) for order in ("little", "big")}
"""Every version in both byte orders."""


def everything(form: Form) -> bytes:
    """All kinds of values, two tensors; ends with its last tensor's last byte."""
    texts = b"".join(map(form.string, ("a", "", "βγ", "x" * 200)))
    inner = form.array(UINT8, 2, b"\1\2") + form.array(STRING, 1, form.string("y"))
    pairs = [
        form.pair("general.architecture", STRING, form.string("llama")),
        form.pair("general.alignment", UINT32, form.u32(16)),
        form.pair("a.tokens", ARRAY, form.array(STRING, 4, texts)),
        form.pair("a.nested", ARRAY, form.array(ARRAY, 2, inner)),
        form.pair("a.flags", ARRAY, form.array(BOOL, 3, b"\1\0\1")),
    ]
    tensors = [form.tensor("one", [3, 2]), form.tensor("two", [5, 1, 1, 1], I8, offset=32)]
    return file(pairs, tensors, bytes(37), 16, form)
