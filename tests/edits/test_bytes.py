"""Any file, edited in any way: what was not asked for stays as it was, bit for bit."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ggufspec
from ggufspec import Value
from ggufspec.edits import Draft, EditPlan, carry_out, plan_edit
from ggufspec.edits.filler import KEY as FILLER
from support import crafted, forks, strategies
from support.crafted import Form

FORMS = [Form(version, order) for version in (1, 2, 3) for order in ("little", "big")]  # type: ignore[arg-type]
WAYS = ["beside", "in place", "copy"]


def edited(path: Path, way: str, **entries: Value | None) -> EditPlan:
    """Set keys, or delete them; underscores in the names are dots."""
    output = path.with_name("out.gguf") if way == "copy" else None
    with Draft.open(path) as draft:
        for name, value in entries.items():
            key = name.replace("_", ".")
            draft.delete(key) if value is None else draft.set(key, value)
        plan = plan_edit(draft, output=output, in_place=way == "in place")
        carry_out(plan, replace=True)
    if output is not None:
        output.replace(path)
    return plan


def content(path: Path) -> dict[str, Any]:
    """All that a file holds, but for where its data lie."""
    with ggufspec.open(path) as file:
        stored = {key: file.metadata.stored(key) for key in file.metadata}
        return {
            "form": (file.version, file.byte_order),
            "header": {**file.metadata.header, "kv_count": 0},
            "metadata": {
                key: (file.metadata.type_of(key), one.kind.name, bytes(one.bytes()), one.extra)
                for key, one in stored.items()
            },
            "tensors": {
                name: (one.type_id, one.shape, one.extra, one.data.tobytes())
                for name, one in file.tensors.items()
            },
        }


def without(found: dict[str, Any], *keys: str) -> dict[str, Any]:
    metadata = {key: value for key, value in found["metadata"].items() if key not in keys}
    return {**found, "metadata": metadata}


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=60)
@given(sample=strategies.files(), text=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_key_comes_and_goes(sample: strategies.Sample, way: str, text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        path.write_bytes(sample.data)
        before = content(path)
        edited(path, way, made_up=Value("STRING", text))
        after = content(path)
        assert without(after, "made.up", FILLER) == without(before, "made.up", FILLER)
        with ggufspec.open(path) as file:
            assert file.metadata["made.up"] == text
            assert file.alignment == sample.alignment
        again = edited(path, "beside", made_up=None)
        if FILLER in content(path)["metadata"]:
            with Draft.open(path) as draft:
                draft.delete(FILLER)
                carry_out(plan_edit(draft))
        assert again.way == "beside"
        assert path.read_bytes() == sample.data


@pytest.mark.parametrize("way", ["beside", "copy"])
@settings(max_examples=60)
@given(sample=strategies.files(), alignment=st.sampled_from([8, 16, 32, 64, 128, 4096]))
def test_alignment_moves_the_data(sample: strategies.Sample, way: str, alignment: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        path.write_bytes(sample.data)
        before = content(path)
        with ggufspec.open(path) as file:
            decided = len(file.fitting) == 1
        edited(path, way, general_alignment=Value("UINT32", alignment))
        after = content(path)
        key = "general.alignment"
        assert without(after, key) == without(before, key)
        with ggufspec.open(path, profile="strict" if sample.suits_ggml else "lenient") as file:
            assert file.alignment == alignment
            assert all(tensor.file_offset % alignment == 0 for tensor in file.tensors.values())
            # Where a size is disputed between dialects, padding may be data: it moves along.
            if not (decided and len(file.fitting) == 1):
                return
            offset = 0
            for tensor in file.tensors.values():
                assert tensor.offset == offset
                offset += -(-tensor.nbytes // alignment) * alignment
        if key in before["metadata"]:
            edited(path, way, general_alignment=Value("UINT32", sample.alignment))
        else:
            edited(path, way, general_alignment=None)
        assert path.read_bytes() == sample.data


def padded_model(form: Form, *pairs: bytes, tail: bytes = b"", kinds: tuple[int, ...]) -> bytes:
    """Tensors of types that nobody knows, with a gap in front of the last, and bytes behind all."""
    infos = [form.tensor(f"t{n}", [64], kind, 96 * n) for n, kind in enumerate(kinds)]
    data = b"".join(bytes([65 + n]) * 96 for n in range(len(kinds)))
    return crafted.file(pairs, infos, data + tail, form=form)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_unknown_types_are_moved_untouched(tmp_path: Path, form: Form, way: str) -> None:
    path = tmp_path / "model.gguf"
    pairs = [form.pair(f"k{n}", crafted.UINT32, form.u32(n)) for n in range(3)]
    path.write_bytes(padded_model(form, *pairs, tail=b"tail", kinds=(99, 137, 5)))
    old = path.read_bytes()
    data = old[old.index(b"A" * 96) :]
    plan = edited(path, way, k1=Value("STRING", "x" * 100))
    new = path.read_bytes()
    assert new[-len(data) :] == data
    assert plan.way == ("copy" if way == "copy" else "beside")  # it does not fit
    back = edited(path, way, k1=Value("UINT32", 1))
    assert back.way == way
    with ggufspec.open(path) as file:
        assert [bytes(t.data.reshape(-1)[:96]) for t in file.tensors.values()] == [
            b"A" * 96, b"B" * 96, b"C" * 96,
        ]  # fmt: skip
        assert (FILLER in file.metadata) == (way == "in place")
    if way != "in place":
        assert path.read_bytes() == old


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_unknown_types_under_another_alignment(tmp_path: Path, form: Form) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(padded_model(form, tail=b"tail", kinds=(99, 137)))
    edited(path, "beside", general_alignment=Value("UINT32", 64))
    new = path.read_bytes()
    # How long the last is nobody can tell: what lies behind it is taken for its own.
    assert new.endswith(b"A" * 96 + bytes(32) + b"B" * 96 + b"tail" + bytes(28))


@pytest.mark.parametrize("name", ["STQ1_0", "PQ2_0", "PTQ1_0", "I2_S", "IQ4_K"])
def test_types_of_forks(tmp_path: Path, name: str) -> None:
    numbers = {"STQ1_0": 43, "PQ2_0": 142, "PTQ1_0": 143, "I2_S": 36, "IQ4_K": 139}
    entries = [forks.entry(f"t{n}", [256, 3], numbers[name], name, n) for n in range(3)]
    path = tmp_path / "model.gguf"
    path.write_bytes(forks.model([*entries, forks.plain("norm")]))
    before = content(path)
    edited(path, "beside", general_name=Value("STRING", "a fork's"))
    edited(path, "beside", general_alignment=Value("UINT32", 256))
    after = content(path)
    own = ("general.name", "general.alignment")
    assert without(after, *own) == without(before, *own)


def test_a_file_without_data_changes_in_place(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.gguf"
    ggufspec.write(path, {"general.architecture": "llama", "general.name": "x" * 1000})
    expected = tmp_path / "expected.gguf"
    for text in ("y", "z" * 5000, "x" * 1000):
        assert edited(path, "in place", general_name=Value("STRING", text)).way == "in place"
        ggufspec.write(expected, {"general.architecture": "llama", "general.name": text})
        assert path.read_bytes() == expected.read_bytes()


def test_blanks_give_way_to_a_longer_header(tmp_path: Path) -> None:
    import numpy as np

    path = tmp_path / "model.gguf"
    ggufspec.write(path, {"general.name": "x" * 1000}, {"t": np.arange(32, dtype=np.float32)})
    first = path.read_bytes()
    plan = edited(path, "in place", general_name=Value("STRING", "short"))
    assert (plan.way, plan.size) == ("in place", len(first))
    assert plan.filler is not None
    longer = edited(path, "in place", general_name=Value("STRING", "y" * 500))
    assert longer.way == "in place"
    assert longer.filler is not None
    assert longer.filler < plan.filler
    assert edited(path, "in place", general_name=Value("STRING", "x" * 1000)).filler is None
    assert path.read_bytes() == first
    too_long = edited(path, "in place", general_name=Value("STRING", "z" * 1100))
    assert too_long.way == "beside"
    assert "the data starts at byte" in too_long.why_not


@settings(max_examples=60)
@given(
    sample=strategies.files(),
    room=st.integers(0, 9000),
    alignment=st.sampled_from([None, 8, 64, 8192]),
)
def test_room_for_later_edits(sample: strategies.Sample, room: int, alignment: int | None) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        path.write_bytes(sample.data)
        before = content(path)
        with ggufspec.open(path) as file:
            data = any(tensor.nbytes for tensor in file.tensors.values())
            start = file.parts[0].scan.data_offset
        with Draft.open(path) as draft:
            if alignment is not None:
                draft.set("general.alignment", Value("UINT32", alignment))
            draft.set("made.up", Value("UINT8", 1))
            plan = plan_edit(draft, room=room)
            carry_out(plan)
        own = ("made.up", "general.alignment", FILLER)
        assert without(content(path), *own) == without(before, *own)
        if data:
            # Padding that is long enough needs no blanks beside it.
            spare = plan.front.size - plan.front.end if plan.filler is None else plan.filler
            assert spare >= room
            # An old data section may start where none of a new file's can.
            if not (alignment or start % plan.front.alignment):
                assert (plan.front.size - start) % 4096 == 0
            text = Value("STRING", "x" * room)
            assert edited(path, "in place", made_up=text).way == "in place"
            assert without(content(path), *own) == without(before, *own)
        else:
            assert plan.filler is None


def test_the_modes_of_files_stay(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    ggufspec.write(path, {"general.name": "a"})
    path.chmod(0o640)
    for way in ("beside", "in place"):
        edited(path, way, general_name=Value("STRING", way))
        assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "real.gguf", tmp_path / "folder" / "link.gguf"
    link.parent.mkdir()
    ggufspec.write(path, {"general.name": "a"})
    link.symlink_to("../real.gguf")
    for way in ("beside", "in place"):
        edited(link, way, general_name=Value("STRING", way))
        assert link.is_symlink()
        with ggufspec.open(path) as file:
            assert file.metadata["general.name"] == way
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "real.gguf"]
    assert [p.name for p in link.parent.iterdir()] == ["link.gguf"]
