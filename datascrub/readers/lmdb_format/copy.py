"""The cleaned copy of an LMDB: the same databases, flags and format, the kept records byte for byte."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xxhash

from datascrub.errors import CopyError
from datascrub.keys import printable, text_of
from datascrub.layouts import Layout
from datascrub.layouts.numbered import Numbered
from datascrub.model import Shard
from datascrub.plan import Plan
from datascrub.readers.base import CopyReport
from datascrub.readers.keyed_format.batches import begins_sample, digest, is_metadata, layout_of
from datascrub.readers.lmdb_format.file import Leaf
from datascrub.readers.lmdb_format.names import Database, Names

if TYPE_CHECKING:
    from datascrub.readers.lmdb import LmdbReader

_COMMIT_BYTES = 64 << 20
_LINES_OF_A_LIST = "meta_info.txt"
"""BasicSR's list beside the data: one line a record, its name before the first space"""
_LOCKS = ("lock.mdb", "data.mdb")


def copy(
    reader: LmdbReader,
    plan: Plan,
    databases: Sequence[Database],
    names: Names,
    destination: Path,
    drop: frozenset[str],
    progress: Callable[[int], None],
) -> CopyReport:
    """Write the copy to `destination`, a directory or a file as the source is."""
    target = _Target(destination, reader, databases)
    state, kept, dropped = xxhash.xxh3_128(), 0, 0
    stale: list[str] = []
    try:
        for database in databases:
            source = _Source(reader, plan, database, names, drop)
            source.choose(progress)
            target.write(database, source.records())
            target.write(database, source.missing_count())
            for each in source.digests:
                state.update(each)
            kept, dropped, stale = kept + len(source.digests), dropped + source.dropped, stale + source.stale
        target.finish()
    except (OSError, target.engine_error) as error:
        raise CopyError(f"can't write {destination}: {error}") from error
    finally:
        target.close()
    files, beside = _beside(reader.source, destination, drop) if reader.source.is_dir() else ([destination.name], [])
    return CopyReport(kept, dropped, state.hexdigest(), tuple(files), (*stale, *beside))


class _Source:
    """What the copy takes of one database."""

    def __init__(self, reader: LmdbReader, plan: Plan, database: Database, names: Names, drop: frozenset[str]) -> None:
        self._reader, self._plan, self._database, self._names, self._drop = reader, plan, database, names, drop
        self._layout: Layout = layout_of(plan)
        self.digests: list[bytes] = []
        self.dropped = 0
        self.stale: list[str] = []
        self._new_numbers: dict[int, int] = {}

    def choose(self, progress: Callable[[int], None]) -> None:
        """Count and digest the samples that are kept; a dropped one is not read, because its bytes may have killed a process."""
        if self._database.is_aside:
            return
        numbers: list[int] = []
        for shard in self._reader.shards(self._plan):
            if not isinstance(shard, Shard) or Database.from_json(shard.where["database"]) != self._database:
                continue
            for raw, key, values in self._samples(shard):
                progress(1)
                if key in self._drop or not values:
                    self.dropped += 1
                    continue
                self.digests.append(digest(values))
                if isinstance(self._layout, Numbered):
                    number = self._layout.number(raw)
                    assert number is not None
                    numbers.append(number)
        # Orphans come last in the shards and hold their place by number in the copy.
        self._new_numbers = {number: place for place, number in enumerate(sorted(numbers), 1)}

    def _samples(self, shard: Shard) -> Iterator[tuple[bytes, str, list[bytes]]]:
        """(raw key, key, values of its records; none where dropped or not to be had)."""
        for raw, key, view in self._reader.named(self._plan, shard):
            if key in self._drop:
                yield raw, key, []
                continue
            companions = [self._reader.store.get(self._database, each) for each in self._layout.companions(raw)]
            yield raw, key, [bytes(value) for value in (view, *companions) if value is not None]

    def records(self) -> Iterator[tuple[bytes, Any]]:
        """(key, value) of every record of the copy, in the source's order; values are views of the source."""
        store = self._reader.store
        for segment in store.segments(self._database):
            if isinstance(segment, Leaf):
                continue
            for raw, duplicate, view in store.walk(self._database, segment.low, segment.keys):
                if view is None:
                    continue
                if self._database.is_aside:
                    yield raw, view
                elif is_metadata(raw):
                    yield raw, self._counted(raw, view)
                elif isinstance(self._layout, Numbered):
                    yield from self._renumbered(self._layout, raw, view)
                elif not begins_sample(self._layout, raw) or self._names.text(self._database, raw, duplicate) not in self._drop:
                    yield raw, view

    def missing_count(self) -> Iterator[tuple[bytes, bytes]]:
        """The record that counts the samples, where the source lacks it: loaders read it first."""
        layout = self._layout
        if isinstance(layout, Numbered) and self.digests and self._reader.store.get(self._database, layout.count_key) is None:
            yield layout.count_key, layout.count_value(len(self.digests))

    def _renumbered(self, layout: Numbered, raw: bytes, view: Any) -> Iterator[tuple[bytes, Any]]:
        number = layout.number(raw)
        if number is None:
            yield raw, view
        elif number in self._new_numbers:
            place = layout.keys_of(number).index(raw) if raw in layout.keys_of(number) else None
            if place is not None:
                yield layout.keys_of(self._new_numbers[number])[place], view

    def _counted(self, raw: bytes, view: Any) -> Any:
        """The value of a metadata record in the copy: a plain count is corrected, anything else stays and is named where records were left out."""
        value = bytes(view[:32])
        if isinstance(self._layout, Numbered) and raw == self._layout.count_key:
            return self._layout.count_value(len(self.digests))
        # A number that was the source's count is the copy's count; another number means something else.
        if len(view) < len(value) + 1 and value.strip().isdigit() and int(value) == len(self.digests) + self.dropped:
            return b"%d" % len(self.digests)
        if self.dropped:
            self.stale.append(f"{printable(text_of(raw))}: copied as it stands; it may count or list records that were left out")
        return view


