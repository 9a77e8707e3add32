"""Where a file of records is cut into shards."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from datascrub.readers.tfrecord_format.framing import RECORD, Frame, Run
from datascrub.readers.tfrecord_format.places import is_sample

SHARD_RECORDS, SHARD_BYTES = 16_384, 32 << 20


class Cutter:
    """Cuts a file into shards at records. start: byte where the shard at hand begins; first: number of its first record; count: samples in it so far.

    stop: byte behind the last place; reach: the farthest that any place reached. A shard never begins inside the length of a record that was cut and
    written over: who walks from that record to there would leap over the records between.
    """

    def __init__(self) -> None:
        self.start = self.first = self.count = self.stop = self.reach = 0

    def add(self, frame: Frame) -> Iterator[tuple[int, int, int, int]]:
        """Take one place; where a shard ends before it, (start, stop, number of its first record, samples)."""
        is_border = frame.kind == RECORD and frame.start >= self.reach
        if self.count and is_border and (self.count >= SHARD_RECORDS or frame.stop - self.start > SHARD_BYTES):
            yield self._cut(frame.start)
        self.count += is_sample(frame)
        self.stop, self.reach = frame.stop, max(self.reach, frame.stop)

    def add_run(self, run: Run) -> Iterator[tuple[int, int, int, int]]:
        """Take a run of records that begins at or behind `reach`: the same shards, found without a look at each record."""
        at = 0
        while True:
            full = at + max(0, SHARD_RECORDS - self.count)
            large = bisect_right(run.stops, self.start + SHARD_BYTES - run.base, at)
            border = max(min(full, large), at if self.count else at + 1)
            self.count += min(border, len(run.starts)) - at
            if border >= len(run.starts):
                break
            yield self._cut(run.base + run.starts[border])
            at = border
        self.stop = self.reach = run.stop

    def rest(self) -> Iterator[tuple[int, int, int, int]]:
        """The last shard."""
        if self.count or self.stop > self.start:
            yield self._cut(self.stop)

    def _cut(self, stop: int) -> tuple[int, int, int, int]:
        made = self.start, stop, self.first, self.count
        self.start, self.first, self.count = stop, self.first + self.count, 0
        return made
