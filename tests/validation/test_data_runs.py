"""GG1504 to GG1508: long runs of zeros and of 0xFF, whole tensors and rows of them."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ggufspec
from ggufspec.blocks import kernels
from ggufspec.generated.rules import RULES
from ggufspec.report import Finding
from ggufspec.validation.runs import STEP, Run, find_runs, whole_steps
from support.crafted import F16, I8, Form
from support.forks import Entry, model

LEAST = {0: 4 * STEP, 0xFF: 2 * STEP}
WIDTH, HEIGHT = 6000, 64
BACKENDS = ("numpy", "auto")


def findings(file: bytes, profile: str = "strict", **options: Any) -> list[Finding]:
    return list(ggufspec.validate(file, profile, data=True, checks=(), **options).findings)


def numbers(seed: int = 0) -> np.ndarray[Any, Any]:
    """Bytes without zeros and 0xFF, as a tensor of I8."""
    rng = np.random.default_rng(seed)
    return rng.integers(1, 255, WIDTH * HEIGHT, np.uint8)


def of(data: np.ndarray[Any, Any], width: int = WIDTH, kind: int = I8, size: int = 1) -> bytes:
    return model([Entry("t", [width, data.nbytes // size // width], kind, data.tobytes())])


def naive(data: bytes, least: dict[int, int]) -> list[Run]:
    runs, at = [], 0
    for value, group in groupby(data):
        length = sum(1 for _ in group)
        if value in least and length >= least[value]:
            runs.append(Run(at, at + length, value))
        at += length
    return runs


PIECES = st.lists(
    st.tuples(
        st.sampled_from([0, 0xFF, 7]),
        st.one_of(
            st.integers(1, 20),
            st.sampled_from([n * STEP + d for n in (1, 2, 3, 4, 5) for d in (-1, 0, 1)]),
        ),
    ),
    max_size=6,
)


@pytest.mark.parametrize("backend", BACKENDS)
@given(pieces=PIECES)
def test_runs_are_those_of_a_plain_loop(backend: Any, pieces: list[tuple[int, int]]) -> None:
    data = b"".join(bytes([value]) * count for value, count in pieces)
    stored = np.frombuffer(data, np.uint8)
    kinds = whole_steps(stored, backend=backend)
    assert find_runs(stored, kinds, LEAST) == naive(data, LEAST)


def test_steps_are_the_same_in_c() -> None:
    if not kernels.available():
        pytest.skip("no compiled part")
    rng = np.random.default_rng(0)
    for _ in range(50):
        data = np.repeat(rng.choice([0, 0xFF, 3], 40), rng.integers(1, STEP, 40)).astype(np.uint8)
        data = data[rng.integers(0, 9) :]  # any address
        assert whole_steps(data).tolist() == whole_steps(data, backend="numpy").tolist()


@pytest.mark.parametrize(("value", "rule"), [(0, "GG1504"), (0xFF, "GG1505")])
@pytest.mark.parametrize("start", [1, STEP - 1, STEP, 100_001])
def test_run_in_the_middle(value: int, rule: str, start: int) -> None:
    data = numbers()
    limit = 16384 if value == 0 else 8192
    data[start : start + limit - 1] = value
    assert findings(of(data)) == []
    data[start : start + limit] = value
    data[-20_000:-1] = value
    file = of(data)
    (finding,) = findings(file)
    assert (finding.rule, finding.severity) == (rule, "warning")
    assert finding.offset == len(file) - data.size + start
    together = limit + 19_999
    assert f"(2, {together} bytes together), the first of {limit} bytes" in finding.message
    assert f"in row {start // WIDTH}, column {start % WIDTH}" in finding.message


@pytest.mark.parametrize(("value", "rule"), [(0, "GG1506"), (0xFF, "GG1507")])
def test_whole_tensors(value: int, rule: str) -> None:
    data = numbers()
    data[:] = value
    (finding,) = findings(of(data))
    assert (finding.rule, finding.severity) == (rule, "warning")
    assert f"all {data.size} bytes of tensor t are " in finding.message
    assert findings(of(data[:8191], 8191)) == []
    data[data.size // 2 + 999] = 3  # one byte is there: two runs
    assert [f.rule for f in findings(of(data))] == ["GG1504" if value == 0 else "GG1505"]


def test_rows_of_zeros_are_no_damage() -> None:
    """Vocabularies are padded; a value beside them may be zero as well."""
    data = numbers()
    data[8 * WIDTH : 12 * WIDTH + 2] = 0
    data[60 * WIDTH - 5 :] = 0
    file = of(data)
    (finding,) = findings(file)
    assert (finding.rule, finding.severity) == ("GG1508", "info")
    assert finding.offset == len(file) - data.size + 8 * WIDTH
    assert f"8 rows of tensor t are zeros and lie in runs (2, {8 * WIDTH} bytes" in finding.message
    assert findings(file, "lenient") == findings(file, "spec") == []
    data[12 * WIDTH : 12 * WIDTH + 100] = 0
    assert [f.rule for f in findings(of(data))] == ["GG1504", "GG1508"]


def test_limits_of_whole_tensors_and_rows() -> None:
    """They are told from the runs that the first two rules ask for."""
    for rule, run in (("GG1506", "GG1504"), ("GG1507", "GG1505"), ("GG1508", "GG1504")):
        assert set(RULES[rule].limits.values()) == set(RULES[run].limits.values())


def test_zeros_that_are_halves() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(0, 1, (40, 1000)).astype(np.float16)
    values[3:13] = 0
    assert [f.rule for f in findings(of(values, 1000, F16, 2))] == ["GG1508"]
    values[3, 0:40] = 1
    assert [f.rule for f in findings(of(values, 1000, F16, 2))] == ["GG1504"]


def test_zeros_mean_something_in_an_imatrix() -> None:
    """Experts that saw no token."""
    form = Form()
    pairs = [form.pair("general.type", 8, form.string("imatrix"))]
    file = model([Entry("t.in_sum2", [8192, 2], 0, bytes(65536))], pairs=pairs)
    assert findings(file) == []


@pytest.mark.parametrize("chunk", [1000, 10_000, 99_999])
def test_runs_across_chunks(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = numbers()
    data[5001:70_003] = 0
    expected = findings(of(data))
    monkeypatch.setattr("ggufspec.validation.data._CHUNK", chunk)
    for threads in (1, 2):
        assert findings(of(data), threads=threads) == expected
    assert "the first of 65002 bytes" in expected[0].message


def test_many_runs_take_linear_time() -> None:
    """Runs of which the ends cannot all be looked for are counted still."""
    steps = np.zeros((6000, 3, STEP), np.uint8)
    steps[:, :2] = 0xFF
    data = steps.reshape(-1)
    data[:8] = 5
    (finding,) = (f for f in findings(of(data, STEP)) if f.rule == "GG1505")
    assert "(5999, " in finding.message
