"""Rows of an open file as batches: dense blocks where all is well, and exactly the rows named that can't be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

from datascrub.keys import numbered
from datascrub.model import Batch, Column, Field, Kind, Limits, Part, Problem, Role
from datascrub.readers.hdf5_format.dataset import Form, Stored
from datascrub.readers.hdf5_format.open import FAILURES, reason_of
from datascrub.readers.hdf5_format.roles import squeezed
from datascrub.readers.hdf5_format.table import Table, kind_of

_BLOCK_BYTES = 4 << 20
"""read at once: memory that is used again while it is in the cache is twice as fast as fresh memory"""
_BATCH_BYTES = 32 << 20
Values = np.ndarray | list[Any]


def batches(
    table: Table, start: int, stop: int, batch_size: int, limits: Limits, rows: frozenset[int] | None, untouched: frozenset[int]
) -> Iterator[Batch]:
    """Rows start to stop of the file in batches. rows, untouched: by place in this range."""
    row_bytes = max(1, sum(stored.row_bytes for stored in table.sampled.values()))
    size = max(1, min(batch_size, _BATCH_BYTES // row_bytes))
    block = table.whole_chunks(max(1, _BLOCK_BYTES // row_bytes))
    size = min(size, block)
    for first, last, is_touched in _runs(stop - start, rows, untouched):
        for at in range(start + first, start + last, block):
            end = min(at + block, start + last)
            columns, problems = _block(table, at, end, limits) if is_touched else _blank(table, end - at)
            for low in range(at, end, size):
                yield _batch(table, start, low, min(low + size, end), at, columns, problems, limits)


def _runs(count: int, rows: frozenset[int] | None, untouched: frozenset[int]) -> Iterator[tuple[int, int, bool]]:
    """(first, last + 1, whether their bytes are read) of the rows wanted, in order."""
    if rows is None and not untouched:
        if count:
            yield 0, count, True
        return
    wanted = np.ones(count, np.int8) if rows is None else np.zeros(count, np.int8)
    if rows is not None:
        wanted[[row for row in rows if 0 <= row < count]] = 1
    held = [row for row in untouched if 0 <= row < count and wanted[row]]
    wanted[held] = 2
    borders = [0, *(np.flatnonzero(np.diff(wanted)) + 1).tolist(), count]
    for first, last in pairwise(borders):
        if first < last and wanted[first]:
            yield first, last, bool(wanted[first] == 1)


def _blank(table: Table, count: int) -> tuple[dict[str, Values], dict[int, Problem]]:
    return {field.name: [None] * count for field in table.fields if field.role is not Role.IGNORE}, {}


def _block(table: Table, start: int, stop: int, limits: Limits) -> tuple[dict[str, Values], dict[int, Problem]]:
    """Every field's values of these rows, and what is wrong with some, by place in the block."""
    columns, problems = _blank(table, stop - start)
    for name in table.missing():
        for place in range(stop - start):
            problems.setdefault(place, Problem("record-field-missing", f"the file holds no dataset {name}, which the set has"))
    for field in table.fields:
        stored = table.columns.get(field.name)
        if stored is None or field.role is Role.IGNORE:
            continue
        values, wrong = _values(table, stored, field, start, stop, limits)
        columns[field.name] = values
        for place, problem in wrong.items():
            problems.setdefault(place, problem)
    return columns, problems


def _values(table: Table, stored: Stored, field: Field, start: int, stop: int, limits: Limits) -> tuple[Values, dict[int, Problem]]:
    is_bytes = field.kind is Kind.ENCODED and stored.form is Form.RAGGED
    if kind_of(stored) is not field.kind and not is_bytes:
        problem = Problem("record-field-kind", f"{stored.name} holds {stored.form.value} here, and not what the set holds ({field.kind.value})")
        return [None] * (stop - start), dict.fromkeys(range(stop - start), problem)
    held = min(stop, stored.length)
    values, problems = read_rows(table, stored, start, held) if start < held else ([], {})
    if held < stop:
        missing = Problem("record-field-missing", f"{stored.name} has {stored.length:,} rows, and none for this sample")
        values = list(values) + [None] * (stop - max(start, held))
        problems.update(dict.fromkeys(range(max(start, held) - start, stop - start), missing))
    if isinstance(values, np.ndarray):
        return squeezed(field, values), problems
    if stored.is_dense and field.shape == ():
        values = [None if value is None else value.reshape(()) if value.size == 1 else value for value in values]
    if is_bytes:
        values = [None if value is None else value.tobytes() for value in values]
    for place, value in enumerate(values):
        if (size := _size(value)) > limits.max_record_bytes:
            values[place] = None
            problems[place] = Problem("record-too-large", f"{size:,} bytes, over the limit of {limits.max_record_bytes:,}")
    return values, problems


def read_rows(table: Table, stored: Stored, start: int, stop: int) -> tuple[Values, dict[int, Problem]]:
    """Rows of one dataset; where some can't be read, a list with None for exactly those, and their problems by place."""
    intact = table.intact(stored)
    if intact is None or intact[start:stop].all():
        try:
            return stored.rows(start, stop), {}
        except FAILURES:
            return _by_bands(table, stored, start, stop)
    values: list[Any] = [None] * (stop - start)
    problems = {
        int(place): Problem("record-truncated", f"row {start + int(place):,} of {stored.name} stands behind the end of the file, which is truncated")
        for place in np.flatnonzero(~intact[start:stop])
    }
    borders = [start, *(np.flatnonzero(np.diff(intact[start:stop].astype(np.int8))) + 1 + start).tolist(), stop]
    for low, high in pairwise(borders):
        if intact[low]:
            found, wrong = _by_bands(table, stored, low, high)
            values[low - start : high - start] = list(found)
            problems.update({place + low - start: problem for place, problem in wrong.items()})
    return values, problems


