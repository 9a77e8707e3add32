"""Boxes whose corners can't be those of an object in the picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import CORNERS, Column, Kind, Role
from datascrub.rules import Measurement, Rule
from datascrub.validators.base import Validator
from datascrub.validators.box_rules import RULES
from datascrub.validators.summary import is_number

_WRAP_MARGIN = 1024
"""unsigned values this near to the end of their range are small negative numbers: no picture is 64,512 pixels wide"""
_ENDS = (1 << 16, 1 << 32)


@dataclass(frozen=True)
class Boxes(Validator):
    """A box that no object can have.

    What it finds
        box-inverted (error): the right edge left of the left one, or the lower above the upper. box-zero-area (error): no width or no height.
        box-wrapped (error): an unsigned coordinate that is a small negative number (65535). box-outside (error): beyond 0 to 1 in a set of normalised
        boxes, below 0 in pixels, beyond the picture where the set has one picture field. box-units-mixed (error): pixels among normalised boxes, or
        normalised ones among pixels. box-repeated (info): one box twice. box-none (info): no box at all. Edges on 0 and 1 and rounding (1.0000001)
        are healthy, and so is padding in arrays with a fixed number of boxes (rows of one value, 0 or -1).
        Whether an array holds corners, or corner and size, is not written anywhere. Where more than a quarter of the samples would be accused, the
        boxes are taken for something else than corners, and box-order-unclear (info) says so once.

    Why it breaks training
        Width and height go through a logarithm and a division: a box without area gives -Inf, an inverted one NaN, and one of 65535 pixels a loss
        that swamps all others. An anchor never meets a box outside the picture, and the class is not learnt.

    Example
        train.h5#4  box-wrapped  65535, 176, 221, 438: a coordinate that is a negative number in an unsigned type

    What to do
        Clip or correct the box, or leave the sample out. If boxes over the edge are meant, switch box-outside off.

    Parameters and facts
        Facts: box_count (padding left aside), box_min_x, box_min_y, box_max_x, box_max_y over its finite boxes; inverted_count, flat_count,
        wrapped_count, repeated_count, and the first of each as text; is_order_known. NULL where the last axis is not 4 long.
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.BOXES})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "box_count": Measurement("BIGINT", "boxes of the sample, without padding", "boxes", ">= 0"),
        "box_min_x": Measurement("DOUBLE", "smallest x of its boxes", "pixels, or parts of the width"),
        "box_min_y": Measurement("DOUBLE", "smallest y of its boxes", "pixels, or parts of the height"),
        "box_max_x": Measurement("DOUBLE", "largest x of its boxes", "pixels, or parts of the width"),
        "box_max_y": Measurement("DOUBLE", "largest y of its boxes", "pixels, or parts of the height"),
        "inverted_count": Measurement("BIGINT", "boxes whose second corner lies before the first", "boxes", ">= 0"),
        "inverted_box": Measurement("VARCHAR", "the first of them"),
        "flat_count": Measurement("BIGINT", "boxes without width or height", "boxes", ">= 0"),
        "flat_box": Measurement("VARCHAR", "the first of them"),
        "wrapped_count": Measurement("BIGINT", "boxes with a coordinate at the end of an unsigned range", "boxes", ">= 0"),
        "wrapped_box": Measurement("VARCHAR", "the first of them"),
        "repeated_count": Measurement("BIGINT", "boxes that stand before in the same sample", "boxes", ">= 0"),
        "repeated_box": Measurement("VARCHAR", "the first of them"),
        "is_order_known": Measurement("BOOLEAN", "whether the format defines a box as xmin, ymin, xmax, ymax"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        is_order_known = CORNERS in column.field.declared
        for rows, block in column.blocks():
            if is_number(block.dtype) and block.dtype.kind not in "cb" and block.ndim in (2, 3) and block.shape[-1] == 4:
                made["is_order_known"][rows] = is_order_known
                _measure_block(made, rows, block.reshape(len(block), -1, 4), is_padded=column.is_dense and block.ndim == 3)
            elif block.size == 0:
                made["box_count"][rows] = 0
        return made

    def rules(self) -> Sequence[Rule]:
        return RULES


def _measure_block(made: dict[str, np.ndarray], rows: np.ndarray, block: np.ndarray, *, is_padded: bool) -> None:
    """Boxes of samples that have equally many: (samples, boxes, 4)."""
    corners = block.astype(np.float64)
    is_box = np.ones(corners.shape[:2], bool)
    if is_padded and corners.shape[1] > 1:
        is_box = ~((corners == corners[..., :1]).all(axis=2) & np.isin(corners[..., 0], (0.0, -1.0)))
    made["box_count"][rows] = is_box.sum(axis=1)
    is_finite = is_box & np.isfinite(corners).all(axis=2)
    width, height = corners[..., 2] - corners[..., 0], corners[..., 3] - corners[..., 1]
    inverted = is_finite & ((width < 0) | (height < 0))
    for name, bad in (
        ("inverted", inverted),
        ("flat", is_finite & ~inverted & ((width == 0) | (height == 0))),
        ("wrapped", is_finite & _wrapped(corners, block.dtype).any(axis=2)),
        ("repeated", is_finite & _repeated(corners)),
    ):
        made[f"{name}_count"][rows] = bad.sum(axis=1)
        for sample in np.flatnonzero(bad.any(axis=1)).tolist():
            made[f"{name}_box"][rows[sample]] = _text(block[sample, int(np.argmax(bad[sample]))])
    has_any = is_finite.any(axis=1)
    outer = np.where(is_finite[..., np.newaxis], corners, np.nan)[has_any]
    if len(outer):
        low, high = np.nanmin(outer, axis=1), np.nanmax(outer, axis=1)
        for name, values in (
            ("box_min_x", np.minimum(low[:, 0], low[:, 2])),
            ("box_min_y", np.minimum(low[:, 1], low[:, 3])),
            ("box_max_x", np.maximum(high[:, 0], high[:, 2])),
            ("box_max_y", np.maximum(high[:, 1], high[:, 3])),
        ):
            made[name][rows[has_any]] = values


def _wrapped(corners: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "u" and dtype.itemsize == 8:
        return corners >= 2.0**64 - 2.0 * _WRAP_MARGIN
    wrapped = np.zeros(corners.shape, bool)
    for end in _ENDS:
        wrapped |= (corners >= end - _WRAP_MARGIN) & (corners < end)
    return wrapped


def _repeated(corners: np.ndarray) -> np.ndarray:
    """(samples, boxes) bool: whether an equal box stands before in the same sample."""
    samples, boxes = corners.shape[:2]
    repeated = np.zeros((samples, boxes), bool)
    if boxes < 2 or not samples:
        return repeated
    order = np.lexsort([np.broadcast_to(np.arange(boxes), (samples, boxes)).ravel(), *(corners[..., axis].ravel() for axis in range(3, -1, -1)),
                        np.repeat(np.arange(samples), boxes)])  # fmt: skip
    flat, sample = corners.reshape(-1, 4)[order], order // boxes
    same = (flat[1:] == flat[:-1]).all(axis=1) & (sample[1:] == sample[:-1])
    repeated.reshape(-1)[order[1:][same]] = True
    return repeated


def _text(box: np.ndarray) -> str:
    return ", ".join(f"{value:.7g}" if box.dtype.kind not in "iu" else str(int(value)) for value in box)
