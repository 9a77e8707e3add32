"""Codes that a scanner reads, in gray pixels: what they say, and how much of the picture they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from datascrub.keys import printable
from datascrub.media.picture import pictures
from datascrub.model import Column, Kind

_MOST_TEXT = 200
"""characters of a code's text that are kept as evidence"""
_CORNERS = ("top_left", "top_right", "bottom_right", "bottom_left")
_MARGIN, _NOISE = 4, 12
"""pixels around a code that are its edge; gray levels within which paper differs by light, noise and JPEG"""


class Codes(NamedTuple):
    """What was read: how many codes; of the largest its share of the area, how blank the picture is around it, its text, and its kind."""

    codes: int = 0
    share: float = 0.0
    blank: float = 0.0
    text: str | None = None
    kind: str | None = None


def search(gray: np.ndarray, formats: Sequence[str], least_height: int = 0) -> Codes:
    """The codes of these formats (names as in zxingcpp.BarcodeFormat) in an (h, w) uint8 picture with some contrast.

    least_height: pixels that the shorter side of a code must have.
    """
    if min(gray.shape) < 21 or int(gray.max()) - int(gray.min()) < 16:  # the smallest QR code has 21 modules a side
        return Codes()
    import zxingcpp

    wanted = zxingcpp.BarcodeFormats([getattr(zxingcpp.BarcodeFormat, name) for name in formats])
    read = zxingcpp.read_barcodes(np.ascontiguousarray(gray), formats=wanted, try_downscale=False)
    found = [code for code in read if not least_height or _height(code.position) >= least_height]
    if not found:
        return Codes()
    areas = [_area(code.position) for code in found]
    largest = max(range(len(found)), key=areas.__getitem__)
    place = found[largest].position
    return Codes(len(found), min(1.0, areas[largest] / gray.size), _blank(gray, place), _evidence(found[largest].text), str(found[largest].format))


def grays(column: Column) -> list[np.ndarray | None]:
    """Gray pixels of each sample; None where there are none to search."""
    if column.field.kind is Kind.ENCODED:
        return [None if picture is None else picture.pixels for picture in pictures(column)]
    if column.is_dense and len(column) and _gray_of_array(column.values[0]) is None:
        return [None] * len(column)  # one shape, and no code is looked for in it
    return [None if value is None else _gray_of_array(np.asarray(value)) for value in column.values]


def _blank(gray: np.ndarray, place: Any) -> float:
    """Share of the pixels outside the upright box around a code that have the level of the paper there, but for noise; 1 where nothing is outside."""
    corners = [getattr(place, name) for name in _CORNERS]
    left, right = min(corner.x for corner in corners) - _MARGIN, max(corner.x for corner in corners) + _MARGIN
    top, bottom = min(corner.y for corner in corners) - _MARGIN, max(corner.y for corner in corners) + _MARGIN
    outside = np.ones(gray.shape, bool)
    outside[max(0, top) : max(0, bottom), max(0, left) : max(0, right)] = False
    around = gray[outside].astype(np.int16)
    return float((np.abs(around - np.median(around)) <= _NOISE).mean()) if around.size else 1.0


def _area(place: object) -> float:
    """Area of a quadrangle in pixels (shoelace formula)."""
    corners = [getattr(place, name) for name in _CORNERS]
    turns = (a.x * b.y - b.x * a.y for a, b in zip(corners, corners[1:] + corners[:1], strict=True))
    return float(abs(sum(turns))) / 2


def _height(place: object) -> float:
    """The shorter side of a quadrangle in pixels."""
    corners = [getattr(place, name) for name in _CORNERS]
    return float(min(np.hypot(a.x - b.x, a.y - b.y) for a, b in zip(corners, corners[1:] + corners[:1], strict=True)))


def _evidence(text: str) -> str:
    """A code's text, cut and safe for a terminal."""
    return printable(text[:_MOST_TEXT]) + ("…" if len(text) > _MOST_TEXT else "")


def _gray_of_array(value: np.ndarray) -> np.ndarray | None:
    """(h, w) uint8 of an array in CHW, HWC or HW; None for other shapes and types, and below 64 pixels a side, where no code is looked for."""
    if value.dtype != np.uint8 or value.ndim not in (2, 3):
        return None
    if value.ndim == 3 and value.shape[2] in (1, 3, 4):
        value = value.transpose(2, 0, 1)
    elif value.ndim == 3 and value.shape[0] not in (1, 3, 4):
        return None
    plane = value if value.ndim == 2 else value[1 if value.shape[0] >= 3 else 0]  # green carries most of the light
    if min(plane.shape) < 64:
        return None
    step = max(1, max(plane.shape) // 384)
    return plane[::step, ::step]
