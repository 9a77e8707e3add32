"""Records and frames written byte by byte, independent of the reader under test."""

from __future__ import annotations

import struct

import google_crc32c


def masked(data: bytes) -> bytes:
    crc = google_crc32c.value(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def frame(payload: bytes) -> bytes:
    length = struct.pack("<Q", len(payload))
    return length + masked(length) + payload + masked(payload)


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    made = b""
    while number > 0x7F:
        made, number = made + bytes([number & 0x7F | 0x80]), number >> 7
    return made + bytes([number])


def field(number: int, body: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(body)) + body


def feature(values: list) -> bytes:
    """A Feature by the type of its first value; an empty list has no kind."""
    if not values:
        return b""
    if isinstance(values[0], bytes):
        return field(1, b"".join(field(1, value) for value in values))
    if isinstance(values[0], float):
        return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
    return field(3, field(1, b"".join(map(varint, values))))


def features(**named: list) -> bytes:
    return b"".join(field(1, field(1, name.replace("__", "/").encode()) + field(2, feature(values))) for name, values in named.items())


def example(**named: list) -> bytes:
    return field(1, features(**named))


def sequence(context: dict[str, list], steps: dict[str, list[list]]) -> bytes:
    lists = b"".join(
        field(1, field(1, name.encode()) + field(2, b"".join(field(1, feature(values)) for values in each))) for name, each in steps.items()
    )
    return field(1, features(**context)) + field(2, lists)
