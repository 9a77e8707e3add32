"""The dummy network in torch: on the GPU where there is one, else on the CPU. Equal to the reference within 1e-4."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from datascrub.errors import UsageError
from datascrub.network.design import LEAK, arrange, forward

_CPU_TILE_BYTES = 1 << 24
_DEVICE_TILE_BYTES = 1 << 28
"""samples taken at once: on the CPU enough that Python's price does not count (1 << 20 takes twice as long), on a device enough to keep it busy"""
_log = logging.getLogger(__name__)


@functools.cache
def device(wanted: str = "auto") -> str:
    """Where torch computes: cuda (cuda:1 …), mps or cpu. Raises UsageError where what is wanted is not there."""
    import torch

    there = ["cuda"] * torch.cuda.is_available() + ["mps"] * torch.backends.mps.is_available()
    if wanted == "auto":
        return [*there, "cpu"][0]
    if wanted == "gpu" and there:
        return there[0]
    kind, _, number = wanted.partition(":")
    if wanted == "cpu" or (kind in there and (kind != "cuda" or int(number or 0) < torch.cuda.device_count())):
        return wanted
    raise UsageError(f"torch finds no device {wanted}", fix=f"--device auto, or one of: {', '.join([*there, 'cpu'])}")


class _Torch:
    """Ops of torch on one device."""

    def __init__(self, place: str) -> None:
        self.place = place

    def put(self, values: np.ndarray) -> Any:
        import torch

        plan = arrange(values.shape[1:])
        with np.errstate(over="ignore"):
            x = _tensor(values, self.place).reshape(len(values), -1).to(torch.float32)
        if plan.padding:
            x = torch.nn.functional.pad(x, (0, plan.padding))
        return x.reshape(len(values), plan.rows, plan.width)

    def get(self, values: Any) -> np.ndarray:
        made: np.ndarray = values.cpu().numpy()
        return made

    def weights(self, make: Callable[[int, int], np.ndarray], size: int, seed: int) -> Any:
        return _weights(size, seed, make, self.place)

    def product(self, one: Any, two: Any) -> Any:
        return one @ two

    def fold(self, values: Any, *shape: int) -> Any:
        return values.reshape(shape)

    def turned(self, values: Any) -> Any:
        return values.transpose(-1, -2)

    def leaky(self, values: Any) -> Any:
        import torch

        return torch.maximum(values, values * LEAK)

    def slope(self, values: Any) -> Any:
        import torch

        return torch.where(values > 0, 1.0, LEAK)

    def mean_square(self, values: Any) -> Any:
        return values.square().mean(dim=-1)

    def norm(self, values: Any) -> Any:
        return values.square().reshape(len(values), -1).sum(dim=1).sqrt()

    def peak(self, values: Any) -> Any:
        return values.reshape(len(values), -1).abs().amax(dim=1)

    def rounded(self, values: Any, precision: str) -> Any:
        import torch

        return values.to(getattr(torch, precision)).to(torch.float32)


@functools.cache
def ops(on: str = "auto") -> _Torch:
    """What the network is computed with. Raises UsageError where the device is not there."""
    return _Torch(device(on))


def losses(block: np.ndarray, seed: int = 0, on: str = "auto") -> np.ndarray:
    """(N,) float32: the loss of each sample of a block (N, …) of real numbers; NaN or Inf where a value is, or where float32 overflows.

    Where the device has no memory left, this piece is computed on the CPU, and the log says so.
    """
    import torch

    made = np.empty(len(block), np.float32)
    place, height = device(on), height_of(block, on)
    for start in range(0, len(block), height):
        piece = block[start : start + height]
        try:
            made[start : start + height] = _forward(piece, seed, place)
        except torch.OutOfMemoryError:
            _log.warning("the GPU has no memory left for %d samples of the dummy network; computed on the CPU", len(piece))
            torch.cuda.empty_cache()
            made[start : start + height] = _forward(piece, seed, "cpu")
    return made


def height_of(block: np.ndarray, on: str = "auto") -> int:
    """How many samples are taken at once."""
    room = _CPU_TILE_BYTES if device(on) == "cpu" else _DEVICE_TILE_BYTES
    return max(1, room // max(4, block[0].size * 4)) if len(block) else 1


def _forward(block: np.ndarray, seed: int, place: str) -> np.ndarray:
    import torch

    it = _Torch(place)
    with torch.inference_mode():
        return it.get(forward(it, it.put(block), seed)[-1])


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
