"""A trivial forward pass over every sample, whose loss must be a number."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.network.choose import choose_backend
from datascrub.rules import Measurement, RowRule, Rule
from datascrub.validators.base import Validator
from datascrub.validators.summary import flattened, is_number


@dataclass(frozen=True)
class DummyNetwork(Validator):
    """A sample that makes the loss of the simplest possible network non-finite.

    What it finds
        Every sample runs through one fixed, seeded network (rows times weights, leaky ReLU, linear, mean square) to one loss. It has no step that
        swallows a value, so no NaN or infinity at any place stays unseen, and none spoils the loss of a neighbour.
        network-loss-not-finite (error): the sample itself holds NaN or Inf. network-overflows (warning): its values are finite, but so large (some
        1e19 in float32) that products or squares of them are not; any network would overflow on it without normalisation.

    Why it breaks training
        It is the same arithmetic. A loss that is not finite here is not finite in your network, unless a layer there hides it: max-pooling and ReLU
        lose -Inf, TensorFlow's max-pooling loses NaN, and then the weights learn from a hole.

    Example
        train.h5#6  network-loss-not-finite  the loss is not finite, from the input on

    What to do
        Leave the sample out, or compute it again. If it overflows, look for a sentinel (1e30) or a wrong unit, and normalise.

    Parameters and facts
        backend: numpy (default), torch, or auto (torch where it is installed and there is a GPU). seed: 0, of the weights.
        Facts: network_loss (NULL where not finite), network_finite, network_layer (where it began: input, cast, rows, activation, linear, loss; cast
        is a float64 value that float32 can't hold). Encoded images take part with their reduced gray pixels. Losses are bit-equal on one machine
        whatever the batch with numpy, and agree within 1e-4 between backends and machines.
    """

    backend: str = "numpy"
    seed: int = 0

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY, Kind.ENCODED})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "network_loss": Measurement("DOUBLE", "loss of the dummy network; NULL where it is not finite", "", ">= 0"),
        "network_finite": Measurement("BOOLEAN", "whether the loss of the dummy network is finite"),
        "network_layer": Measurement("VARCHAR", "first layer where a number is not finite: input, cast, rows, activation, linear, loss"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        from datascrub.network import numpy as reference

        made = self.blank(len(column))
        losses = importlib.import_module(f"datascrub.network.{choose_backend(self.backend)}").losses
        for rows, block in _blocks(column):
            loss: np.ndarray = losses(block, self.seed)
            is_finite = np.isfinite(loss)
            made["network_finite"][rows] = is_finite
            made["network_loss"][rows[is_finite]] = loss[is_finite]
            for place in np.flatnonzero(~is_finite).tolist():
                # None: the backend overflowed where the reference, which adds in another order, just did not.
                made["network_layer"][rows[place]] = reference.first_layer(block[place], self.seed) or "loss"
        return made

    def rules(self) -> Sequence[Rule]:
        facts = ("network_layer",)
        return (
            RowRule(
                "network-loss-not-finite",
                Severity.ERROR,
                "the loss is not finite, from the {network_layer} on",
                facts,
                "leave the sample out, or compute it again",
                where="network_finite == false and network_layer == 'input'",
            ),
            RowRule(
                "network-overflows",
                Severity.WARNING,
                "the values are finite, but float32 overflows: first in layer {network_layer}",
                facts,
                "look for a sentinel or a wrong unit; normalise the data",
                where="network_finite == false and network_layer != 'input'",
                common="set",
            ),
        )


def _blocks(column: Column) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks of numbers of a column; of an encoded image, the pixels that were decoded for all validators of the batch."""
    if column.field.kind is Kind.ENCODED:
        column = Column(column.field, column.derive("network_pixels", _pixels))
    for rows, block in column.blocks():
        if is_number(block.dtype) and block[0].size:
            yield rows, flattened(block) if block.dtype.kind == "c" else block


def _pixels(column: Column) -> list[Any]:
    from datascrub.media.picture import pictures

    return [None if picture is None else picture.pixels for picture in pictures(column)]
