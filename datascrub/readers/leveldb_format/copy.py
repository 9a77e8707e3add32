"""The cleaned copy of a LevelDB: the same compression and filter, the kept records byte for byte in the order of keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import xxhash

from datascrub.errors import CopyError
from datascrub.keys import printable, text_of
from datascrub.layouts import Layout, Record
from datascrub.layouts.numbered import Numbered
from datascrub.plan import Plan
from datascrub.readers.base import CopyReport
from datascrub.readers.keyed_format.batches import Stored, begins_sample, digest, is_metadata, layout_of
from datascrub.readers.leveldb_format.shadow import plyvel
from datascrub.readers.leveldb_format.store import Store

_WRITE_BYTES = 8 << 20
_FILTER_BITS = 10
"""bits a key of the Bloom filter, as in LevelDB's own documentation; a table does not tell how many it was made with"""


def copy(
    store: Store,
    samples: Iterable[tuple[Stored, tuple[Record, ...]]],
    plan: Plan,
    destination: Path,
    drop: frozenset[str],
    progress: Callable[[int], None],
) -> CopyReport:
    """Write the copy into the new folder `destination`."""
    layout, state = layout_of(plan), xxhash.xxh3_128()
    kept: list[bytes] = []
    dropped = 0
    for item, records in samples:
        progress(1)
        if item.key in drop or not records:
            dropped += 1
            continue
        state.update(digest([record.value or b"" for record in records]))
        kept.append(item.raw)
    chosen = _Chosen(layout, frozenset(kept) if dropped else None, kept, dropped)
    try:
        _write(destination, plan, (pair for first, last in store.ranges() for pair in chosen.records(store.walk(first, last))))
    except (plyvel().Error, OSError) as error:
        raise CopyError(f"can't write {destination}: {str(error).replace(str(destination), '')}", fix="make room, or choose another place") from error
    return CopyReport(len(kept), dropped, state.hexdigest(), tuple(sorted(path.name for path in destination.iterdir())), tuple(chosen.stale))


def _write(destination: Path, plan: Plan, records: Iterable[tuple[bytes, bytes]]) -> None:
    bits = _FILTER_BITS if plan.settings.get("bloom_filter") else 0
    database = plyvel().DB(
        str(destination), create_if_missing=True, error_if_exists=True, compression=plan.settings.get("compression"), bloom_filter_bits=bits
    )
    try:
        batch, held, key = database.write_batch(), 0, b""
        for key, value in records:
            batch.put(key, value)
            held += len(value)
            if held >= _WRITE_BYTES:
                batch.write()
                batch, held = database.write_batch(), 0
        batch.write()
        # A range behind all keys compacts no table, and first turns the log into one: the copy shows its compression, and opens without a replay.
        database.compact_range(start=key + b"\0", stop=key + b"\0")
    finally:
        database.close()


class _Chosen:
    """Which records of the source go into the copy, and under which key."""

    def __init__(self, layout: Layout, kept: frozenset[bytes] | None, order: list[bytes], dropped: int) -> None:
        self._layout, self._kept, self._count, self._dropped = layout, kept, len(order), dropped
        self.stale: list[str] = []
        numbers = sorted(number for raw in order if (number := layout.number(raw)) is not None) if isinstance(layout, Numbered) else []
        self._places = {number: place for place, number in enumerate(numbers, 1)}

    def records(self, pairs: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """(key, value) of the copy. Samples of a numbered layout are numbered anew from 1, and its count is right."""
        for raw, value in pairs:
            if is_metadata(raw) or (isinstance(self._layout, Numbered) and raw == self._layout.count_key):
                yield raw, self._counted(raw, value)
            elif isinstance(self._layout, Numbered) and (number := self._layout.number(raw)) is not None:
                if number in self._places and raw in self._layout.keys_of(number):
                    yield self._layout.keys_of(self._places[number])[self._layout.keys_of(number).index(raw)], value
            elif self._kept is None or not begins_sample(self._layout, raw) or raw in self._kept:
                yield raw, value

    def _counted(self, raw: bytes, value: bytes) -> bytes:
        if isinstance(self._layout, Numbered) and raw == self._layout.count_key:
            return self._layout.count_value(self._count)
        if not self._dropped:
            return value
        if len(value) < 20 and value.strip().isdigit() and int(value) == self._count + self._dropped:
            return b"%d" % self._count
        self.stale.append(f"{printable(text_of(raw))}: copied as it stands; it may count or list records that were left out")
        return value
