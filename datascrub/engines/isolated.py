"""One call, or one stream, in a child process of its own: what kills the child is an error here, not the end."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from datascrub.engines.processes import context
from datascrub.engines.resources import hush, live_with_parent
from datascrub.errors import ChildDiedError, DatascrubError

T = TypeVar("T")

_ITEM, _END, _ERROR = "item", "end", "error"


class ChildFaultError(DatascrubError):
    """An error of datascrub's own in a child; it carries the child's traceback."""


def _serve(pipe: Connection, function: Callable[..., Any], args: tuple[Any, ...], is_stream: bool) -> None:
    """In the child: send what the function gives, then the end; or the error."""
    hush()
    live_with_parent()
    try:
        made = function(*args)
        for item in made if is_stream else (made,):
            pipe.send((_ITEM, item))
        pipe.send((_END, None))
    except DatascrubError as error:
        pipe.send((_ERROR, error))
    except MemoryError:
        pipe.send((_ERROR, ChildDiedError("the child ran out of memory", cause="MemoryError")))
    except OSError as error:  # the machine's, not ours: whoever asked knows what was read or written
        pipe.send((_ERROR, OSError(error.errno, error.strerror or str(error), error.filename)))
    except BaseException as error:  # noqa: BLE001  whatever it was, the parent must hear of it
        pipe.send((_ERROR, ChildFaultError(f"{type(error).__name__}: {error}\n{traceback.format_exc()}")))
    finally:
        pipe.close()


def stream(function: Callable[..., Any], *args: Any) -> Iterator[Any]:
    """The items that function(*args) yields in a child. Raises what it raised; ChildDiedError where the child was killed."""
    forked = context()
    ours, theirs = forked.Pipe(duplex=False)
    child = forked.Process(target=_serve, args=(theirs, function, args, True), daemon=True)
    yield from _received(child, ours, theirs)


def call(function: Callable[..., T], *args: Any, limit_s: float | None = None) -> T:
    """function(*args), run in a child. Raises what it raised; ChildDiedError where the child was killed, or took longer than limit_s."""
    forked = context()
    ours, theirs = forked.Pipe(duplex=False)
    child = forked.Process(target=_serve, args=(theirs, function, args, False), daemon=True)
    result: list[T] = list(_received(child, ours, theirs, limit_s))
    return result[0]


def _received(child: Any, ours: Connection, theirs: Connection, limit_s: float | None = None) -> Iterator[Any]:
    child.start()
    theirs.close()
    try:
        while True:
            if not ours.poll(limit_s):
                raise ChildDiedError(f"the child process was at it for {limit_s:g} s", cause="timeout")
            try:
                kind, item = ours.recv()
            except EOFError:
                child.join()
                raise ChildDiedError(f"the child process was ended by {cause_of(child.exitcode)}", cause=cause_of(child.exitcode)) from None
            if kind == _END:
                return
            if kind == _ERROR:
                raise item
            yield item
    finally:
        ours.close()
        if child.is_alive():
            child.join(0.2)
        child.kill()  # no matter if it is dead by now
        child.join()


def cause_of(exit_code: int | None) -> str:
    """The name of the signal behind a negative exit code, else "exit N"."""
    if exit_code is not None and exit_code < 0:
        try:
            return signal.Signals(-exit_code).name
        except ValueError:
            return f"signal {-exit_code}"
    return f"exit {exit_code}"
