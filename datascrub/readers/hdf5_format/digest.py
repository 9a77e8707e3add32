"""Identity of rows: xxh3-128 of the bytes of a row in every dataset of the samples' axis."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import xxhash

from datascrub.readers.hdf5_format.dataset import Stored
from datascrub.readers.hdf5_format.open import FAILURES
from datascrub.readers.hdf5_format.table import Table

_BLOCK_BYTES = 16 << 20


def digest_rows(table: Table) -> Iterator[tuple[int, bytes]]:
    """(row, digest) of every row that can be read in every dataset that has it, in order."""
    for start, stop in blocks(table):
        yield from digests_of(table, start, stop)


def blocks(table: Table) -> Iterator[tuple[int, int]]:
    """Ranges of rows of some MB, in whole chunks where that is possible."""
    weight = max(1, sum(stored.row_bytes for stored in table.columns.values()))
    step = table.whole_chunks(max(1, min(_BLOCK_BYTES // weight, 8192)))
    for start in range(0, table.length, step):
        yield start, min(start + step, table.length)


def digests_of(table: Table, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """The digests of a range of rows."""
    columns = [_pieces(table, stored, start, stop) for _, stored in sorted(table.columns.items())]
    for place in range(stop - start):
        digest = xxhash.xxh3_128()
        for pieces in columns:
            piece = pieces[place]
            if piece is None:
                break
            digest.update(piece)
        else:
            yield start + place, digest.digest()


def row_bytes_of(table: Table, row: int) -> bytes:
    """A row as stored, one dataset after the other; what can't be read is left out."""
    made = []
    for _, stored in sorted(table.columns.items()):
        intact = table.intact(stored)
        if row < stored.length and (intact is None or intact[row]):
            with suppress(*FAILURES):
                made.append(_plain(stored.raw(row, row + 1)[0]))
    return b"".join(made)


def _pieces(table: Table, stored: Stored, start: int, stop: int) -> list[Any]:
    """The bytes of each row: a memory view or bytes; b"" behind the end of a shorter dataset, None where they can't be read."""
    held = max(start, min(stop, stored.length))
    intact = table.intact(stored)
    if held > start and (intact is None or intact[start:held].all()):
        try:
            return _split(stored.raw(start, held)) + [b""] * (stop - held)
        except FAILURES:
            pass  # row by row, below: only those that fail are lost
    made: list[Any] = []
    for row in range(start, held):
        try:
            made.append(_split(stored.raw(row, row + 1))[0] if intact is None or intact[row] else None)
        except FAILURES:
            made.append(None)
    return made + [b""] * (stop - held)


def _split(block: np.ndarray) -> list[Any]:
    if block.dtype.hasobject:
        return [_encoded(value) for value in block]
    if not len(block) or not block.nbytes:
        return [b""] * len(block)
    flat = np.ascontiguousarray(block).view(np.uint8).reshape(len(block), -1)
    return list(flat)


def _encoded(value: Any) -> bytes:
    """A value of variable length, with its length before it, so that two rows never run into one."""
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return b"".join(_encoded(item) for item in value.flat)
    raw = _plain(value)
    return len(raw).to_bytes(8, "little") + raw


def _plain(value: Any) -> bytes:
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return b"".join(_plain(item) for item in value.flat)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    return value if isinstance(value, bytes) else np.asarray(value).tobytes()
