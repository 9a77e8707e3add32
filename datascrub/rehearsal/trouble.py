"""Who takes part in a rehearsal, and what is said of a sample or a batch that does not go well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from datascrub.guards.sighting import Sighting

_SHOWN = 5


@dataclass(frozen=True)
class Cast:
    """Model and loss of the user's own, by the names that Python finds them under, and how samples are handed to them.

    model: pkg.mod:factory, called without arguments; gives a torch module. loss: pkg.mod:fn, called with the outputs and the targets of a batch;
    without one the loss is the mean square of the outputs. weights: a file of safetensors, or a state dict of torch (loaded as weights only).
    inputs: fields that the model is called with, in this order; without them all of role image and array. targets: fields that the loss is called
    with; without them all of role label. batch_size: samples of a batch, in the order of the source. device: where it runs.
    precision: the training's; in float16 and bfloat16 the model runs under autocast.
    """

    model: str
    loss: str | None = None
    weights: str | None = None
    inputs: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    batch_size: int = 32
    device: str = "auto"
    precision: str = "float32"


@dataclass(frozen=True)
class Trouble:
    """A sample, or several together, that make a model fail.

    keys: of the sample; of the fewest that fail together; of the whole batch where it lacks something.
    kind: sample (it fails in any company), company (each is sound, together they fail), lack (the batch is sound once others join it), all (every
        part of the batch fails), input (it can't be preprocessed).
    modes: evaluation, training. stage: output, loss, gradient, or raises.
    is_alone: whether the sample fails in a batch of its own too. where: the first module where it began; None where the model raised.
    says: what is known of the cause.
    """

    keys: tuple[str, ...]
    kind: str
    modes: tuple[str, ...]
    stage: str
    says: str
    is_alone: bool = False
    where: Sighting | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        made: dict[str, Any] = asdict(self)
        return made

    def __str__(self) -> str:
        shown = ", ".join(self.keys[:_SHOWN]) + (f" and {len(self.keys) - _SHOWN:,} more" if len(self.keys) > _SHOWN else "")
        told = {"raises": "the model raises", "input": "can't be preprocessed"}.get(self.stage, f"the {self.stage} is not finite")
        modes = f" in {' and '.join(self.modes)}" if self.modes else ""
        return f"{shown}  {told}{modes}: {self.says}"


def merged(troubles: Mapping[str, list[Trouble]]) -> list[Trouble]:
    """One trouble for each that both modes show, told as the first mode shows it."""
    made: dict[tuple[Any, ...], Trouble] = {}
    for its in troubles.values():
        for each in its:
            same = made.get((each.keys, each.kind))
            made[each.keys, each.kind] = each if same is None else _joined(same, each)
    return list(made.values())


def _joined(first: Trouble, second: Trouble) -> Trouble:
    return Trouble(first.keys, first.kind, (*first.modes, *second.modes), first.stage, first.says, first.is_alone, first.where)
