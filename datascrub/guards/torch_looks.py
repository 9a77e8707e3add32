"""One look at a tensor: what is kept of it until it is read, and what can be said of it when it is bad."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

_FLOAT8_TO_HALF = 1e5
"""types whose largest number is below it overflow on ordinary data: float16 (65,504) and the float8 types"""


@dataclass
class Look:
    """A reduction that was asked for and not read yet."""

    extremes: torch.Tensor
    limit: float
    tensor: weakref.ref[torch.Tensor]
    shape: torch.Size
    way: str
    name: str
    module: torch.nn.Module | None


def read(looks: list[Look]) -> list[list[float]]:
    """The extremes of many looks with one wait for the device."""
    places = {look.extremes.device.type for look in looks}
    if len(places) == 1 and places != {"mps"}:  # mps has no float64, which alone holds the extremes of every type
        made: list[list[float]] = torch.stack([look.extremes.double() for look in looks]).tolist()
        return made
    return [look.extremes.tolist() for look in looks]


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """All tensors in an input or output, whatever it is made of."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from tensors(each)
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from tensors(each)


def counts(values: torch.Tensor, limit: float) -> dict[str, Any]:
    finite = values[values.isfinite()].abs()
    return {
        "nan": int(values.isnan().sum()),
        "positive_inf": int(values.isposinf().sum()),
        "negative_inf": int(values.isneginf().sum()),
        "big": int((finite > limit).sum()),
        "largest": float(finite.max()) if finite.numel() else 0.0,
    }


def is_mask(values: torch.Tensor) -> bool:
    """Whether a tensor is an additive attention mask: nothing but zeros and -Inf, which are meant."""
    return bool(((values == 0) | values.isneginf()).all())


def cause(look: Look, counted: dict[str, Any]) -> str:
    """What can be said of the cause of the first bad tensor of a pass: all that were looked at before it were sound."""
    if look.way == "forward":
        return _cause_in(look, counted)
    return {
        "input": "it came with the data",
        "gradient": "the gradients of all outputs after it were sound",
        "loss": "the outputs of the model were sound: look at the labels and the loss",
        "backward": "the forward pass was sound: look at what follows this output" if look.module else "look at how the loss is reduced and scaled",
    }[look.way]


def _cause_in(look: Look, counted: dict[str, Any]) -> str:
    assert look.module is not None
    held = (*look.module.named_parameters(), *look.module.named_buffers())
    spoiled = [name for name, values in held if values.is_floating_point() and not values.isfinite().all()]
    if spoiled:
        return f"its own {', '.join(spoiled)} {'is' if len(spoiled) == 1 else 'are'} not finite: an earlier step spoiled the model"
    largest = torch.finfo(look.extremes.dtype).max
    if largest < _FLOAT8_TO_HALF and not counted["nan"] and counted["positive_inf"] + counted["negative_inf"]:
        return f"its inputs were sound: it overflows {str(look.extremes.dtype).removeprefix('torch.')} (largest {largest:,.0f})"
    return "its inputs and parameters were sound: it began here"
