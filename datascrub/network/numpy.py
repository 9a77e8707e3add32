"""The dummy network in numpy: the reference, and the default. A loss is bit-equal alone and in any batch."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from datascrub.errors import UsageError
from datascrub.network.design import LAYERS, LEAK, arrange, forward

_TILE_BYTES = 1 << 23
"""samples taken at once: enough that Python's price does not count (1 << 18 takes 1.7 times as long), few enough that little memory is held"""


class _Numpy:
    """Ops of numpy."""

    # A product per sample, by matmul's batch axis: one product over the batch rounds differently with its size.
    product = staticmethod(np.matmul)

    @staticmethod
    def put(values: np.ndarray) -> np.ndarray:
        return laid_out(values)

    @staticmethod
    def get(values: np.ndarray) -> np.ndarray:
        return values

    @staticmethod
    def weights(make: Callable[[int, int], np.ndarray], size: int, seed: int) -> np.ndarray:
        return make(size, seed)

    @staticmethod
    def fold(values: np.ndarray, *shape: int) -> np.ndarray:
        return values.reshape(shape)

    @staticmethod
    def turned(values: np.ndarray) -> np.ndarray:
        return values.swapaxes(-1, -2)

    @staticmethod
    def leaky(values: np.ndarray) -> np.ndarray:
        made: np.ndarray = np.maximum(values, values * np.float32(LEAK))
        return made

    @staticmethod
    def slope(values: np.ndarray) -> np.ndarray:
        return np.where(values > 0, np.float32(1), np.float32(LEAK))

    @staticmethod
    def mean_square(values: np.ndarray) -> np.ndarray:
        made: np.ndarray = np.square(values).mean(axis=-1)
        return made

    @staticmethod
    def norm(values: np.ndarray) -> np.ndarray:
        flat = values.reshape(len(values), -1)
        made: np.ndarray = np.sqrt(np.square(flat).sum(axis=1))  # einsum adds up in another order for one sample than for many
        return made

    @staticmethod
    def peak(values: np.ndarray) -> np.ndarray:
        made: np.ndarray = np.abs(values.reshape(len(values), -1)).max(axis=1)
        return made

    @staticmethod
    def rounded(values: np.ndarray, precision: str) -> np.ndarray:
        if precision == "float16":
            return values.astype(np.float16).astype(np.float32)
        # bfloat16 is the upper half of a float32; half of what is cut off is added first, and to a tie the lowest bit that stays: to even.
        bits = np.ascontiguousarray(values).view(np.uint32)
        cut = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
        made: np.ndarray = np.where(np.isnan(values), values, cut.view(np.float32))
        return made


@functools.cache
def ops(on: str = "auto") -> _Numpy:
    """What the network is computed with. Raises UsageError for a device that is not the CPU: numpy knows no other."""
    if on not in ("auto", "cpu"):
        raise UsageError(f"numpy computes on the CPU, not on {on}", fix="--backend torch or tensorflow, or --device cpu")
    return _Numpy()


def losses(block: np.ndarray, seed: int = 0, on: str = "auto") -> np.ndarray:
    """(N,) float32: the loss of each sample of a block (N, …) of real numbers; NaN or Inf where a value is, or where float32 overflows."""
    made = np.empty(len(block), np.float32)
    it, height = ops(on), height_of(block)
    with np.errstate(all="ignore"):
        for start in range(0, len(block), height):
            made[start : start + height] = forward(it, laid_out(block[start : start + height]), seed)[-1]
    return made


def height_of(block: np.ndarray, on: str = "auto") -> int:
    """How many samples are taken at once."""
    return max(1, _TILE_BYTES // max(4, block[0].size * 4)) if len(block) else 1


def first_layer(sample: np.ndarray, seed: int = 0) -> str | None:
    """The first of LAYERS where a number is not finite; None where all are."""
    with np.errstate(all="ignore"):
        steps = forward(ops(), laid_out(sample[np.newaxis]), seed)
    for name, values in zip(LAYERS, (np.asarray(sample, _wide(sample)), *steps), strict=True):
        if not np.isfinite(values).all():
            return name
    return None


def _wide(sample: np.ndarray) -> type:
    return np.float64 if sample.dtype.itemsize > 4 else np.float32


def laid_out(block: np.ndarray) -> np.ndarray:
    """A block (N, …) as float32 (N, rows, width)."""
    plan = arrange(block.shape[1:])
    flat = np.ascontiguousarray(block, np.float32).reshape(len(block), -1)
    if plan.padding:
        flat = np.concatenate([flat, np.zeros((len(block), plan.padding), np.float32)], axis=1)
    return flat.reshape(len(block), plan.rows, plan.width)
