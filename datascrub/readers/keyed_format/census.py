"""The account of a container's keys: which begin samples, which are missing, and whether declared counts are right."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from datascrub.keys import printable, text_of
from datascrub.layouts import Layout
from datascrub.layouts.numbered import Numbered
from datascrub.model import Part
from datascrub.readers.keyed_format.batches import Get, begins_sample, is_metadata

_COUNT_KEYS = (b"__len__", b"length", b"num_samples", b"num-samples", b"nsamples", b"n_samples", b"len", b"count")
_HIGHEST = 1 << 28
"""numbers over this are no count of samples; gaps before them are not listed, so that one odd key costs no memory"""
_GAPS_NAMED, _SINGLY = 50, 10
_NAMES = 5


class Census:
    """Sees every key of a source once, in any order."""

    def __init__(self, layout: Layout) -> None:
        self.samples = 0
        self._layout = layout
        self._numbered = layout if isinstance(layout, Numbered) else None
        self._seen = bytearray()  # by number: 1 the first record is there, 2 a companion is
        self._metadata: list[str] = []
        self._others: list[str] = []
        self._other_count = 0

    def sees(self, key: bytes) -> bool:
        """Whether the record of this key begins a sample."""
        begins = begins_sample(self._layout, key)
        self.samples += begins
        if not begins or self._numbered is not None:
            self._note(key, begins)
        return begins

    def _note(self, key: bytes, begins: bool) -> None:
        number = None if self._numbered is None else self._numbered.number(key)
        if number is not None and number < _HIGHEST:
            if number >= len(self._seen):
                self._seen.extend(bytes(number + 1 - len(self._seen) + len(self._seen) // 2))
            self._seen[number] |= 1 if begins else 2
        elif begins or number is not None:
            return
        elif is_metadata(key):
            self._metadata.append(printable(text_of(key)))
        else:
            self._other_count += 1
            if len(self._others) < _NAMES:
                self._others.append(printable(text_of(key)))

    def orphans(self) -> list[bytes]:
        """Keys of the first records that are missing while a companion is there; such samples are named, in order of their numbers."""
        if self._numbered is None:
            return []
        return [self._numbered.keys_of(int(number))[0] for number in np.flatnonzero(np.frombuffer(self._seen, np.uint8) == 2)]

    def parts(self, get: Get, *, is_whole: bool = True) -> Iterator[Part]:
        """What the account shows, when all keys were seen. is_whole: no key was lost to damage, so that counts mean something."""
        if is_whole:
            yield from self._numbers(get) if self._numbered is not None else self._counts(get)
        names = [*self._metadata[:_NAMES], *self._others]
        count = len(self._metadata) + self._other_count
        if count:
            more = f" and {count - len(names):,} more" if count > len(names) else ""
            yield Part("part-not-a-sample", names[0], f"{count:,} records are no samples: {', '.join(names)}{more}", {"count": count})

    def _counts(self, get: Get) -> Iterator[Part]:
        for key in _COUNT_KEYS:
            value = get(key)
            if value is not None and value.strip().isdigit() and len(value) < 20 and int(value) != self.samples:
                yield _mismatch(key, int(value), self.samples)

    def _numbers(self, get: Get) -> Iterator[Part]:
        numbered = self._numbered
        assert numbered is not None
        held = np.frombuffer(self._seen, np.uint8)[1:] > 0
        there = np.flatnonzero(held) + 1
        highest, value = int(there[-1]) if len(there) else 0, get(numbered.count_key)
        name = numbered.count_key.decode("ascii")
        if value is None:
            yield Part("part-record-missing", name, f"the record {name}, which loaders read first, is missing; {len(there):,} samples are there")
        else:
            declared = numbered.declared_count(value)
            if declared is None:
                yield Part("part-count-mismatch", name, f"{name} holds {value[:20]!r}, which is no number; {len(there):,} samples are there")
            elif declared != len(there):
                yield _mismatch(numbered.count_key, declared, len(there), highest)
        yield from self._gaps(numbered, held[:highest])

    def _gaps(self, numbered: Numbered, held: np.ndarray) -> Iterator[Part]:
        edges = np.flatnonzero(np.diff(np.concatenate(([True], held, [True])).astype(np.int8)))
        ranges = list(zip(edges[::2], edges[1::2], strict=True))
        pieces = [piece for start, stop in islice(ranges, _GAPS_NAMED) for piece in _singly(int(start), int(stop))]
        for start, stop in pieces:
            first, last = (numbered.keys_of(int(number))[0].decode("ascii") for number in (start + 1, stop))
            key, count = (first, 1) if first == last else (f"{first}..{last}", int(stop - start))
            what = f"{first} is missing with its companions" if count == 1 else f"{count:,} samples from {first} to {last} are missing"
            yield Part("part-record-missing", key, what, {"count": count}, lost_records=count)
        rest = ranges[_GAPS_NAMED:]
        if rest:
            count = int(sum(stop - start for start, stop in rest))
            key = numbered.keys_of(int(rest[0][0]) + 1)[0].decode("ascii")
            yield Part(
                "part-record-missing",
                key,
                f"{count:,} more samples in {len(rest):,} gaps from {key} on are missing",
                {"count": count},
                lost_records=count,
            )


def _singly(start: int, stop: int) -> list[tuple[int, int]]:
    """A short gap number by number, so that each missing record has its name; a long one whole."""
    return [(number, number + 1) for number in range(start, stop)] if stop - start <= _SINGLY else [(start, stop)]


def _mismatch(key: bytes, declared: int, held: int, highest: int | None = None) -> Part:
    name = key.decode("ascii")
    says = f"{name} says {declared:,} samples, {held:,} are there"
    if highest is not None and declared > highest:
        says += f"; numbers {highest + 1:,} to {declared:,} are missing"
    return Part("part-count-mismatch", name, says, {"declared": declared, "held": held}, lost_records=max(declared - held, 0))