def _by_bands(table: Table, stored: Stored, start: int, stop: int) -> tuple[list[Any], dict[int, Problem]]:
    """Chunk by chunk, so that a damaged one costs its own rows alone; values of variable length stand elsewhere and are tried one by one."""
    values: list[Any] = []
    problems: dict[int, Problem] = {}
    at = start
    while at < stop:
        end = min(stop, (at // stored.chunk_rows + 1) * stored.chunk_rows)
        try:
            values += list(stored.rows(at, end))
        except FAILURES as error:
            if stored.is_dense or end - at == 1:
                problems.update(dict.fromkeys(range(at - start, end - start), _problem(table, stored, at, error)))
                values += [None] * (end - at)
            else:
                for row in range(at, end):
                    _one(table, stored, row, start, values, problems)
        at = end
    return values, problems


def _one(table: Table, stored: Stored, row: int, start: int, values: list[Any], problems: dict[int, Problem]) -> None:
    try:
        values += list(stored.rows(row, row + 1))
    except FAILURES as error:
        values.append(None)
        problems[row - start] = _problem(table, stored, row, error)


def _problem(table: Table, stored: Stored, row: int, error: BaseException) -> Problem:
    reason = reason_of(error)
    if "errno = " in reason or isinstance(error, MemoryError):
        return Problem("record-unreadable", f"{stored.name} can't be read at this row: {reason.partition(', buf')[0]}")
    if "no appropriate function for conversion path" in reason or "filter plugin" in reason or "filter is not registered" in reason:
        return Problem("record-unsupported", f"{stored.name} can't be read here: {reason}")
    if table.opened.cut is not None:
        return Problem("record-truncated", f"row {row:,} of {stored.name} needs bytes behind the end of the file, which is truncated ({reason})")
    if stored.dataset.chunks is None:
        return Problem("record-unparsable", f"corrupt: row {row:,} of {stored.name} can't be read ({reason})")
    first = row // stored.chunk_rows * stored.chunk_rows
    place = f"the chunk of {stored.name} that holds rows {first:,} to {min(first + stored.chunk_rows, stored.length) - 1:,}"
    if stored.dataset.fletcher32:
        problem = Problem("record-checksum-mismatch", f"corrupt: the Fletcher-32 checksum of {place} does not fit")
    else:
        problem = Problem("record-unparsable", f"corrupt: {place} can't be decompressed ({reason})")
    if (stored.name, first) not in table.damage:
        table.damage[stored.name, first] = _damaged_chunk(table, stored, first, problem.detail)
    return problem


def _damaged_chunk(table: Table, stored: Stored, first: int, says: str) -> Part:
    """The place of a damaged chunk in the file, where its rows are one chunk; its samples are named beside it, one by one."""
    offset = size = None
    if stored.dataset.chunks[1:] == stored.dataset.shape[1:]:
        with suppress(*FAILURES):
            chunk = stored.dataset.id.get_chunk_info_by_coord((first, *(0 for _ in stored.dataset.shape[1:])))
            offset, size = chunk.byte_offset, chunk.size
    evidence = {"dataset": stored.name, "first_row": first, "size_bytes": size}
    return Part("part-damaged", f"{table.file.key}:{stored.name}", says, evidence, table.file.key, offset)


def _batch(
    table: Table, shard_start: int, low: int, high: int, at: int, columns: dict[str, Values], problems: dict[int, Problem], limits: Limits
) -> Batch:
    part = slice(low - at, high - at)
    count = high - low
    made: dict[str, Column] = {}
    sizes = np.zeros(count, np.int64)
    for field in table.fields:
        if field.role is Role.IGNORE:
            continue
        values = _dense(columns[field.name][part])
        made[field.name] = Column(field, values, limits=limits)
        stored = table.columns.get(field.name)
        if stored is not None:
            is_fixed = stored.is_dense or isinstance(values, np.ndarray)
            sizes += stored.row_bytes if is_fixed else np.fromiter((_size(value) for value in values), np.int64, count)
    wrong = {place - part.start: problems[place] for place in range(part.start, part.stop) if place in problems} if problems else {}
    keys = [numbered(table.file.key, row) for row in range(low, high)]
    return Batch(keys, np.arange(low - shard_start, high - shard_start), made, sizes, wrong, [table.file.key] * count, list(range(low, high)))


def _dense(values: Values) -> Values:
    """One block again, where a slice of a list of numbers lacks none."""
    if isinstance(values, list) and values and all(isinstance(value, (np.ndarray, np.generic)) for value in values):
        first = values[0]
        if all(value.shape == first.shape and value.dtype == first.dtype for value in values):
            return np.stack(values)
    return values


def _size(value: Any) -> int:
    if value is None:
        return 0
    return (
        len(value.encode("utf-8", "surrogateescape"))
        if isinstance(value, str)
        else value.nbytes
        if isinstance(value, (np.ndarray, np.generic))
        else len(value)
    )
