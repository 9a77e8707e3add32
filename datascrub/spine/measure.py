"""A shard measured: its batches become facts, its account is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from datascrub.errors import told
from datascrub.model import Batch, Column, Part, Problem
from datascrub.readers.stamps import Stamps
from datascrub.run.facts import FactsTable, Unchanged
from datascrub.run.folder import RunFolder
from datascrub.spine.beside import lend_masks
from datascrub.spine.note import Note
from datascrub.spine.spans import pieces
from datascrub.spine.station import Station, earlier_of, station_of
from datascrub.spine.task import ShardAccount, ShardTask
from datascrub.validators.base import Validator

UNREADABLE = "record-unreadable"
"""the one problem that is not the data's: its bytes could not be had"""


def _unchanged(station: Station, task: ShardTask, stamps: Stamps | None) -> Unchanged | None:
    """What need not be measured of a shard; None where all must be."""
    if task.since is None or stamps is None or task.rows is not None:
        return None
    earlier = earlier_of(task.since, RunFolder(Path(task.since)).plan_file.stat().st_mtime_ns)
    if earlier is None or task.shard.where.get("file") in earlier.with_parts:
        return None
    if stamps.whole is not None:
        found = earlier.find_whole(stamps.whole)
        return None if found is None or task.shard.count not in (None, found.count) else found
    return earlier.find(stamps.keys, stamps.stamps, len(stamps.keys)) if task.shard.count == len(stamps.keys) else None


class _Measurer:
    """Measures batches into a table, and keeps the account."""

    def __init__(self, station: Station, task: ShardTask) -> None:
        self.validators, self.judges = station.validators, station.judges
        self.table = FactsTable.empty(station.schema)
        is_all = task.rows is None
        expected, first = (task.shard.count, task.shard.first) if is_all else (len(task.rows or ()), None)
        self.account = ShardAccount(task.shard.number, expected, first)
        self.stamps = Stamps()

    def take(self, unchanged: Unchanged) -> None:
        """Count what is taken over."""
        self.account.taken = len(unchanged.rows)
        self.account.records += self.account.taken
        self.account.size_bytes += unchanged.size_bytes

    def add(self, batch: Batch) -> None:
        count = len(batch)
        lend_masks(batch.columns)
        measured: dict[str, dict[str, np.ndarray]] = {}
        wrong = np.zeros(count, bool)
        for name in (*batch.columns, "record"):  # the record last: what a validator fails on is its problem
            column = batch.columns[name] if name in batch.columns else batch.record_column()
            its = self.validators.get(name, [])
            rows: dict[str, np.ndarray] = {}
            for validator in its:
                rows |= _measure(validator, column, batch.problems)
            if batch.problems and name != "record":
                _unmeasure(rows, [at for at in batch.problems if not column.is_dense and column.values[at] is None])
            measured[name] = rows
            for bound in self.judges[name].bound if its else ():
                wrong |= bound.condition.numpy(rows)
        self.table.add(_place(batch, self.account.shard, self.stamps), measured, count)
        self.account.records += count
        self.account.errors += int(wrong.sum())
        self.account.unreadable += sum(problem.code == UNREADABLE for problem in batch.problems.values())
        self.account.size_bytes += int(batch.sizes.sum())


def _measure(validator: Validator, column: Column, problems: dict[int, Problem]) -> Mapping[str, np.ndarray]:
    """What a validator measures; where it raises, one sample at a time, and the problem of each sample that it raises on."""
    try:
        return validator.measure(column)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  foreign bytes met a decoder; it ends as a problem of the sample, below
        made = validator.blank(len(column))
        for row in range(len(column)):
            try:
                one = validator.measure(_one(column, row))
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001  likewise
                problems.setdefault(row, Problem("sample-not-checked", f"{validator.name()} failed on it: {told(error)}"))
            else:
                for name, values in one.items():
                    made[name][row] = values[0]
        return made


def _one(column: Column, row: int) -> Column:
    declared = {name: values[row : row + 1] for name, values in column.declared.items()}
    return Column(column.field, column.values[row : row + 1], declared, column.limits)


def _unmeasure(rows: dict[str, np.ndarray], positions: list[int]) -> None:
    """Make NULL what was "measured" of values that a record with a problem could not give: the problem is said once, not by each field."""
    for name, column in rows.items() if positions else ():
        if column.dtype == object:
            column[positions] = None
        else:
            masked = np.ma.asarray(column)
            masked[positions] = np.ma.masked
            rows[name] = masked


def _place(batch: Batch, shard: int, stamps: Stamps) -> dict[str, np.ndarray]:
    count = len(batch)
    offsets = batch.offsets if batch.offsets is not None else [None] * count
    known = np.array([offset is not None for offset in offsets], bool)
    return {
        "shard": np.full(count, shard, np.int32),
        "row": np.asarray(batch.rows, np.int64),
        "key": np.array(batch.keys, object),
        "file": np.array(batch.files if batch.files is not None else [None] * count, object),
        "offset": np.ma.MaskedArray(np.array([offset or 0 for offset in offsets], np.int64), ~known),
        "stamp": np.array(_stamps_of(batch, stamps), object),
    }


def _stamps_of(batch: Batch, stamps: Stamps) -> Sequence[str | None]:
    if batch.stamps is not None:
        return batch.stamps
    if stamps.whole is not None:
        return [stamps.whole] * len(batch)
    return [stamps.stamps[row] for row in batch.rows.tolist()] if stamps.stamps else [None] * len(batch)


def measure_shard(task: ShardTask) -> ShardAccount:
    """Measure one shard and put its facts in place."""
    folder = RunFolder(Path(task.run))
    station = station_of(task.run, folder.plan_file.stat().st_mtime_ns, task.tmp)
    measurer = _Measurer(station, task)
    stamps = station.reader.stamps(station.plan, task.shard, by_content=station.by_content) if station.is_stamped(task) else None
    unchanged = _unchanged(station, task, stamps)
    if stamps is not None:
        measurer.stamps = stamps
    if unchanged is not None:
        measurer.take(unchanged)
        task = replace(task, rows=frozenset(range(unchanged.count)) - unchanged.rows)
    with folder.writing():
        note = Note(folder.note_file(task.shard.number), task.suspect)
    for piece in pieces(station.plan, station.reader, task, note):
        if isinstance(piece, Part):
            measurer.account.parts.append(asdict(piece))
            continue
        for row, cause in task.condemned.items():
            found = np.flatnonzero(piece.rows == row)
            if len(found):
                piece.problems[int(found[0])] = _condemned(cause)
        measurer.add(piece)
    measurer.account.notes = station.notes()
    with folder.writing():
        measurer.table.write(folder.shard_file(task.shard.number), asdict(measurer.account), unchanged)
        note.done()
    return measurer.account


def _condemned(cause: str) -> Problem:
    if cause == "timeout":
        return Problem("sample-times-out", "took longer than the limit of one sample")
    if cause.startswith("raised OSError"):
        return Problem(UNREADABLE, f"it can't be read: {cause.removeprefix('raised OSError').lstrip(': ') or 'I/O error'}")
    if cause.startswith("raised "):
        return Problem("sample-not-checked", f"reading it failed: {cause.removeprefix('raised ')}")
    return Problem("sample-kills-decoder", f"killed the process that worked on it ({cause})")
