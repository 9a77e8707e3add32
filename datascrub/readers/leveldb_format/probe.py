"""A look at a few hundred records spread over a LevelDB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from datascrub.layouts import Record
from datascrub.model import Part
from datascrub.readers.keyed_format.batches import PROBED_BYTES, PROBED_RECORDS
from datascrub.readers.leveldb_format.shadow import plyvel
from datascrub.readers.leveldb_format.store import Store
from datascrub.readers.leveldb_format.tables import Table

_PLACES = 40
_COUNTED_BYTES = 64 << 20
"""a source up to this size is counted, a larger one is estimated from the places probed"""


@dataclass(frozen=True)
class Probe:
    """records: as far as they could be read. faults: blocks and tables that could not."""

    records: Sequence[Record]
    faults: Sequence[Part]
    count: int | None
    is_count_exact: bool
    compression: str | None
    has_filter: bool


def probe(store: Store, most_bytes: int) -> Probe:
    """Records at places spread over the tables; where they are damaged, wherever there are any."""
    tables = sorted(store.state.tables.values(), key=lambda table: table.first)
    starts = [b""]
    for table in tables[:: max(1, len(tables) // _PLACES)]:
        blocks = store.blocks(table)
        each = max(1, _PLACES // len(tables))
        starts += [block.separator[:-8] + b"\0" for block in blocks[:: max(1, len(blocks) // each)]]
    ranges = store.ranges()
    faults = list(store.state.parts)
    records = _records(store, sorted(set(starts)), most_bytes, faults)
    if not records:
        for first, last in ranges:
            faults += store.check(first, last)
        records = _records(store, [b""], most_bytes, faults)
    count, is_exact = _count(store, len(records))
    return Probe(records, faults, count, is_exact, *_settings(store))


def _records(store: Store, starts: Sequence[bytes], most_bytes: int, faults: list[Part]) -> list[Record]:
    each = max(1, PROBED_RECORDS // len(starts))
    found: dict[bytes, bytes] = {}
    held = 0
    for start in starts:
        try:
            for key, value in islice(store.walk(start, None), each):
                if len(value) <= most_bytes and held < PROBED_BYTES and key not in found:
                    found[key] = value
                    held += len(value)
        except (plyvel().Error, OSError):
            faults += store.check(start, start)
    return [Record(key, found[key]) for key in sorted(found)]


def _count(store: Store, probed: int) -> tuple[int | None, bool]:
    """(records, whether that is exact)."""
    blocks = 0
    total = sum(table.size for table in store.state.tables.values())
    if total <= _COUNTED_BYTES:
        return _counted(store)
    counted = 0
    tables = sorted(store.state.tables.values(), key=lambda table: table.first)
    for table in tables[:: max(1, len(tables) // 4)][:4]:
        index = store.blocks(table)
        first, last = index[0].separator[:-8] + b"\0", index[min(8, len(index) - 1)].separator[:-8]
        try:
            counted += sum(1 for _ in store.walk(first, last)) if first <= last else 0
        except (plyvel().Error, OSError):
            continue
        blocks += max(0, min(8, len(index) - 1))
    every = sum(len(store.blocks(table)) for table in tables[:: max(1, len(tables) // 40)]) * max(1, len(tables) // 40)
    return (counted * every // blocks if blocks else max(probed, 1)), False


def _counted(store: Store) -> tuple[int | None, bool]:
    for first, last in store.ranges():
        store.check(first, last)
    try:
        return sum(1 for _ in store.walk(b"", None)), True
    except (plyvel().Error, OSError):
        return None, False


def _settings(store: Store) -> tuple[str | None, bool]:
    """(compression, whether there is a Bloom filter) as the first table tells: snappy where any of its first blocks is compressed."""
    for number, table in sorted(store.state.tables.items()):
        whole = Table(store.state.paths[number], table.size)
        try:
            return ("snappy" if any(whole.is_compressed(block) for block in range(min(16, len(whole.blocks)))) else None), whole.has_filter()
        finally:
            whole.close()
    return "snappy", False  # the default of LevelDB and of plyvel
