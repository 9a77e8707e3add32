"""The rows of a shard in the order in which they are read, each noted before it is touched; one by one where a worker died."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from datascrub.model import Batch, Part
from datascrub.plan import Plan
from datascrub.readers import Reader
from datascrub.spine.note import Note
from datascrub.spine.task import ShardTask

UNKNOWN_END = 1 << 62
SPAN = 1 << 20
"""rows taken at once of a shard whose end is unknown, where it can't be read in one go"""


def pieces(plan: Plan, reader: Reader, task: ShardTask, note: Note) -> Iterator[Batch | Part]:
    """The batches and parts of a shard; the rows that are in hand next are noted before they are read. A part that two spans pass is told once."""
    met: set[tuple[Any, ...]] = set()
    for start, stop, careful in _spans(task):
        is_empty = True
        for piece in _span(plan, reader, task, note, start, stop, careful):
            if isinstance(piece, Batch):
                is_empty = False
                yield piece
            elif (place := (piece.code, piece.key, piece.file, piece.offset, piece.says)) not in met:
                met.add(place)
                yield piece
        if is_empty and task.shard.count is None and stop - start == SPAN:
            break
    if task.stop_at is not None:
        left = None if task.shard.count is None else task.shard.count - task.stop_at
        says = f"reading on from sample {task.stop_at} of shard {task.shard.number} failed each time ({task.given_up.removeprefix('raised ')})"
        yield Part("part-kills-reader", f"shard {task.shard.number}", says, lost_bytes=None, lost_records=left)


def _spans(task: ShardTask) -> Iterator[tuple[int, int, bool]]:
    """(first row, behind the last, one by one?) in order; the whole shard at once where nothing happened yet."""
    end = task.shard.count if task.shard.count is not None else UNKNOWN_END
    end = end if task.stop_at is None else min(end, task.stop_at)
    if task.careful is None:
        yield 0, end, False  # also where there is no row: a shard may hold parts alone
        return
    else:
        start, stop = (min(row, end) for row in task.careful)
        spans = [(0, start, False), (start, stop, True), (stop, end, False)]
    for start, stop, careful in spans:
        if stop == UNKNOWN_END and start > 0:
            yield from ((first, first + SPAN, careful) for first in range(start, stop, SPAN))
        elif start < stop:
            yield start, stop, careful


def _span(plan: Plan, reader: Reader, task: ShardTask, note: Note, start: int, stop: int, careful: bool) -> Iterator[Batch | Part]:
    rows, order = _rows_of(task, start, stop)
    if rows is not None and not rows:
        return
    size = 1 if careful else task.batch_size
    ahead = _ahead(order, start)
    note.take(ahead, min(stop, ahead + size), careful)
    for piece in reader.read(plan, task.shard, batch_size=size, rows=rows, untouched=frozenset(task.condemned)):
        if isinstance(piece, Part):
            yield piece
            continue
        first, last = int(piece.rows[0]), int(piece.rows[-1]) + 1
        note.take(first, last, careful)
        yield _limited(piece, plan)
        ahead = _ahead(order, last)
        note.take(ahead, max(ahead + 1, min(stop, ahead + size)), careful)


def _rows_of(task: ShardTask, start: int, stop: int) -> tuple[frozenset[int] | None, Sequence[int]]:
    """The rows of a span to ask the reader for, None for all of the shard; and the same in order."""
    if start == 0 and stop >= (UNKNOWN_END if task.shard.count is None else task.shard.count):
        return task.rows, sorted(task.rows or ())
    order: Sequence[int] = range(start, stop) if task.rows is None else sorted(row for row in task.rows if start <= row < stop)
    return frozenset(order), order


def _ahead(order: Sequence[int], row: int) -> int:
    """The next row that will be read, from this one on."""
    place = bisect_left(order, row)
    return order[place] if place < len(order) else row


def _limited(batch: Batch, plan: Plan) -> Batch:
    for column in batch.columns.values():
        column.limits = plan.limits
    return batch
