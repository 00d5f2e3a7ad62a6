"""GG15: for every type each invalid value is found, at its exact place, and nothing else is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import blocks
from ggufspec.blocks import Backend, checks
from ggufspec.dialects import dialects
from ggufspec.registry import TensorType, types
from ggufspec.report import Finding
from ggufspec.validation import data as scan
from support import broken, models, oracle, realfiles
from support.container import PROFILES
from support.crafted import Form
from support.forks import Entry, model
from support.samples import block_samples

KINDS = {name: kind for name, kind in types.items() if kind.elements}
NUMBERS = {
    kind.name: (number, dialect.name)
    for dialect in dialects.values()
    for number, kind in dialect.kinds.items()
    if kind.name in KINDS
}
"""Numbers of the forks' types, and a dialect that has them."""
ORDERS = {"little": "<", "big": ">"}
COLUMNS, ROWS = 5, 3
"""Blocks of a row, and rows, of small tensors."""


def tensor(kind: TensorType, data: bytes, blocks_of_row: int, name: str = "t") -> Entry:
    size = len(data) - kind.info.tensor_suffix
    rows = size // (blocks_of_row * kind.bytes)
    number = kind.id if kind.id is not None else NUMBERS[kind.name][0]
    return Entry(name, [blocks_of_row * kind.elements, rows], number, data)


def findings(
    data: bytes | Path, kind: TensorType | None = None, profile: str = "strict", **options: Any
) -> list[Finding]:
    if kind is not None and kind.id is None:
        options["dialect"] = NUMBERS[kind.name][1]
    report = ggufspec.validate(data, profile, data=True, checks=(), **options)
    return list(report.findings)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", KINDS)
