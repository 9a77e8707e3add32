"""LMDB: a directory with data.mdb, or one file of any name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from datascrub.config import DataConfig
from datascrub.errors import SourceError, UsageError
from datascrub.keys import text_of
from datascrub.layouts import Layout, Record
from datascrub.layouts.choose import choose
from datascrub.layouts.numbered import Numbered
from datascrub.model import Batch, Part, Problem, Shard
from datascrub.plan import Plan
from datascrub.readers.base import CopyOptions, CopyReport, Reader, Survey
from datascrub.readers.keyed_format.batches import (
    PROBED_BYTES,
    PROBED_RECORDS,
    Stored,
    batches,
    begins_sample,
    digest,
    layout_of,
    orphan,
    stamps,
    survey_of,
    too_large,
    unknown_layout,
)
from datascrub.readers.keyed_format.census import Census
from datascrub.readers.lmdb_format.file import Leaf, data_file, is_lmdb, outline_of
from datascrub.readers.lmdb_format.names import Database, Names
from datascrub.readers.lmdb_format.store import NAME, Store
from datascrub.readers.stamps import Stamps

_SHARD_SAMPLES = 16_384  # what writing the facts of a shard costs, whatever its size, is then spread thin
_SHARD_BYTES = 32 << 20
_DAMAGED = Problem("record-unparsable", "the pages that hold its value are damaged")


class LmdbReader(Reader):
    """Shards are ranges of keys, found by one pass over the keys."""

    name: ClassVar[str] = "lmdb"
    title: ClassVar[str] = "LMDB"
    stamps_in_batches: ClassVar[bool] = True
    _store: Store | None = None

    @classmethod
    def recognises(cls, source: Path) -> bool:
        return is_lmdb(source)

    @property
    def store(self) -> Store:
        if self._store is None:
            self._store = Store(self.source)
        return self._store

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def survey(self, data: DataConfig) -> Survey:
        store = self.store
        found = store.databases()
        count = sum(store.entries(database) for database in found)
        if count == 0:
            raise SourceError(f"{self.source} is empty: the database holds no samples", fix="write the data set again; there is nothing to scan")
        probed = {database.prefix: self._probe(database, PROBED_RECORDS // len(found) + 1) for database in found}
        records = [record for each in probed.values() for record in each]
        if not records:
            raise SourceError(
                f"{self.source} can't be read: every page that was looked at is damaged", fix="copy the data set again from where it came"
            )
        layout, fit = choose(records, data)
        aside = {prefix for prefix, its in probed.items() if its and fit.share > 0 and layout.fit(its) is None and len(found) > 1}
        databases = [Database(each.name, each.flags, each.prefix in aside) for each in found]
        kept = [record for prefix, its in probed.items() if prefix not in aside for record in its]
        count = sum(store.entries(database) for database in databases if not database.is_aside)
        settings = {"databases": [database.as_json() for database in databases], "format": store.outline.version}
        notes = [f"in {len(found)} databases: {', '.join(each.prefix or 'the main one' for each in found)}"] if len(found) > 1 else []
        return survey_of(kept, data, count=count, size_bytes=store.path.stat().st_size, settings=settings, notes=notes, is_count_exact=False)

    def _probe(self, database: Database, wanted: int) -> list[Record]:
        """Records spread over the leaf pages of a database."""
        sound = [leaf for leaf in self.store.pages.leaves(self.store.tree(database)) if leaf.is_sound]
        stride = max(1, len(sound) // wanted)
        taken: list[Record] = []
        held = 0
        each = -(-wanted // max(1, len(sound[::stride])))
        for leaf in sound[::stride]:
            for key in self.store.pages.keys(leaf.page)[:each]:
                value = None if self.store.is_name(database, key) else self.store.get(database, key)
                if value is None or len(value) > self.limits.max_record_bytes or held + len(value) > PROBED_BYTES:
                    continue
                held += len(value)
                taken.append(Record(key, bytes(value)))
        return taken

    def fingerprint(self) -> Mapping[str, Any]:
        status, outline = data_file(self.source).stat(), outline_of(data_file(self.source))
        return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "inode": status.st_ino, "transaction": outline.transaction}

    def shards(self, plan: Plan) -> Iterator[Shard | Part]:
        layout, number, first = layout_of(plan), 0, 0
        yield from unknown_layout(layout)
        databases, names = self._databases(plan)
        for database in databases:
            if database.is_aside:
                count = self.store.entries(database)
                says = f"{count:,} records of the database {database.prefix or 'without a name'} are of another kind than the set's"
                yield Part("part-not-a-sample", database.prefix, says, {"count": count})
                continue
            census, listing = Census(layout), _Listing(self.store, database, names, self._samples_per_shard(database))
            for item in chain(listing.windows(census), listing.orphans(census, layout)):
                if isinstance(item, Part):
                    yield item
                    continue
                count, where = item
                yield Shard(number, where, count, first)
                number, first = number + 1, first + count
            yield from listing.parts(census)

    def _samples_per_shard(self, database: Database) -> int:
        store = self.store
        each = store.path.stat().st_size // max(1, store.entries(database))
        return int(min(_SHARD_SAMPLES, max(16, _SHARD_BYTES // max(1, each))))

    def _databases(self, plan: Plan) -> tuple[list[Database], Names]:
        databases = [Database.from_json(each) for each in plan.settings["databases"]]
        return databases, Names(databases)

    def read(
        self,
        plan: Plan,
        shard: Shard,
        *,
        batch_size: int = 1024,
        rows: frozenset[int] | None = None,
        untouched: frozenset[int] = frozenset(),
    ) -> Iterator[Batch | Part]:
        layout = layout_of(plan)
        database = Database.from_json(shard.where["database"])
        stream: Iterator[Stored] = self.stored(plan, layout, shard, untouched)
        if rows is not None:
            stream = (item for item in stream if item.row in rows)
        yield from batches(plan, layout, stream, lambda key: self.value(database, key), batch_size=batch_size)

    def stamps(self, plan: Plan, shard: Shard, *, by_content: bool = False) -> Stamps:
        database = Database.from_json(shard.where["database"])
        layout = layout_of(plan)
        return stamps(layout, self.stored(plan, layout, shard), lambda key: self.value(database, key))

    def value(self, database: Database, key: bytes, duplicate: int = 0) -> bytes | None:
        view = self.store.get(database, key, duplicate)
        return None if view is None or len(view) > self.limits.max_record_bytes else bytes(view)

    def stored(self, plan: Plan, layout: Layout, shard: Shard, untouched: frozenset[int] = frozenset()) -> Iterator[Stored]:
        """The records of a shard that begin samples, in order."""
        if "orphans" in shard.where:
            assert isinstance(layout, Numbered)
            for row, (raw, text, _) in enumerate(self.named(plan, shard)):
                yield Stored(row, raw, text, None, 0, orphan(layout, raw))
            return
        limit = self.limits.max_record_bytes
        for row, (raw, text, view) in enumerate(self.named(plan, shard)):
            if view is not None and len(view) <= limit and row not in untouched:
                yield Stored(row, raw, text, bytes(view), len(view))
            else:
                yield self._unread(row, raw, text, view, row in untouched)

    def _unread(self, row: int, raw: bytes, text: str, view: memoryview | None, is_untouched: bool) -> Stored:
        """A sample whose bytes are not taken, and why."""
        size = 0 if view is None else len(view)
        problem = None if is_untouched else _DAMAGED if view is None else too_large(size, self.limits.max_record_bytes)
        return Stored(row, raw, text, None, size, problem)

    def named(self, plan: Plan, shard: Shard) -> Iterator[tuple[bytes, str, memoryview | None]]:
        """(raw key, key, value) of the records of a shard that begin samples, in order; values are views that were not touched."""
        where, layout, (_, names) = shard.where, layout_of(plan), self._databases(plan)
        database = Database.from_json(where["database"])
        for raw in map(bytes.fromhex, where.get("orphans", ())):
            yield raw, names.text(database, raw), None
        is_plain = len(names) == 1 and database.name is None and not database.is_dupsort
        if "low" in where:
            for raw, duplicate, view in self.store.walk(database, bytes.fromhex(where["low"]), where["keys"]):
                if duplicate != NAME and begins_sample(layout, raw):
                    yield raw, text_of(raw) if is_plain else names.text(database, raw, duplicate), view

    def fetch(self, plan: Plan, key: str) -> tuple[Batch, bytes]:
        layout, (_, names) = layout_of(plan), self._databases(plan)
        try:
            database, raw, duplicate = names.record(key)
        except ValueError:
            raise UsageError(f"no sample is called {key!r}", fix="take a key as findings print it") from None
        if not begins_sample(layout, raw) or self.store.is_name(database, raw):
            raise UsageError(f"{key!r} is no sample", fix="take a key as findings print it")
        view = self.store.get(database, raw, duplicate)
        values = [bytes(view or b""), *(self.value(database, each) or b"" for each in layout.companions(raw))]
        if view is None and not any(values):
            raise UsageError(f"the source has no key {key!r}", fix="take a key as findings print it")
        problem = None if view is not None else orphan(layout, raw) if isinstance(layout, Numbered) else _DAMAGED
        item = Stored(0, raw, key, None if view is None else values[0], len(values[0]), problem)
        made = list(batches(plan, layout, [item], lambda each: self.value(database, each)))
        assert isinstance(made[0], Batch)
        return made[0], b"".join(values)

    def digests(self, plan: Plan) -> Iterator[tuple[str, bytes]]:
        layout = layout_of(plan)
        for shard in self.shards(plan):
            if isinstance(shard, Shard):
                database = Database.from_json(shard.where["database"])
                for item in self.stored(plan, layout, shard):
                    values = [item.value, *(self.value(database, key) for key in layout.companions(item.raw))]
                    held = [value for value in values if value is not None]
                    if held:
                        yield item.key, digest(held)

    def copy_clean(self, plan: Plan, destination: Path, drop: frozenset[str], options: CopyOptions, progress: Callable[[int], None]) -> CopyReport:
        from datascrub.readers.lmdb_format.copy import copy

        databases, names = self._databases(plan)
        return copy(self, plan, databases, names, destination, drop, progress)


class _Listing:
    """The pass over the keys of one database that cuts it into shards."""

    def __init__(self, store: Store, database: Database, names: Names, samples_per_shard: int) -> None:
        self._store, self._database, self._names, self._most = store, database, names, samples_per_shard
        self._is_whole = True
        self._doubled = 0
        self._first_doubled = b""

    def windows(self, census: Census) -> Iterator[tuple[int, dict[str, Any]] | Part]:
        """(samples, where) of each shard, and the damaged intervals between them."""
        for segment in self._store.segments(self._database):
            if isinstance(segment, Leaf):
                self._is_whole = False
                yield self._damage(segment)
                continue
            low: bytes | None = None
            keys, used, samples = 0, 0, 0
            for key, duplicate, _ in self._store.walk(self._database, segment.low, segment.keys):
                if duplicate <= 0 and samples >= self._most:
                    yield samples, self._where(low or b"", used)
                    low, keys, samples = None, 0, 0
                low = key if low is None else low
                keys += duplicate <= 0
                if duplicate != NAME and census.sees(key):
                    # Behind the last sample a shard ends: a million labels that follow their pictures are walked here alone.
                    samples, used = samples + 1, keys
                if duplicate == 1:
                    self._first_doubled, self._doubled = self._first_doubled or key, self._doubled + 1
            if samples:
                yield samples, self._where(low or b"", used)

    def _where(self, low: bytes, keys: int) -> dict[str, Any]:
        return {"database": self._database.as_json(), "low": low.hex(), "keys": keys}

    def orphans(self, census: Census, layout: Layout) -> Iterator[tuple[int, dict[str, Any]]]:
        """Samples whose first record is missing while a companion is there."""
        missing = census.orphans()
        for at in range(0, len(missing), self._most):
            these = missing[at : at + self._most]
            yield len(these), {"database": self._database.as_json(), "orphans": [key.hex() for key in these]}

    def parts(self, census: Census) -> Iterator[Part]:
        """What the whole listing showed."""
        if self._doubled:
            key = self._names.text(self._database, self._first_doubled).rpartition("#")[0]
            says = f"{self._doubled:,} keys stand with several values, {key} among them; a plain get sees only the first of each"
            yield Part("part-duplicate-key", key, says, {"count": self._doubled})
        yield from census.parts(self._get, is_whole=self._is_whole)

    def _get(self, key: bytes) -> bytes | None:
        view = self._store.get(self._database, key)
        return None if view is None else bytes(view[:64])

    def _damage(self, leaf: Leaf) -> Part:
        low = self._names.text(self._database, leaf.low) if leaf.low else ""
        high = "" if leaf.high is None else self._names.text(self._database, leaf.high)
        interval = f"{'from ' + low if low else 'from the first key'} {'to before ' + high if high else 'to the last key'}"
        page_bytes = self._store.outline.page_bytes
        return Part(
            "part-damaged",
            f"{low}..{high}",
            f"page {leaf.page:,} is damaged: the records {interval} are lost",
            {"page": leaf.page},
            self._store.path.name,
            leaf.page * page_bytes,
            page_bytes,
            None,
        )
