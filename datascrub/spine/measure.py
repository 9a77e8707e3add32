"""One shard: read, measure, write its facts. Runs in a worker process; only counts come back."""

from __future__ import annotations

import functools
import logging
import re
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from datascrub.errors import told
from datascrub.model import RECORD, Batch, Column, Part, Problem, Role, Shard
from datascrub.plan import Plan
from datascrub.readers import Reader
from datascrub.readers.stamps import Stamps
from datascrub.registry import load, reader_named, validators
from datascrub.rules.rows import RowJudge
from datascrub.run.facts import Earlier, FactsTable, Schema, Unchanged
from datascrub.run.folder import RunFolder
from datascrub.run.plan_file import Choice
from datascrub.spine.note import Note, read_note
from datascrub.validators.base import Validator

UNREADABLE = "record-unreadable"
"""the one problem that is not the data's: its bytes could not be had"""
UNKNOWN_END = 1 << 62
OPENING_S = 600.0
"""what a worker may take before it has its first sample in hand"""
SPAN = 1 << 20
"""rows taken at once of a shard whose end is unknown, where it can't be read in one go"""


@dataclass(frozen=True)
class ShardTask:
    """A shard to measure, and how carefully.

    careful: rows from start to stop are taken one by one, since a worker died among them. condemned: row -> how it killed; such a row is named
    and not touched. suspect: the row that the last death was blamed on. deaths: how often it was begun in vain. stop_at, given_up: the row from
    which on nothing is read any more, since every way to it ended the worker, and how. since: an earlier run, whose facts of unchanged samples are
    taken over.
    """

    run: str
    shard: Shard
    batch_size: int = 1024
    careful: tuple[int, int] | None = None
    condemned: Mapping[int, str] = field(default_factory=dict)
    suspect: int = -1
    deaths: int = 0
    stop_at: int | None = None
    given_up: str = ""
    rows: frozenset[int] | None = None
    tmp: str | None = None
    sample_s: float = 60.0
    since: str | None = None

    def is_stuck(self, began: float) -> bool:
        """Whether what is in hand has been in hand for longer than its samples may take; or opening the source, since `began`, for far too long."""
        hand = read_note(RunFolder(Path(self.run)).note_file(self.shard.number))
        if hand is None:
            return time.monotonic() - began > self.sample_s + OPENING_S
        # A batch may take the limit of one sample, and a second more for each of its samples.
        return time.monotonic() - hand.since > self.sample_s + (hand.stop - hand.start if not hand.careful else 0)


@dataclass
class ShardAccount:
    """What became of a shard: rows read, by verdict; the parts met. expected: rows that the listing promised, None where it could not know.

    taken: rows whose facts come from an earlier run; errors are not counted among them.
    """

    shard: int
    expected: int | None = None
    records: int = 0
    errors: int = 0
    unreadable: int = 0
    size_bytes: int = 0
    taken: int = 0
    parts: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def schema_of(plan: Plan) -> Schema:
    """The measurements of each field, in the order of the plan."""
    return {
        each.name: {name: what for kind in validators() if kind().applies(each) for name, what in kind.measures.items()}
        for each in (RECORD, *plan.fields)
        if each.role is not Role.IGNORE and any(kind().applies(each) for kind in validators())
    }


def measuring(plan: Plan, backend: str, network: Mapping[str, Any] | None = None) -> dict[str, list[Validator]]:
    """The validators of each field, with the parameters that measuring needs. network: those of the dummy network (RunPlan.network)."""
    made = [_made(kind, {"backend": backend, **(network or {})}, plan) for kind in validators()]
    return {each.name: [v for v in made if v.applies(each)] for each in (RECORD, *plan.fields) if each.role is not Role.IGNORE}


def _made(kind: type[Validator], network: Mapping[str, Any], plan: Plan) -> Validator:
    if "exact_statistics" in kind.__dataclass_fields__:
        return kind(exact_statistics=plan.data.exact_statistics)  # type: ignore[call-arg]  # the field that was just looked up
    return kind(**{name: value for name, value in network.items() if name in kind.__dataclass_fields__ and "backend" in kind.__dataclass_fields__})


