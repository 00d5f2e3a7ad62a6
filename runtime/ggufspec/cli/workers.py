"""Work on many files in processes of their own, so that none takes the others down with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass
class _Worker(Generic[Task]):
    """A process, our end of the pipe to it, and the number of what it works on."""

    process: Any
    pipe: Connection
    task: int = -1


def each(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    lost: Callable[[Task, int], Result],
    processes: int,
) -> Iterator[Result]:
    """`work(task)` for all tasks, in their order, as they get done.

    lost: the result for a task whose process died, from the task and the exit code (the negative
    number of a signal). Where processes cannot be made, the work is done in this one.
    """
    # A fork costs a few milliseconds; elsewhere than on Linux system libraries do not survive one.
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
    workers: list[_Worker[Task]] = []
    results: dict[int, Result] = {}
    waiting = deque(range(len(tasks)))
    try:
        for told in range(len(tasks)):
            while told not in results:
                if not _keep_busy(
                    workers, tasks, waiting, processes, partial(_start, context, work)
                ):
                    results[told] = work(tasks[waiting.popleft()])
                    break
                _collect(workers, tasks, results, lost)
            yield results.pop(told)
    finally:
        for worker in workers:
            worker.pipe.close()
            worker.process.terminate()
            worker.process.join()


def _keep_busy(
    workers: list[_Worker[Task]],
    tasks: Sequence[Task],
    waiting: deque[int],
    most: int,
    start: Callable[[Sequence[_Worker[Task]]], _Worker[Task]],
) -> bool:
    """Give every worker something to do; whether any of them does something."""
    workers[:] = [worker for worker in workers if worker.task >= 0 or worker.process.is_alive()]
    while waiting and len(workers) < most:
        try:
            workers.append(start(workers))
        except OSError:
            break
    for worker in workers:
        if worker.task < 0 and waiting:
            _give(worker, waiting.popleft(), tasks)
    return any(worker.task >= 0 for worker in workers)


def _give(worker: _Worker[Task], task: int, tasks: Sequence[Task]) -> None:
    worker.task = task
    with suppress(OSError):  # it died meanwhile, which _collect finds
        worker.pipe.send(tasks[task])


def _collect(
    workers: Sequence[_Worker[Task]],
    tasks: Sequence[Task],
    results: dict[int, Result],
    lost: Callable[[Task, int], Result],
) -> None:
    """Wait for the next results; a process that ends without one has lost its task."""
    busy = {worker.pipe: worker for worker in workers if worker.task >= 0}
    for ready in wait(list(busy)):
        worker = busy[ready]  # type: ignore[index]
        try:
            results[worker.task] = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            results[worker.task] = lost(tasks[worker.task], worker.process.exitcode)
        worker.task = -1


def _start(
    context: Any, work: Callable[[Task], Result], others: Sequence[_Worker[Task]]
) -> _Worker[Task]:
    ours, theirs = context.Pipe()
    inherited = [ours, *(worker.pipe for worker in others)] if _forks(context) else []
    process = context.Process(target=_serve, args=(work, theirs, inherited), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _forks(context: Any) -> bool:
    return bool(context.get_start_method() == "fork")


def _serve(
    work: Callable[[Task], Result], pipe: Connection, inherited: Sequence[Connection]
) -> None:
    """What a worker does until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and ends us
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    for other in inherited:
        other.close()  # else we would never see that the parent is gone
    with suppress(EOFError, OSError):  # nobody asks any more, or waits for the answer
        while True:
            pipe.send(work(pipe.recv()))
    os._exit(0)
