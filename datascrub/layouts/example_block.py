"""Many small Examples at once: columns from their bytes as blocks, without parsing each.

Examples of one program hold the same features in one order, so that most records of one length differ in their values alone. One of them is walked
and becomes a pattern, in which the place of every value is known; the others are compared with it outside of these places, all at once. A batch that
does not fit a few patterns is left to the parser, and gives the same columns there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from datascrub.layouts.example_boxes import is_joined
from datascrub.layouts.example_columns import bytes_value, is_wanted, list_of
from datascrub.layouts.example_message import BYTES, FLOAT, INT64, raw_name
from datascrub.layouts.example_raw import is_raw
from datascrub.model import Field, Kind

_LISTS = {0x0A: BYTES, 0x12: FLOAT, 0x1A: INT64}
_FIRST, _SECOND = 0x0A, 0x12
"""tags of the first and the second member of a message, both with a length"""
_FEWEST = 8
"""records that a pattern must stand for on average: below, walking costs as much as parsing"""
_TOO_LONG = re.compile(rb"[\x80-\xff]{10}")
"""a number of 64 bits ends with its tenth byte, seven bits in each"""
_LENGTH_BITS = 28
"""of a length in four bytes; no writer takes more here"""
_MOST_BYTES = 4096
"""length of a record from which parsing it is cheap for its size"""


@dataclass(frozen=True)
class _Value:
    """A feature in a pattern: the kind of its list, and where its values stand: one range of packed numbers, or one of each text."""

    kind: str
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Group:
    """Records of one pattern: rows (n,), their places in the batch; block (n, length) uint8; values by the raw name of the feature."""

    rows: np.ndarray
    block: np.ndarray
    values: dict[bytes, _Value]


def block_columns(values: Sequence[bytes | None], fields: Sequence[Field]) -> dict[str, np.ndarray | list[Any]] | None:
    """The values of the wanted fields by name, exactly as parsing gives them; None where they can't be had so: any odd record, or other fields."""
    wanted = [field for field in fields if is_wanted(field)]
    if len(values) < _FEWEST or any(field.kind is Kind.ENCODED or is_raw(field) or is_joined(field) for field in wanted):
        return None
    groups = _groups(values)
    if groups is None:
        return None
    made: dict[str, np.ndarray | list[Any]] = {}
    for field in wanted:
        its = [group.values.get(raw_name(field.name)) for group in groups]
        kind = list_of(field)
        if any(value is None or value.kind != kind or not value.ranges for value in its):
            return None
        column = _texts if kind == BYTES else _numbers
        found = column(field, groups, [value.ranges for value in its if value is not None], len(values))
        if found is None:
            return None
        made[field.name] = found
    return made


def _groups(values: Sequence[bytes | None]) -> list[_Group] | None:
    """The records by pattern; None where one has none, or there are too many patterns."""
    by_length: dict[int, list[int]] = {}
    for row, value in enumerate(values):
        by_length.setdefault(len(value or b""), []).append(row)
    if 0 in by_length or max(by_length) > _MOST_BYTES or len(by_length) * _FEWEST > len(values):
        return None
    groups: list[_Group] = []
    for rows in by_length.values():
        left = np.array(rows)
        block = np.frombuffer(b"".join([values[row] or b"" for row in rows]), np.uint8).reshape(len(rows), -1)
        while len(left):
            pattern = _walk(block[0].tobytes())
            if pattern is None or (len(groups) + 1) * _FEWEST > len(values):
                return None
            fits = _fits(block, pattern)
            groups.append(_Group(left[fits], block if fits.all() else block[fits], pattern))
            left, block = left[~fits], block[~fits]
    return groups


def _walk(record: bytes) -> dict[bytes, _Value] | None:
    """The features of a record by raw name; None where anything is not as serialisers write it, or a name stands twice."""
    found: dict[bytes, _Value] = {}
    try:
        at, stop = _inside(record, 0, len(record), _FIRST)
        if stop != len(record):
            return None
        while at < stop:
            entry, at = _inside(record, at, stop, _FIRST)
            key, after_key = _inside(record, entry, at, _FIRST)
            feature, end = _inside(record, after_key, at, _SECOND)
            kind = _LISTS[record[feature]]
            start, list_end = _inside(record, feature, end, record[feature])
            name = record[key:after_key]
            if end != at or list_end != end or name in found:
                return None
            found[name] = _Value(kind, _ranges(record, kind, start, end))
    except (IndexError, KeyError, ValueError):
        return None
    return found


