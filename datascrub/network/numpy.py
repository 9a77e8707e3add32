"""The dummy network in numpy: the reference, and the default. A loss is bit-equal alone and in any batch."""

from __future__ import annotations

import numpy as np

from datascrub.network.design import KERNELS, LAYERS, LEAK, OUTPUTS, arrange, head, kernels

_TILE_BYTES = 1 << 18
"""samples taken at once: what one layer gives is still in the cache of a core when the next one reads it"""


def losses(block: np.ndarray, seed: int = 0) -> np.ndarray:
    """(N,) float32: the loss of each sample of a block (N, …) of real numbers; NaN or Inf where a value is, or where float32 overflows."""
    made = np.empty(len(block), np.float32)
    size = max(1, block[0].size * 4) if len(block) else 1
    height = max(1, _TILE_BYTES // size)
    with np.errstate(all="ignore"):
        for start in range(0, len(block), height):
            made[start : start + height] = _forward(block[start : start + height], seed)[-1]
    return made


def first_layer(sample: np.ndarray, seed: int = 0) -> str | None:
    """The first of LAYERS where a number is not finite; None where all are."""
    with np.errstate(all="ignore"):
        steps = _forward(sample[np.newaxis], seed)
    for name, values in zip(LAYERS, (np.asarray(sample, _wide(sample)), *steps), strict=True):
        if not np.isfinite(values).all():
            return name
    return None


def _wide(sample: np.ndarray) -> type:
    return np.float64 if sample.dtype.itemsize > 4 else np.float32


def _forward(block: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
    """What each layer after the input gives."""
    x = laid_out(block)
    count, rows, width = x.shape
    # A product per sample, by matmul's batch axis: one product over the batch rounds differently with its size.
    h = np.matmul(x, kernels(width, seed))
    a = np.maximum(h, h * np.float32(LEAK))
    y = np.matmul(a.reshape(count, 1, rows * KERNELS), head(rows, seed)).reshape(count, OUTPUTS)
    return x, h, a, y, np.square(y).mean(axis=1)


def laid_out(block: np.ndarray) -> np.ndarray:
    """A block (N, …) as float32 (N, rows, width)."""
    plan = arrange(block.shape[1:])
    flat = np.ascontiguousarray(block, np.float32).reshape(len(block), -1)
    if plan.padding:
        flat = np.concatenate([flat, np.zeros((len(block), plan.padding), np.float32)], axis=1)
    return flat.reshape(len(block), plan.rows, plan.width)
