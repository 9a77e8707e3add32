"""QR codes where photos should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.keys import printable
from datascrub.media.picture import pictures
from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule
from datascrub.validators.base import Validator

_MOST_TEXT = 200
"""characters of a code's text that are kept as evidence"""


@dataclass(frozen=True)
class ImageQrCode(Validator):
    """Does a QR code stand in the picture, and does it dominate it?

    What it finds: codes that can be read, dark on light or light on dark, turned or not, in encoded pictures and in uint8 arrays whose sides are 64
    pixels or more. The search runs on the reduced picture (longer side 240 to 480 pixels): a code that dominates a picture is found, a very small
    one may be missed.

    Why it breaks training: a photo that was replaced by a shop's or a login page's QR code trains a class on black and white squares.

    Example: img_0007.jpg holds one code over 61 % of its area that says "https://shop.example/…": image-qr-code.

    What to do: look at the picture and fetch the right one. A small code in a photo is a part of the photo.

    Parameters and facts: dominating_share, of the picture's area, from which a code dominates. qr_codes, qr_share, qr_text.
    """

    dominating_share: float = 0.25

    roles: ClassVar[frozenset[Role]] = frozenset((Role.IMAGE,))
    kinds: ClassVar[frozenset[Kind]] = frozenset((Kind.ENCODED, Kind.ARRAY))
    measures: ClassVar[Mapping[str, Measurement]] = {
        "qr_codes": Measurement("BIGINT", "QR codes that were read; NULL where the picture could not be searched", range=">= 0"),
        "qr_share": Measurement("DOUBLE", "share of the picture's area that the largest code covers", range="0 to 1"),
        "qr_text": Measurement("VARCHAR", "what the largest code says: printable, at most 200 characters"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        if isinstance(column.values, np.ndarray) and len(column) and _gray_of_array(column.values[0]) is None:
            return made  # one shape, and no code is looked for in it
        for row, gray in enumerate(_grays(column)):
            if gray is None:
                continue
            count, share, text = read_codes(gray)
            made["qr_codes"][row] = count
            if count:
                made["qr_share"][row], made["qr_text"][row] = share, text
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
                where="qr_share >= dominating_share",
                common="set",
            ),
            RowRule(
                "image-contains-qr-code",
                Severity.INFO,
                "a QR code covers {qr_share:.1%} of the picture and says {qr_text}",
                evidence,
                "nothing, if codes belong into these pictures",
                where="qr_share < dominating_share",
                common="set",
            ),
        )


def read_codes(gray: np.ndarray) -> tuple[int, float, str | None]:
    """(codes read, share of the area of the largest, its text) of an (h, w) uint8 picture with some contrast."""
    if min(gray.shape) < 21 or int(gray.max()) - int(gray.min()) < 16:  # the smallest code has 21 modules a side
        return 0, 0.0, None
    import zxingcpp

    found = zxingcpp.read_barcodes(np.ascontiguousarray(gray), formats=zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode), try_downscale=False)
    if not found:
        return 0, 0.0, None
    areas = [_area(code.position) for code in found]
    largest = max(range(len(found)), key=areas.__getitem__)
    return len(found), min(1.0, areas[largest] / gray.size), _evidence(found[largest].text)


def _area(place: object) -> float:
    """Area of a quadrangle in pixels (shoelace formula)."""
    corners = [getattr(place, name) for name in ("top_left", "top_right", "bottom_right", "bottom_left")]
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
