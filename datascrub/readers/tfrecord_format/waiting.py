"""What was read of a file, until it makes a batch."""

from __future__ import annotations

import numpy as np

from datascrub.model import Problem
from datascrub.readers.tfrecord_format.framing import Frame, Run
from datascrub.readers.tfrecord_format.places import mismatch

_BATCH_BYTES = 32 << 20


class Waiting:
    """Samples of one file, read and not yet decoded. key: of the file; first: number of the shard's first record in it; size: bytes held."""

    def __init__(self, key: str, first: int) -> None:
        self.key, self.first = key, first
        self.clear()

    def clear(self) -> None:
        self.size = 0
        self.rows: list[int] = []
        self.values: list[bytes | None] = []
        self.sizes: list[int] = []
        self.offsets: list[int] = []
        self.problems: dict[int, Problem] = {}

    def is_full(self, batch_size: int) -> bool:
        return len(self.rows) >= batch_size or self.size >= _BATCH_BYTES

    def add(self, row: int, frame: Frame, value: bytes | None, problem: Problem | None) -> None:
        if problem is not None:
            self.problems[len(self.rows)] = problem
        self.rows.append(row)
        self.values.append(value)
        self.sizes.append(frame.length)
        self.offsets.append(frame.start)
        self.size += 0 if value is None else len(value)

    def add_run(self, row: int, run: Run, places: slice) -> None:
        """Take some records of a run, of which the first is the sample `row`."""
        values, fits = run.payloads(places)
        before = len(self.rows)
        self.rows += range(row, row + len(values))
        self.values += values
        self.sizes += map(len, values)
        self.offsets += [run.base + start for start in run.starts[places]]
        self.size += sum(self.sizes[before:])
        for at in np.flatnonzero(~fits).tolist():
            self.values[before + at] = None
            self.problems[before + at] = mismatch(self.offsets[before + at], self.sizes[before + at])
