"""The sample in hand, on disk before it is touched, so that a death can be blamed, and survived by the next run too.

The page cache keeps the note whatever kills the process; writing it costs about 0.1 µs.
"""

from __future__ import annotations

import mmap
import struct
import time
from dataclasses import dataclass
from pathlib import Path

_FORM = struct.Struct("<qqqdq")


@dataclass(frozen=True)
class InHand:
    """Rows start (first) to stop (behind the last) of the shard are in hand since a time of time.monotonic().

    careful: 1 where samples are taken one by one. suspect: the row that the death before this one was blamed on, -1 none.
    """

    start: int
    stop: int
    careful: int
    since: float
    suspect: int = -1


class Note:
    """Writes the note of one shard."""

    def __init__(self, place: Path, suspect: int = -1) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb+") as file:
            file.truncate(_FORM.size)
            self._map = mmap.mmap(file.fileno(), _FORM.size)
        self._place, self._suspect = place, suspect

    def take(self, start: int, stop: int, careful: bool) -> None:
        self._map[:] = _FORM.pack(start, stop, int(careful), time.monotonic(), self._suspect)

    def done(self) -> None:
        self._map.close()
        self._place.unlink(missing_ok=True)


def read_note(place: Path) -> InHand | None:
    """What was in hand, None where there is no note."""
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        return None
    if len(data) != _FORM.size:
        return None
    start, stop, careful, since, suspect = _FORM.unpack(data)
    return InHand(start, stop, careful, since, suspect) if stop > start else None
