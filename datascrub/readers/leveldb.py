"""LevelDB: a folder with CURRENT, a MANIFEST, tables and a log. It is never opened itself, only a shadow of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from datascrub.config import DataConfig
from datascrub.errors import SourceError, UsageError
from datascrub.keys import raw_of, text_of
from datascrub.layouts import Layout, Record
from datascrub.layouts.numbered import Numbered
from datascrub.model import Batch, Part, Problem, Shard
from datascrub.plan import Plan
from datascrub.readers.base import CopyOptions, CopyReport, Reader, Survey
from datascrub.readers.keyed_format.batches import (
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
from datascrub.readers.leveldb_format.copy import copy
from datascrub.readers.leveldb_format.files import fingerprint_of, is_leveldb, size_of
from datascrub.readers.leveldb_format.listing import Listing
from datascrub.readers.leveldb_format.probe import probe
from datascrub.readers.leveldb_format.shadow import plyvel
from datascrub.readers.leveldb_format.state import Loss
from datascrub.readers.leveldb_format.store import Store
from datascrub.readers.stamps import Stamps


class LevelDbReader(Reader):
    """Shards are ranges of keys, found by one pass over the keys behind the check of every block."""

    name: ClassVar[str] = "leveldb"
    title: ClassVar[str] = "LevelDB"
    stamps_in_batches: ClassVar[bool] = True
    _store: Store | None = None

    @classmethod
    def recognises(cls, source: Path) -> bool:
        return is_leveldb(source)

    @property
    def store(self) -> Store:
        if self._store is None:
            self._store = Store(self.source, self.tmp)
        return self._store

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def survey(self, data: DataConfig) -> Survey:
        found = probe(self.store, self.limits.max_record_bytes)
        if not found.records and found.faults:
            raise SourceError(f"no record of {self.source} can be read: {found.faults[0].says}", fix="copy the data set again from where it came")
        settings = {"compression": found.compression, "bloom_filter": found.has_filter}
        return survey_of(
            found.records, data, count=found.count, size_bytes=size_of(self.source), settings=settings, is_count_exact=found.is_count_exact
        )

    def fingerprint(self) -> Mapping[str, Any]:
        return fingerprint_of(self.source)

    def shards(self, plan: Plan) -> Iterator[Shard | Part]:
        layout, number, first = layout_of(plan), 0, 0
        yield from unknown_layout(layout)
        for item in Listing(self.store, layout).items():
            if isinstance(item, Part):
                yield item
                continue
            count, where = item
            yield Shard(number, where, count, first)
            number, first = number + 1, first + count

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
        stream = (item for item in self.stored(layout, shard, untouched) if isinstance(item, Part) or rows is None or item.row in rows)
        yield from batches(plan, layout, stream, self.store.get, batch_size=batch_size)

    def stamps(self, plan: Plan, shard: Shard, *, by_content: bool = False) -> Stamps:
        layout = layout_of(plan)
        return stamps(layout, self.stored(layout, shard), self.store.get)

    def stored(self, layout: Layout, shard: Shard, untouched: frozenset[int] = frozenset()) -> Iterator[Stored | Part]:
        """The records of a shard that begin samples, in order."""
        if "orphans" in shard.where:
            assert isinstance(layout, Numbered)
            for row, raw in enumerate(map(bytes.fromhex, shard.where["orphans"])):
                yield Stored(row, raw, text_of(raw), None, 0, orphan(layout, raw))
            return
        first, last = range_of(shard)
        self.store.omit({int(number): blocks for number, blocks in shard.where["omitted"].items()})
        losses = self.store.losses(first, last)
        row = 0
        try:
            for raw, value in self.store.walk(first, last):
                if begins_sample(layout, raw):
                    yield self._stored(row, raw, value, losses, row in untouched)
                    row += 1
        except (plyvel().Error, OSError):
            if row < (shard.count or 0):
                says = f"{shard.count:,} records were listed, and only {row:,} could be read: the tables changed, or a block is malformed"
                yield Part("part-damaged", f"{text_of(first)}..", says, lost_bytes=None, lost_records=(shard.count or 0) - row)

    def _stored(self, row: int, raw: bytes, value: bytes, losses: Iterable[Loss], is_untouched: bool) -> Stored:
        key = text_of(raw)
        if is_untouched:
            return Stored(row, raw, key, None, len(value))
        if len(value) > self.limits.max_record_bytes:
            return Stored(row, raw, key, None, len(value), too_large(len(value), self.limits.max_record_bytes))
        return Stored(row, raw, key, value, len(value), self._doubt(raw, losses))

    def _doubt(self, raw: bytes, losses: Iterable[Loss]) -> Problem | None:
        """The problem of a record whose newer value may be lost."""
        loss = self.store.is_uncertain(raw, losses)
        if loss is None:
            return None
        says = f"its newest value may have stood in the lost part of table {loss.table.number:06d}; what is left may be older"
        return Problem("record-checksum-mismatch", says)

    def fetch(self, plan: Plan, key: str) -> tuple[Batch, bytes]:
        layout = layout_of(plan)
        try:
            raw = raw_of(key)
        except ValueError:
            raise UsageError(f"no sample is called {key!r}", fix="take a key as findings print it") from None
        companions = layout.companions(raw)
        lost = [part for each in (raw, *companions) for part in self.store.check(each, each)]
        values = [self.store.get(each) for each in (raw, *companions)]
        held = [value for value in values if value is not None]
        if not held:
            says = f"; {lost[0].says}" if lost else ""
            raise UsageError(f"the source has no key {key!r}{says}", fix="take a key as findings print it")
        missing = orphan(layout, raw) if values[0] is None and isinstance(layout, Numbered) else None
        item = Stored(0, raw, key, values[0], len(values[0] or b""), missing or self._doubt(raw, self.store.losses(raw, raw)))
        made = list(batches(plan, layout, [item], self.store.get))
        assert isinstance(made[0], Batch)
        return made[0], b"".join(held)

    def samples(self, plan: Plan) -> Iterator[tuple[Stored, tuple[Record, ...]]]:
        """Every sample in order with its records that are there; none where nothing of it can be read."""
        layout = layout_of(plan)
        for shard in self.shards(plan):
            for item in self.stored(layout, shard) if isinstance(shard, Shard) else ():
                if isinstance(item, Stored):
                    first = Record(item.raw, item.value)
                    companions = (Record(key, self.store.get(key)) for key in layout.companions(item.raw))
                    yield item, tuple(record for record in (first, *companions) if record.value is not None)

    def digests(self, plan: Plan) -> Iterator[tuple[str, bytes]]:
        for item, records in self.samples(plan):
            if records:
                yield item.key, digest([record.value or b"" for record in records])

    def copy_clean(self, plan: Plan, destination: Path, drop: frozenset[str], options: CopyOptions, progress: Callable[[int], None]) -> CopyReport:
        return copy(self.store, self.samples(plan), plan, destination, drop, progress)


def range_of(shard: Shard) -> tuple[bytes, bytes | None]:
    """The range of keys of a shard, both ends in it."""
    last = shard.where["last"]
    return bytes.fromhex(shard.where["first"]), None if last is None else bytes.fromhex(last)
