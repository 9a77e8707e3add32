"""A trivial forward pass over every sample, whose loss must be a number."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from datascrub.config import PRECISIONS, PreprocessConfig
from datascrub.model import Column, Kind, Role
from datascrub.network.choose import choose_backend
from datascrub.network.design import HALVES
from datascrub.rules import Measurement, Rule
from datascrub.validators.base import Validator
from datascrub.validators.network_rules import NETWORK_RULES, OUTLIER_RULES, PREPROCESS_RULES
from datascrub.validators.summary import flattened, is_number

_HALF_LEVEL = 0.5
_TILE_BYTES = 1 << 18
"""pixels whose steps are taken at once: they stay in the cache of one core, where those of a whole batch would be fetched page by page"""


@dataclass(frozen=True)
class DummyNetwork(Validator):
    """A sample that makes the loss of the simplest possible network non-finite.

    What it finds
        Every sample runs through one fixed, seeded network (rows times weights, leaky ReLU, linear, mean square) to one loss. It has no step that
        swallows a value, so no NaN or infinity at any place stays unseen, and none spoils the loss of a neighbour.
        network-loss-not-finite (error): the sample itself holds NaN or Inf. network-overflows (error): its values are finite, but so large (some
        1e19 in float32) that products or squares of them are not; any network would overflow on it without normalisation.
        With network.backward, network-gradient-not-finite (error): the loss is finite, but its gradient or the norm of it is not (values from some
        1e9 on): clipping by that norm then sets every gradient to 0 or NaN.
        network-overflows-half (warning): the loss is more than the declared data.precision can hold; with network.precisions the network runs in
        float16 and bfloat16 too, and a sample that is finite in float32 alone is named with the layer where it ends. Pixels of 0..255 that were not
        scaled end in float16 at the gradient for 20 of 60 photos of 32x32 and 7 of 60 of 224x224, scaled ones never: how your own network fares,
        `datascrub rehearse` tells.
        With [preprocess] the network gets what training gets: preprocess-crop-too-large, preprocess-layout-wrong, preprocess-zero-deviation
        (a constant sample divided by its own deviation), preprocess-not-finite, preprocess-fails (the function of your own raised), all errors.
        network-loss-outlier (warning): far above the rest of the set, in the loss or in the steps between neighbouring pixels of an encoded
        image, by the median of logarithms and their median absolute deviation. A QR code among photos lies 23 to 27 deviations out by its steps
        (healthy photos: at most 3), but only 0 to 5 by its loss; among drawings it does not stand out. Asked from 100 samples on, said of at
        most 1 % of them.

    Why it breaks training
        It is the same arithmetic. A loss that is not finite here is not finite in your network, unless a layer there hides it, and then the weights
        learn from a hole: ReLU makes 0 of -Inf, max-pooling and a clamp lose -Inf, a clamp +Inf too, TensorFlow's max-pooling NaN, a strided layer
        what it steps over. None of them is in this network: its ReLU is leaky, every value meets a weight that is not 0, and nothing is pooled.

    Example
        train.h5#6  network-loss-not-finite  the loss is not finite, from the input on

    What to do
        Leave the sample out, or compute it again. If it overflows, look for a sentinel (1e30) or a wrong unit, and normalise.

    Parameters and facts
        backend: numpy (default), torch, tensorflow, or auto (a framework where there is a GPU); device: auto. seed: 0, of the weights. backward,
        precisions, preprocess: as [network] and [preprocess] say; off unless asked for, since they cost two to six times the loss alone.
        deviations: 10 and least_spread: 0.1 (of natural logarithms), of network-loss-outlier.
        Facts: network_loss (NULL where not finite), network_finite, network_layer (where it began: input, cast, rows, activation, linear, loss; cast
        is a float64 value that float32 can't hold), network_step (encoded images alone, which take part with their reduced gray pixels, or as
        [preprocess] gives them). Losses are bit-equal on one machine whatever the batch with numpy, and agree within 1e-4 between backends and
        machines. In depth: network_gradient, network_gradient_finite, network_peak, network_compared, network_half (what each layer gives is rounded
        to the precision, sums run in float32, as tensor cores do), preprocess_status, preprocess_detail.
    """

    backend: str = "numpy"
    device: str = "auto"
    seed: int = 0
    backward: bool = False
    precisions: tuple[str, ...] = ()
    preprocess: PreprocessConfig | None = None
    deviations: float = 10.0
    least_spread: float = 0.1

    measured_with: ClassVar[frozenset[str]] = frozenset({"backend", "device", "seed", "backward", "precisions", "preprocess"})
    version: ClassVar[int] = 3
    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY, Kind.ENCODED})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "network_loss": Measurement("DOUBLE", "loss of the dummy network; NULL where it is not finite", "", ">= 0"),
        "network_finite": Measurement("BOOLEAN", "whether the loss of the dummy network is finite"),
        "network_layer": Measurement("VARCHAR", "first layer where a number is not finite: input, cast, rows, activation, linear, loss"),
        "network_step": Measurement("DOUBLE", "root mean square step between neighbouring pixels of a row of an encoded image", "", ">= 0.5"),
        "network_gradient": Measurement("DOUBLE", "norm of the gradient of that loss by all weights; NULL where it is not finite", "", ">= 0"),
        "network_gradient_finite": Measurement("BOOLEAN", "whether that norm is finite"),
        "network_peak": Measurement("DOUBLE", "largest magnitude of any number on the way to the loss", "", ">= 0"),
        "network_compared": Measurement("BOOLEAN", "whether the network ran in half precision too"),
        "network_half": Measurement(
            "VARCHAR", "half precisions that can't hold it, with the layer where that began (by the loss alone where not compared)"
        ),
        "preprocess_status": Measurement("VARCHAR", "ok, crop-too-large, layout-wrong, zero-deviation, not-finite, fails"),
        "preprocess_detail": Measurement("VARCHAR", "a sentence where preprocessing did not go well"),
    }

    def __post_init__(self) -> None:
        # A plan hands lists and tables over as JSON holds them.
        object.__setattr__(self, "precisions", tuple(self.precisions))
        if isinstance(self.preprocess, Mapping):
            from datascrub.network.preprocess import config_of

            object.__setattr__(self, "preprocess", config_of(self.preprocess))

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        for rows, block in self._blocks(column, made):
            if column.field.kind is Kind.ENCODED and self.preprocess is None and block.ndim > 2:
                made["network_step"][rows] = _steps(block)
            if self.backward or self.precisions:
                self._look_deep(made, rows, block)
            else:
                module = importlib.import_module(f"datascrub.network.{choose_backend(self.backend, self.device)}")
                self._tell(made, rows, block, module.losses(block, self.seed, self.device))
        return made

    def rules(self) -> Sequence[Rule]:
        return (*NETWORK_RULES, *PREPROCESS_RULES, *OUTLIER_RULES)

    def _blocks(self, column: Column, made: dict[str, np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks of numbers of a column: of an encoded image the pixels that were decoded for all validators of the batch, or what training sees."""
        if self.preprocess is not None:
            from datascrub.network.preprocess import Outcome, preprocessed

            yield from preprocessed(column, self.preprocess, Outcome(made["preprocess_status"], made["preprocess_detail"]))
            return
        if column.field.kind is Kind.ENCODED:
            column = Column(column.field, column.derive("network_pixels", _pixels))
        for rows, block in column.blocks():
            if is_number(block.dtype) and block[0].size:
                yield rows, flattened(block) if block.dtype.kind == "c" else block

    def _tell(self, made: dict[str, np.ndarray], rows: np.ndarray, block: np.ndarray, loss: np.ndarray) -> None:
        from datascrub.network import numpy as reference

        is_finite = np.isfinite(loss)
        made["network_finite"][rows] = is_finite
        made["network_loss"][rows[is_finite]] = loss[is_finite]
        for place in np.flatnonzero(is_finite & (loss > PRECISIONS["float16"])).tolist():
            made["network_half"][rows[place]] = ", ".join(f"{name} (loss)" for name in HALVES if loss[place] > PRECISIONS[name])
        for place in np.flatnonzero(~is_finite).tolist():
            # None: the backend overflowed where the reference, which adds in another order, just did not.
            made["network_layer"][rows[place]] = reference.first_layer(block[place], self.seed) or "loss"

    def _look_deep(self, made: dict[str, np.ndarray], rows: np.ndarray, block: np.ndarray) -> None:
        from datascrub.network.depth import measure_depth

        halves = [name for name in HALVES if name in self.precisions]
        backend = choose_backend(self.backend, self.device)
        it = measure_depth(block, backend, self.seed, self.device, with_gradient=self.backward, halves=halves)
        self._tell(made, rows, block, it.loss)
        has_peak = np.isfinite(it.peak)
        made["network_peak"][rows[has_peak]] = it.peak[has_peak]
        if it.gradient is not None:
            is_finite = np.isfinite(it.gradient)
            made["network_gradient_finite"][rows] = is_finite
            made["network_gradient"][rows[is_finite]] = it.gradient[is_finite]
        if halves:
            made["network_compared"][rows] = True
            for place in np.flatnonzero(np.isfinite(it.loss)).tolist():
                ended = [f"{name} ({layers[place]})" for name, layers in it.layers.items() if layers[place] is not None]
                made["network_half"][rows[place]] = ", ".join(ended) or None


def _pixels(column: Column) -> list[Any]:
    from datascrub.media.picture import pictures

    return [None if picture is None else picture.pixels for picture in pictures(column)]


def _steps(block: np.ndarray) -> np.ndarray:
    """(N,) root mean square steps along the rows of pixels (N, height, width, …); half a grey level is added, so that it has a logarithm."""
    made = np.empty(len(block), np.float64)
    height = max(1, _TILE_BYTES // (4 * max(1, block[0].size)))
    for start in range(0, len(block), height):
        pixels = block[start : start + height].astype(np.float32)
        steps = (pixels[:, :, 1:] - pixels[:, :, :-1]).reshape(len(pixels), -1)
        squares = np.vecdot(steps, steps) / max(1, steps.shape[1])  # einsum adds up in another order for one sample than for many
        made[start : start + height] = np.sqrt(squares.astype(np.float64)) + _HALF_LEVEL
    return made
