"""The dummy network: one fixed, seeded definition for every library that computes it.

A sample of any shape is laid out as rows (r, w). Then

    rows        h = x @ W                 W (w, 8)
    activation  a = max(h, h / 8)         leaky: -Inf stays -Inf
    linear      y = a @ H                 a (8 r), H (8 r, 4)
    loss        l = mean(y * y)           one number a sample

No weight is zero, and no step drops a value: no ReLU, pooling by maximum, clamp, cast to integers or stride. So a NaN or an infinity at any place of
the sample makes its loss non-finite, and only its own: no step looks at two samples.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

LAYERS = ("input", "cast", "rows", "activation", "linear", "loss")
"""where a number can first be non-finite: in the sample as stored, as float32, and after each step"""
KERNELS = 8
OUTPUTS = 4
LEAK = 0.125
_NARROW, _WIDE = 16, 4096
"""shortest and longest row: below, a matrix product is all overhead; above, its weights leave the cache"""
_ROW = 256
"""width of rows where the shape suggests none; the last one is filled up with zeros"""


@dataclass(frozen=True)
class Arrangement:
    """How a sample of `size` numbers is laid out: rows x width, `padding` zeros at the end."""

    rows: int
    width: int
    padding: int


def arrange(shape: tuple[int, ...]) -> Arrangement:
    """The layout for samples of a shape: whole trailing axes as rows where their length is good, so that nothing is copied."""
    size = math.prod(shape)
    width = 1
    for length in reversed(shape):
        if width >= _NARROW:
            break
        width *= length
    if not (_NARROW <= width <= _WIDE):
        width = size if 0 < size <= _WIDE else _ROW
    rows = -(-size // width)
    return Arrangement(rows, width, rows * width - size)


@functools.lru_cache(maxsize=64)
def kernels(width: int, seed: int) -> np.ndarray:
    """W: (width, 8) float32."""
    return _weights(width, KERNELS, seed, 1)


@functools.lru_cache(maxsize=16)
def head(rows: int, seed: int) -> np.ndarray:
    """H: (8 rows, 4) float32."""
    return _weights(rows * KERNELS, OUTPUTS, seed, 2)


def _weights(inputs: int, outputs: int, seed: int, stream: int) -> np.ndarray:
    """Odd multiples of 1/128 in (-1, 1), scaled by a power of two near 1 / sqrt(inputs): exact in float32, never zero, the same on every machine.

    A counter hashed by 32-bit multiplications, not numpy's generator, whose stream may change with its version.
    """
    count = np.arange(inputs * outputs, dtype=np.uint64) + np.uint64((seed * 2 + stream) % (1 << 31)) * np.uint64(0x9E3779B1)
    mixed = count & np.uint64(0xFFFFFFFF)
    for multiplier in (0x7FEB352D, 0x846CA68B):
        mixed = (mixed ^ (mixed >> np.uint64(16))) * np.uint64(multiplier) & np.uint64(0xFFFFFFFF)
    steps = (mixed >> np.uint64(25)).astype(np.float64)  # 0 .. 127
    scale = 2.0 ** -round(math.log2(inputs) / 2)
    made = ((2 * steps - 127) / 128 * scale).astype(np.float32).reshape(inputs, outputs)
    made.flags.writeable = False
    return made
