"""The entries of a LevelDB by ranges of keys, with every block that a range touches checked before LevelDB may read it."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from datascrub.errors import SourceError
from datascrub.keys import text_of
from datascrub.model import Part
from datascrub.readers.leveldb_format.lock import holder
from datascrub.readers.leveldb_format.manifest import LEVELS, TableFile, settled
from datascrub.readers.leveldb_format.numbers import FormatError, user_key
from datascrub.readers.leveldb_format.shadow import Shadow, plyvel
from datascrub.readers.leveldb_format.state import Loss, State, interval, look, named
from datascrub.readers.leveldb_format.tables import Block, Table

_OPEN_TABLES = 64
"""their indices are held in memory; neighbouring ranges ask for the same tables"""


class Store:
    """A LevelDB, open through shadows. Ranges of keys have both ends in them; the end None is behind every key."""

    def __init__(self, source: Path, tmp: Path | None) -> None:
        plyvel()
        self.source, self._tmp = source, tmp
        process = holder(source)
        if process is not None:
            raise SourceError(f"{source} is open in another process ({process})", fix="wait until it is done, or stop it; or scan a copy")
        self.state: State = look(source)
        self._levels = _by_level(self.state.tables.values())
        self._tables: dict[int, Table] = {}
        self._sound: dict[int, bytearray] = {}
        self._faults: dict[tuple[int, int], Part] = {}
        self.omitted: dict[int, frozenset[int]] = {}
        self._shadow: Shadow | None = None
        self._newer: dict[frozenset[int], Shadow] = {}

    def close(self) -> None:
        for table in self._tables.values():
            table.close()
        self._tables = {}
        self._close_shadows()

    def _close_shadows(self) -> None:
        for shadow in (self._shadow, *self._newer.values()):
            if shadow is not None:
                shadow.close()
        self._shadow, self._newer = None, {}

    def ranges(self) -> list[tuple[bytes, bytes | None]]:
        """Ranges of keys that end where tables end, in order, from the first possible key to the last."""
        ends = sorted({table.last for table in self.state.tables.values()})
        starts = [b"", *(end + b"\0" for end in ends)]
        return list(zip(starts, [*ends, None], strict=True))

    def _reach(self, first: bytes, last: bytes | None, is_bad: Callable[[TableFile, int], bool]) -> Iterator[tuple[TableFile, int]]:
        """The bad ones of the blocks that LevelDB loads to walk a range.

        In each level, and in each table of level 0, that is every block of the range and then the first sound one behind it: an iterator reads ahead.
        """
        for level, tables in enumerate(self._levels):
            at = bisect.bisect_left(tables, first, key=lambda table: table.last) if level else 0
            for table in tables[at:]:
                if table.last < first:
                    continue
                is_behind = False
                blocks = self.blocks(table)
                for number in range(bisect.bisect_left(blocks, first, key=_separator), len(blocks)):
                    begins = _separator(blocks[number - 1]) if number else table.first
                    if is_bad(table, number):
                        yield table, number
                    elif last is not None and (begins > last or (number > 0 and begins == last)):
                        is_behind = True
                        break
                if is_behind and level:
                    break

    def blocks(self, table: TableFile) -> list[Block]:
        return self._open(table).blocks

    def check(self, first: bytes, last: bytes | None) -> list[Part]:
        """All that is wrong with the blocks that a walk through a range touches; each is checked once, and left out from then on where damaged."""
        parts: list[Part] = []
        found: dict[int, set[int]] = {}
        for table, number in self._reach(first, last, self._is_bad):
            found.setdefault(table.number, set()).add(number)
            parts.append(self._faults[table.number, number])
        self.omit(found)
        return parts

    def _is_bad(self, table: TableFile, number: int) -> bool:
        if (table.number, number) in self._faults:
            return True
        sound = self._sound.setdefault(table.number, bytearray(len(self.blocks(table))))
        if not sound[number]:
            fault = self._open(table).fault(number)
            if fault is not None:
                self._faults[table.number, number] = self._part(table, number, fault.code, fault.says)
                return True
            sound[number] = 1
        return False

    def _open(self, table: TableFile) -> Table:
        """The table, open for looking at its blocks; the one opened first is closed where many are."""
        if table.number not in self._tables:
            if len(self._tables) >= _OPEN_TABLES:
                self._tables.pop(next(iter(self._tables))).close()
            try:
                self._tables[table.number] = Table(self.state.paths[table.number], table.size)
            except (FormatError, OSError) as error:
                name = self.state.paths[table.number].name
                raise SourceError(f"{name} changed while it was read", fix="stop what writes to the database, and scan again") from error
        return self._tables[table.number]

    def _part(self, table: TableFile, number: int, code: str, says: str) -> Part:
        name, block = self.state.paths[table.number].name, self.blocks(table)[number]
        lost = self._loss(table, number)
        if lost is None:
            return Part(code, f"{name}@{block.offset}", f"{name}: {says}; it held older values of one key", {}, name, block.offset, block.size, 0)
        # Behind the block before it the key of the separator itself stands, which reads better than the least key behind that.
        low = user_key(self.blocks(table)[number - 1].separator) if number else lost.first
        word = "after" if number else "first"
        says = f"{name}: {says}; its records {'behind' if number else 'from'} the key {named(low)} up to {named(lost.last)} are lost"
        evidence = {word: text_of(low), "last": text_of(lost.last)}
        return Part(code, interval(low, lost.last), says, evidence, name, block.offset, block.size, None)

    def _loss(self, table: TableFile, number: int) -> Loss | None:
        """The keys that a block may hold, as far as the index tells; None where they all stand in the block before it too."""
        blocks = self.blocks(table)
        last = min(user_key(blocks[number].separator), table.last)
        first = user_key(blocks[number - 1].separator) + b"\0" if number else table.first
        return Loss(first, last, table) if first <= last else None

    def omit(self, blocks: Mapping[int, Iterable[int]]) -> None:
        """Leave these blocks out from now on."""
        before = dict(self.omitted)
        for number, its in blocks.items():
            self.omitted[number] = self.omitted.get(number, frozenset()) | frozenset(its)
        if self.omitted != before:
            self._close_shadows()

    def omitted_in(self, first: bytes, last: bytes | None) -> dict[int, list[int]]:
        """The blocks left out that a walk through a range would touch, by table number."""
        found: dict[int, list[int]] = {}
        if self.omitted:
            for table, number in self._reach(first, last, lambda table, number: number in self.omitted.get(table.number, ())):
                found.setdefault(table.number, []).append(number)
        return found

    def losses(self, first: bytes, last: bytes | None) -> list[Loss]:
        """The intervals of keys within a range of which entries are lost."""
        lost = [loss for loss in self.state.losses if loss.last >= first and (last is None or loss.first <= last)]
        for number, blocks in self.omitted_in(first, last).items():
            lost += [loss for block in blocks if (loss := self._loss(self.state.tables[number], block)) is not None]
        return lost

    @property
    def shadow(self) -> Shadow:
        if self._shadow is None:
            self._shadow = Shadow(self.state, self.state.tables.values(), self.omitted, self._tmp)
        return self._shadow

    def walk(self, first: bytes, last: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """(key, value) of a range in order. Raises plyvel.Error or OSError where the bytes changed since they were checked."""
        with self.shadow.db.iterator(
            start=first or None, stop=last, include_stop=last is not None, verify_checksums=True, fill_cache=False
        ) as iterator:
            yield from iterator

    def get(self, key: bytes) -> bytes | None:
        return _get(self.shadow, key)

    def is_uncertain(self, key: bytes, losses: Iterable[Loss]) -> Loss | None:
        """The loss in which a newer value of a key that was read may have stood; None where the value is sure to be the newest.

        A value is sure where it is found without looking at the tables that are as old as the damaged one or older.
        """
        covering = [loss for loss in losses if loss.holds(key)]
        if not covering:
            return None
        if not self.state.is_certain:
            return covering[0]
        newer = frozenset(number for number, table in self.state.tables.items() if all(table.is_newer_than(loss.table) for loss in covering))
        if newer not in self._newer:
            self._newer[newer] = Shadow(self.state, [self.state.tables[number] for number in sorted(newer)], self.omitted, self._tmp)
        return covering[0] if _get(self._newer[newer], key) is None else None


def _by_level(tables: Iterable[TableFile]) -> list[list[TableFile]]:
    """The tables by the level on which they settle: sorted and overlapping nowhere on all but level 0."""
    levels: list[list[TableFile]] = [[] for _ in range(LEVELS)]
    for table in settled(tables):
        levels[table.level].append(table)
    return levels


def _separator(block: Block) -> bytes:
    return user_key(block.separator)


def _get(shadow: Shadow, key: bytes) -> bytes | None:
    """The newest value of a key, through an iterator: LevelDB's own get trusts the order of levels, and a shadow moves tables."""
    iterator: Any = shadow.db.iterator(start=key, stop=key, include_stop=True, verify_checksums=True, fill_cache=False)
    with iterator:
        for _, value in iterator:
            found: bytes = value
            return found
    return None