def _ranges(record: bytes, kind: str, at: int, stop: int) -> tuple[tuple[int, int], ...]:
    made = []
    while at < stop:
        start, at = _inside(record, at, stop, _FIRST)
        made.append((start, at))
    if kind != BYTES and (len(made) > 1 or any(start == end for start, end in made)):
        raise ValueError("numbers in several pieces")
    if kind == FLOAT and any((end - start) % 4 for start, end in made):
        raise ValueError("a piece of a float")
    if kind == INT64 and any(record[end - 1] >= 0x80 or _TOO_LONG.search(record[start:end]) for start, end in made):
        raise ValueError("a number without its end, or too long")
    return tuple(made)


def _inside(record: bytes, at: int, stop: int, tag: int) -> tuple[int, int]:
    """(start, end) of what stands behind this tag and its length. Raises ValueError, IndexError where it is not there, or reaches beyond `stop`."""
    if record[at] != tag:
        raise ValueError("another tag")
    length = shift = 0
    while True:
        at += 1
        length |= (record[at] & 0x7F) << shift
        shift += 7
        if record[at] < 0x80:
            break
        if shift >= _LENGTH_BITS:
            raise ValueError("a length that no writer writes so")
    if at + 1 + length > stop:
        raise ValueError("longer than what it stands in")
    return at + 1, at + 1 + length


def _fits(block: np.ndarray, pattern: dict[bytes, _Value]) -> np.ndarray:
    """(n,) bool: which records equal the first one outside of their values, and in the lengths of their numbers."""
    fits = np.ones(len(block), bool)
    at = 0
    for value in sorted(pattern.values(), key=lambda value: value.ranges):
        for start, end in value.ranges:
            fits &= (block[:, at:start] == block[0, at:start]).all(1)
            if value.kind == INT64:
                fits &= ((block[:, start:end] ^ block[0, start:end]) < 0x80).all(1)
            at = end
    fits &= (block[:, at:] == block[0, at:]).all(1)
    return fits


def _numbers(field: Field, groups: Sequence[_Group], ranges: Sequence[tuple[tuple[int, int], ...]], count: int) -> np.ndarray | None:
    """One dense array; None where records hold unequally many numbers, or nothing is known of their type."""
    dtype = np.dtype(field.dtype)
    decode = _floats if dtype.kind == "f" else _integers
    pieces = [decode(np.ascontiguousarray(group.block[:, its[0][0] : its[0][1]])) for group, its in zip(groups, ranges, strict=True)]
    width = pieces[0].shape[1]
    if any(piece.shape[1] != width for piece in pieces):
        return None
    made = np.empty((count, width), dtype)
    for group, piece in zip(groups, pieces, strict=True):
        made[group.rows] = piece
    return made[:, 0] if field.shape == () and width == 1 else made


def _floats(held: np.ndarray) -> np.ndarray:
    """(n, values) float32 of (n, bytes)."""
    values = held.view("<f4")
    # The parser's numbers pass through float64, which makes every NaN a quiet one: the same bits, and the same hash, either way.
    return values.astype(np.float64).astype(np.float32) if np.isnan(values).any() else values


def _integers(held: np.ndarray) -> np.ndarray:
    """(n, values) int64 of (n, bytes) varints, whose ends stand at the same places in all rows."""
    ends = np.flatnonzero(held[0] < 0x80) + 1
    made = np.zeros((len(held), len(ends)), np.uint64)
    for number, (start, end) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)):
        for place in range(start, end):
            made[:, number] |= (held[:, place] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * (place - start))
    return made.view(np.int64)


def _texts(field: Field, groups: Sequence[_Group], ranges: Sequence[tuple[tuple[int, int], ...]], count: int) -> list[Any]:
    made: list[Any] = [None] * count
    for group, its in zip(groups, ranges, strict=True):
        each = [_pieces(group.block[:, start:end]) for start, end in its]
        for row, *held in zip(group.rows.tolist(), *each, strict=True):
            made[row] = bytes_value(field, held)
    return made


def _pieces(held: np.ndarray) -> list[bytes]:
    width, raw = held.shape[1], held.tobytes()
    return [raw[at : at + width] for at in range(0, len(raw), width)] if width else [b""] * len(held)
