"""Segmentation masks whose values are no classes, or that do not cover their picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.media.indexes import indexes
from datascrub.media.picture import pictures
from datascrub.model import Column, Kind, Role
from datascrub.rules import Measurement, Rule
from datascrub.validators.base import Validator
from datascrub.validators.mask_rules import RULES

MOST_VALUES = 256
"""different values of one mask that are kept; a mask of classes has no more"""


@dataclass(frozen=True)
class Mask(Validator):
    """A segmentation mask that does not say one class for each pixel of its picture.

    What it finds
        mask-value-out-of-range (error): a value that is no declared class and no ignored label, with the pixel where it first stands.
        mask-scaled (error where classes are declared, else info; said once): binary masks written as 0 and 255. mask-in-colours (error where classes
        are declared, else a warning): colours in place of indexes; said once where most masks are so. mask-size-mismatch (error): another size than
        the picture's. mask-values-interpolated (warning): values between those of the other masks, on slopes: resized with a filter that mixes
        classes. mask-lossy (warning): stored as JPEG, which changes values. mask-empty (info): nothing but 0.
        Palette masks are read by index, never by colour. Masks with one axis belong to attention-mask.

    Why it breaks training
        A cross entropy reads the score at the pixel's value. 255 with two classes is a device assert or foreign memory; a mixed edge is a class that
        is not there; a mask of another size shifts every pixel, or raises.

    Example
        masks/m3.png  mask-values-interpolated  values 1, 3, 4 (64 pixels) stand in no other mask, between those that do

    What to do
        Write masks as 8-bit or palette PNG, resize with nearest neighbour, divide 0/255 by 255. Declare an ignored value: ignore_labels = [255].

    Parameters and facts
        odd_share: 0.1, the share of masks up to which values of their own are odd.
        Facts: mask_key (file of the mask, where it has one), mask_width, mask_height, mask_mode, mask_format, is_colour, is_empty; values, counts,
        firsts (the values of a mask with at most 256 different ones, how many pixels have each, and the first pixel in row order), value_count,
        ramp_count (pixels strictly between their neighbours).
    """

    odd_share: float = 0.1

    roles: ClassVar[frozenset[Role]] = frozenset({Role.MASK})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ENCODED, Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "mask_key": Measurement("VARCHAR", "the file of the mask, where it has one of its own"),
        "mask_width": Measurement("BIGINT", "width of the mask", "pixels", ">= 1"),
        "mask_height": Measurement("BIGINT", "height of the mask", "pixels", ">= 1"),
        "mask_mode": Measurement("VARCHAR", "L, P, 1, RGB, I;16, …; of arrays the dtype"),
        "mask_format": Measurement("VARCHAR", "format of an encoded mask"),
        "is_colour": Measurement("BOOLEAN", "whether its pixels are colours and no indexes"),
        "is_empty": Measurement("BOOLEAN", "whether all pixels are 0"),
        "value_count": Measurement("BIGINT", "different values", "values", ">= 1"),
        "values": Measurement("BIGINT[]", "the different values, sorted; NULL where there are more than 256"),
        "counts": Measurement("BIGINT[]", "how many pixels have each of the values", "pixels"),
        "firsts": Measurement("BIGINT[]", "the first pixel with each of the values, counted row by row from 0"),
        "ramp_count": Measurement("BIGINT", "pixels strictly between their neighbours to both sides", "pixels", ">= 0"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        if column.field.kind is Kind.ENCODED:
            self._pictures(column, made)
        else:
            for rows, block in column.blocks():
                for row, plane in zip(rows.tolist(), block, strict=True):
                    _array(made, row, plane)
        for row, key in enumerate(column.declared.get("mask_key", ())):
            made["mask_key"][row] = key
        return made

    def _pictures(self, column: Column, made: dict[str, np.ndarray]) -> None:
        for row, picture in enumerate(pictures(column)):
            if picture is None or not picture.is_ok:
                continue
            made["mask_mode"][row], made["mask_format"][row] = picture.mode, picture.format
            made["mask_width"][row], made["mask_height"][row] = picture.width, picture.height
            plane = indexes(column.values[row])
            made["is_colour"][row] = plane is None and picture.channels >= 3
            if plane is not None:
                _values(made, row, plane)

    def rules(self) -> Sequence[Rule]:
        return RULES


def _array(made: dict[str, np.ndarray], row: int, plane: np.ndarray) -> None:
    """An array with two axes longer than 1: (h, w), (1, h, w) or (h, w, 1); others are no segmentation of classes."""
    plane = np.squeeze(plane)
    if plane.ndim != 2 or plane.dtype.kind not in "biuf":
        return
    made["mask_mode"][row], made["mask_height"][row], made["mask_width"][row] = plane.dtype.name, *plane.shape
    if plane.dtype.kind == "f":
        if not np.isfinite(plane).all() or np.abs(plane).max() >= 2**53 or (plane != np.trunc(plane)).any():
            return  # shares or scores, no classes
        plane = plane.astype(np.int64)
    _values(made, row, plane.astype(np.uint8) if plane.dtype == bool else plane)


def _values(made: dict[str, np.ndarray], row: int, plane: np.ndarray) -> None:
    if not plane.size:
        return
    values, firsts, counts = _census(plane.ravel())
    made["value_count"][row] = len(values)
    made["is_empty"][row] = len(values) == 1 and int(values[0]) == 0
    made["ramp_count"][row] = _ramps(plane) if len(values) > 2 else 0
    if len(values) <= MOST_VALUES and int(values[-1]) < 2**63:
        for name, numbers in (("values", values), ("counts", counts), ("firsts", firsts)):
            made[name][row] = [int(number) for number in numbers]


def _census(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(different values sorted, the place of the first of each, how many of each)."""
    if flat.dtype not in (np.uint8, np.uint16):
        return np.unique(flat, return_index=True, return_counts=True)
    counts = np.bincount(flat, minlength=1)
    values = np.flatnonzero(counts)
    firsts = np.array([int(np.argmax(flat == value)) for value in values[: MOST_VALUES + 1]])
    return values, firsts, counts[values]


def _ramps(plane: np.ndarray) -> int:
    """Pixels strictly between the two beside them in their row, or in their column: what smooth resizing leaves on an edge."""
    is_ramp = np.zeros(plane.shape, bool)
    for turned, marked in ((plane, is_ramp), (plane.T, is_ramp.T)):
        if turned.shape[1] > 2:
            before, here, behind = turned[:, :-2], turned[:, 1:-1], turned[:, 2:]
            marked[:, 1:-1] |= ((before < here) & (here < behind)) | ((before > here) & (here > behind))
    return int(is_ramp.sum())
