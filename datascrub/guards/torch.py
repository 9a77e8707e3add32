"""The guard of a torch model: hooks that look at every input, output, loss and gradient with one fused reduction each."""

from __future__ import annotations

import math
import warnings
import weakref
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import torch

from datascrub.guards.sighting import ACTIONS, BIG_SHARE, NotFiniteError, NotFiniteWarning, Sighting
from datascrub.guards.torch_looks import Look, cause, counts, is_mask, read, tensors


class FiniteGuard:
    """Names the module, and the samples of the batch, where a number of a training first stops being finite or grows too big.

        guard = FiniteGuard(model, action="skip", optimizer=optimizer)
        for keys, images, labels in loader:
            with guard.batch(keys):
                loss = guard.loss(criterion(model(images), labels))
                loss.backward()
                optimizer.step()
        print(*guard.sightings, sep="\\n")

    big: a magnitude that is reported although finite; in float16 half of what it can hold, so that it is seen before it overflows. math.inf: none is.
    forward, backward: look at inputs, outputs and losses; at the gradients of outputs and parameters.
    action: raise (NotFiniteError), warn (NotFiniteWarning), record (in `sightings` alone), or skip: the optimizer's step changes no parameter, and
        buffers (the averages of batch norm) are put back to what they were before the batch.
    optimizer: whose step is held; skip needs it.
    deferred: read the reductions together, at the end of the forward pass and of the batch, instead of one by one. None: so on a device, where each
        reading would wait for it.

    Only the first sighting of each pass is told: what follows is its consequence. Additive attention masks (zeros and -Inf) are meant, and no
    sighting. Modules are left as they are; `remove`, or leaving the guard as a context, takes the hooks out. Hooks break the graph of
    torch.compile: guard the model before compiling, and expect it to be slower.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        big: float = 1e10,
        forward: bool = True,
        backward: bool = True,
        action: str = "raise",
        *,
        optimizer: torch.optim.Optimizer | None = None,
        deferred: bool | None = None,
    ) -> None:
        if action not in ACTIONS:
            raise ValueError(f"action is one of {', '.join(ACTIONS)}, not {action!r}")
        if action == "skip" and optimizer is None:
            raise ValueError("action='skip' needs the optimizer whose step is to be skipped")
        self.sightings: list[Sighting] = []
        self.step = -1
        self._model, self._big, self._action, self._deferred = model, big, action, deferred
        self._looks: list[Look] = []
        self._keys: Sequence[Hashable] = ()
        self._size, self._told = 0, False
        self._last: torch.Tensor | None = None
        self._saved: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._handles: list[Any] = [model.register_forward_pre_hook(self._begin, with_kwargs=True)]
        self._forward, self._backward = forward, backward
        for name, module in model.named_modules():
            self._handles.append(module.register_forward_hook(self._hook(name)))
        self._handles.append(model.register_forward_hook(self._end, always_call=True))
        if backward:
            for name, parameter in model.named_parameters():
                if parameter.requires_grad:
                    self._handles.append(parameter.register_hook(self._gradient(name)))  # type: ignore[no-untyped-call]  # torch gives no type
        if optimizer is not None:
            self._handles.append(optimizer.register_step_pre_hook(self._before_step))

    # -- what a training calls ----------------------------------------------------------------------------------------------------

    @contextmanager
    def batch(self, keys: Sequence[Hashable] = ()) -> Iterator[Self]:
        """One step of training; keys: of its samples, in their order along the first axis."""
        self._keys = keys
        try:
            yield self
            self.settle()
        finally:
            self._keys = ()
            self._looks.clear()

    def loss(self, value: torch.Tensor) -> torch.Tensor:
        """The loss, looked at: one number, or one for each sample. What comes between model and loss has no module to hook."""
        if self._forward:
            self._look(value, "loss", "", None)
        if self._backward:
            self._watch_gradient(value, "loss", None)
        return value

    def settle(self) -> None:
        """Read what was deferred. A batch's end and an optimizer's step do it by themselves."""
        looks, self._looks = self._looks, []
        for look, (low, high) in zip(looks, read(looks), strict=True):
            self._judge(look, low, high)

    @property
    def is_sound(self) -> bool:
        """Whether nothing was seen since the last forward pass began."""
        self.settle()
        return not self._told

    def remove(self) -> None:
        """Take all hooks out of the model."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    # -- hooks --------------------------------------------------------------------------------------------------------------------

    def _begin(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.settle()
        self.step += 1
        self._told, self._last = False, None
        inputs = list(tensors((args, kwargs)))
        self._size = next((len(tensor) for tensor in inputs if tensor.ndim), 0)
        if self._action == "skip" and model.training:
            self._saved = [(buffer, buffer.clone()) for buffer in model.buffers()]
        if self._forward:
            for tensor in inputs:
                self._look(tensor, "input", "", model)

    def _hook(self, name: str) -> Any:
        def seen(module: torch.nn.Module, _: Any, output: Any) -> None:
            for tensor in tensors(output):
                if tensor is self._last:  # what a container hands on was looked at when its last child gave it
                    continue
                self._last = tensor
                if self._forward:
                    self._look(tensor, "forward", name, module)
                if self._backward:
                    self._watch_gradient(tensor, name, module)

        return seen

    def _end(self, *_: Any) -> None:
        self._last = None
        self.settle()

    def _watch_gradient(self, tensor: torch.Tensor, name: str, module: torch.nn.Module | None) -> None:
        if tensor.requires_grad:
            tensor.register_hook(lambda gradient: self._look(gradient, "backward", name, module))  # type: ignore[no-untyped-call]  # torch gives no type

    def _gradient(self, name: str) -> Any:
        return lambda gradient: self._look(gradient, "gradient", name, None)

    def _before_step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        self.settle()
        if self._action == "skip" and self._told:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameter.grad = None  # a parameter without a gradient is left alone, its momentum too
            with torch.no_grad():
                for buffer, before in self._saved:
                    buffer.copy_(before)

    # -- looking ------------------------------------------------------------------------------------------------------------------

    def _look(self, tensor: torch.Tensor, way: str, name: str, module: torch.nn.Module | None) -> None:
        if self._told or not tensor.is_floating_point() or not tensor.numel():
            return
        seen = tensor.detach()
        # One pass over the tensor that NaN and both infinities survive: the fastest reduction of torch that does.
        extremes = torch.stack(torch.aminmax(seen))
        largest = torch.finfo(tensor.dtype).max
        limit = largest if self._big == math.inf else min(self._big, BIG_SHARE * largest)
        look = Look(extremes, limit, weakref.ref(tensor), tensor.shape, way, name, module)
        if self._deferred or (self._deferred is None and tensor.device.type != "cpu"):
            self._looks.append(look)
        else:
            low, high = extremes.tolist()
            self._judge(look, low, high)

    def _judge(self, look: Look, low: float, high: float) -> None:
        if self._told or max(-low, high) <= look.limit:  # false where one is NaN
            return
        values = look.tensor()
        if look.way in ("input", "forward") and low == -math.inf and high <= 0 and values is not None and is_mask(values.detach()):
            return
        self._told = True
        sighting = self._sighting(look)
        self.sightings.append(sighting)
        if self._action == "raise":
            raise NotFiniteError(sighting)
        if self._action == "warn":
            warnings.warn(str(sighting), NotFiniteWarning, stacklevel=2)

    def _sighting(self, look: Look) -> Sighting:
        values = look.tensor()
        dtype = str(look.extremes.dtype).removeprefix("torch.")
        kind = type(look.module).__name__ if look.module is not None else {"gradient": "parameter", "loss": "loss"}.get(look.way, "loss")
        counted: dict[str, Any] = {"nan": 0, "positive_inf": 0, "negative_inf": 0, "big": 0, "largest": 0.0}
        rows: tuple[int, ...] = ()
        if values is not None:
            values = values.detach()
            counted = counts(values, look.limit)
            if values.ndim and len(values) == self._size and look.way != "gradient":
                wrong = ~(values.abs() <= look.limit)
                rows = tuple(wrong.reshape(len(values), -1).any(dim=1).nonzero().flatten().tolist())
        keys = tuple(self._keys[row] for row in rows) if len(self._keys) == self._size else ()
        return Sighting(
            self.step, look.way, look.name, kind, dtype, look.shape.numel(), **counted, rows=rows, keys=keys, because=cause(look, counted)
        )
