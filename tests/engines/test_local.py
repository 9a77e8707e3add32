"""A function mapped over tasks by workers that may die: each death costs its own task alone."""

import time
from dataclasses import replace

import pytest

from datascrub.engines.local import Died, Local
from tests.engines.faulty import Order, run


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("fault", ["SIGSEGV", "SIGABRT", "SIGKILL", "memory"])
def test_death_costs_its_own_task(workers: int, fault: str) -> None:
    """Whatever kills a worker, the other tasks come back, and the dead one is asked about once."""
    dead: list[tuple[int, str]] = []

    def again(died: Died) -> list[Order]:
        dead.append((died.task.number, died.cause))
        return [replace(died.task, fault="")]

    orders = [Order(n, fault if n in (0, 5, 11) else "") for n in range(12)]
    assert sorted(Local(workers).map(run, orders, again)) == list(range(12))
    assert sorted(n for n, _ in dead) == [0, 5, 11]
    assert {cause for _, cause in dead} == {"MemoryError" if fault == "memory" else fault}


def test_stuck_task_is_ended() -> None:
    """A task that says it is stuck loses its worker; the others go on."""
    dead: list[str] = []
    orders = [Order(0), Order(1, "hang", time.monotonic() + 1.0), Order(2)]
    results = Local(2).map(run, orders, lambda died: dead.append(died.cause) or [])
    assert sorted(results) == [0, 2]
    assert dead == ["timeout"]


def test_tasks_are_taken_lazily() -> None:
    """No more than two tasks for each worker are taken before results come back."""
    taken = []

    def orders() -> object:
        for n in range(50):
            taken.append(n)
            yield Order(n)

    results = Local(1).map(run, orders(), lambda died: [])  # type: ignore[arg-type]  # a generator of orders
    next(results)
    assert len(taken) <= 4
    results.close()
