"""What numpy says of a block of numbers, sample by sample: counts, range, mean, deviation. Made once for a batch, whichever validators ask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datascrub.model import Column

_TILE_BYTES = 1 << 19
"""rows taken at once: they stay in the cache of one core while five passes go over them"""
_SAFE_MAGNITUDE = 1e15
"""above it a float32 sum of squares of a large sample can overflow; such samples are measured in float64"""
_EXACT_IN_FLOAT32 = ("float16", "bfloat16", "float32", "bool", "int8", "uint8", "int16", "uint16")


@dataclass
class Summary:
    """Of N samples, each over its finite values. is_measured: whether a sample holds numbers at all; has_range: whether one of them is finite."""

    is_measured: np.ndarray
    has_range: np.ndarray
    size: np.ndarray
    nan_count: np.ndarray
    inf_count: np.ndarray
    minimum: np.ndarray
    maximum: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def blank(cls, count: int) -> Summary:
        return cls(
            *(np.zeros(count, bool) for _ in range(2)),
            *(np.zeros(count, np.int64) for _ in range(3)),
            *(np.zeros(count, np.float64) for _ in range(4)),
        )


def summarise(column: Column) -> Summary:
    """The summary of a column of numbers."""
    return column.derive("summary", _summarise)


def is_number(dtype: np.dtype) -> bool:
    """Whether values of this type are numbers; records, objects and texts are not."""
    return dtype.kind in "biufc" or dtype.name == "bfloat16"


def flattened(block: np.ndarray) -> np.ndarray:
    """(N, size) of a block (N, …); a complex number is two."""
    flat = block.reshape(len(block), -1) if block[0].size else np.zeros((len(block), 0), block.dtype)
    return np.ascontiguousarray(flat).view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _summarise(column: Column) -> Summary:
    made = Summary.blank(len(column))
    with np.errstate(all="ignore"):
        for rows, block in column.blocks():
            if is_number(block.dtype):
                _add(made, rows, block)
    return made


def _add(made: Summary, rows: np.ndarray, block: np.ndarray) -> None:
    flat = flattened(block)
    made.is_measured[rows], made.size[rows] = True, flat.shape[1]
    if not flat.shape[1]:
        return
    dtype = np.dtype(np.float32 if flat.dtype.name in _EXACT_IN_FLOAT32 else np.float64)
    height = max(1, _TILE_BYTES // (flat.shape[1] * dtype.itemsize))
    scratch = np.empty((min(height, len(flat)), flat.shape[1]), dtype)
    for start in range(0, len(flat), height):
        part = slice(start, start + height)
        here, stored, off = rows[part], flat[part], scratch[: len(flat[part])]
        if flat.dtype != dtype:
            np.copyto(off, stored, casting="unsafe")
        tile = off if flat.dtype != dtype else stored
        ends = stored if flat.dtype.kind in "biu" else tile  # whole numbers are compared faster as they are stored
        low, high = (reduce(ends, axis=1).astype(dtype, copy=False) for reduce in (np.minimum.reduce, np.maximum.reduce))  # NaN where one value is
        mean = np.add.reduce(tile, axis=1) / np.array(tile.shape[1], dtype)
        np.subtract(tile, mean[:, np.newaxis], out=off)
        # einsum would add up a long sample in another order when it is alone than in a batch.
        deviation = np.sqrt(np.vecdot(off, off) / tile.shape[1])
        made.minimum[here], made.maximum[here], made.mean[here], made.deviation[here] = low, high, mean, deviation
        made.has_range[here] = True
        # A rounded mean would give equal values a deviation.
        same = here[low == high]
        made.mean[same], made.deviation[same] = made.minimum[same], 0.0
        # not (… < …): NaN is unsafe too
        for place in np.flatnonzero(~(np.maximum(-low, high) < _SAFE_MAGNITUDE)).tolist():
            _add_with_care(made, int(here[place]), flat[part][place])


def _add_with_care(made: Summary, row: int, values: np.ndarray) -> None:
    """One sample that holds values which are not finite, or so large that float32 can't add them up."""
    wide = values.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    made.nan_count[row], made.inf_count[row] = np.isnan(wide).sum(), np.isinf(wide).sum()
    made.has_range[row] = len(finite) > 0
    scale = float(np.abs(finite).max()) if len(finite) else 0.0
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    # Scaled: the sum of finite float64 values may overflow.
    mean, deviation = _moments(finite / scale) if scale > 0 else (0.0, 0.0)
    made.minimum[row], made.maximum[row] = low, high
    made.mean[row], made.deviation[row] = (low, 0.0) if low == high else (mean * scale, min(deviation * scale, np.finfo(np.float64).max))


def _moments(values: np.ndarray) -> tuple[float, float]:
    mean = float(values.mean())
    return mean, float(np.sqrt(np.square(values - mean).mean()))


def masked(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """NULL where it is not known."""
    return np.ma.MaskedArray(values, ~known)
