"""Caffe's solver definitions. Source of the formulas: SGDSolver::GetLearningRate in BVLC Caffe."""

from __future__ import annotations

from collections.abc import Iterator

from datascrub.netlint.remark import Remark
from datascrub.netlint.text_format import Message

_MARKS = ("base_lr", "lr_policy", "max_iter", "test_iter", "snapshot_prefix", "solver_mode", "train_net")
_NEEDS = {
    "fixed": (), "step": ("gamma", "stepsize"), "exp": ("gamma",), "inv": ("gamma", "power"), "multistep": ("gamma", "stepvalue"),
    "poly": ("power", "max_iter"), "sigmoid": ("gamma", "stepsize"),
}  # fmt: skip
_WITHOUT = {
    "stepsize": "0 is taken for it, and the iteration is divided by it",
    "gamma": "0 is taken for it, and the learning rate becomes 0",
    "power": "0 is taken for it, and the learning rate never falls",
    "stepvalue": "the learning rate never falls",
    "max_iter": "0 is taken for it, and 0 / 0 makes the learning rate NaN in the first step",
}
_FATAL = ("stepsize", "max_iter")


def is_solver(message: Message) -> bool:
    """Whether a definition is a solver's and no network's."""
    return not ({"layer", "layers"} & message.fields.keys()) and any(name in message.fields for name in _MARKS)


def solver_remarks(solver: Message) -> Iterator[Remark]:
    """What is wrong with a solver."""
    yield from _policy(solver)
    yield from _rates(solver)


def _policy(solver: Message) -> Iterator[Remark]:
    policy, line = solver.text("lr_policy"), solver.line_of("lr_policy")
    if policy not in _NEEDS:
        told = f"no learning-rate policy is called {policy}" if policy else "no lr_policy is given, and Caffe knows no default"
        yield Remark(line, "error", "policy-unknown", told, f"one of {', '.join(_NEEDS)}")
        return
    for name in _NEEDS[policy]:
        value = solver.number(name, 0.0)
        if name not in solver.fields or (value == 0 and name in _FATAL):
            severity = "error" if name in _FATAL else "warning"
            yield Remark(line, severity, "policy-incomplete", f"lr_policy {policy} without {name}: {_WITHOUT[name]}", f"give {name}")
    gamma = solver.number("gamma", 0.0)
    if policy in ("step", "exp", "multistep") and gamma is not None and gamma > 1:
        yield Remark(
            solver.line_of("gamma"), "warning", "rate-grows", f"gamma {gamma:g} above 1: the learning rate grows with each step", "gamma below 1"
        )
    steps = [scalar.number() or 0.0 for scalar in solver.scalars("stepvalue")]
    if policy == "multistep" and steps != sorted(steps):
        yield Remark(
            solver.line_of("stepvalue"), "warning", "steps-unordered", "stepvalue does not rise: steps behind a larger one come late", "sort them"
        )


def _rates(solver: Message) -> Iterator[Remark]:
    rate, line = solver.number("base_lr"), solver.line_of("base_lr")
    if rate is None or not rate > 0:
        told = (
            "no base_lr: 0 is taken for it, and nothing is learned"
            if rate is None
            else f"base_lr is {rate:g}: nothing is learned, or the loss climbs"
        )
        yield Remark(line, "error", "rate-not-positive", told, "a small positive number, such as 0.01")
    elif rate >= 1:
        yield Remark(line, "warning", "rate-large", f"base_lr {rate:g}: most networks diverge to NaN within a few steps", "start at 0.01 or below")
    momentum = solver.number("momentum", 0.0)
    if momentum is not None and not 0 <= momentum < 1:
        yield Remark(
            solver.line_of("momentum"),
            "error",
            "momentum-not-below-one",
            f"momentum {momentum:g}: updates add up without end",
            "below 1, such as 0.9",
        )
    decay = solver.number("weight_decay", 0.0)
    if decay is not None and decay < 0:
        yield Remark(
            solver.line_of("weight_decay"), "error", "decay-negative", f"weight_decay {decay:g} makes weights grow", "0 or a small positive number"
        )
    clip = solver.number("clip_gradients", -1.0)
    if clip == 0:
        yield Remark(
            solver.line_of("clip_gradients"), "error", "clip-zero", "clip_gradients 0 scales every gradient to 0", "a positive number, or none"
        )
    size = solver.number("iter_size", 1.0)
    if size is not None and size < 1:
        yield Remark(solver.line_of("iter_size"), "error", "iter-size-zero", f"iter_size {size:g}: the gradient is divided by it", "1 or more")
