"""One call, or one stream, in a child process of its own: what kills or holds up the child is an error here, not the end."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from datascrub.engines.processes import context, end
from datascrub.engines.resources import confine, worker_bytes
from datascrub.errors import ChildDiedError, DatascrubError

T = TypeVar("T")

_ITEM, _END, _ERROR = "item", "end", "error"
SILENCE_S = 1800.0
"""how long a child may go without a sign of life: damage can hold a library up for ever, and so can a mount that went stale"""


class ChildFaultError(DatascrubError):
    """An error of datascrub's own in a child; it carries the child's traceback."""


def stream(function: Callable[..., Any], *args: Any, silence_s: float = SILENCE_S) -> Iterator[Any]:
    """The items that function(*args) yields in a child.

    Raises what it raised; ChildDiedError where the child was killed, or yielded nothing for silence_s while the next item was waited for.
    """
    yield from _received(_yielding, function, args, silence_s, worker_bytes(1))


def call(
    function: Callable[..., T],
    *args: Any,
    hear: Callable[[Any], None] | None = None,
    silence_s: float = SILENCE_S,
    is_confined: bool = True,
) -> T:
    """function(*args), run in a child. Raises what it raised; ChildDiedError where the child was killed, or gave no sign of life for silence_s.

    hear: called with what the function tells meanwhile, each time a sign of life; the function gets then a last argument to tell with.
    is_confined: held below half of the memory; not for a GPU, whose driver maps more than it uses.
    """
    told = _received(_returning if hear is None else _telling, function, args, silence_s, worker_bytes(1) if is_confined else None)
    while True:
        try:
            item = next(told)
        except StopIteration as end:
            result: T = end.value
            return result
        if hear is not None:
            hear(item)


_Send = Callable[[tuple[str, Any]], None]


def _yielding(send: _Send, function: Callable[..., Iterable[Any]], args: tuple[Any, ...]) -> None:
    for item in function(*args):
        send((_ITEM, item))


def _returning(send: _Send, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return function(*args)


def _telling(send: _Send, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return function(*args, lambda item: send((_ITEM, item)))


def _serve(pipe: Connection, manner: Callable[..., Any], function: Callable[..., Any], args: tuple[Any, ...], limit_bytes: int | None) -> None:
    """In the child: send what the function gives, then the end; or the error."""
    confine(limit_bytes)
    try:
        pipe.send((_END, manner(pipe.send, function, args)))
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


def _received(
    manner: Callable[..., Any], function: Callable[..., Any], args: tuple[Any, ...], silence_s: float, limit_bytes: int | None
) -> Generator[Any, None, Any]:
    """What the child sends, item by item; its result is the value that the generator returns."""
    forked = context()
    ours, theirs = forked.Pipe(duplex=False)
    child = forked.Process(target=_serve, args=(theirs, manner, function, args, limit_bytes), daemon=True)
    child.start()
    theirs.close()
    try:
        while True:
            if not ours.poll(silence_s):
                raise ChildDiedError(f"the child process gave no sign of life for {silence_s:g} s", cause="timeout")
            try:
                kind, item = ours.recv()
            except EOFError:
                child.join()
                raise ChildDiedError(f"the child process was ended by {cause_of(child.exitcode)}", cause=cause_of(child.exitcode)) from None
            if kind == _END:
                return item
            if kind == _ERROR:
                raise item
            yield item
    finally:
        ours.close()
        end(child, grace_s=0.2)


def cause_of(exit_code: int | None) -> str:
    """The name of the signal behind a negative exit code, else "exit N"."""
    if exit_code is not None and exit_code < 0:
        try:
            return signal.Signals(-exit_code).name
        except ValueError:
            return f"signal {-exit_code}"
    return f"exit {exit_code}"
