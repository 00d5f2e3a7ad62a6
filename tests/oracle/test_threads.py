"""Work shared among threads: what one of them raises is not lost, and there may be none."""

from __future__ import annotations

from threading import Thread, current_thread, main_thread

import pytest

from ggufspec.blocks import kernels
from ggufspec.cli.failures import SYSTEM, of_error


@pytest.mark.parametrize("failing", range(4))
def test_failures_of_threads(failing: int) -> None:
    done: list[int] = []

    def part(start: int, _: int) -> None:
        if start == failing:
            raise MemoryError(f"part {start}")
        done.append(start)

    with pytest.raises(MemoryError, match=f"part {failing}"):
        kernels.share(part, 4, 1, 4, least=1)
    assert set(done) == {0, 1, 2, 3} - {failing}


def test_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", refused)
    done: list[range] = []

    def part(start: int, stop: int) -> None:
        assert current_thread() is main_thread()
        done.append(range(start, stop))

    kernels.share(part, 10, 1, 3, least=1)
    assert sorted(number for run in done for number in run) == list(range(10))


def test_a_thread_that_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Thread, "run", lambda _: None)
    with pytest.raises(MemoryError):
        kernels.share(lambda *_: None, 4, 1, 2, least=1)


def test_it_is_the_system() -> None:
    failure = of_error(RuntimeError("can't start new thread"))
    assert failure.exit == SYSTEM
    assert "--threads" in failure.hint
    assert "internal" not in failure.message
