"""QR codes where photos should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from datascrub.keys import printable
from datascrub.media.picture import pictures
from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule
from datascrub.validators.base import Validator

_DOMINATES = "qr_share >= dominating_share or (qr_blank >= dominating_blank and qr_share >= 0.02)"
_MOST_TEXT = 200
"""characters of a code's text that are kept as evidence"""
_CORNERS = ("top_left", "top_right", "bottom_right", "bottom_left")
_MARGIN, _NOISE = 4, 12
"""pixels around a code that are its edge; gray levels within which paper differs by light, noise and JPEG"""


@dataclass(frozen=True)
class ImageQrCode(Validator):
    """Does a QR code stand in the picture, and does it dominate it?

    What it finds: codes that can be read, dark on light or light on dark, turned or not, in encoded pictures and in uint8 arrays whose sides are 64
    pixels or more. The search runs on the reduced picture (longer side 240 to 480 pixels): a code that dominates a picture is found, a very small
    one may be missed.

    Why it breaks training: a photo that was replaced by a shop's or a login page's QR code trains a class on black and white squares.

    Example: img_0007.jpg holds one code over 61 % of its area that says "https://shop.example/…": image-qr-code.

    What to do: look at the picture and fetch the right one. A small code in a photo is a part of the photo.

    Parameters and facts: a code dominates from dominating_share of the picture's area on, or where dominating_blank of what is around it is blank
    (a code in the middle of a white page). Where a fifth of the set holds such codes, they belong there, and it is said once. qr_codes, qr_share,
    qr_blank, qr_text.
    """

    dominating_share: float = 0.25
    dominating_blank: float = 0.9

    roles: ClassVar[frozenset[Role]] = frozenset((Role.IMAGE,))
    kinds: ClassVar[frozenset[Kind]] = frozenset((Kind.ENCODED, Kind.ARRAY))
    measures: ClassVar[Mapping[str, Measurement]] = {
        "qr_codes": Measurement("BIGINT", "QR codes that were read; NULL where the picture could not be searched", range=">= 0"),
        "qr_share": Measurement("DOUBLE", "share of the picture's area that the largest code covers", range="0 to 1"),
        "qr_blank": Measurement("DOUBLE", "share of the pixels around the largest code that are blank paper", range="0 to 1"),
        "qr_text": Measurement("VARCHAR", "what the largest code says: printable, at most 200 characters"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        if isinstance(column.values, np.ndarray) and len(column) and _gray_of_array(column.values[0]) is None:
            return made  # one shape, and no code is looked for in it
        for row, gray in enumerate(_grays(column)):
            if gray is None:
                continue
            found = read_codes(gray)
            made["qr_codes"][row] = found.codes
            if found.codes:
                made["qr_share"][row], made["qr_blank"][row], made["qr_text"][row] = found.share, found.blank, found.text
        return made

    def rules(self) -> Sequence[Rule]:
        evidence = ("qr_codes", "qr_share", "qr_text")
        return (
            RowRule(
                "image-qr-code",
                Severity.ERROR,
                "a QR code covers {qr_share:.0%} of the picture and says {qr_text}",
                evidence,
                "look at the picture, and fetch the right one",
                where=_DOMINATES,
                common="set",
                common_share=0.2,
            ),
            RowRule(
                "image-contains-qr-code",
                Severity.INFO,
                "a QR code covers {qr_share:.1%} of the picture and says {qr_text}",
                evidence,
                "nothing, if codes belong into these pictures",
                where=f"qr_share < dominating_share and not ({_DOMINATES})",
                common="set",
            ),
        )


class Codes(NamedTuple):
    """What was read: how many codes; of the largest its share of the area, how blank the picture is around it, and its text."""

    codes: int = 0
    share: float = 0.0
    blank: float = 0.0
    text: str | None = None


def read_codes(gray: np.ndarray) -> Codes:
    """The codes of an (h, w) uint8 picture with some contrast."""
    if min(gray.shape) < 21 or int(gray.max()) - int(gray.min()) < 16:  # the smallest code has 21 modules a side
        return Codes()
    import zxingcpp

    found = zxingcpp.read_barcodes(np.ascontiguousarray(gray), formats=zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode), try_downscale=False)
    if not found:
        return Codes()
    areas = [_area(code.position) for code in found]
    largest = max(range(len(found)), key=areas.__getitem__)
    place = found[largest].position
    return Codes(len(found), min(1.0, areas[largest] / gray.size), _blank(gray, place), _evidence(found[largest].text))


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


def _evidence(text: str) -> str:
    """A code's text, cut and safe for a terminal."""
    return printable(text[:_MOST_TEXT]) + ("…" if len(text) > _MOST_TEXT else "")


def _grays(column: Column) -> list[np.ndarray | None]:
    """Gray pixels of each sample; None where there are none to search."""
    if column.field.kind is Kind.ENCODED:
        return [None if picture is None else picture.pixels for picture in pictures(column)]
    return [None if value is None else _gray_of_array(np.asarray(value)) for value in column.values]


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
