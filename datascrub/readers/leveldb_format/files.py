"""A LevelDB's folder from outside: whether it is one, how large it is, and whether it changed."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import xxhash

from datascrub.readers.leveldb_format.state import MANIFEST_NAME, TABLE_NAME
from datascrub.readers.leveldb_format.tables import FOOTER_BYTES, MAGIC

_OF_NO_RECORD = ("LOCK", "LOG", "LOG.old")
"""LOG is for people; LOCK is empty"""


def is_leveldb(source: Path) -> bool:
    """Whether a folder holds a LevelDB, be its CURRENT or MANIFEST lost. RocksDB, whose files have the same names, is none."""
    try:
        names = {path.name for path in source.iterdir()} if source.is_dir() else set()
        if any(name == "IDENTITY" or name.startswith("OPTIONS-") for name in names):
            return False
        if any(MANIFEST_NAME.fullmatch(name) for name in names):
            return "CURRENT" in names or any(TABLE_NAME.fullmatch(name) or name.endswith(".log") for name in names)
        tables = sorted(name for name in names if TABLE_NAME.fullmatch(name))
        return any(_has_footer(source / name) for name in tables[:8])
    except OSError:
        return False


def _has_footer(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, 2) < FOOTER_BYTES:
            return False
        file.seek(-8, 2)
        return file.read() == struct.pack("<Q", MAGIC)


def _files(source: Path) -> Iterator[tuple[str, int, int]]:
    for path in sorted(source.iterdir()):
        if path.name not in _OF_NO_RECORD and path.is_file():
            status = path.stat()
            yield path.name, status.st_size, status.st_mtime_ns


def size_of(source: Path) -> int:
    return sum(size for _, size, _ in _files(source))


def fingerprint_of(source: Path) -> Mapping[str, Any]:
    """Names, sizes and times of all files that hold records or lead to them."""
    state, count, total = xxhash.xxh3_128(), 0, 0
    for name, size, time in _files(source):
        state.update(f"{name}\0{size}\0{time}\0".encode("utf-8", "surrogateescape"))
        count, total = count + 1, total + size
    return {"files": count, "size": total, "names_sizes_times": state.hexdigest()}
