"""Clean child processes: forked from a small server that never opened a source, blind to the caller's main module."""

from __future__ import annotations

import multiprocessing
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import Any


@contextmanager
def _nameless_main() -> Iterator[None]:
    """Hide __main__ while a child's start is prepared: a child would import the caller's script anew, and with it run it."""
    caller = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = caller


class _Process(ForkServerProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802  the name that multiprocessing calls
        with _nameless_main():
            return ForkServerProcess._Popen(process_obj)


class _Context(ForkServerContext):
    Process = _Process


def context() -> ForkServerContext:
    """The context that all our children start from; the server has numpy, duckdb and the readers' common ground imported once."""
    made = _Context()
    made.set_forkserver_preload(["datascrub.engines.preload"])
    return made


def available_start_methods() -> list[str]:
    return multiprocessing.get_all_start_methods()
