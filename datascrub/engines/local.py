"""This machine's processes: a function mapped over tasks by workers that may die, each task on its own.

Pipes alone, no semaphore and no thread: it runs where /dev/shm is missing, and an interrupt finds nothing half locked.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol, TypeVar

from datascrub.engines.isolated import cause_of
from datascrub.engines.processes import context, end
from datascrub.engines.resources import confine
from datascrub.errors import DatascrubError, told

R = TypeVar("R")

_DONE, _DIED, _REFUSED = "done", "died", "refused"
LOOK_S = 1.0
"""how often the watchdog looks"""


class Task(Protocol):
    """What an engine asks of a task: how long it may go on without a sign of life."""

    def is_stuck(self, began: float) -> bool:
        """Whether what is in hand has been in hand for too long. began: when a worker took the task, on the clock of time.monotonic()."""
        ...


class Died:
    """The outcome of a task that did not come to its end.

    cause: the name of the signal that killed its worker, "exit N", "timeout", "MemoryError", or "raised …" where the function raised.
    """

    def __init__(self, task: Any, cause: str) -> None:
        self.task, self.cause = task, cause


class Local:
    """Worker processes of this machine: a death costs its own task alone.

    worker_bytes: memory that one worker may take; more is a MemoryError of the sample in hand, not the end of the container.
    """

    def __init__(self, workers: int, worker_bytes: int | None = None) -> None:
        self.workers, self.worker_bytes = workers, worker_bytes

    def map(self, function: Callable[[Any], R], tasks: Iterable[Any], again: Callable[[Died], Iterable[Any]]) -> Iterator[R]:
        """function(task) for each task, as they finish. Tasks are taken lazily, two for each worker at a time.

        again: asked for each task that did not come to its end; the tasks that it gives run next. A DatascrubError of the function is raised here.
        """
        source, waiting = iter(tasks), list[Any]()
        idle, busy = [_Worker(function, self.worker_bytes) for _ in range(self.workers)], list[_Worker]()
        is_listed = False
        try:
            while True:
                while idle and waiting:
                    idle[-1].take(waiting.pop(0))
                    busy.append(idle.pop())
                while not is_listed and len(waiting) < max(1, len(idle)):
                    try:
                        waiting.append(next(source))
                    except StopIteration:
                        is_listed = True
                if idle and waiting:
                    continue
                if not busy:
                    return
                for worker in _ended(busy):
                    busy.remove(worker)
                    idle.append(worker)
                    task, (kind, value) = worker.task, worker.outcome()
                    if kind == _REFUSED:
                        raise value
                    if kind == _DIED:
                        waiting[:0] = list(again(Died(task, value)))
                    else:
                        yield value
        finally:
            for worker in (*idle, *busy):
                worker.end()


def _ended(busy: list[_Worker]) -> list[_Worker]:
    """The workers that have something to tell, after the stuck ones were ended."""
    ready = wait([worker.pipe for worker in busy if worker.pipe is not None], timeout=LOOK_S)
    for worker in busy:
        if worker.pipe not in ready and worker.task.is_stuck(worker.began):
            worker.stop("timeout")
    return [worker for worker in busy if worker.pipe is None or worker.pipe in ready]


class _Worker:
    """One process and the task that it has; started when it is needed, and anew after a death."""

    def __init__(self, function: Callable[[Any], Any], limit_bytes: int | None) -> None:
        self.function, self.limit_bytes = function, limit_bytes
        self.pipe: Connection | None = None
        self.task: Any = None
        self.began = 0.0
        self._child: Any = None
        self._cause: str | None = None

    def take(self, task: Any) -> None:
        self.task, self.began = task, time.monotonic()
        if self.pipe is None:
            self._start()
        assert self.pipe is not None
        try:
            self.pipe.send(task)
        except OSError:  # it died while it was idle: no task's doing
            self.stop("idle")
            self._start()
            self.pipe.send(task)

    def _start(self) -> None:
        forked = context()
        self.pipe, theirs = forked.Pipe(duplex=True)
        self._child = forked.Process(target=_serve, args=(theirs, self.function, self.limit_bytes), daemon=True)
        self._child.start()
        theirs.close()
        self._cause = None

    def outcome(self) -> tuple[str, Any]:
        """What became of its task: (done, result), (died, cause) or (refused, error)."""
        if self.pipe is None:
            return _DIED, self._cause
        try:
            kind, value = self.pipe.recv()
        except (EOFError, OSError):
            self._child.join()
            self.stop(cause_of(self._child.exitcode))
            return _DIED, self._cause
        if value == "MemoryError":  # what it still holds could starve the next task
            self.stop(value)
        return kind, value

    def stop(self, cause: str) -> None:
        self._cause = cause
        self.end()

    def end(self) -> None:
        if self.pipe is not None:
            self.pipe.close()
            self.pipe = None
            end(self._child)


def _serve(pipe: Connection, function: Callable[[Any], Any], limit_bytes: int | None) -> None:
    """In the worker: one task after the other, until the other end closes."""
    confine(limit_bytes)
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(_outcome(function, task))


def _outcome(function: Callable[[Any], Any], task: Any) -> tuple[str, Any]:
    try:
        return _DONE, function(task)
    except MemoryError:
        return _DIED, "MemoryError"
    except DatascrubError as error:
        return _REFUSED, error
    except Exception as error:  # noqa: BLE001  foreign bytes met a decoder: the one who gave the task decides
        if os.environ.get("DATASCRUB_DEBUG"):
            traceback.print_exc()
        return _DIED, f"raised {told(error)}"


class Interrupts:
    """SIGINT and SIGTERM as one flag: what is measured is kept, and the scan ends where it is. Further signals are taken for the first one."""

    def __init__(self) -> None:
        self.received: str | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        if self.received is None:
            self.received = signal.Signals(number).name
            raise KeyboardInterrupt

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
