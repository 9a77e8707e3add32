"""This machine's processes: a function mapped over tasks by workers that may die, each task on its own."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Protocol, TypeVar

from datascrub.engines.isolated import cause_of
from datascrub.engines.processes import context
from datascrub.engines.resources import confine

R = TypeVar("R")


class Task(Protocol):
    """What an engine asks of a task: how long it may go on without a sign of life."""

    def is_stuck(self) -> bool:
        """Whether the sample in hand has been in hand for too long."""
        ...


class Died:
    """The outcome of a task whose worker was killed: by a signal, by the system, or by us because it was stuck."""

    def __init__(self, task: Any, cause: str) -> None:
        self.task, self.cause = task, cause


class Local:
    """Worker processes of this machine (pebble: a death costs its own task alone).

    worker_bytes: memory that one worker may take; more is a MemoryError of the sample in hand, not the end of the container.
    """

    def __init__(self, workers: int, worker_bytes: int | None = None) -> None:
        self.workers, self.worker_bytes = workers, worker_bytes

    def map(self, function: Callable[[Any], R], tasks: Iterable[Any], again: Callable[[Died], Iterable[Any]]) -> Iterator[R]:
        """function(task) for each task, as they finish. Tasks are taken lazily, two for each worker at a time.

        again: asked for each death; the tasks that it gives are run next. An exception of the function itself is raised here.
        """
        from pebble import ProcessPool

        pool = ProcessPool(max_workers=self.workers, initializer=confine, initargs=(self.worker_bytes,), context=context())
        source, waiting, running = iter(tasks), list[Any](), dict[Future[R], Any]()
        watch = _Watchdog(running)
        try:
            exhausted = False
            while True:
                while not exhausted and len(running) + len(waiting) < 2 * self.workers:
                    try:
                        waiting.append(next(source))
                    except StopIteration:
                        exhausted = True
                while waiting and len(running) < 2 * self.workers:
                    task = waiting.pop(0)
                    running[pool.schedule(function, args=(task,))] = task
                if not running:
                    return
                done, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
                watch.look()
                for future in done:
                    task = running.pop(future)
                    died = _death(future, task, watch)
                    if died is None:
                        yield future.result()
                    else:
                        waiting[:0] = list(again(died))
        finally:
            pool.stop()  # type: ignore[no-untyped-call]  # pebble ships no types for it
            pool.join()


def _death(future: Future[Any], task: Any, watch: _Watchdog) -> Died | None:
    """How the task's worker died; None where the function ended by itself."""
    from pebble import ProcessExpired

    if future.cancelled():
        return Died(task, "timeout")
    error = future.exception()
    if isinstance(error, ProcessExpired):
        return Died(task, "timeout" if watch.ended(task) else cause_of(error.exitcode))
    if isinstance(error, MemoryError):
        return Died(task, "MemoryError")
    return None


class _Watchdog:
    """Ends workers whose sample has been in hand for too long; the tasks themselves know."""

    def __init__(self, running: dict[Future[Any], Any]) -> None:
        self.running, self.stuck = running, set[int]()

    def look(self) -> None:
        for future, task in self.running.items():
            if task.is_stuck():
                self.stuck.add(id(task))
                future.cancel()  # pebble ends the worker that runs it

    def ended(self, task: Any) -> bool:
        return id(task) in self.stuck


class Interrupts:
    """SIGINT and SIGTERM as one flag: what is measured is kept, and the scan ends where it is."""

    def __init__(self) -> None:
        self.received: str | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        self.received = signal.Signals(number).name
        raise KeyboardInterrupt

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
