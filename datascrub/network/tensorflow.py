"""The dummy network in TensorFlow: on the GPU where there is one, else on the CPU. Equal to the reference within 1e-4."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from datascrub.errors import UsageError
from datascrub.network.design import LEAK, forward
from datascrub.network.numpy import laid_out

_CPU_TILE_BYTES = 1 << 24
_DEVICE_TILE_BYTES = 1 << 28
"""samples taken at once: on the CPU enough that Python's price does not count, on a device enough to keep it busy"""


@functools.cache
def device(wanted: str = "auto") -> str:
    """Where TensorFlow computes: GPU (GPU:1 …) or CPU. Raises UsageError where what is wanted is not there."""
    import tensorflow as tf

    there = len(tf.config.list_physical_devices("GPU"))
    kind, _, number = wanted.partition(":")
    if wanted == "cpu" or (wanted == "auto" and not there):
        return "CPU"
    if kind in ("auto", "gpu", "cuda") and int(number or 0) < there:
        return f"GPU:{number}" if number else "GPU"
    raise UsageError(f"TensorFlow finds no device {wanted}", fix="--device auto, or cpu")


class _TensorFlow:
    """Ops of TensorFlow on one device."""

    def __init__(self, place: str) -> None:
        self.place = place

    def put(self, values: np.ndarray) -> Any:
        import tensorflow as tf

        with np.errstate(all="ignore"):
            return tf.convert_to_tensor(laid_out(values))

    def get(self, values: Any) -> np.ndarray:
        made: np.ndarray = values.numpy()
        return made

    def weights(self, make: Callable[[int, int], np.ndarray], size: int, seed: int) -> Any:
        return _constant(size, seed, make, self.place)

    def product(self, one: Any, two: Any) -> Any:
        import tensorflow as tf

        return tf.matmul(one, two)

    def fold(self, values: Any, *shape: int) -> Any:
        import tensorflow as tf

        return tf.reshape(values, shape)

    def turned(self, values: Any) -> Any:
        import tensorflow as tf

        return tf.linalg.matrix_transpose(values)

    def leaky(self, values: Any) -> Any:
        """max(v, v / 8), with NaN kept by addition: a maximum of TensorFlow may lose it."""
        import tensorflow as tf

        return tf.maximum(values, values * LEAK) + values * 0.0

    def slope(self, values: Any) -> Any:
        import tensorflow as tf

        return tf.where(values > 0, 1.0, LEAK)

    def mean_square(self, values: Any) -> Any:
        import tensorflow as tf

        return tf.reduce_mean(tf.square(values), axis=-1)

    def norm(self, values: Any) -> Any:
        import tensorflow as tf

        return tf.sqrt(tf.reduce_sum(tf.square(tf.reshape(values, (values.shape[0], -1))), axis=1))

    def peak(self, values: Any) -> Any:
        import tensorflow as tf

        flat = tf.reshape(values, (values.shape[0], -1))
        largest = tf.reduce_max(tf.abs(flat), axis=1)
        return tf.where(tf.reduce_any(tf.math.is_nan(flat), axis=1), np.float32(np.nan), largest)

    def rounded(self, values: Any, precision: str) -> Any:
        import tensorflow as tf

        return tf.cast(tf.cast(values, precision), tf.float32)


@functools.cache
def ops(on: str = "auto") -> _TensorFlow:
    """What the network is computed with. Raises UsageError where the device is not there."""
    return _TensorFlow(device(on))


def losses(block: np.ndarray, seed: int = 0, on: str = "auto") -> np.ndarray:
    """(N,) float32: the loss of each sample of a block (N, …) of real numbers; NaN or Inf where a value is, or where float32 overflows."""
    import tensorflow as tf

    made = np.empty(len(block), np.float32)
    it, height = ops(on), height_of(block, on)
    with tf.device(it.place):
        for start in range(0, len(block), height):
            made[start : start + height] = it.get(forward(it, it.put(block[start : start + height]), seed)[-1])
    return made


def height_of(block: np.ndarray, on: str = "auto") -> int:
    """How many samples are taken at once."""
    room = _CPU_TILE_BYTES if device(on) == "CPU" else _DEVICE_TILE_BYTES
    return max(1, room // max(4, block[0].size * 4)) if len(block) else 1


@functools.lru_cache(maxsize=64)
def _constant(size: int, seed: int, make: Callable[[int, int], np.ndarray], place: str) -> Any:
    import tensorflow as tf

    with tf.device(place):
        return tf.constant(make(size, seed))
