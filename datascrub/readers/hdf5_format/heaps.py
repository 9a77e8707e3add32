"""Heaps of values of variable length, looked at before HDF5 reads them: in a heap that holds zeros, HDF5 goes in a circle for ever."""

from __future__ import annotations

import zlib
from typing import IO, TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import h5py

_REFERENCE = np.dtype([("length", "<u4"), ("heap", "<u8"), ("number", "<u4")])
"""how a value of variable length is stored: its length, the address of its heap, its number there (HDF5 File Format Specification, VII.C)"""
_HEAD = 16
"""bytes before the objects of a heap (GCOL, version, size), and before the data of an object (number, references, size)"""
_DEFLATE, _SHUFFLE, _FLETCHER = 1, 2, 3
_CONTIGUOUS, _CHUNKED = 1, 2


class Heaps:
    """The heaps that the rows of a dataset point to."""

    def __init__(self, dataset: h5py.Dataset) -> None:
        self.dataset, self._known = dataset, dict[int, bool]()

    def check(self, start: int, stop: int) -> None:
        """Raises OSError where a row points to a heap that HDF5 can't be sent through. Rows whose references can't be had from here are let pass."""
        with open(self.dataset.file.filename, "rb") as file:  # noqa: PTH123  a name as HDF5 gives it, text or bytes
            held = self._references(file, start, stop)
            for address in () if held is None else np.unique(held["heap"][held["length"] > 0]).tolist():
                if address not in self._known:
                    self._known[address] = _is_sound(file, self.dataset.file.userblock_size + address)
                if not self._known[address]:
                    raise OSError(f"the heap at byte {address:,}, which holds values of variable length, is damaged")

    def _references(self, file: IO[bytes], start: int, stop: int) -> np.ndarray | None:
        """What the rows hold in place of their values; None where that can't be told."""
        creation = self.dataset.id.get_create_plist()
        if self.dataset.file.id.get_create_plist().get_sizes()[0] != 8:  # bytes of an address
            return None
        whole = int(np.prod(self.dataset.shape[1:], dtype=np.int64))
        if creation.get_layout() == _CONTIGUOUS and (offset := self.dataset.id.get_offset()) is not None:
            file.seek(offset + start * whole * _REFERENCE.itemsize)
            return _as_references(file.read((stop - start) * whole * _REFERENCE.itemsize))
        if creation.get_layout() == _CHUNKED and self.dataset.chunks[1:] == self.dataset.shape[1:]:
            return self._of_chunks(creation, start, stop)
        return None

    def _of_chunks(self, creation: Any, start: int, stop: int) -> np.ndarray | None:
        rows = self.dataset.chunks[0]
        filters = [creation.get_filter(place)[0] for place in range(creation.get_nfilters())]
        if not set(filters) <= {_DEFLATE, _SHUFFLE, _FLETCHER}:
            return None
        found = []
        for first in range(start // rows * rows, stop, rows):
            coordinate = (first, *(0 for _ in self.dataset.shape[1:]))
            if self.dataset.id.get_chunk_info_by_coord(coordinate).byte_offset is None:
                continue  # never written: all of it reads as empty
            mask, raw = self.dataset.id.read_direct_chunk(coordinate)
            try:
                raw = _unfiltered(raw, [each for place, each in enumerate(filters) if not mask >> place & 1])
            except zlib.error:
                return None  # HDF5 will say so
            held = _as_references(raw)
            each = len(held) // rows
            found.append(held[max(start - first, 0) * each : (min(stop, first + rows) - first) * each])
        return np.concatenate(found) if found else None


def _as_references(raw: bytes) -> np.ndarray:
    return np.frombuffer(raw[: len(raw) // _REFERENCE.itemsize * _REFERENCE.itemsize], _REFERENCE)


def _unfiltered(raw: bytes, filters: list[int]) -> bytes:
    for each in reversed(filters):
        if each == _FLETCHER:
            raw = raw[:-4]
        elif each == _DEFLATE:
            raw = zlib.decompress(raw)
        else:
            raw = np.frombuffer(raw, np.uint8).reshape(_REFERENCE.itemsize, -1).T.tobytes()
    return raw


def _is_sound(file: IO[bytes], at: int) -> bool:
    """Whether HDF5 comes to the end of a heap: each object leads to the one behind it, within the heap."""
    file.seek(at)
    head = file.read(_HEAD)
    size = int.from_bytes(head[8:16], "little")
    if len(head) < _HEAD or not head.startswith(b"GCOL"):
        return False
    place = _HEAD
    while place + _HEAD <= size:
        file.seek(at + place)
        head = file.read(_HEAD)
        if len(head) < _HEAD:
            return False
        number, length = int.from_bytes(head[:2], "little"), int.from_bytes(head[8:16], "little")
        # The object of number 0 is the free space, and its length counts its own head.
        step = length if number == 0 else _HEAD + (length + 7) // 8 * 8
        if step < _HEAD or place + step > size:
            return False
        place += step
    return True
