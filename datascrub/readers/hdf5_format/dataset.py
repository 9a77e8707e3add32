"""One dataset as a reader sees it: what its elements are, where its rows stand, and its rows as numpy values."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from datascrub.media.sniff import sniff
from datascrub.readers.hdf5_format.heaps import Heaps
from datascrub.readers.hdf5_format.open import FAILURES

if TYPE_CHECKING:
    import h5py

_CONTIGUOUS = 1  # H5D_CONTIGUOUS
_BFLOAT16_BYTES = 2


class Form(enum.Enum):
    """What the elements of a dataset are to a sample."""

    NUMBERS = "numbers"
    BFLOAT16 = "bfloat16"
    TEXT = "text"
    RAGGED = "variable-length numbers"
    PICTURES = "encoded images"
    COMPOUND = "a compound type"
    REFERENCES = "references"
    UNKNOWN = "a type that can't be read here"


class Stored:
    """A dataset of an open file, by rows of its first axis.

    is_linked: it stands in another file.
    shape: of one row. dtype: of the values as they are read. length: rows; 0 for a scalar. row_bytes: one row in memory.
    """

    def __init__(self, name: str, dataset: h5py.Dataset, *, is_linked: bool = False) -> None:
        self.name, self.dataset, self.is_linked = name, dataset, is_linked
        dtype = dataset.dtype
        self.element, inner = dtype.subdtype if dtype.subdtype is not None else (dtype, ())
        whole = dataset.shape
        self.is_null = whole is None
        self.is_scalar = not whole
        self.length = int(whole[0]) if whole else 0
        self.shape: tuple[int, ...] = (tuple(int(n) for n in whole[1:]) if whole else ()) + tuple(inner)
        self.form = self._form()
        self.dtype = read_as(self.element, self.form)
        self.row_bytes = math.prod(self.shape) * self.element.itemsize
        if self.form is Form.NUMBERS and self.element.kind == "c":
            self.shape += (2,)  # a complex number is two real ones, so that every check of numbers applies

    @property
    def logical_bytes(self) -> int:
        return int(self.row_bytes * (1 if self.is_scalar else self.length))

    @cached_property
    def chunk_rows(self) -> int:
        """Rows of one chunk; 1 where rows are not chunked."""
        chunks = self.dataset.chunks
        return int(chunks[0]) if chunks else 1

    @property
    def is_dense(self) -> bool:
        return self.form in (Form.NUMBERS, Form.BFLOAT16)

    @property
    def ragged(self) -> np.dtype[Any] | None:
        """The dtype of the numbers in a row of variable length."""
        import h5py

        base = h5py.check_vlen_dtype(self.element)
        return None if base is None else np.dtype(base)

    def _form(self) -> Form:
        import h5py

        element = self.element
        if h5py.check_string_dtype(element) is not None or element.kind == "S":
            return Form.TEXT
        if h5py.check_ref_dtype(element) is not None:
            return Form.REFERENCES
        if self.ragged is not None:
            return self._ragged(self.ragged)
        if element.names is not None:
            return Form.COMPOUND
        if element.kind == "V":
            return self._opaque()
        return Form.NUMBERS if element.kind in "fciub" else Form.UNKNOWN

    def _ragged(self, base: np.dtype[Any]) -> Form:
        if base.kind not in "fiub" or self.shape:
            return Form.COMPOUND if base.kind in "fciubV" else Form.REFERENCES
        return Form.PICTURES if base.itemsize == 1 and self._holds_pictures() else Form.RAGGED

    def _opaque(self) -> Form:
        if self.shape == () and self.element.itemsize > 8 and self._holds_pictures():
            return Form.PICTURES
        if self.element.itemsize != _BFLOAT16_BYTES:
            return Form.UNKNOWN
        try:
            self.dataset[:1]
        except FAILURES:
            return Form.UNKNOWN
        return Form.BFLOAT16

    def _holds_pictures(self) -> bool:
        """Whether most of some rows begin as an encoded image does."""
        if self.is_scalar:
            try:
                return sniff(as_bytes(self.dataset[()])).is_image
            except FAILURES:
                return False
        if not self.length:
            return False
        rows = sorted({0, self.length // 2, self.length - 1})
        held = 0
        for row in rows:
            try:
                held += sniff(as_bytes(self.raw(row, row + 1)[0])).is_image
            except FAILURES:
                continue
        return held * 2 > len(rows)

    def rows(self, start: int, stop: int) -> np.ndarray | list[Any]:
        """Rows start to stop (not included): a block for numbers, else a list. Raises what h5py raises."""
        count = stop - start
        if self.form is Form.NUMBERS and self.dataset.dtype.subdtype is None:
            block = np.empty((count, *self.dataset.shape[1:]), self.element.newbyteorder("="))
            if block.size:
                self.dataset.read_direct(block, np.s_[start:stop])
            return _plain(block, self.dtype)
        values = self.raw(start, stop)
        if self.form is Form.NUMBERS:
            return _plain(np.ascontiguousarray(values, self.element.newbyteorder("=")), self.dtype)
        if self.form is Form.BFLOAT16:
            return (np.ascontiguousarray(values).view("<u2").astype(np.uint32) << 16).view(np.float32).reshape(count, *self.shape)
        if self.form is Form.TEXT:
            return [as_text(value) for value in values]
        if self.form is Form.PICTURES:
            return [as_bytes(value) for value in values]
        return list(values)

    def raw(self, start: int, stop: int) -> Any:
        """Rows as h5py gives them, for a copy or a digest. Raises what h5py raises, and OSError in place of a read that would never end."""
        if self._heaps is not None:
            self._heaps.check(start, stop)
        return self.dataset[start:stop]

    @cached_property
    def _heaps(self) -> Heaps | None:
        import h5py

        is_varied = h5py.check_vlen_dtype(self.element) is not None or getattr(h5py.check_string_dtype(self.element), "length", 0) is None
        return Heaps(self.dataset) if is_varied and not self.is_scalar and not self.dataset.is_virtual else None

    def is_contiguous(self) -> bool:
        return bool(self.dataset.id.get_create_plist().get_layout() == _CONTIGUOUS)

    def intact(self, cut: int) -> np.ndarray:
        """(length,) bool: the rows whose stored bytes all stand before byte `cut`. Raises what h5py raises."""
        if self.dataset.chunks is not None:
            return self._intact_chunks(cut)
        offset = self.dataset.id.get_offset() if self.is_contiguous() else None
        if offset is None or not self.row_bytes:
            return np.ones(self.length, bool)
        whole: np.ndarray = offset + (np.arange(self.length, dtype=np.int64) + 1) * self.row_bytes <= cut
        return whole

    def _intact_chunks(self, cut: int) -> np.ndarray:
        chunks, whole = self.dataset.chunks, self.dataset.shape
        needed = math.prod(-(-whole[axis] // chunks[axis]) for axis in range(1, len(whole)))
        bands = np.zeros(-(-self.length // chunks[0]), np.int64)

        def count(info: Any) -> None:
            band = info.chunk_offset[0] // chunks[0]
            if info.byte_offset + info.size <= cut and band < len(bands):
                bands[band] += 1

        self.dataset.id.chunk_iter(count)
        return np.repeat(bands == needed, chunks[0])[: self.length]


def read_as(element: np.dtype[Any], form: Form) -> np.dtype[Any] | None:
    """The dtype of values read from such elements; None where they are no numbers."""
    if form is Form.BFLOAT16:
        return np.dtype(np.float32)
    if form is not Form.NUMBERS:
        return None
    if element.kind in "fc" and element.itemsize > (8 if element.kind == "f" else 16):
        return np.dtype(np.float64)
    if element.kind == "c":
        return np.dtype(f"f{element.itemsize // 2}")
    return np.dtype(element.newbyteorder("=").str)


def _plain(block: np.ndarray, dtype: np.dtype[Any] | None) -> np.ndarray:
    """The block in the dtype of its field: an extended float is held as float64, and what overflows there as its greatest number, not as infinity."""
    if block.dtype.kind == "c":
        block = np.stack([block.real, block.imag], axis=-1)
    if dtype is None or block.dtype == dtype:
        return block
    if block.dtype.kind == "f":
        with np.errstate(all="ignore"):
            held = block.astype(dtype)
        over = np.isinf(held) & ~np.isinf(block)
        held[over] = np.copysign(np.finfo(dtype).max, held[over])
        return held
    return block.astype(dtype)


def as_bytes(value: Any) -> bytes:
    return bytes(value.tobytes()) if isinstance(value, (np.ndarray, np.generic)) else bytes(value)


def as_text(value: Any) -> str | bytes:
    raw = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return bytes(raw)


def non_finite(values: Any) -> tuple[int, int]:
    """(NaN, infinite) among all floating numbers of an array: plain, complex, compound or of arrays of varying length."""
    array = np.asarray(values)
    if array.dtype.names is not None:
        found = [non_finite(array[name]) for name in array.dtype.names]
        return sum(nan for nan, _ in found), sum(inf for _, inf in found)
    if array.dtype.kind == "O":
        found = [non_finite(item) for item in array.flat if isinstance(item, (np.ndarray, np.void))]
        return sum(nan for nan, _ in found), sum(inf for _, inf in found)
    if array.dtype.kind not in "fc":
        return 0, 0
    return int(np.isnan(array).sum()), int(np.isinf(array).sum())


def spread(length: int, pieces: int, size: int) -> Sequence[tuple[int, int]]:
    """Some ranges of rows, spread over a length."""
    if length <= pieces * size:
        return [(0, length)] if length else []
    starts = {piece * (length - size) // (pieces - 1) for piece in range(pieces)}
    return [(start, start + size) for start in sorted(starts)]
