"""Pages of mapped sources, given back to the system: LMDB and LevelDB map their files, and what was read of them once counts as ours until then."""

from __future__ import annotations

import functools
import mmap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

_MAPS = Path("/proc/self/maps")


def let_go() -> None:
    """Give back the pages of all files that are mapped shared and for reading alone.

    They stay in the system's cache, and whatever is read of them again is there as before: views of them stay valid. So a source of any size counts
    as one shard of it, where a container's memory is measured. Does nothing where the system can't tell what is mapped.
    """
    give_back = _madvise()
    for start, stop in _read_only() if give_back is not None else ():
        give_back(start, stop - start, mmap.MADV_DONTNEED)


def _read_only() -> Iterator[tuple[int, int]]:
    """(first address, behind the last) of each such mapping."""
    with suppress(OSError):
        for line in _MAPS.read_text("utf-8", "surrogateescape").splitlines():
            place, kind, _, _, inode, *_ = line.split(None, 5)
            if kind == "r--s" and inode != "0":
                start, _, stop = place.partition("-")
                yield int(start, 16), int(stop, 16)


@functools.cache
def _madvise() -> Any:
    """The C library's madvise; None where there is none."""
    import ctypes

    try:
        made = ctypes.CDLL(None).madvise
    except (AttributeError, OSError, TypeError):
        return None
    made.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return made
