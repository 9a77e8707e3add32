"""A table file (.ldb, .sst): its footer, its index, and whether each block's checksum is right."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from datascrub.readers.leveldb_format.numbers import FormatError, as_varint, masked_crc, user_key, varint
from datascrub.readers.leveldb_format.snappy import inflate

MAGIC = 0xDB4775248B80FB57
FOOTER_BYTES = 48
TRAILER_BYTES = 5
"""behind each block: one byte of compression type and the masked CRC32C of block and type"""
COMPRESSIONS = {0: "none", 1: "snappy", 2: "zstd"}
_INDEX_LIMIT = 1 << 28
"""bytes of an index block; a table of 2 MB has one of some 20 KB"""


@dataclass(frozen=True)
class Block:
    """A data block: its place in the file and the index's separator, an internal key not below its last key and below the next block's first."""

    offset: int
    size: int
    separator: bytes


@dataclass(frozen=True)
class Fault:
    """Why the bytes of a block can't be had. code: the part rule it falls under."""

    code: str
    says: str


def read_block(handle: int, offset: int, size: int, file_bytes: int) -> tuple[bytes, int] | Fault:
    """(stored bytes, compression type) of a block whose checksum is right, else what is wrong with it."""
    if offset + size + TRAILER_BYTES > file_bytes:
        return Fault("part-truncated", f"the block at byte {offset:,} of {size:,} bytes reaches over the file's end at {file_bytes:,}")
    try:
        data = os.pread(handle, size + TRAILER_BYTES, offset)
    except OSError as error:
        return Fault("part-unreadable", f"the block at byte {offset:,} can't be read: {error.strerror}")
    if len(data) < size + TRAILER_BYTES:
        return Fault("part-truncated", f"the block at byte {offset:,} of {size:,} bytes is cut off")
    if masked_crc(data[:-4]) != int.from_bytes(data[-4:], "little"):
        return Fault("part-damaged", f"checksum mismatch in the block at byte {offset:,} of {size:,} bytes")
    kind = data[-5]
    if kind not in (0, 1):
        return Fault(
            "part-unsupported", f"the block at byte {offset:,} is compressed by {COMPRESSIONS.get(kind, f'type {kind}')}, which can't be read here"
        )
    return data[:-5], kind


def entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """(internal key, value) of a plain block, in order. Raises FormatError."""
    if len(block) < 4:
        raise FormatError("a block without its restart points")
    end = len(block) - 4 - 4 * int.from_bytes(block[-4:], "little")
    if end < 0:
        raise FormatError("more restart points than a block can hold")
    at, key = 0, b""
    while at < end:
        shared, at = varint(block, at)
        fresh, at = varint(block, at)
        length, at = varint(block, at)
        if shared > len(key) or at + fresh + length > end:
            raise FormatError("an entry reaches over its block")
        key = key[:shared] + block[at : at + fresh]
        at += fresh + length
        yield key, block[at - length : at]


