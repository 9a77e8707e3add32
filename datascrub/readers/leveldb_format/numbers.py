"""The small encodings that all files of a LevelDB share: varints, length-prefixed bytes, internal keys, masked CRC32C."""

from __future__ import annotations

import struct

import google_crc32c

_MASK = 0xA282EAD8
NEWEST = (1 << 56) - 2
"""one under the highest sequence number, which LevelDB's compaction takes for "none yet", and then drops every entry"""


class FormatError(Exception):
    """Bytes that are not what their place in the file asks for."""


def masked_crc(data: bytes) -> int:
    """CRC32C as LevelDB stores it: rotated and offset, so that a CRC over bytes that hold CRCs stays sound."""
    crc: int = google_crc32c.value(data)
    return (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF


def varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, offset behind it) of the varint at an offset. Raises FormatError where there is none of at most 64 bits."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise FormatError("a number is cut off")


def prefixed(data: bytes, at: int) -> tuple[bytes, int]:
    """(bytes, offset behind them) of the length-prefixed bytes at an offset."""
    length, at = varint(data, at)
    if at + length > len(data):
        raise FormatError(f"{length:,} bytes are declared where {len(data) - at:,} are left")
    return data[at : at + length], at + length


def as_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def as_prefixed(data: bytes) -> bytes:
    return as_varint(len(data)) + data


def user_key(internal: bytes) -> bytes:
    """The user's part of an internal key, whose last 8 bytes are sequence number and type."""
    if len(internal) < 8:
        raise FormatError(f"an internal key of {len(internal)} bytes")
    return internal[:-8]


def internal_key(user: bytes, sequence: int) -> bytes:
    """The internal key of a value; of the same user key, the higher sequence number sorts first."""
    return user + struct.pack("<Q", sequence << 8 | 1)
