"""Write-ahead logs and MANIFESTs: records in blocks of 32 KiB, each fragment with its own checksum."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from datascrub.readers.leveldb_format.numbers import FormatError, masked_crc, prefixed

BLOCK_BYTES = 32768
HEADER_BYTES = 7
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
BATCH_HEADER_BYTES = 12


@dataclass(frozen=True)
class Entry:
    """A whole record of the log and the byte at which it begins."""

    offset: int
    data: bytes


@dataclass(frozen=True)
class Gap:
    """Bytes of the log that are no whole record. code: the part rule; a record cut off by the file's end is part-truncated."""

    offset: int
    size: int
    code: str
    says: str


def walk(data: bytes) -> Iterator[Entry | Gap]:
    """All records of a log in order, and the gaps between them. Zeros up to the end are room set aside in advance, no gap.

    LevelDB leaves out the rest of a 32 KiB block behind a damaged fragment; here the next fragment with a right checksum is looked for.
    """
    end = len(data.rstrip(b"\0"))
    at, begun, parts = 0, None, bytearray()
    gap: tuple[int, str] | None = None
    while at < end:
        room = BLOCK_BYTES - at % BLOCK_BYTES
        if room < HEADER_BYTES:
            at += room
            continue
        kind, size, fault = _fragment(data, at, room)
        if fault:
            start = at if begun is None else begun
            gap = gap or (start, fault)
            begun, parts = None, bytearray()
            at = _next_good(data, at, room)
            continue
        is_start = kind in (_FULL, _FIRST)
        if begun is not None and is_start:
            gap = gap or (begun, "a record's last fragment is missing")
            begun, parts = None, bytearray()
        elif begun is None and not is_start:
            gap = gap or (at, "a record's first fragment is missing")
            at += HEADER_BYTES + size
            continue
        if gap is not None:
            yield Gap(gap[0], at - gap[0], "part-damaged", gap[1])
            gap = None
        begun = at if begun is None else begun
        parts += data[at + HEADER_BYTES : at + HEADER_BYTES + size]
        at += HEADER_BYTES + size
        if kind in (_FULL, _LAST):
            yield Entry(begun, bytes(parts))
            begun, parts = None, bytearray()
    yield from _rest(data, begun, gap)


def _rest(data: bytes, begun: int | None, gap: tuple[int, str] | None) -> Iterator[Gap]:
    if gap is not None:
        code = "part-truncated" if gap[1].endswith(_CUT) else "part-damaged"
        yield Gap(gap[0], len(data) - gap[0], code, gap[1])
    elif begun is not None:
        yield Gap(begun, len(data) - begun, "part-truncated", "the last record is cut off")


_CUT = "is cut off"


def _fragment(data: bytes, at: int, room: int) -> tuple[int, int, str]:
    """(type, payload size, what is wrong or empty) of the fragment at an offset."""
    if at + HEADER_BYTES > len(data):
        return 0, 0, f"the last record {_CUT}"
    crc, size, kind = struct.unpack_from("<IHB", data, at)
    if size + HEADER_BYTES > room or not _FULL <= kind <= _LAST:
        return 0, 0, f"no record's header at byte {at:,}"
    if at + HEADER_BYTES + size > len(data):
        return 0, 0, f"the last record {_CUT}"
    if masked_crc(data[at + 6 : at + HEADER_BYTES + size]) != crc:
        return 0, 0, f"checksum mismatch in the record at byte {at:,}"
    return kind, size, ""


def _next_good(data: bytes, at: int, room: int) -> int:
    """Where to go on behind a bad fragment: at the next good one of the block, else at the next block."""
    end = at + room
    for behind in range(at + 1, min(end, len(data)) - HEADER_BYTES):
        if _FULL <= data[behind + 6] <= _LAST and not _fragment(data, behind, end - behind)[2]:
            return behind
    return end


def written(records: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of a log that holds these records."""
    room = BLOCK_BYTES
    for record in records:
        at, is_first = 0, True
        while is_first or at < len(record):
            if room < HEADER_BYTES:
                yield bytes(room)
                room = BLOCK_BYTES
            piece = record[at : at + room - HEADER_BYTES]
            is_last = at + len(piece) == len(record)
            kind = (_FULL if is_last else _FIRST) if is_first else (_LAST if is_last else _MIDDLE)
            body = bytes([kind]) + piece
            yield struct.pack("<IH", masked_crc(body), len(piece)) + body
            room -= HEADER_BYTES + len(piece)
            at += len(piece)
            is_first = False


def changes(batch: bytes) -> tuple[int, list[tuple[bytes, bytes | None]]]:
    """(first sequence number, changes) of a write batch: (key, value), value None for a deletion. Raises FormatError."""
    if len(batch) < BATCH_HEADER_BYTES:
        raise FormatError(f"a write batch of {len(batch)} bytes")
    sequence, count = struct.unpack_from("<QI", batch)
    at, found = BATCH_HEADER_BYTES, []
    while at < len(batch):
        kind = batch[at]
        key, at = prefixed(batch, at + 1)
        value: bytes | None = None
        if kind == 1:
            value, at = prefixed(batch, at)
        elif kind != 0:
            raise FormatError(f"a change of unknown kind {kind}")
        found.append((key, value))
    if len(found) != count:
        raise FormatError(f"{len(found)} changes where {count} are declared")
    return sequence, found
