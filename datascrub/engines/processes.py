"""Clean child processes: forked from a small server that never opened a source, blind to the caller's main module."""

from __future__ import annotations

import multiprocessing.process
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import Any

from datascrub.engines.scratch import settle


@contextmanager
def _nameless_main() -> Iterator[None]:
    """Hide __main__ while a child's start is prepared: a child would import the caller's script anew, and with it run it."""
    caller = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = caller


KILL_S = 5.0
"""what a killed process may take to be gone"""


class _Process(ForkServerProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802  the name that multiprocessing calls
        with _nameless_main():
            return ForkServerProcess._Popen(process_obj)


class _Context(ForkServerContext):
    Process = _Process


def context() -> ForkServerContext:
    """The context that all our children start from."""
    return _Context()


def preload(*modules: str) -> None:
    """Have the server that children are forked from import these modules once, so that each child starts in milliseconds.

    It counts from the server's start, which is that of the first child. The modules must start no thread and open no source.
    """
    _Context().set_forkserver_preload(list(modules))


def start(*modules: str, tmp: str | None = None) -> None:
    """Start the server that children are forked from now: it imports these modules while the caller imports its own.

    tmp: where its socket lies (scratch.settle). Where that can't be, the first child starts it, or says why.
    """
    from multiprocessing import forkserver

    preload(*modules)
    with suppress(OSError):
        settle(tmp)
        forkserver.ensure_running()


def end(child: Any, grace_s: float = 0.0) -> None:
    """End a child, dead or alive. One that the kernel holds in a call that nothing interrupts (a mount that went stale) is left behind.

    grace_s: for a child that has told its last word, and may end by itself.
    """
    child.join(grace_s)
    child.kill()  # no matter if it is dead by now
    child.join(KILL_S)
    if child.is_alive():
        multiprocessing.process._children.discard(child)  # type: ignore[attr-defined]  # else the interpreter waits for it when it ends
