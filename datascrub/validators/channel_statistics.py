"""Mean and deviation of each channel over all pixels at full size: what a normalisation needs."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from datascrub.media.picture import pictures
from datascrub.model import Column, Kind, Role
from datascrub.rules import Measurement, Rule
from datascrub.validators.base import Validator
from datascrub.validators.summary import is_number

_MOST_CHANNELS = 64
"""a longer axis holds positions, not channels"""
_PICTURE_CHANNELS = (1, 3, 4)
_WIDE = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")


@dataclass(frozen=True)
class ChannelStatistics(Validator):
    """Mean and deviation of the channels, exactly, where they are asked for.

    What it finds
        Nothing: it only measures, and only with --exact-statistics, for pictures are decoded a second time then, whole and in colour.

    Why it breaks training
        It does not. But inputs normalised by the numbers of another set (those of ImageNet, on X-rays) start a training far from where its
        initialisation expects them, and computing these numbers by hand is one more pass over the data.

    Example
        datascrub info data.lmdb.datascrub: 3 channels of 50,000 pictures: mean 125.31 122.95 113.87, deviation 62.99 62.09 66.70

    What to do
        Normalise by what `datascrub info RUN` prints, computed over the samples that are kept.

    Parameters and facts
        exact_statistics: set by [data] exact_statistics. Pictures as a loader gives them: palettes and inks as red, green and blue, alpha dropped,
        0 to 255 (or the numbers of deeper and floating pictures). Channels of arrays are the axis of 1, 3 or 4 in pictures, the first axis of three
        and more in other arrays, the values themselves in a vector of up to 64; else the array is one channel. Sums are exact for 8 bits, and in
        float64 else. A sample that holds values which are not finite is left out.
        Facts: channel_size, channel_mean, channel_deviation.
    """

    exact_statistics: bool = False

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ENCODED, Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "channel_size": Measurement("BIGINT", "values of each channel, with --exact-statistics", "values", ">= 1"),
        "channel_mean": Measurement("DOUBLE[]", "mean of each channel at full size, with --exact-statistics"),
        "channel_deviation": Measurement("DOUBLE[]", "standard deviation of each channel, with --exact-statistics", "", ">= 0"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        if not self.exact_statistics:
            return made
        if column.field.kind is Kind.ENCODED:
            for row, picture in enumerate(pictures(column)):
                if picture is not None and picture.is_ok:
                    _note(made, row, *_of_picture(column.values[row]))
            return made
        for rows, block in column.blocks():
            if is_number(block.dtype) and block.dtype.kind != "c" and block[0].size:
                for row, values in zip(rows.tolist(), _by_channel(block, column.field.role), strict=True):
                    wide = values.astype(np.float64)
                    if np.isfinite(wide).all():
                        _note(made, row, *_moments(wide))
        return made

    def rules(self) -> Sequence[Rule]:
        return ()


def _note(made: dict[str, np.ndarray], row: int, size: int, means: list[float], deviations: list[float]) -> None:
    if size and all(map(math.isfinite, (*means, *deviations))):
        made["channel_size"][row], made["channel_mean"][row], made["channel_deviation"][row] = size, means, deviations


def _of_picture(data: bytes) -> tuple[int, list[float], list[float]]:
    """(pixels, means, deviations) of the first frame; no pixels where Pillow does not read it."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data)) as image:
                return _of_image(_as_loaded(image))
    except Exception:  # noqa: BLE001 -- foreign bytes meet a foreign decoder; that they are sound was checked by ours
        return 0, [], []


def _as_loaded(image: Any) -> Any:
    if image.mode in ("L", "RGB", *_WIDE):
        return image
    return image.convert("L" if image.mode in ("1", "LA", "La") else "RGB")


def _of_image(image: Any) -> tuple[int, list[float], list[float]]:
    if image.mode in _WIDE:
        return _moments(np.asarray(image, np.float64).reshape(1, -1))
    counts = np.array(image.histogram(), np.int64).reshape(-1, 256)
    levels = np.arange(256)
    size = int(counts[0].sum())
    sums, squares = ((counts * weight).sum(1).tolist() for weight in (levels, levels**2))
    # Python's integers: the difference of two large products is exact.
    deviations = [math.sqrt(size * square - total * total) / size for total, square in zip(sums, squares, strict=True)]
    return size, [total / size for total in sums], deviations


def _moments(values: np.ndarray) -> tuple[int, list[float], list[float]]:
    """Of (channels, size) float64."""
    with np.errstate(all="ignore"):
        means = values.mean(1)
        deviations = np.sqrt(np.square(values - means[:, None]).mean(1))
    return values.shape[1], means.tolist(), deviations.tolist()


def _by_channel(block: np.ndarray, role: Role) -> np.ndarray:
    """(n, channels, size) of a block (n, …)."""
    axes = block.shape[1:]
    if role is Role.ARRAY and len(axes) == 1 and axes[0] <= _MOST_CHANNELS:
        return block[..., None]
    is_last = len(axes) == 3 and axes[0] not in _PICTURE_CHANNELS and axes[-1] in _PICTURE_CHANNELS
    if is_last:
        return np.moveaxis(block, -1, 1).reshape(len(block), axes[-1], -1)
    channels = axes[0] if len(axes) >= 3 and axes[0] <= _MOST_CHANNELS else 1
    return block.reshape(len(block), channels, -1)
