"""A decoder of raw snappy, for the few index blocks that are read without LevelDB."""

from __future__ import annotations

from datascrub.readers.leveldb_format.numbers import FormatError, varint


def inflate(data: bytes, limit: int) -> bytes:
    """The bytes that were compressed. Raises FormatError where data is no snappy, or declares more than limit bytes.

    Source: google/snappy, format_description.txt.
    """
    length, at = varint(data, 0)
    if length > limit:
        raise FormatError(f"a compressed block declares {length:,} bytes")
    out = bytearray()
    try:
        while at < len(data) and len(out) <= length:
            at = _literal(data, at, out) if data[at] & 3 == 0 else _copy(data, at, out)
    except IndexError as error:
        raise FormatError("a compressed block is cut off") from error
    if len(out) != length:
        raise FormatError(f"a compressed block gives {len(out):,} bytes where it declares {length:,}")
    return bytes(out)


def _literal(data: bytes, at: int, out: bytearray) -> int:
    size = data[at] >> 2
    at += 1
    if size >= 60:
        width = size - 59
        size = int.from_bytes(data[at : at + width], "little")
        at += width
    end = at + size + 1
    if end > len(data):
        raise IndexError(end)
    out += data[at:end]
    return end


def _copy(data: bytes, at: int, out: bytearray) -> int:
    tag = data[at]
    if tag & 3 == 1:
        size, back, at = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | data[at + 1], at + 2
    else:
        width = 2 if tag & 3 == 2 else 4
        if at + 1 + width > len(data):
            raise IndexError(at)
        size, back, at = (tag >> 2) + 1, int.from_bytes(data[at + 1 : at + 1 + width], "little"), at + 1 + width
    if not 0 < back <= len(out):
        raise FormatError("a compressed block copies from before its beginning")
    start = len(out) - back
    if back >= size:
        out += out[start : start + size]
    else:  # the copy overlaps itself: a run of the last `back` bytes
        run = bytes(out[start:])
        out += (run * (size // back + 1))[:size]
    return at
