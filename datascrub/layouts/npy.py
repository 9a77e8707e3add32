"""NumPy's .npy file as a value. Read without pickle, and nothing is allocated that the bytes don't hold."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from datascrub.layouts.base import Fit, Layout, Record
from datascrub.media.sniff import sniff
from datascrub.model import Column, Field, Kind, Limits, Problem, Role

_MAGIC = b"\x93NUMPY"
_AGREE = 0.9
_PICTURE_CHANNELS = (1, 3, 4)


def array_of(value: bytes) -> np.ndarray | Problem:  # noqa: PLR0911  # one return for each way to fail
    """The array of an .npy file, a view of its bytes; a Problem where it holds none."""
    if not value:
        return Problem("record-empty", "the record holds no bytes")
    if not value.startswith(_MAGIC):
        return Problem("record-unparsable", f"{len(value):,} bytes that are no .npy array: {sniff(value).says}")
    stream = io.BytesIO(value)
    try:
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read_header(stream)
    except (ValueError, TypeError, SyntaxError, OverflowError, RecursionError, MemoryError):
        return Problem("record-unparsable", "the header of the .npy array is damaged")
    if dtype.hasobject:
        return Problem("record-pickled", "an .npy array of Python objects, which is a pickle; it is never loaded")
    if any(length < 0 for length in shape):
        return Problem("record-unparsable", "the header of the .npy array declares a negative shape")
    start, needed = stream.tell(), math.prod(shape) * dtype.itemsize
    if len(value) - start < needed:
        return Problem("record-truncated", f"declares {shape} of {dtype} = {needed:,} bytes, holds {len(value) - start:,}")
    if needed == 0:
        return (
            np.zeros(shape, dtype)
            if all(length < 1 << 31 for length in shape)
            else Problem("record-unparsable", "declares an empty array of absurd shape")
        )
    flat = np.frombuffer(value, dtype, math.prod(shape), start)
    return flat.reshape(shape[::-1]).T if is_fortran else flat.reshape(shape)


class Npy(Layout):
    """One .npy array per record."""

    name: ClassVar[str] = "npy"
    title: ClassVar[str] = "NumPy arrays (.npy)"
    specificity: ClassVar[int] = 3

    def fit(self, records: Sequence[Record]) -> Fit | None:
        values = [record.value for record in records if record.value is not None]
        arrays = [array for array in map(array_of, values) if isinstance(array, np.ndarray)]
        if not arrays:
            return None
        (shape, count), (dtype, _) = (
            Counter(array.shape for array in arrays).most_common(1)[0],
            Counter(str(array.dtype) for array in arrays).most_common(1)[0],
        )
        is_picture = dtype == "uint8" and len(shape) == 3 and (shape[0] in _PICTURE_CHANNELS or shape[-1] in _PICTURE_CHANNELS)
        agreed = shape if count >= _AGREE * len(arrays) else None
        field = Field("array", Role.IMAGE if is_picture else Role.ARRAY, Kind.ARRAY, dtype, agreed)
        return Fit(len(arrays) / len(values), (field,))

    def decode(self, samples: Sequence[Sequence[Record]], fields: Sequence[Field], limits: Limits) -> tuple[dict[str, Column], Mapping[int, Problem]]:
        problems: dict[int, Problem] = {}
        values: list[Any] = [None] * len(samples)
        for row, records in enumerate(samples):
            found = None if records[0].value is None else array_of(records[0].value)
            if isinstance(found, Problem):
                problems[row] = found
            else:
                values[row] = found
        whole: Any = values
        if values and all(value is not None for value in values) and len({(value.shape, value.dtype) for value in values}) == 1:
            whole = np.stack(values)
        return {field.name: Column(field, whole, {}, limits) for field in fields if field.role is not Role.IGNORE}, problems
