"""A validator that fails on samples whose first value says how: 1e6 + n. Loaded by tests with `load=`."""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role
from datascrub.rules import Measurement, Rule
from datascrub.validators.base import Validator

SEGV, ABRT, HANG, MEMORY, LEAVE, RAISE, COMPANY = (1e6 + n for n in range(1, 8))


@dataclass(frozen=True)
class Faulty(Validator):
    """Kills, hangs or exhausts the process that measures a marked sample."""

    roles: ClassVar[frozenset[Role]] = frozenset({Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {"first_value": Measurement("DOUBLE", "the first value of the sample")}

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        for rows, block in column.blocks():
            first = block.reshape(len(block), -1)[:, 0]
            made["first_value"][rows] = first
            for value in first.tolist():
                fail(value, len(column))
        return made

    def rules(self) -> Sequence[Rule]:
        return ()


def fail(value: float, company: int) -> None:
    if value == SEGV:
        os.kill(os.getpid(), signal.SIGSEGV)
    elif value == ABRT:
        os.abort()
    elif value == HANG and "DATASCRUB_TEST_HURRY" not in os.environ:
        time.sleep(3600)
    elif value == MEMORY:
        raise MemoryError
    elif value == LEAVE:
        os._exit(3)
    elif value == RAISE:
        raise ValueError(f"no such number as {value} at {object()!r} in /some/where/file.py")
    elif value == COMPANY and company > 1:
        os.kill(os.getpid(), signal.SIGSEGV)
