"""The MANIFEST: which tables are alive, on which level, and which keys they span."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from datascrub.readers.leveldb_format.log import Gap, walk, written
from datascrub.readers.leveldb_format.numbers import NEWEST, FormatError, as_prefixed, as_varint, prefixed, user_key, varint

BYTEWISE = b"leveldb.BytewiseComparator"
LEVELS = 7
_COMPARATOR, _LOG, _NEXT_FILE, _LAST_SEQUENCE, _COMPACT, _DELETED, _NEW, _PREVIOUS_LOG = 1, 2, 3, 4, 5, 6, 7, 9


@dataclass(frozen=True)
class TableFile:
    """A table as the MANIFEST knows it. smallest, largest: internal keys."""

    level: int
    number: int
    size: int
    smallest: bytes
    largest: bytes

    @property
    def first(self) -> bytes:
        return user_key(self.smallest)

    @property
    def last(self) -> bytes:
        return user_key(self.largest)

    def overlaps(self, other: TableFile) -> bool:
        return self.first <= other.last and other.first <= self.last

    def is_newer_than(self, other: TableFile) -> bool:
        """Whether its entries are newer than those of the other for the same key: a lower level, or on level 0 the higher number."""
        return self.level < other.level or (self.level == other.level == 0 and self.number > other.number)


@dataclass
class Version:
    """The state that a MANIFEST's edits add up to."""

    comparator: bytes = BYTEWISE
    log_number: int = 0
    previous_log: int = 0
    next_file: int = 2
    tables: dict[int, TableFile] = field(default_factory=dict)


def read(data: bytes) -> Version:
    """The version of a MANIFEST. Raises FormatError where a record of it is lost: which tables are alive is then unknown."""
    version = Version()
    tags: set[int] = set()
    for item in walk(data):
        if isinstance(item, Gap):
            raise FormatError(item.says)
        _apply(version, item.data, tags)
    if not tags >= {_LOG, _NEXT_FILE, _LAST_SEQUENCE}:
        raise FormatError("the edit that names the log is missing")
    return version


def _apply(version: Version, edit: bytes, tags: set[int]) -> None:
    at = 0
    while at < len(edit):
        tag, at = varint(edit, at)
        tags.add(tag)
        if tag == _COMPARATOR:
            version.comparator, at = prefixed(edit, at)
        elif tag == _LOG:
            version.log_number, at = varint(edit, at)
        elif tag == _PREVIOUS_LOG:
            version.previous_log, at = varint(edit, at)
        elif tag == _NEXT_FILE:
            version.next_file, at = varint(edit, at)
        elif tag == _LAST_SEQUENCE:
            _, at = varint(edit, at)
        elif tag == _COMPACT:
            _, at = varint(edit, at)
            _, at = prefixed(edit, at)
        elif tag == _DELETED:
            _, at = varint(edit, at)
            number, at = varint(edit, at)
            version.tables.pop(number, None)
        elif tag == _NEW:
            at = _new_table(version, edit, at)
        else:
            raise FormatError(f"an edit of unknown kind {tag}")


def _new_table(version: Version, edit: bytes, at: int) -> int:
    level, at = varint(edit, at)
    number, at = varint(edit, at)
    size, at = varint(edit, at)
    smallest, at = prefixed(edit, at)
    largest, at = prefixed(edit, at)
    if level >= LEVELS:
        raise FormatError(f"a table on level {level}")
    user_key(smallest), user_key(largest)
    version.tables[number] = TableFile(level, number, size, smallest, largest)
    return at


def bytes_of(tables: Iterable[TableFile], *, log_number: int, next_file: int) -> bytes:
    """A MANIFEST of these tables. Every entry is visible whatever its sequence number."""
    edit = as_varint(_COMPARATOR) + as_prefixed(BYTEWISE)
    for tag, value in ((_LOG, log_number), (_PREVIOUS_LOG, 0), (_NEXT_FILE, next_file), (_LAST_SEQUENCE, NEWEST)):
        edit += as_varint(tag) + as_varint(value)
    for each in tables:
        edit += as_varint(_NEW) + as_varint(each.level) + as_varint(each.number) + as_varint(each.size)
        edit += as_prefixed(each.smallest) + as_prefixed(each.largest)
    return b"".join(written([edit]))


def age_order(tables: Iterable[TableFile]) -> list[TableFile]:
    """The oldest first: the deepest level, then the lower number."""
    return sorted(tables, key=lambda each: (-each.level, each.number))


def settled(tables: Iterable[TableFile]) -> list[TableFile]:
    """The same tables, each on the deepest level where it still lies over all older ones that it overlaps.

    LevelDB then finds nothing to compact when it opens them: level 6 has no limit, and the tables of a data set seldom overlap.
    """
    levels: list[list[TableFile]] = [[] for _ in range(LEVELS)]
    for each in age_order(tables):
        level = LEVELS - 1
        while level and any(_touches(levels[upper], each) for upper in range(1, level + 1)):
            level -= 1
        if level == 0 or not any(each.overlaps(other) for other in levels[0]):
            bisect.insort(levels[level], replace(each, level=level), key=_first)
        else:
            levels[0].append(replace(each, level=0))
    return [each for level in levels for each in level]


def _first(table: TableFile) -> bytes:
    return table.first


def _touches(level: list[TableFile], table: TableFile) -> bool:
    """Whether a table overlaps one of a level, whose tables are sorted and overlap nowhere."""
    place = bisect.bisect_right(level, table.last, key=_first)
    return place > 0 and level[place - 1].last >= table.first
