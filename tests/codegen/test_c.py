"""The C target: lanes read off the layout, by rule and never by a type's name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ggufspec.codegen.affine import Affine
from ggufspec.codegen.model import BlockType
from ggufspec.codegen.spec import load_spec
from ggufspec.codegen.targets import c
from ggufspec.codegen.targets.c import wide
from ggufspec.codegen.targets.c.lanes import Unroll, View, run_of, slices, widest_run
from ggufspec.codegen.targets.c.storage import NoForm
from ggufspec.codegen.targets.c.text import Body
from support.specs import MADE_UP, real_spec, small_tree

LAYOUTS = real_spec().layouts


def lanes_of(name: str, code: str, size: int, **fixed: int) -> list[tuple[tuple[int, ...], ...]]:
    """(bits, widths, places) of each slice of a code over the first run."""
    region = real_spec().type(name).regions[0]
    order = tuple(item for item in region.order if item[0] in region.code(code).axes)
    run = run_of(order, size)
    assert run is not None
    view = View({axis: Affine(fixed.get(axis, 0)) for axis, _ in run.outer}, run.deltas)
    parts = slices(region.code(code), view)
    return [(part.bits, part.widths, part.places) for part in parts]


def test_runs_take_inner_axes_whole_and_split_the_one_at_the_edge() -> None:
    run = run_of((("a", 4), ("b", 6), ("c", 16)), 32)
    assert run is not None
    assert run.outer == (("a", 4), ("b", 3))
    assert run.steps == {"a": 1, "b": 2}
    assert run.deltas[17] == {"b": 1, "c": 1}


def test_runs_shrink_until_the_axes_fill_them() -> None:
    assert widest_run((("a", 3), ("b", 16))).size == 16
    assert widest_run((("a", 5), ("b", 8))).size == 8
    assert run_of((("a", 3), ("b", 12)), 8) is None
    with pytest.raises(NoForm):
        widest_run((("a", 3), ("b", 12)))


def test_cases_become_lanes() -> None:
    """Q4_K's eight scales: six bits of one byte, or four of one and two of another."""
    first, second = lanes_of("Q4_K", "sc", 8)
    assert first[1] == (6, 6, 6, 6, 4, 4, 4, 4)
    assert second[1] == (0, 0, 0, 0, 2, 2, 2, 2)
    assert second[2][4:] == (4, 4, 4, 4)


def test_slices_that_go_on_in_the_next_word_are_one(tmp_path: Path) -> None:
    """Codes of 3 bits across bytes are a plain row of bits."""
    text = (MADE_UP / "types/m3_48.yaml").read_bytes()
    spec = load_spec(small_tree(tmp_path, {"types/m3_48.yaml": text}))
    region = spec.type("M3_48").regions[0]
    run = run_of(region.order, 8)
    assert run is not None
    (part,) = slices(region.code("q"), View({"g": Affine()}, run.deltas))
    assert part.bits == tuple(8 + 3 * lane for lane in range(8))
    assert set(part.widths) == {3}


def test_a_shift_in_a_loop_asks_for_the_axis() -> None:
    region = real_spec().type("Q2_K").regions[0]
    run = widest_run(region.order)
    loops = {axis: Affine.of(0, {axis: 1}) for axis, _ in run.outer}
    with pytest.raises(Unroll) as need:
        slices(region.code("q"), View(loops, run.deltas))
    assert need.value.axes == {"j"}


@pytest.mark.parametrize("kind", LAYOUTS, ids=lambda kind: kind.name)
def test_rules_serve_every_type_of_ggml(kind: BlockType) -> None:
    plain_loops = {"F64", "I64", "STQ1_0"}  # lanes over three axes fit no rule yet
    assert (wide.dequantize(kind, []) is None) == (kind.name in plain_loops)


def test_axes_that_fill_no_vector_leave_the_plain_loops(tmp_path: Path) -> None:
    text = (MADE_UP / "types/regions.yaml").read_bytes()
    spec = load_spec(small_tree(tmp_path, {"types/regions.yaml": text}))
    assert wide.dequantize(spec.type("REGIONS"), []) is None


def test_no_type_is_named() -> None:
    folder = Path(c.__file__).parent
    names = re.compile("|".join(rf"\b{kind.name}\b" for kind in LAYOUTS), re.IGNORECASE)
    plain = re.compile(r"^(F16|BF16|F32|F64|I8|I16|I32|I64)$", re.IGNORECASE)
    for path in sorted(folder.rglob("*.py")) + sorted(folder.rglob("*.j2")):
        for word in names.findall(path.read_text(encoding="utf-8")):
            assert plain.match(word), f"{path.name} names {word}"


def test_values_are_named_once_and_as_far_out_as_their_axes() -> None:
    body = Body()
    with body.loops([("a", 2), ("b", 3)]):
        assert body.bind("int", "v", "f(i_a)", {"a"}) == "v"
        assert body.bind("int", "v", "f(i_a)", {"a"}) == "v"
        assert body.bind("int", "v", "g(i_b)", {"b"}) == "v_2"
        assert body.bind("int", "k", "h", ()) == "k"
    outer, loop, inner = (body.text().index(text) for text in ("k = h", "v = f(i_a)", "v_2 = g"))
    assert outer < body.text().index("for (int i_a") < loop < body.text().index("for (int i_b")
    assert body.text().index("for (int i_b") < inner