def test_every_invalid_value_is_found_at_its_place(name: str, order: Any) -> None:
    kind = KINDS[name]
    codes = broken.good_codes(kind, ROWS * COLUMNS)
    form, tail = Form(order=order), broken.suffix(kind, order=ORDERS[order])
    clean = blocks.pack(codes, name, byte_order=order)
    whole = model([tensor(kind, clean.tobytes() + tail, COLUMNS)], form=form)
    assert findings(whole, kind) == []
    start = whole.rindex(clean.tobytes())
    for field in broken.marks(kind, clean, order):
        values = codes[field].reshape(len(clean), -1)
        count = values.shape[1]
        for place in sorted({0, 1 % count, count // 2, count - 1}):
            block = (7 * place + 4) % len(clean)
            before = values[block, place].copy()
            values[block, place] = 0
            unset = blocks.pack(codes, name, byte_order=order)
            values[block, place] = broken.worst(kind, field, values)
            data = blocks.pack(codes, name, byte_order=order)
            values[block, place] = before
            byte = int(np.flatnonzero((data != unset).reshape(-1))[0])
            if name == "IQ1_M":  # its bits are the upper ones of the words
                byte -= order == "little"
            file = model([tensor(kind, data.tobytes() + tail, COLUMNS)], form=form)
            (finding,) = findings(file, kind)
            word = "column" if kind.plain else "block"
            assert finding.offset == start + byte, (field, place)
            assert f"row {block // COLUMNS}, {word} {block % COLUMNS}; " in finding.message
            assert f": 1 {'values are' if kind.plain else ''}" in finding.message
            assert finding.message.endswith(f"bytes of the file: {start + byte}")
            assert finding.path == "tensors[0].data"
            assert finding.severity == "error"
            code = field in broken.CODES.get(name, {})
            assert finding.rule == ("GG1503" if code else "GG1501" if kind.plain else "GG1502")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", KINDS)
def test_counts_are_those_of_unpack(name: str, order: Any, backend: Backend) -> None:
    kind = KINDS[name]
    for data in block_samples(kind).values():
        marks = [m for m in broken.marks(kind, data, order).values() if m.any()]
        counted = checks.count_broken(data, kind, backend=backend, byte_order=order)
        assert sorted(counted.values()) == sorted(int(m.sum()) for m in marks)
        for text in counted:
            found = checks.find_broken(data, kind, text, 9, backend=backend, byte_order=order)
            firsts = [[int(row) for row, _ in np.argwhere(m)[:9]] for m in marks]
            assert [row for row, _ in found] in firsts
            assert found == checks.find_broken(
                data, kind, text, 9, backend="numpy", byte_order=order
            )


def test_every_type_has_its_conditions() -> None:
    """Nothing but integers may hold any bytes."""
    free = {name for name, kind in KINDS.items() if not checks.has_conditions(kind)}
    assert free == {"I8", "I16", "I32", "I64"}


@pytest.mark.parametrize("name", KINDS)
def test_many_valid_blocks(name: str, backend: Backend) -> None:
    kind = KINDS[name]
    data = blocks.pack(broken.good_codes(kind, 20_000 // kind.elements + 300, seed=1), name)
    assert checks.count_broken(data, kind, backend=backend) == {}


def finite_as_float(block: Any) -> bool:
    """Whether doubles are finite as floats, which ggml makes of them first."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(block.view("<f8").astype(np.float32)).all())


UNLIKE_GGML: dict[str, Callable[[Any], bool]] = {
    "Q8_1": lambda _: False,  # ggml has no check of it and calls all bytes invalid
    "NVFP4": lambda _: True,  # ggml takes any scale
    # ggml does not look at the codes
    "TQ2_0": lambda block: "finite(d)" not in checks.count_broken(block, KINDS["TQ2_0"]),
    "F64": finite_as_float,
}
"""What ggml says of blocks of types that it does not judge as the specification does."""


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.id is not None])
def test_verdict_is_ggmls(name: str) -> None:
    kind = KINDS[name]
    assert kind.id is not None
    for data in block_samples(kind).values():
        for number in range(min(len(data), 1500)):
            block = data[number : number + 1]
            ours = not checks.count_broken(block, kind)
            expected = UNLIKE_GGML[name](block) if name in UNLIKE_GGML else ours
            assert oracle.is_valid(block, kind.id) == expected, block.tobytes().hex()


def test_scale_behind_the_tensor() -> None:
    kind = KINDS["I2_S"]
    clean = blocks.pack(broken.good_codes(kind, 4), "I2_S").tobytes()
    for scale, wrong in ((0.5, False), (np.inf, True), (np.nan, True)):
        file = model([tensor(kind, clean + broken.suffix(kind, scale), 2)])
        found = findings(file, kind)
        assert [finding.rule for finding in found] == ["GG1502"] * wrong
        for finding in found:
            assert finding.offset == file.rindex(clean) + len(clean)
            assert "the first in what stands behind the rows" in finding.message


def test_places_and_values_are_told() -> None:
    values = np.zeros((4, 8), np.float16)
    values[1, 2:8] = np.nan
    values[2] = -np.inf
    file = model([tensor(KINDS["F16"], values.tobytes(), 8, "a")])
    (finding,) = findings(file)
    start = finding.offset
    assert start is not None
    assert finding.message == (
        "tensor a (F16): 14 values are infinite or no numbers, the first (nan) in row 1, "
        f"column 2; bytes of the file: {start}, {start + 2}, {start + 4}"
    )
    assert file[start : start + 2] == np.float16(np.nan).tobytes()


def test_a_double_is_not_tested_as_a_float() -> None:
    """R50: numbers that a float32 cannot hold are numbers."""
    values = np.array([[1e300, -1e300, 1.7976931348623157e308, 5e-324]])
    assert findings(model([tensor(KINDS["F64"], values.tobytes(), 4)])) == []
    values[0, 3] = np.inf
    (finding,) = findings(model([tensor(KINDS["F64"], values.tobytes(), 4)]))
    assert "(inf) in row 0, column 3" in finding.message


def test_profiles() -> None:
    file = model([tensor(KINDS["F32"], np.array([np.nan], "<f4").tobytes(), 1)])
    severities = {p: [f.severity for f in findings(file, profile=p)] for p in PROFILES}
    assert severities == {"ggml": [], "spec": ["warning"], "strict": ["error"],
                          "lenient": ["warning"]}  # fmt: skip


def test_large_tensors_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of all chunks come together, and the first places are the first ones."""
    kind = KINDS["Q4_K"]
    data = blocks.pack(broken.good_codes(kind, 4000), "Q4_K")
    wrong = [1500, 1501, 2999, 3000, 3999]
    data[wrong, 3] = 0x7C  # the upper byte of dmin
    data[wrong, 2] = 0
    file = model([tensor(kind, data.tobytes(), 16)])
    for size in (1, 5000, 100_000, 4 << 20):
        monkeypatch.setattr(scan, "_CHUNK", size)
        for threads in (1, 3):
            done: list[int] = []
            (finding,) = findings(file, threads=threads, advance=done.append)
            start = file.rindex(data.tobytes())
            places = ", ".join(str(start + 144 * block + 2) for block in wrong[:3])
            assert finding.message == (
                "tensor t (Q4_K): 5 scales are infinite or no numbers (finite(dmin) does not "
                f"hold), the first in row 93, block 12; bytes of the file: {places}"
            )
            assert sum(done) == data.size


def test_many_tensors() -> None:
    """Small tensors are looked at together, and told of one by one."""
    entries = []
    for number in range(3000):
        values = np.full(number % 7 + 1, 1.5, np.float32)
        if number % 1000 == 10:
            values[-1] = np.nan
        entries.append(Entry(f"t{number}", [len(values)], 0, values.tobytes()))
    found = findings(model(entries))
    assert [finding.path for finding in found] == [f"tensors[{n}].data" for n in (10, 1010, 2010)]


def test_tensors_without_elements() -> None:
    file = model([Entry("none", [0], 0, b""), Entry("some", [1], 0, bytes(4))])
    assert findings(file) == []


def test_unknown_layouts_are_left_out() -> None:
    """A type of which the size alone is known."""
    file = model([Entry("t", [256], 139, bytes(144)), Entry("u", [256], 139, bytes(144))])
    (finding,) = findings(file, dialect="ik_llama.cpp")
    assert finding.rule == "GG0902"
    assert "data of 2 tensors; the layout of their types is unknown" in finding.message


def test_data_behind_the_end_are_left_out() -> None:
    """Its type is known, so that is not why."""
    file = model([Entry("t", [64], 0, bytes(256))])
    [*_, finding] = findings(file[:-1])
    assert finding.rule == "GG0902"
    assert "data of 1 tensor; the file ends before their data do" in finding.message


def test_set_of_files(tmp_path: Path) -> None:
    """Findings of a set name the file."""
    values = {f"t{n}": np.array([1.0, last], np.float32) for n, last in enumerate((2.0, np.inf))}
    path = models.write_set(tmp_path / "m", values, {}, 1)
    (finding,) = [f for f in findings(path) if f.rule.startswith("GG15")]
    assert finding.file == "m-00002-of-00002.gguf"
    assert "(inf) in row 0, column 1" in finding.message


def test_a_file_that_is_cut_is_an_error_of_the_system(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    ggufspec.write(path, {}, {f"t{n}": np.ones((256, 1024), np.float32) for n in range(8)})
    size = path.stat().st_size

    def cut(_: int) -> None:
        with path.open("r+b") as file:
            file.truncate(size // 2)

    with pytest.raises(OSError, match="cut"):
        ggufspec.validate(path, data=True, threads=1, advance=cut)


@pytest.mark.parametrize("threads", [1, 2])
def test_interruption_ends_it(threads: int) -> None:
    """No thread goes on behind whoever stopped the scan."""
    values = np.ones((1 << 12, 1 << 12), np.float32)
    file = model([tensor(KINDS["F32"], values.tobytes(), 1 << 12)])

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        findings(file, threads=threads, advance=stop)
    assert threading.active_count() == before


@pytest.mark.parametrize("path", [realfiles.smollm2, realfiles.gemma3], ids=["smollm2", "gemma3"])
def test_real_files_are_whole(path: Callable[[], Path]) -> None:
    assert findings(path()) == []