class _Station:
    """What a worker keeps from shard to shard: plan, reader, validators, compiled conditions."""

    def __init__(self, run: str, tmp: str | None) -> None:
        run_plan = RunFolder(Path(run)).plan()
        load(run_plan.load)
        self.plan = run_plan.plan
        kind = reader_named(self.plan.container)
        self.reader: Reader = kind(Path(self.plan.source), limits=self.plan.limits, tmp=Path(tmp) if tmp else None)
        self.validators = measuring(self.plan, run_plan.backend, run_plan.network)
        self.schema = schema_of(self.plan)
        declared = self.plan.declared()
        self.judges = {
            name: RowJudge(
                [rule for v in its for rule in v.rules() if rule.severity == "error"],
                frozenset(m for v in its for m in v.measures),
                {**declared, **{k: p for v in its for k, p in v.parameters().items() if p is not None}},
            )
            for name, its in self.validators.items()
        }
        self.backend, self.device = run_plan.backend, run_plan.network.get("device", "auto")
        self.by_content = run_plan.choice.by_content
        self.said = _Said()
        logging.getLogger("datascrub").addHandler(self.said)

    def is_stamped(self, task: ShardTask) -> bool:
        """Whether to ask the reader for stamps: not after a death, which may have happened on the way; where batches bring them, only to look up."""
        return task.deaths == 0 and (task.since is not None or not self.reader.stamps_in_batches or self.by_content)

    def notes(self) -> list[str]:
        """What had to be done another way since the last call."""
        notes = sorted(self.said.take())
        if self.backend == "torch" and self.device == "auto" and _device() == "cpu":
            notes.append("the dummy network was computed on the CPU: torch found no GPU that it could use")
        return notes


class _Said(logging.Handler):
    """Keeps each warning of this process once, without its numbers, for the summary."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._texts = set[str]()

    def emit(self, record: logging.LogRecord) -> None:
        self._texts.add(re.sub(r"\s*%[ds]\b", "", str(record.msg)))

    def take(self) -> set[str]:
        taken, self._texts = self._texts, set()
        return taken


def _device() -> str:
    from datascrub.network.torch import device

    return device()


@functools.lru_cache(maxsize=2)
def _station(run: str, stamp: int, tmp: str | None) -> _Station:
    """The station of a run, once in each worker. stamp: changes when the plan is written anew."""
    return _Station(run, tmp)


@functools.lru_cache(maxsize=1)
def _earlier(run: str, stamp: int) -> Earlier | None:
    """The facts of an earlier run, once in each worker. stamp: changes when they are written anew."""
    return Earlier.of(RunFolder(Path(run)))


def _unchanged(station: _Station, task: ShardTask, stamps: Stamps | None) -> Unchanged | None:
    """What need not be measured of a shard; None where all must be."""
    if task.since is None or stamps is None or task.rows is not None:
        return None
    earlier = _earlier(task.since, RunFolder(Path(task.since)).plan_file.stat().st_mtime_ns)
    if earlier is None or task.shard.where.get("file") in earlier.with_parts:
        return None
    if stamps.whole is not None:
        found = earlier.find_whole(stamps.whole)
        return None if found is None or task.shard.count not in (None, found.count) else found
    return earlier.find(stamps.keys, stamps.stamps, len(stamps.keys)) if task.shard.count == len(stamps.keys) else None


class _Measurer:
    """Measures batches into a table, and keeps the account."""

    def __init__(self, station: _Station, task: ShardTask) -> None:
        self.validators, self.judges = station.validators, station.judges
        self.table = FactsTable.empty(station.schema)
        self.account = ShardAccount(task.shard.number, task.shard.count if task.rows is None else len(task.rows))
        self.stamps = Stamps()

    def take(self, unchanged: Unchanged) -> None:
        """Count what is taken over."""
        self.account.taken = len(unchanged.rows)
        self.account.records += self.account.taken
        self.account.size_bytes += unchanged.size_bytes

    def add(self, batch: Batch) -> None:
        count = len(batch)
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
    station = _station(task.run, folder.plan_file.stat().st_mtime_ns, task.tmp)
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
    for piece in _pieces(station.plan, station.reader, task, note):
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


def _pieces(plan: Plan, reader: Reader, task: ShardTask, note: Note) -> Iterator[Batch | Part]:
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


def chosen_rows(choice: Choice, shard: Shard, total: int | None) -> frozenset[int] | None:
    """The rows of a shard that a partial scan measures: seeded, spread over the source, the same in every run; None for all."""
    if choice.is_everything or shard.count is None:
        return None
    if choice.limit is not None and total and shard.first is not None:
        picked = np.sort(np.random.default_rng(choice.seed).choice(total, min(choice.limit, total), replace=False))
        inside = picked[(picked >= shard.first) & (picked < shard.first + shard.count)] - shard.first
        return frozenset(inside.tolist())
    share = choice.share if choice.share is not None else min(1.0, (choice.limit or 0) / max(total or 1, 1))
    lots = np.random.default_rng([choice.seed, shard.number]).random(shard.count)
    return frozenset(np.flatnonzero(lots < share).tolist())
