"""The pass over all keys that cuts a LevelDB into shards."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from datascrub.keys import printable, text_of
from datascrub.layouts import Layout
from datascrub.model import Part
from datascrub.readers.keyed_format.census import Census
from datascrub.readers.leveldb_format.shadow import plyvel
from datascrub.readers.leveldb_format.store import Store

_SHARD_SAMPLES = 16_384  # what writing the facts of a shard costs, whatever its size, is then spread thin
_SHARD_BYTES = 32 << 20


@dataclass
class _Open:
    """A shard that goes on: its first key, samples and bytes so far."""

    low: bytes
    samples: int = 0
    held: int = 0

    @property
    def is_full(self) -> bool:
        return self.samples >= _SHARD_SAMPLES or self.held >= _SHARD_BYTES


class Listing:
    """Ranges of keys are checked and walked one after the other, so that the first shard is out before the last table is touched.

    Sound ranges make one shard together, up to its size; a shard of damaged ones ends where they do.
    """

    def __init__(self, store: Store, layout: Layout) -> None:
        self._store = store
        self._census = Census(layout)
        self._is_whole = True
        self._open: _Open | None = None

    def items(self) -> Iterator[tuple[int, dict[str, Any]] | Part]:
        """(samples, where) of each shard, and the parts that are lost."""
        said: set[tuple[str | None, int | None]] = set()
        for part in self._store.state.parts:
            yield self._said(part)
        before: bytes | None = None
        for first, last in self._store.ranges():
            damaged = self._store.check(first, last)
            if damaged:
                yield from self._close(before)
            for part in damaged:
                if (part.file, part.offset) not in said:
                    said.add((part.file, part.offset))
                    yield self._said(part)
            fault = yield from self._cut(first, last)
            if damaged or fault:
                yield from self._close(last)
            before = last
        yield from self._close(before)
        missing = self._census.orphans()
        for at in range(0, len(missing), _SHARD_SAMPLES):
            these = missing[at : at + _SHARD_SAMPLES]
            yield len(these), {"orphans": [key.hex() for key in these]}
        yield from self._census.parts(self._store.get, is_whole=self._is_whole)

    def _said(self, part: Part) -> Part:
        self._is_whole = self._is_whole and part.lost_records == 0
        return part

    def _cut(self, first: bytes, last: bytes | None) -> Generator[tuple[int, dict[str, Any]] | Part, None, bool]:
        """The shards that are full within a range; what is left stays open. Returns whether LevelDB could not walk it to its end."""
        key = previous = first
        try:
            for key, value in self._store.walk(first, last):
                if self._open is None:
                    self._open = _Open(first)
                elif self._open.is_full:
                    # No key lies between the end of this shard and the beginning of the next.
                    yield from self._close(previous)
                    self._open = _Open(previous + b"\0")
                self._open.samples += self._census.sees(key)
                self._open.held += len(value)
                previous = key
        except (plyvel().Error, OSError):
            self._is_whole = False
            says = f"LevelDB can't read on behind the key {printable(text_of(key)) or 'at the beginning'}: a block with a right checksum is malformed"
            end = "" if last is None else printable(text_of(last))
            yield Part("part-damaged", f"{printable(text_of(key))}..{end}", says, lost_bytes=None, lost_records=None)
            return True
        return False

    def _close(self, last: bytes | None) -> Iterator[tuple[int, dict[str, Any]]]:
        """The shard that is open, with this end."""
        if self._open is not None and self._open.samples:
            yield self._open.samples, self._where(self._open.low, last)
        self._open = None

    def _where(self, first: bytes, last: bytes | None) -> dict[str, Any]:
        omitted = {str(number): blocks for number, blocks in self._store.omitted_in(first, last).items()}
        return {"first": first.hex(), "last": None if last is None else last.hex(), "omitted": omitted}
