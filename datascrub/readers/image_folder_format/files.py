"""Reading one file of an image folder: never blocked by a pipe, never more than the limit, every refusal told as a problem."""

# Paths are bytes here, for foreign names need not decode, and pathlib takes no bytes.
# ruff: noqa: PTH116

from __future__ import annotations

import errno
import os
import stat

import xxhash

from datascrub.model import Problem
from datascrub.readers.image_folder_format.names import HEAD_BYTES

_TRIES = 3
"""of a read that ends in EIO: network and failing disks often give the bytes at the second time"""

_BLOCK, _LOOKS = 4096, 64
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
CHUNK_BYTES = 1 << 23


def read_file(path: bytes, limit: int) -> tuple[bytes | None, int, Problem | None]:
    """(bytes, size, what was wrong) of a regular file or of what a link leads to. Bytes are None exactly where something was wrong."""
    for attempt in range(_TRIES):
        try:
            return _read(path, limit)
        except OSError as error:
            if error.errno != errno.EIO or attempt == _TRIES - 1:
                return None, size_of(path), unreadable(error)
    raise AssertionError("a loop that returns at its last turn")


def _read(path: bytes, limit: int) -> tuple[bytes | None, int, Problem | None]:
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None, 0, Problem("record-unreadable", "became something that is no file while it was scanned")
        if status.st_size > limit:
            says = f"{status.st_size:,} bytes, over the limit of {limit:,}; not read as a whole"
            return None, status.st_size, Problem("record-too-large", says + _zeros(descriptor, status.st_size))
        data = os.read(descriptor, status.st_size + 1)
        while len(data) <= limit and (more := os.read(descriptor, CHUNK_BYTES)):  # a file that grows, or that the kernel gave in pieces
            data += more
    finally:
        os.close(descriptor)
    if len(data) > limit:
        return None, len(data), Problem("record-too-large", f"grew over the limit of {limit:,} bytes while it was read")
    return data, len(data), None


def _zeros(descriptor: int, size: int) -> str:
    """A few words where a file too large to read seems to hold nothing but zero bytes: its blocks were never written, or those looked at are zero."""
    try:
        os.lseek(descriptor, 0, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return "; all bytes are zero, none was ever written"
    places = {0, max(size - _BLOCK, 0), *range(0, size, max(size // _LOOKS, 1))}
    if all(not any(os.pread(descriptor, _BLOCK, place)) for place in sorted(places)):
        return f"; the {len(places)} places looked at hold nothing but zero bytes"
    return ""


def unreadable(error: OSError) -> Problem:
    """Why bytes could not be had, in words that are the same in every run."""
    if isinstance(error, FileNotFoundError):
        return Problem("record-unreadable", "vanished between listing and reading")
    if isinstance(error, PermissionError):
        return Problem("record-unreadable", "no permission to read it")
    return Problem("record-unreadable", f"unreadable: {error.strerror or 'input or output error'}")


def size_of(path: bytes) -> int:
    """Size of a file in bytes, 0 where nobody can tell."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def head_of(path: bytes, count: int = HEAD_BYTES) -> bytes | None:
    """The first bytes of a regular file; None where they can't be had."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return None
    try:
        return os.read(descriptor, count) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def digest_into(digest: xxhash.xxh3_128, path: bytes) -> bool:
    """Take the bytes of a file into a digest; False where they can't be had."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return False
        while data := os.read(descriptor, CHUNK_BYTES):
            digest.update(data)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
