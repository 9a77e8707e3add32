"""By what samples are known again when their source is scanned anew: sizes and times of files, or digests of their bytes."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import xxhash

_BLOCK_BYTES = 8 << 20


@dataclass(frozen=True)
class Stamps:
    """By what the samples of a shard are known again: equal key and stamp mean that nothing of the sample changed.

    keys, stamps: of each row in order, None for what can't be had now. whole: one stamp for all rows, where the container knows no single ones.
    """

    keys: Sequence[str | None] = ()
    stamps: Sequence[str | None] = ()
    whole: str | None = None


def file_stamp(path: str | bytes | os.PathLike[str]) -> str | None:
    """Size, time in ns and inode of a file; None where they can't be had."""
    try:
        status = os.stat(path)  # noqa: PTH116  the path may be bytes
    except (OSError, ValueError):  # ValueError: a zero byte in a name
        return None
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"


def file_digest(path: Path, start: int = 0, stop: int | None = None) -> str | None:
    """xxh3-128 of a range of a file's bytes, in hexadecimal; None where they can't be had."""
    digest = xxhash.xxh3_128()
    try:
        with path.open("rb") as file:
            file.seek(start)
            left = math.inf if stop is None else stop - start
            while left > 0 and (block := file.read(int(min(_BLOCK_BYTES, left)))):
                digest.update(block)
                left -= len(block)
    except OSError:
        return None
    return digest.hexdigest()