class _Target:
    """The new environment. Without a lock file, and with everything in the source's order, the same copy has the same bytes."""

    def __init__(self, destination: Path, reader: LmdbReader, databases: Sequence[Database]) -> None:
        import lmdb

        self._map_full, self.engine_error = lmdb.MapFullError, lmdb.Error
        self._size = reader.store.path.stat().st_size + (1 << 20)
        is_directory = reader.source.is_dir()
        if is_directory:
            destination.mkdir(parents=True)
        self._environment = lmdb.open(
            str(destination),
            map_size=self._size,
            subdir=is_directory,
            max_dbs=len(databases) + 1,
            lock=False,
            sync=False,
            lib_version=1 if reader.store.outline.version > 1 else 0,
        )
        flags: list[dict[str, Any]] = [dict(each.flags) for each in databases]
        self._handles = {each.name: self._environment.open_db(each.name, **its) for each, its in zip(databases, flags, strict=True)}

    def write(self, database: Database, records: Iterable[tuple[bytes, Any]]) -> None:
        chunk: list[tuple[bytes, Any]] = []
        held = 0
        for key, value in records:
            chunk.append((key, value))
            held += len(value)
            if held >= _COMMIT_BYTES:
                self._commit(database, chunk)
                chunk, held = [], 0
        self._commit(database, chunk)

    def _commit(self, database: Database, chunk: Sequence[tuple[bytes, Any]]) -> None:
        """One transaction, done again with a larger map where it does not fit."""
        while True:
            try:
                with self._environment.begin(write=True, db=self._handles[database.name]) as transaction:
                    for key, value in chunk:
                        # Appending needs no search, and is refused where the key is not behind all others.
                        is_put = not database.is_dupsort and transaction.put(key, value, append=True)
                        if not is_put and not transaction.put(key, value, overwrite=database.is_dupsort):
                            raise CopyError(f"the copy would hold the key {printable(text_of(key))} twice")
            except self._map_full:
                self._size *= 2
                self._environment.set_mapsize(self._size)
            else:
                return

    def finish(self) -> None:
        self._environment.sync(True)

    def close(self) -> None:
        self._environment.close()


def _beside(source: Path, destination: Path, drop: frozenset[str]) -> tuple[list[str], list[str]]:
    """Copy what lies beside data.mdb; a list of records loses the lines of those that were left out. Returns (files, stale ones)."""
    files, stale = ["data.mdb"], []
    for path in sorted(source.iterdir()):
        if path.name in _LOCKS or not path.is_file() or path.is_symlink():
            continue
        files.append(path.name)
        if path.name == _LINES_OF_A_LIST and drop:
            lines = path.read_bytes().splitlines(keepends=True)
            (destination / path.name).write_bytes(b"".join(line for line in lines if not _names_a_record(line, drop)))
            continue
        shutil.copyfile(path, destination / path.name)
        if drop:
            stale.append(f"{path.name}: copied as it stands; it may count or list records that were left out")
    return files, stale


def _names_a_record(line: bytes, keys: frozenset[str]) -> bool:
    name = line.split(b" ", 1)[0].strip()
    return text_of(name) in keys or text_of(name.rpartition(b".")[0] or name) in keys
