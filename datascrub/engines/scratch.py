"""Places for what is temporary: shadows, scratch and spill of one call. Gone when it ends; where a kill left them, gone when the next call begins."""

from __future__ import annotations

import fcntl
import multiprocessing.process
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.util import Finalize
from pathlib import Path
from typing import IO

from datascrub.errors import UsageError

_PREFIX, _MAKING, _HELD = "datascrub-", ".datascrub-making-", "held"
_STALE_S = 3600
"""a folder is made in a moment: one that is still being made after an hour was left by a kill"""
_SOCKET_BYTES = 48
"""the address of a socket holds 108 bytes, and its name in the folder needs some of them"""


@contextmanager
def scratch_in(tmp: str | None) -> Iterator[str]:
    """A folder of this call's own, in `tmp` or where the machine keeps what is temporary. Raises UsageError where none can be written."""
    try:
        place = _place(tmp)
        _sweep(place)
        settle(tmp)
        folder, held = _made(place)
    except OSError as error:
        where = f" in {tmp}" if tmp else ""
        raise UsageError(f"no place for scratch can be written{where}: {error.strerror or error}", fix="give one with --tmp") from error
    try:
        yield str(folder)
    finally:
        _remove(folder, held)


def _place(tmp: str | None) -> Path:
    return Path(tmp if tmp is not None else tempfile.gettempdir()).absolute()


def settle(tmp: str | None) -> None:
    """Give the socket that children are asked for at its folder: multiprocessing would take /tmp, and leave it there at a kill."""
    # The folder lives as long as the process: the server that children are forked from is asked again and again.
    place = _place(tmp)
    config = multiprocessing.process.current_process()._config  # type: ignore[attr-defined]  # the one way to say it
    if "tempdir" not in config and len(os.fsencode(place)) < _SOCKET_BYTES:
        folder, held = _made(place)
        config["tempdir"] = str(folder)
        Finalize(None, _remove, (folder, held), exitpriority=-100)


def _made(place: Path) -> tuple[Path, IO[bytes]]:
    """A new folder, and the file whose lock says that it is in use."""
    making = Path(tempfile.mkdtemp(prefix=_MAKING, dir=place))
    held = (making / _HELD).open("wb")
    fcntl.flock(held, fcntl.LOCK_EX)
    folder = place / (_PREFIX + making.name.removeprefix(_MAKING))
    making.rename(folder)  # whoever sees it under this name sees it locked
    return folder, held


def _remove(folder: Path, held: IO[bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    held.close()


def _sweep(place: Path) -> None:
    """Remove what calls of this user left that were killed: the kernel dropped their locks with them."""
    for folder in (*place.glob(f"{_PREFIX}*"), *place.glob(f"{_MAKING}*")):
        with suppress(OSError):
            seen = folder.lstat()
            if seen.st_uid == os.geteuid() and _is_left(folder, seen.st_mtime):
                shutil.rmtree(folder, ignore_errors=True)


def _is_left(folder: Path, made: float) -> bool:
    if folder.name.startswith(_MAKING):
        return time.time() - made > _STALE_S
    with (folder / _HELD).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True
