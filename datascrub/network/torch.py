"""The dummy network in torch: on the GPU where there is one, else on the CPU. Equal to the reference within 1e-4."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from datascrub.network.design import KERNELS, LEAK, arrange, head, kernels

_CPU_TILE_BYTES = 1 << 20
_DEVICE_TILE_BYTES = 1 << 28
"""samples taken at once: on the CPU what its cache holds, on a device enough to keep it busy"""
_log = logging.getLogger(__name__)


@functools.cache
def device() -> str:
    """Where torch computes: cuda, mps or cpu."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def losses(block: np.ndarray, seed: int = 0) -> np.ndarray:
    """(N,) float32: the loss of each sample of a block (N, …) of real numbers; NaN or Inf where a value is, or where float32 overflows.

    Where the device has no memory left, this piece is computed on the CPU, and the log says so.
    """
    import torch

    made = np.empty(len(block), np.float32)
    size = max(1, block[0].size * 4) if len(block) else 1
    place = device()
    height = max(1, (_CPU_TILE_BYTES if place == "cpu" else _DEVICE_TILE_BYTES) // size)
    for start in range(0, len(block), height):
        piece = block[start : start + height]
        try:
            made[start : start + height] = _forward(piece, seed, place)
        except torch.OutOfMemoryError:
            _log.warning("the GPU has no memory left for %d samples of the dummy network; computed on the CPU", len(piece))
            torch.cuda.empty_cache()
            made[start : start + height] = _forward(piece, seed, "cpu")
    return made


def _forward(block: np.ndarray, seed: int, place: str) -> np.ndarray:
    import torch

    plan = arrange(block.shape[1:])
    with torch.inference_mode(), np.errstate(over="ignore"):
        x = _tensor(block, place).reshape(len(block), -1).to(torch.float32)
        if plan.padding:
            x = torch.nn.functional.pad(x, (0, plan.padding))
        x = x.reshape(len(block), plan.rows, plan.width)
        h = x @ _weights(plan.width, seed, kernels, place)
        a = torch.maximum(h, h * LEAK)
        y = a.reshape(len(block), plan.rows * KERNELS) @ _weights(plan.rows, seed, head, place)
        result: np.ndarray = y.square().mean(dim=1).cpu().numpy()
        return result


def _tensor(block: np.ndarray, place: str) -> Any:
    import torch

    if block.dtype not in (np.uint8, np.int8, np.float16, np.float32):  # the others in numpy: mps has no float64, and torch few unsigned types
        block = block.astype(np.float32)
    block = np.ascontiguousarray(block, block.dtype.newbyteorder("="))
    if place == "cpu" and block.flags.writeable:  # without a copy; torch warns of memory that it may not write, though nothing here writes
        return torch.from_numpy(block)
    return torch.tensor(block, device=place)


@functools.lru_cache(maxsize=64)
def _weights(size: int, seed: int, make: Callable[[int, int], np.ndarray], place: str) -> Any:
    import torch

    return torch.tensor(make(size, seed), device=place)
