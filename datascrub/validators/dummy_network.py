"""A trivial forward pass over every sample, whose loss must be a number."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.network.choose import choose_backend
from datascrub.rules import Measurement, RowRule, Rule, SetRule
from datascrub.validators.base import Validator
from datascrub.validators.summary import flattened, is_number

_HALF_LEVEL = 0.5
_OUTLIERS = """
    WITH logs AS (
        SELECT number, {field}.network_loss AS loss, {field}.network_step AS step, ln({field}.network_loss + 1e-9) AS log_loss,
            ln({field}.network_step) AS log_step
        FROM facts WHERE {field}.network_loss IS NOT NULL
    ), middle AS (
        SELECT median(log_loss) AS mid_loss, greatest(1.4826 * mad(log_loss), $least_spread) AS loss_spread,
            median(log_step) AS mid_step, greatest(1.4826 * mad(log_step), $least_spread) AS step_spread
        FROM logs
    ), far AS (
        SELECT number, loss, step, exp(mid_loss) AS median_loss, exp(mid_step) AS median_step, (log_loss - mid_loss) / loss_spread AS loss_deviations,
            CASE WHEN mid_step >= 0 THEN (log_step - mid_step) / step_spread END AS step_deviations
        FROM logs, middle
    )
    SELECT *, greatest(loss_deviations, step_deviations) AS deviations FROM far
    WHERE greatest(loss_deviations, step_deviations) > $deviations
    QUALIFY count(*) OVER () <= 0.01 * (SELECT count(*) FROM logs) ORDER BY number"""


@dataclass(frozen=True)
class DummyNetwork(Validator):
    """A sample that makes the loss of the simplest possible network non-finite.

    What it finds
        Every sample runs through one fixed, seeded network (rows times weights, leaky ReLU, linear, mean square) to one loss. It has no step that
        swallows a value, so no NaN or infinity at any place stays unseen, and none spoils the loss of a neighbour.
        network-loss-not-finite (error): the sample itself holds NaN or Inf. network-overflows (warning): its values are finite, but so large (some
        1e19 in float32) that products or squares of them are not; any network would overflow on it without normalisation.
        network-overflows-half (warning): data.precision is declared float16, and the loss is a number that it can't hold.
        network-loss-outlier (warning): far above the rest of the set, in the loss or in the steps between neighbouring pixels of an encoded
        image, by the median of logarithms and their median absolute deviation. A QR code among photos lies 23 to 27 deviations out by its steps
        (healthy photos: at most 3), but only 0 to 5 by its loss; among drawings it does not stand out. Asked from 100 samples on, said of at
        most 1 % of them.

    Why it breaks training
        It is the same arithmetic. A loss that is not finite here is not finite in your network, unless a layer there hides it: max-pooling and ReLU
        lose -Inf, TensorFlow's max-pooling loses NaN, and then the weights learn from a hole.

    Example
        train.h5#6  network-loss-not-finite  the loss is not finite, from the input on

    What to do
        Leave the sample out, or compute it again. If it overflows, look for a sentinel (1e30) or a wrong unit, and normalise.

    Parameters and facts
        backend: numpy (default), torch, tensorflow, or auto (a framework where there is a GPU). seed: 0, of the weights. deviations: 10 and
        least_spread: 0.1 (of natural logarithms), of network-loss-outlier.
        Facts: network_loss (NULL where not finite), network_finite, network_layer (where it began: input, cast, rows, activation, linear, loss; cast
        is a float64 value that float32 can't hold), network_step (encoded images alone, which take part with their reduced gray pixels). Losses are
        bit-equal on one machine whatever the batch with numpy, and agree within 1e-4 between backends and machines.
    """

    backend: str = "numpy"
    seed: int = 0
    deviations: float = 10.0
    least_spread: float = 0.1

    version: ClassVar[int] = 2
    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY, Kind.ENCODED})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "network_loss": Measurement("DOUBLE", "loss of the dummy network; NULL where it is not finite", "", ">= 0"),
        "network_finite": Measurement("BOOLEAN", "whether the loss of the dummy network is finite"),
        "network_layer": Measurement("VARCHAR", "first layer where a number is not finite: input, cast, rows, activation, linear, loss"),
        "network_step": Measurement("DOUBLE", "root mean square step between neighbouring pixels of a row of an encoded image", "", ">= 0.5"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        from datascrub.network import numpy as reference

        made = self.blank(len(column))
        losses = importlib.import_module(f"datascrub.network.{choose_backend(self.backend)}").losses
        for rows, block in _blocks(column):
            loss: np.ndarray = losses(block, self.seed)
            if column.field.kind is Kind.ENCODED and block.ndim > 2:
                made["network_step"][rows] = _steps(block)
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
            RowRule(
                "network-overflows-half",
                Severity.WARNING,
                "the loss {network_loss:g} is more than the declared precision {precision} can hold",
                ("network_loss",),
                "normalise the data, or train with loss scaling in float32 or bfloat16",
                where="network_loss > precision_max",
                common="set",
            ),
            SetRule(
                "network-loss-outlier",
                Severity.WARNING,
                "{deviations:.0f} deviations above the set: loss {loss:.4g} (median {median_loss:.4g}), pixel steps {step} (median {median_step})",
                fix="look at the sample: a QR code, a screenshot, noise, a wrong unit?",
                sql=_OUTLIERS,
                scope="sample",
                needs=("network_loss", "network_step"),
                minimum=100,
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


def _steps(block: np.ndarray) -> np.ndarray:
    """(N,) root mean square steps along the rows of pixels (N, height, width, …); half a grey level is added, so that it has a logarithm."""
    pixels = block.astype(np.float32)
    steps = (pixels[:, :, 1:] - pixels[:, :, :-1]).reshape(len(block), -1)
    squares = np.einsum("ij,ij->i", steps, steps) / max(1, steps.shape[1])
    made: np.ndarray = np.sqrt(squares.astype(np.float64)) + _HALF_LEVEL
    return made
