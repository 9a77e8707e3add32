"""Functions that fail in every way a worker can, importable by child processes."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass

from datascrub.errors import SourceError


@dataclass(frozen=True)
class Order:
    """A task: a number, and how it fails ("" not at all)."""

    number: int
    fault: str = ""
    deadline: float = 0.0

    def is_stuck(self) -> bool:
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
