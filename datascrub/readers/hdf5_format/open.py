"""Opening an HDF5 file for reading alone; a file cut short opens over zeros behind its end."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datascrub.readers.hdf5_format.files import superblock

if TYPE_CHECKING:
    import h5py

SMALL_CACHE, LARGE_CACHE = 1 << 18, 64 << 20
"""bytes of inflated chunks kept, a dataset: whole chunks are read faster past the cache; a chunk that several blocks need is inflated once in it"""
FAILURES = (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError, OverflowError, AttributeError)
"""what h5py raises for foreign bytes"""


class ZeroPadded(io.RawIOBase):
    """A file that reads as zeros from its end to `size`, so that HDF5 opens what was cut short."""

    def __init__(self, path: Path, size: int) -> None:
        super().__init__()
        self._file = path.open("rb", buffering=0)
        self._size, self._at = size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        self._file.seek(self._at)
        held = 0
        while held < len(view) and (count := self._file.readinto(view[held:])):
            held += count
        view[held:] = bytes(len(view) - held)
        self._at += len(view)
        return len(view)

    def close(self) -> None:
        self._file.close()
        super().close()


class Opened:
    """An open file. cut: bytes that are there, where it should have more; None where it is whole."""

    def __init__(self, handle: h5py.File, cut: int | None, padded: ZeroPadded | None) -> None:
        self.handle, self.cut, self._padded = handle, cut, padded

    def close(self) -> None:
        with contextlib.suppress(*FAILURES):
            self.handle.close()
        if self._padded is not None:
            self._padded.close()


class CantOpenError(Exception):
    """The file can't be opened. is_cut: because it ends too early."""

    def __init__(self, says: str, *, is_cut: bool) -> None:
        super().__init__(says)
        self.says, self.is_cut = says, is_cut


def open_file(path: Path, cache_bytes: int = SMALL_CACHE) -> Opened:
    """The file, whole or padded. Raises OSError where its bytes can't be had, CantOpenError where they are no HDF5 that opens."""
    import h5py

    load_filters()
    size = path.stat().st_size
    with path.open("rb"):
        pass  # permission is told here, as an OSError of its own
    try:
        # locking=False: we only read, and a trainer may hold this file open.
        return Opened(h5py.File(path, "r", locking=False, rdcc_nbytes=cache_bytes, rdcc_nslots=100_003), None, None)
    except FAILURES as error:
        reason = reason_of(error)
    block = superblock(path)
    if block is None or (size >= block.end and block.end):
        raise CantOpenError(f"corrupt: it can't be opened ({reason})", is_cut=False)
    if not block.end:
        raise CantOpenError(f"truncated: {size:,} bytes, which end inside its first block", is_cut=True)
    padded = ZeroPadded(path, block.end)
    try:
        handle = h5py.File(padded, "r", rdcc_nbytes=cache_bytes, rdcc_nslots=100_003)
        list(handle)
    except FAILURES:
        padded.close()
        raise CantOpenError(f"truncated: {size:,} of {block.end:,} bytes, and nothing in it can be read", is_cut=True) from None
    return Opened(handle, size, padded)


def load_filters() -> None:
    """Bring in the filters of hdf5plugin, where it is installed."""
    if importlib.util.find_spec("hdf5plugin") is not None:
        import hdf5plugin  # noqa: F401  # its import registers the filters


def reason_of(error: BaseException) -> str:
    """What HDF5 says, without the words that h5py puts around it and without addresses."""
    text = str(error.args[0]) if error.args else type(error).__name__
    inner = text[text.find("(") + 1 : text.rfind(")")] if "(" in text and ")" in text else text
    words = inner.partition(", path = ")[0].partition(", filename")[0].partition(". Please verify")[0]
    return "can't find a filter plugin" if "can't open directory" in words else words[:160]
