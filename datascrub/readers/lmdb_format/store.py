"""One LMDB, opened for reading alone: its databases, and walks over their records that no damaged page ends."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from datascrub.errors import SourceError
from datascrub.readers.lmdb_format.file import Leaf, Pages, Tree, data_file, outline_of
from datascrub.readers.lmdb_format.names import Database

NAME = -1
_MOST_NAMED = 1024
_NAMES_LOOKED_FOR = 50_000
"""records of the main database among which names are looked for; nobody mixes more records with databases"""


Entry = tuple[bytes, int, memoryview | None]
"""A record met on a walk: its key, its number among the values of the key (NAME: the key is a database's name, and no record), and its value as a
view that lives as long as the store (None: its pages are damaged). A plain tuple, because a small record is met in less than a microsecond."""


class Segment(NamedTuple):
    """Neighbouring sound leaf pages: all keys from low on, `keys` of them."""

    low: bytes
    keys: int


class Store:
    """lock=False and readonly: nothing is written in or beside the source, and a trainer may hold it open meanwhile."""

    def __init__(self, source: Path) -> None:
        import lmdb

        self._lmdb = lmdb
        self.path = data_file(source)
        try:
            self.outline = outline_of(self.path)
            self.pages = Pages(self.path, self.outline)
        except OSError as error:
            raise SourceError(f"{self.path} can't be read: {error.strerror}", fix="ask for the permission to read it, or look at the disk") from error
        named = min(self.outline.main.entries, _MOST_NAMED)
        try:
            # Read-ahead stays on: without it a cold pass over the file is ten times slower.
            self.environment = lmdb.open(
                str(source), readonly=True, lock=False, create=False, subdir=source.is_dir(), max_dbs=named + 1, readahead=True
            )
        except lmdb.Error as error:
            self.pages.close()
            raise SourceError(
                f"{self.path} can't be opened: {_plain(error)}", fix="write the data set again, or copy it again from where it came"
            ) from error
        self._handles: dict[bytes | None, Any] = {None: self.environment.open_db(None)}
        self._named = self._find_named()
        for name in self._named:
            self._handles[name] = self.environment.open_db(name, create=False)
        self._spent: list[Any] = []
        self.transaction = self.environment.begin(buffers=True)

    def close(self) -> None:
        for transaction in (*self._spent, self.transaction):
            transaction.abort()
        self.environment.close()
        self.pages.close()

    def _find_named(self) -> dict[bytes, Tree]:
        """Named databases, told by the flag of their node; their records in the main database are no samples."""
        found: dict[bytes, Tree] = {}
        seen = 0
        if self.outline.main.flags & 0x04:  # where the main database takes several values a key, no database can hang on it
            return found
        for leaf in self.pages.leaves(self.outline.main):
            if leaf.is_sound:
                found.update(self.pages.trees(leaf.page))
                seen += leaf.keys
            if seen > _NAMES_LOOKED_FOR or len(found) > _MOST_NAMED:
                break
        return {name: found[name] for name in sorted(found)[:_MOST_NAMED]}

    def databases(self) -> tuple[Database, ...]:
        """The main one, where it holds records, and the named ones in order of their names."""
        names: list[bytes | None] = [*self._named]
        if self.outline.main.entries > len(names) or not names:
            names.insert(0, None)
        return tuple(Database(name, {flag: True for flag, is_set in self._handles[name].flags(self.transaction).items() if is_set}) for name in names)

    def entries(self, database: Database) -> int:
        """Records of a database, as LMDB counts them."""
        return self.tree(database).entries - (len(self._named) if database.name is None else 0)

    def tree(self, database: Database) -> Tree:
        return self.outline.main if database.name is None else self._named[database.name]

    def is_name(self, database: Database, key: bytes) -> bool:
        """Whether a record of the main database is a database's name."""
        return database.name is None and key in self._named

    def get(self, database: Database, key: bytes, duplicate: int = 0) -> memoryview | None:
        """The value of a key; None where there is none, or its pages are damaged, or the key can't be one."""
        view: memoryview | None = None
        try:
            if duplicate == 0:
                view = self.transaction.get(key, db=self._handles[database.name])
            else:
                with self.transaction.cursor(db=self._handles[database.name]) as cursor:
                    if cursor.set_key(key) and all(cursor.next_dup() for _ in range(duplicate)):
                        view = cursor.value()
        except self._lmdb.Error:
            self._begin_anew()
        return view

    def _begin_anew(self) -> None:
        """A transaction that met a damaged page answers nothing more; views that it gave out live on with it."""
        self._spent.append(self.transaction)
        self.transaction = self.environment.begin(buffers=True)

    def segments(self, database: Database) -> Iterator[Segment | Leaf]:
        """Runs of sound pages, and the damaged ones between them, in key order."""
        low, keys = None, 0
        for leaf in self._pieces(database):
            if leaf.is_sound:
                low, keys = leaf.low if low is None else low, keys + leaf.keys
                continue
            if low is not None:
                yield Segment(low, keys)
            low, keys = None, 0
            yield leaf
        if low is not None:
            yield Segment(low, keys)

    def _pieces(self, database: Database) -> Iterator[Leaf]:
        """The leaf pages; one with a key whose many values stand on damaged pages of their own falls into its keys."""
        for leaf in self.pages.leaves(self.tree(database)):
            trees = self.pages.trees(leaf.page) if database.is_dupsort and leaf.is_sound else {}
            damaged = {key: page for key, tree in trees.items() if (page := self._damaged_page(tree)) is not None}
            if not damaged:
                yield leaf
                continue
            for key in self.pages.keys(leaf.page):
                yield Leaf(key, key + b"\0", damaged.get(key, leaf.page), 1, key not in damaged)

    def _damaged_page(self, tree: Tree) -> int | None:
        return next((leaf.page for leaf in self.pages.leaves(tree) if not leaf.is_sound), None)

    def walk(self, database: Database, low: bytes, keys: int) -> Iterator[Entry]:
        """The records of `keys` keys from `low` on. Values are not touched."""
        last, done = None, 0
        try:
            with self.transaction.cursor(db=self._handles[database.name]) as cursor:
                is_found = cursor.set_range(low) if low else cursor.first()
                if low and not (is_found and bytes(cursor.key()) == low) and self._holds(database, low):
                    yield from islice(self._one_by_one(database, low, None), keys)
                    return
                if not is_found:
                    return
                # Never one step further than asked: the next page may be one that kills the process.
                names = self._named if database.name is None else {}
                steps: Any = cursor.iternext_nodup(keys=True, values=True) if database.is_dupsort else cursor.iternext()
                for key, value in islice(steps, keys):
                    last = bytes(key)
                    if database.is_dupsort:
                        yield from self._duplicates(cursor, last)
                    elif last in names:
                        yield last, NAME, None
                    else:
                        yield last, 0, value
                    done += 1
        except self._lmdb.Error:
            self._begin_anew()
            yield from islice(self._one_by_one(database, low, last), keys - done)

    def _holds(self, database: Database, key: bytes) -> bool:
        """Whether a leaf page holds a key, found by looking and not by order: where keys are out of order, a search goes astray."""
        near = (leaf for leaf in self.pages.leaves(self.tree(database)) if leaf.low <= key and (leaf.high is None or key < leaf.high))
        return any(key in self.pages.keys(leaf.page) for leaf in near if leaf.is_sound)

    def _duplicates(self, cursor: Any, key: bytes) -> Iterator[Entry]:
        """All values of the key where a cursor stands; it stands on the last one afterwards."""
        count = cursor.count()
        for number in range(count):
            yield key, number, cursor.value()
            # A step past the last value would leave the cursor without a place, and end the walk around it.
            if number + 1 < count:
                cursor.next_dup()

    def _one_by_one(self, database: Database, low: bytes, last: bytes | None) -> Iterator[Entry]:
        """The records behind `last` (from `low` on where None), each asked for by itself, by the keys that the leaf pages hold."""
        is_behind = False
        for leaf in self.pages.leaves(self.tree(database)):
            for key in self.pages.keys(leaf.page) if leaf.is_sound else ():
                is_behind = is_behind or (last is None and (not low or key == low))
                if is_behind:
                    yield (key, NAME, None) if self.is_name(database, key) else (key, 0, self.get(database, key))
                is_behind = is_behind or key == last


def _plain(error: Exception) -> str:
    """The engine's words without the path of this machine, which stands before the first colon."""
    return str(error).rpartition(": ")[2]
