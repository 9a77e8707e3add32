"""The dummy network: one fixed, seeded definition for every library that computes it.

A sample of any shape is laid out as rows (r, w). Then

    rows        h = x @ W                 W (w, 8)
    activation  a = max(h, h / 8)         leaky: -Inf stays -Inf
    linear      y = a @ H                 a (8 r), H (8 r, 4)
    loss        l = mean(y * y)           one number a sample
    gradient    of l, by W and H          asked for only; its norm, one number a sample

No weight is zero, and no step drops a value: no ReLU, pooling by maximum, clamp, cast to integers or stride. So a NaN or an infinity at any place of
the sample makes its loss non-finite, and only its own: no step looks at two samples.

The steps are written here once, over the few operations that a backend gives (Ops). In half precision what each step gives is rounded to that
precision and the sums inside it run in float32, as tensor cores do; every weight is exact in all three precisions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

LAYERS = ("input", "cast", "rows", "activation", "linear", "loss")
"""where a number can first be non-finite: in the sample as stored, as float32, and after each step"""
GRADIENT = "gradient"
"""the layer after the last, where the way back is asked for"""
HALVES = ("float16", "bfloat16")
KERNELS = 8
OUTPUTS = 4
LEAK = 0.125
_NARROW, _WIDE = 16, 4096
"""shortest and longest row: below, a matrix product is all overhead; above, its weights leave the cache"""
_ROW = 256
"""width of rows where the shape suggests none; the last one is filled up with zeros"""


class Ops(Protocol):
    """What a backend does with its own tensors, float32 all of them. T below is its tensor, which knows + * and `shape`."""

    def put(self, values: np.ndarray) -> Any:
        """A block (N, …) of real numbers as float32 (N, rows, width) where the backend computes."""

    def get(self, values: Any) -> np.ndarray:
        """Back as numpy's."""

    def weights(self, make: Callable[[int, int], np.ndarray], size: int, seed: int) -> Any:
        """make(size, seed), put there once."""

    def product(self, one: Any, two: Any) -> Any:
        """The matrix product over the last two axes."""

    def fold(self, values: Any, *shape: int) -> Any:
        """The same numbers in another shape."""

    def turned(self, values: Any) -> Any:
        """The last two axes exchanged."""

    def leaky(self, values: Any) -> Any:
        """max(v, v / 8), NaN kept."""

    def slope(self, values: Any) -> Any:
        """The derivative of leaky: 1 above 0, else 1/8."""

    def mean_square(self, values: Any) -> Any:
        """Over the last axis."""

    def norm(self, values: Any) -> Any:
        """(N,) root of the sum of squares of each sample, added up in float32."""

    def peak(self, values: Any) -> Any:
        """(N,) largest magnitude of each sample; NaN where one value is."""

    def rounded(self, values: Any, precision: str) -> Any:
        """To the nearest number that float16 or bfloat16 holds, infinity beyond its largest; as float32."""


def forward(ops: Ops, x: Any, seed: int, keep: Callable[[Any], Any] = lambda values: values) -> tuple[Any, Any, Any, Any, Any]:
    """What each step gives: x itself (N, rows, width), h, a, y, and the losses (N,). keep: rounds what a step gives."""
    count, rows, width = x.shape
    h = keep(ops.product(x, ops.weights(kernels, width, seed)))
    a = keep(ops.leaky(h))
    y = keep(ops.fold(ops.product(ops.fold(a, count, 1, rows * KERNELS), ops.weights(head, rows, seed)), count, OUTPUTS))
    return x, h, a, y, keep(ops.mean_square(y))


def backward(ops: Ops, steps: tuple[Any, Any, Any, Any, Any], seed: int, keep: Callable[[Any], Any] = lambda values: values) -> tuple[Any, Any]:
    """The gradients of each sample's loss by W (N, width, 8) and by H (N, 8 rows, 4)."""
    x, h, a, y, _ = steps
    count, rows, _ = x.shape
    dy = keep(y * (2.0 / OUTPUTS))
    da = keep(ops.product(ops.fold(dy, count, 1, OUTPUTS), ops.turned(ops.weights(head, rows, seed))))
    dh = keep(ops.fold(da, count, rows, KERNELS) * ops.slope(h))
    by_kernels = keep(ops.product(ops.turned(x), dh))
    by_head = keep(ops.product(ops.fold(a, count, rows * KERNELS, 1), ops.fold(dy, count, 1, OUTPUTS)))
    return by_kernels, by_head


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
