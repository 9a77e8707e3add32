"""The dummy network in depth: loss, gradient, magnitude, and the same in half precision. Two to six times the work of the loss alone."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from datascrub.network.design import GRADIENT, HALVES, LAYERS, Ops, backward, forward


@dataclass
class Depth:
    """Of N samples.

    loss: (N,) float32, as losses() gives it. gradient: (N,) float32, the norm of the loss's gradient by all weights, added up in float32 as a
    training that clips by it does; None where it was not asked for. peak: (N,) float32, the largest magnitude of any number on the way forward.
    layers: precision -> (N,) object: the first layer where a number is not finite in that half precision, None where all are.
    """

    loss: np.ndarray
    gradient: np.ndarray | None
    peak: np.ndarray
    layers: dict[str, np.ndarray]


def measure_depth(
    block: np.ndarray, backend: str = "numpy", seed: int = 0, on: str = "auto", *, with_gradient: bool = True, halves: Sequence[str] = HALVES
) -> Depth:
    """What the network says of each sample of a block (N, …) of real numbers."""
    module = importlib.import_module(f"datascrub.network.{backend}")
    ops: Ops = module.ops(on)
    count = len(block)
    made = Depth(
        np.empty(count, np.float32),
        np.empty(count, np.float32) if with_gradient else None,
        np.empty(count, np.float32),
        {precision: np.full(count, None, object) for precision in halves},
    )
    height = max(1, module.height_of(block, on) // 2)
    with _computing(backend, ops), np.errstate(all="ignore"):
        for start in range(0, count, height):
            _measure(made, slice(start, start + height), ops, ops.put(block[start : start + height]), seed)
    return made


def _computing(backend: str, ops: Any) -> AbstractContextManager[Any]:
    if backend == "torch":
        import torch

        return torch.inference_mode()
    if backend == "tensorflow":
        import tensorflow as tf

        place: AbstractContextManager[Any] = tf.device(ops.place)
        return place
    return nullcontext()


def _measure(made: Depth, part: slice, ops: Ops, x: Any, seed: int) -> None:
    steps = forward(ops, x, seed)
    made.loss[part] = ops.get(steps[-1])
    made.peak[part] = np.max([_peak(ops, values) for values in steps], axis=0)
    if made.gradient is not None:
        made.gradient[part] = _norm(ops, backward(ops, steps, seed))
    for precision, layers in made.layers.items():
        keep: Callable[[Any], Any] = functools.partial(_rounded, ops, precision)
        half = forward(ops, keep(x), seed, keep)
        peaks = [_peak(ops, values) for values in half]
        if made.gradient is not None:
            gradients = backward(ops, half, seed, keep)
            norm = ops.get(keep(ops.put(_norm(ops, gradients)))).reshape(-1)  # a norm in half precision is rounded too
            peaks.append(np.max([*(_peak(ops, values) for values in gradients), norm], axis=0))
        names = (*LAYERS[1:], GRADIENT)
        for at in np.flatnonzero(~np.isfinite(peaks).all(axis=0)).tolist():
            layers[part.start + at] = next(name for name, peak in zip(names, peaks, strict=False) if not np.isfinite(peak[at]))


def _rounded(ops: Ops, precision: str, values: Any) -> Any:
    return ops.rounded(values, precision)


def _peak(ops: Ops, values: Any) -> np.ndarray:
    return ops.get(ops.peak(values))


def _norm(ops: Ops, gradients: tuple[Any, Any]) -> np.ndarray:
    by_kernels, by_head = (ops.get(ops.norm(each)) for each in gradients)
    made: np.ndarray = np.sqrt(by_kernels * by_kernels + by_head * by_head)
    return made
