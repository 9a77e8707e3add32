"""The dummy network in TensorFlow: on the GPU where there is one, else on the CPU. Equal to the reference within 1e-4."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from datascrub.network.design import KERNELS, LEAK, arrange, head, kernels
from datascrub.network.numpy import laid_out

_CPU_TILE_BYTES = 1 << 20
_DEVICE_TILE_BYTES = 1 << 28
"""samples taken at once: on the CPU what its cache holds, on a device enough to keep it busy"""


@functools.cache
def device() -> str:
    """Where TensorFlow computes: GPU or CPU."""
    import tensorflow as tf

    return "GPU" if tf.config.list_physical_devices("GPU") else "CPU"


def losses(block: np.ndarray, seed: int = 0) -> np.ndarray:
    """(N,) float32: the loss of each sample of a block (N, …) of real numbers; NaN or Inf where a value is, or where float32 overflows."""
    made = np.empty(len(block), np.float32)
    size = max(1, block[0].size * 4) if len(block) else 1
    height = max(1, (_CPU_TILE_BYTES if device() == "CPU" else _DEVICE_TILE_BYTES) // size)
    for start in range(0, len(block), height):
        made[start : start + height] = _forward(block[start : start + height], seed)
    return made


def _forward(block: np.ndarray, seed: int) -> np.ndarray:
    import tensorflow as tf

    plan = arrange(block.shape[1:])
    with np.errstate(all="ignore"):
        x = tf.convert_to_tensor(laid_out(block))
    h = tf.matmul(x, _constant(plan.width, seed, kernels))
    a = _leaky(h)
    y = tf.matmul(tf.reshape(a, (len(block), plan.rows * KERNELS)), _constant(plan.rows, seed, head))
    result: np.ndarray = tf.reduce_mean(tf.square(y), axis=1).numpy()
    return result


def _leaky(h: Any) -> Any:
    """max(h, h / 8), with NaN kept by addition: a maximum of TensorFlow may lose it."""
    import tensorflow as tf

    return tf.maximum(h, h * LEAK) + h * 0.0


@functools.lru_cache(maxsize=64)
def _constant(size: int, seed: int, make: Any) -> Any:
    import tensorflow as tf

    return tf.constant(make(size, seed))
