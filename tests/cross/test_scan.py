"""The cursor in C gives the same rows and findings on other processors, big-endian ones too."""

from __future__ import annotations

import struct
from array import array
from pathlib import Path

import pytest

from ggufspec.container.cursor import HEADER, METADATA, TENSORS, type_rows
from ggufspec.container.pyscan import PyCursor
from ggufspec.generated import container as tables
from support.build import run
from support.container import PROFILES
from support.crafted_cases import all_cases
from support.damaged import FORMS, everything
from support.machines import Machine, compiled

pytestmark = pytest.mark.slow

LARGEST = 4096
COUNTS = {METADATA: "kv_count", TENSORS: "tensor_count"}


def _files() -> list[bytes]:
    crafted = [case.data for case in all_cases() if len(case.data) <= LARGEST]
    return [*map(everything, FORMS.values()), *crafted[::3]]


def _expected(data: bytes, profile: int) -> array[int]:
    """The answer that the cursor in Python gives, in the order of scan.c."""
    with PyCursor(memoryview(data), profile, type_rows(None)) as cursor:
        rows = cursor.records(HEADER, 1)
        columns = tables.COLUMNS[HEADER]
        answer = array("Q", [not cursor.stopped, *(rows or cursor.partial)])
        for section in (METADATA, TENSORS):
            if cursor.stopped:
                break
            count = rows[columns.index(COUNTS[section])]
            found = cursor.records(section, min(count, len(data)))
            done = len(found) // len(tables.COLUMNS[section])
            answer.append(done)
            answer.extend(found)
            if done < count:
                break
        findings = cursor.findings()[0]
    answer.append(len(findings))
    for finding in findings:
        answer.extend(finding)
    return answer


def test_scan_gives_the_same_answers(machine: Machine, here: Path) -> None:
    types = type_rows(None)
    numbers = [number for row in types for number in row]
    program = compiled(machine, here / "scan.c")
    for index, data in enumerate(_files()):
        profile = index % len(PROFILES)
        head = struct.pack(f"<{3 + len(numbers)}Q", profile, len(types), len(data), *numbers)
        answer = run(program, head + data)
        assert struct.unpack(f"<{len(answer) // 8}Q", answer) == tuple(_expected(data, profile))
