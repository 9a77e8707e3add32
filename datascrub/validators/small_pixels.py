"""What validators look at instead of whole pictures: 32 x 32 gray pixels and a histogram of each, made once for a batch whoever asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datascrub.media.picture import Picture, pictures
from datascrub.model import Column

SIDE = 32


@dataclass(frozen=True)
class SmallPixels:
    """rows: the positions in the batch that have pixels, n of them; gray: (n, 32, 32) float32, 0 to 255; histogram: (n, 256) int64, of all pixels."""

    rows: np.ndarray
    gray: np.ndarray
    histogram: np.ndarray


def small_pixels(column: Column) -> SmallPixels:
    """Of the whole pictures of an encoded column, whatever their size; damaged ones are left out."""
    return column.derive("small-pixels", _made)


def whole_pictures(column: Column) -> list[tuple[int, Picture, np.ndarray]]:
    """(position in the batch, picture, its gray pixels) of each picture that was decoded without a complaint."""
    each: Sequence[Picture | None] = pictures(column)
    return [
        (row, picture, picture.pixels)
        for row, picture in enumerate(each)
        if picture is not None and picture.is_ok and picture.pixels is not None and picture.pixels.size
    ]


def shows_its_pixels(picture: Picture) -> bool:
    """Whether the gray pixels are what a viewer sees: under alpha that varies (icons are black all over) they are not."""
    return picture.alpha is None or picture.alpha[0] == picture.alpha[1]


def _made(column: Column) -> SmallPixels:
    from PIL import Image

    known = whole_pictures(column)
    gray = np.empty((len(known), SIDE, SIDE), np.float32)
    histogram = np.empty((len(known), 256), np.int64)
    for at, (_, _, pixels) in enumerate(known):
        image = Image.fromarray(np.ascontiguousarray(pixels))
        histogram[at] = image.histogram()
        height, width = pixels.shape
        # Reduced by whole numbers first, to twice the size at least: a filter over all pixels takes four times as long.
        factors = max(1, width // (2 * SIDE)), max(1, height // (2 * SIDE))
        extent = (0.0, 0.0, width / factors[0], height / factors[1])
        gray[at] = np.asarray(image.reduce(factors).resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=extent))
    return SmallPixels(np.array([row for row, _, _ in known], np.int64), gray, histogram)
