"""QR codes where photos should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule
from datascrub.validators.base import Validator
from datascrub.validators.code_search import grays, search

_DOMINATES = "qr_share >= dominating_share or (qr_blank >= dominating_blank and qr_share >= 0.02)"


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
        for row, gray in enumerate(grays(column)):
            if gray is None:
                continue
            found = search(gray, ("QRCode",))
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
