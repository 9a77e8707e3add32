"""The model on its stage: one batch through it, in evaluation or training, and what of it is not finite. Needs torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from datascrub.errors import UsageError, told
from datascrub.guards.sighting import Sighting
from datascrub.guards.torch import FiniteGuard
from datascrub.guards.torch_looks import tensors
from datascrub.network.preprocess import function_named
from datascrub.network.torch import device
from datascrub.rehearsal.samples import Sample
from datascrub.rehearsal.trouble import Cast

EVALUATION, TRAINING = "evaluation", "training"
MODES = (EVALUATION, TRAINING)
_SEED = 7
"""of dropout and the like: a batch that is tried again is tried as before"""


@dataclass(frozen=True)
class Symptom:
    """How a batch failed. stage: output, loss, gradient or raises; detail: what was raised, or which gradients."""

    stage: str
    detail: str = ""


class Stage:
    """A model, its loss, and runs of batches that leave no trace in it."""

    def __init__(self, cast: Cast) -> None:
        self.device = torch.device(device(cast.device))
        self._model = _model(cast).to(self.device)
        self._loss = function_named(cast.loss) if cast.loss else None
        self._autocast = None if cast.precision == "float32" else getattr(torch, cast.precision)
        dtypes = {each.dtype for each in self._model.parameters() if each.is_floating_point()}
        self._dtype = next(iter(dtypes)) if len(dtypes) == 1 else torch.float32

    def run(self, samples: Sequence[Sample], mode: str) -> Symptom | None:
        """One pass of a batch; None where outputs, loss and, in training, gradients are finite. The model stays as it was."""
        return self._run(samples, mode, None)

    def where(self, samples: Sequence[Sample], mode: str) -> Sighting | None:
        """The first module where a number of this batch is not finite; None where the model raises before."""
        with FiniteGuard(self._model, big=math.inf, action="record") as guard, guard.batch([sample.key for sample in samples]):
            self._run(samples, mode, guard)
        return replace(guard.sightings[0], step=0) if guard.sightings else None

    def _run(self, samples: Sequence[Sample], mode: str, guard: FiniteGuard | None) -> Symptom | None:
        buffers = [(buffer, buffer.clone()) for buffer in self._model.buffers()] if mode == TRAINING else []
        torch.manual_seed(_SEED)
        self._model.train(mode == TRAINING)
        self._model.zero_grad(set_to_none=True)
        try:
            with torch.set_grad_enabled(mode == TRAINING):
                return self._passed(samples, mode, guard)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001  the user's own model met a sample: what it raises is what is asked for
            return Symptom("raises", told(error))
        finally:
            self._model.zero_grad(set_to_none=True)
            with torch.no_grad():
                for buffer, before in buffers:
                    buffer.copy_(before)

    def _passed(self, samples: Sequence[Sample], mode: str, guard: FiniteGuard | None) -> Symptom | None:
        inputs = self._stacked([sample.inputs for sample in samples], self._dtype)
        targets = self._stacked([sample.targets for sample in samples], torch.float32)
        with torch.autocast(self.device.type, self._autocast or torch.bfloat16, enabled=self._autocast is not None):
            outputs = self._model(*inputs)
            loss = self._loss(outputs, *targets) if self._loss is not None else _mean_square(outputs)
        if not isinstance(loss, torch.Tensor):
            raise UsageError(f"the loss gave {type(loss).__name__}, not a tensor")
        if guard is not None:
            guard.loss(loss)
        if mode == TRAINING and loss.requires_grad:
            loss.float().mean().backward()  # type: ignore[no-untyped-call]  # torch gives no type
        if not all(_is_finite(each) for each in tensors(outputs)):
            return Symptom("output")
        if not _is_finite(loss):
            return Symptom("loss")
        bad = [name for name, each in self._model.named_parameters() if each.grad is not None and not _is_finite(each.grad)]
        return Symptom("gradient", ", ".join(bad)) if bad else None

    def _stacked(self, rows: Sequence[tuple[np.ndarray, ...]], dtype: torch.dtype) -> list[torch.Tensor]:
        """One tensor for each field; floats in the type of the model, whole numbers as int64."""
        made = []
        for column in zip(*rows, strict=True):
            values = np.stack(column)
            if values.dtype.name == "bfloat16" or values.dtype.kind == "f":
                tensor = torch.from_numpy(values.astype(np.float32, copy=False) if values.dtype != np.float64 else values).to(dtype)
            else:
                tensor = torch.from_numpy(values.astype(bool if values.dtype.kind == "b" else np.int64))
            made.append(tensor.to(self.device))
        return made


def _is_finite(values: torch.Tensor) -> bool:
    return not values.is_floating_point() or bool(values.detach().isfinite().all())


def _mean_square(outputs: Any) -> torch.Tensor:
    """The loss where none is given: it lets no value pass unseen."""
    made = [each.float().square().mean() for each in tensors(outputs) if each.is_floating_point()]
    if not made:
        raise UsageError("the model gave no tensor of floats", fix="give a --loss that takes what it gives")
    return torch.stack(made).sum()


def _model(cast: Cast) -> torch.nn.Module:
    try:
        model = function_named(cast.model)()
    except UsageError:
        raise
    except Exception as error:  # whatever building a model of the user's does
        raise UsageError(f"{cast.model}() raised {told(error)}", fix="give a function without arguments that returns the model") from error
    if not isinstance(model, torch.nn.Module):
        raise UsageError(f"{cast.model}() gave {type(model).__name__}, not a torch module")
    if cast.weights is not None:
        try:
            model.load_state_dict(_state(Path(cast.weights)))
        except RuntimeError as error:
            raise UsageError(f"the weights do not fit the model: {' '.join(str(error).split())[:300]}") from error
    return model


def _state(file: Path) -> dict[str, torch.Tensor]:
    """A state dict, without running anything that the file holds."""
    try:
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(file)
        held = torch.load(file, map_location="cpu", weights_only=True)
    except ImportError as error:
        raise UsageError("weights in safetensors need the package safetensors", fix="pip install safetensors") from error
    except Exception as error:  # a damaged file, or a pickle that would run code
        raise UsageError(f"can't load {file.name}: {told(error)}", fix="give safetensors, or a state dict saved by torch.save") from error
    for name in ("state_dict", "model", "model_state_dict"):
        if isinstance(held, dict) and isinstance(held.get(name), dict):
            held = held[name]
            break
    if not isinstance(held, dict) or not all(isinstance(each, torch.Tensor) for each in held.values()):
        raise UsageError(f"{file.name} holds no state dict", fix="save model.state_dict()")
    return held
