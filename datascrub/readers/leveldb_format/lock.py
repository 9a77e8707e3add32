"""Whether a process holds a LevelDB open."""

from __future__ import annotations

import os
import struct
from pathlib import Path


def holder(source: Path) -> str | None:
    """The process that holds the lock of LOCK, as a text; None where nobody does, or where that can't be told.

    Only asks (F_GETLK) and takes no lock. A LOCK file that nobody holds is what LevelDB always leaves behind.
    """
    try:
        import fcntl

        handle = os.open(source / "LOCK", os.O_RDONLY)
    except (ImportError, OSError):
        return None
    try:
        asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, process = struct.unpack("hhqqi4x", fcntl.fcntl(handle, fcntl.F_GETLK, asked))
    except OSError:
        return None
    finally:
        os.close(handle)
    return None if kind == fcntl.F_UNLCK else f"process {process}"
