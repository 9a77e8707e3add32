"""Functions that fail in every way a worker can, importable by child processes."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from datascrub.engines.scratch import scratch_in
from datascrub.errors import SourceError


@dataclass(frozen=True)
class Order:
    """A task: a number, and how it fails ("" not at all)."""

    number: int
    fault: str = ""
    deadline: float = 0.0

    def is_stuck(self, began: float) -> bool:
        return self.fault == "hang" and time.monotonic() > self.deadline


def run(order: Order) -> int:
    if order.fault == "hang":
        time.sleep(600)
    elif order.fault == "memory":
        raise MemoryError
    elif order.fault:
        os.kill(os.getpid(), signal.Signals[order.fault])
    return order.number


def numbers(count: int) -> Iterator[int]:
    yield from range(count)


def refuse() -> None:
    raise SourceError("no such thing", fix="look elsewhere")


def stumble() -> None:
    raise KeyError("a fault of ours")


def die(name: str) -> None:
    os.kill(os.getpid(), signal.Signals[name])


def take(size: int) -> int:
    return len(bytearray(size))


def mumble(count: int, pause_s: float, tell: Callable[[int], None]) -> str:
    for n in range(count):
        tell(n)
        time.sleep(pause_s)
    return "done"


def dawdle(count: int, pause_s: float) -> Iterator[int]:
    for n in range(count):
        yield n
        time.sleep(pause_s)


def scratch_and_wait(tmp: str, tell: Callable[[str], None]) -> None:
    with scratch_in(tmp) as folder:
        (Path(folder) / "shadow").mkdir()
        tell(folder)
        time.sleep(600)