class Table:
    """A table that is open for looking at its blocks. Raises FormatError or OSError where footer or index can't be had."""

    def __init__(self, path: Path, size: int | None = None) -> None:
        """size: of the file as the MANIFEST says; what stands behind it is no part of the table."""
        self._handle = os.open(path, os.O_RDONLY)
        try:
            self.file_bytes = self._size(size)
            self.blocks = self._index()
        except BaseException:
            os.close(self._handle)
            raise

    def _size(self, expected: int | None) -> int:
        there = os.fstat(self._handle).st_size
        if expected is not None and expected > there:
            raise FormatError(f"it has {there:,} bytes where the MANIFEST says {expected:,}")
        return there if expected is None else expected

    def close(self) -> None:
        os.close(self._handle)

    def _index(self) -> list[Block]:
        if self.file_bytes < FOOTER_BYTES:
            raise FormatError(f"{self.file_bytes:,} bytes are less than a table's footer")
        footer = os.pread(self._handle, FOOTER_BYTES, self.file_bytes - FOOTER_BYTES)
        if footer[-8:] != struct.pack("<Q", MAGIC):
            raise FormatError("it does not end with a table's footer")
        at = varint(footer, 0)[1]
        at = varint(footer, at)[1]
        offset, at = varint(footer, at)
        size, at = varint(footer, at)
        blocks = []
        for separator, value in entries(self._plain(offset, size)):
            user_key(separator)
            place, at = varint(value, 0)
            blocks.append(Block(place, varint(value, at)[0], separator))
        return blocks

    def _plain(self, offset: int, size: int) -> bytes:
        if size > _INDEX_LIMIT:
            raise FormatError(f"an index of {size:,} bytes is declared")
        found = read_block(self._handle, offset, size, self.file_bytes)
        if isinstance(found, Fault):
            raise FormatError(f"its index can't be read: {found.says}")
        return inflate(found[0], _INDEX_LIMIT) if found[1] else found[0]

    def fault(self, number: int) -> Fault | None:
        """What is wrong with a data block, by its number in the index; None where its checksum is right."""
        block = self.blocks[number]
        found = read_block(self._handle, block.offset, block.size, self.file_bytes)
        return found if isinstance(found, Fault) else None

    def is_compressed(self, number: int) -> bool:
        """Whether a data block is stored by snappy; False where it can't be read."""
        block = self.blocks[number]
        found = read_block(self._handle, block.offset, block.size, self.file_bytes)
        return not isinstance(found, Fault) and found[1] == 1

    def _meta(self) -> list[tuple[bytes, bytes]]:
        footer = os.pread(self._handle, FOOTER_BYTES, self.file_bytes - FOOTER_BYTES)
        offset, at = varint(footer, 0)
        return list(entries(self._plain(offset, varint(footer, at)[0])))

    def has_filter(self) -> bool:
        """Whether the table carries LevelDB's Bloom filter."""
        try:
            return any(name.startswith(b"filter.leveldb.BuiltinBloomFilter") for name, _ in self._meta())
        except FormatError:
            return False

    def filter_fault(self) -> str:
        """What is wrong with the filter, which may then hide keys from a plain get; empty where nothing is."""
        try:
            for _, place in self._meta():
                offset, at = varint(place, 0)
                found = read_block(self._handle, offset, varint(place, at)[0], self.file_bytes)
                if isinstance(found, Fault):
                    return f"its filter can't be read: {found.says}"
        except FormatError as error:
            return str(error).replace("its index", "the directory of its filter")
        return ""

    def first_key(self) -> bytes | None:
        """The first internal key; None where its block is damaged."""
        return next(iter(self._keys(0)), None)

    def last_key(self) -> bytes:
        """The last internal key, or the separator behind it where its block is damaged."""
        keys = self._keys(len(self.blocks) - 1)
        return keys[-1] if keys else self.blocks[-1].separator

    def _keys(self, number: int) -> list[bytes]:
        try:
            keys = [key for key, _ in entries(self._plain(self.blocks[number].offset, self.blocks[number].size))]
        except FormatError:
            return []
        return keys if all(len(key) >= 8 for key in keys) else []

    def without(self, numbers: frozenset[int], destination: Path) -> None:
        """Write a table of the same blocks whose index does not lead to these. No filter: LevelDB then looks into the blocks themselves."""
        kept = [block for number, block in enumerate(self.blocks) if number not in numbers]
        with destination.open("wb") as out:
            places = []
            for block in kept:
                data = os.pread(self._handle, block.size + TRAILER_BYTES, block.offset)
                places.append(as_varint(out.tell()) + as_varint(block.size))
                out.write(data)
            meta = _write_block(out, [])
            index = _write_block(out, list(zip((block.separator for block in kept), places, strict=True)))
            out.write((meta + index).ljust(40, b"\0") + struct.pack("<Q", MAGIC))


def _write_block(out: BinaryIO, items: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Write an uncompressed block with every key whole, and give its handle."""
    body, restarts = bytearray(), []
    for key, value in items:
        restarts.append(len(body))
        body += b"\0" + as_varint(len(key)) + as_varint(len(value)) + key + value
    restarts = restarts or [0]
    body += struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts)) + b"\0"
    handle = as_varint(out.tell()) + as_varint(len(body) - 1)
    out.write(bytes(body) + masked_crc(bytes(body)).to_bytes(4, "little"))
    return handle
