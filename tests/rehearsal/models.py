"""Models and losses as people write them, each with its way to NaN."""

from __future__ import annotations

import torch
from torch import nn

torch.manual_seed(0)


class Step(nn.Module):
    """One function as a module, so that it has a name to be told."""

    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        return self.function(*args)


def rows() -> nn.Module:
    """For rows of six numbers, with batch normalisation."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def logarithm() -> nn.Module:
    """Takes a logarithm of what should be positive."""
    torch.manual_seed(1)
    return nn.Sequential(Step(torch.log), nn.Linear(6, 3))


class Half(nn.Module):
    """float16 throughout."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.grow = nn.Conv2d(3, 8, 5)
        nn.init.constant_(self.grow.weight, 0.5)
        self.square = Step(torch.square)
        self.half()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.square(self.grow(x)).mean(dim=(2, 3))


class Attention(nn.Module):
    """A softmax over the visible positions, written by hand: no maximum is taken off before the exponential."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.energy = nn.Linear(1, 1, bias=False)
        nn.init.constant_(self.energy.weight, 1.0)
        self.softmax = Step(lambda e, mask: e.exp() * mask / (e.exp() * mask).sum(dim=1, keepdim=True))
        self.out = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.out(self.softmax(self.energy(x.unsqueeze(2)).squeeze(2), mask))


class Siamese(nn.Module):
    """The distance of two embeddings."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.embed = nn.Linear(6, 4)
        self.root = Step(torch.sqrt)

    def forward(self, one: torch.Tensor, two: torch.Tensor) -> torch.Tensor:
        return self.root((self.embed(one) - self.embed(two)).square().sum(dim=1))


def half() -> nn.Module:
    """Half, as a factory."""
    return Half()


def attention() -> nn.Module:
    """Attention, as a factory."""
    return Attention()


def siamese() -> nn.Module:
    """Siamese, as a factory."""
    return Siamese()


def poisoned() -> nn.Module:
    """A model whose weights are NaN."""
    model = rows()
    nn.init.constant_(model[3].weight, float("nan"))
    return model


def broken() -> nn.Module:
    """A factory that fails."""
    raise ValueError("no such checkpoint")


def cross_entropy(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The usual one."""
    return nn.functional.cross_entropy(scores, labels)


def balanced(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross entropy with each of three classes weighing the same: divided by how often it stands in the batch."""
    each = nn.functional.cross_entropy(scores, labels, reduction="none")
    return sum((each * (labels == label)).sum() / (labels == label).sum() for label in range(3))


def pairs(scores: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """The sum of distances between all samples of a batch: its gradient has no value where two are the same."""
    return sum((scores[at] - scores[:at]).square().sum(dim=1).sqrt().sum() for at in range(1, len(scores))) + scores.sum()


def distances(values: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """The mean of the distances."""
    return values.mean()


def no_tensor(scores: torch.Tensor, _: torch.Tensor) -> float:
    """A loss that forgot what it is."""
    return 1.0


def halve(values):
    """A preprocessing of the user's own."""
    return values / 2


def of_its_own_size(values):
    """One that fails on all but one shape."""
    return values.reshape(3, 8, 8)


def plain_rows() -> nn.Module:
    """For rows of six numbers, without batch normalisation."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


def plain_pictures() -> nn.Module:
    """For pictures of 3x8x8."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Flatten(), nn.Linear(192, 3))
