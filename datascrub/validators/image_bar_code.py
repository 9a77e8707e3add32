"""Bar codes, and square ones but QR, where photos should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule
from datascrub.validators.base import Validator
from datascrub.validators.code_search import grays, search
from datascrub.validators.small_pixels import small_pixels

_DOMINATES = "bar_share >= dominating_share or (bar_blank >= dominating_blank and bar_share >= 0.02)"
_FORMATS = ("DataMatrix", "Aztec", "PDF417", "EANUPC", "Code128", "Code93", "ITF14")
"""those with a check digit or error correction: without one (Code 39, ITF, Codabar) a fence is soon a code"""
_LEAST_SIDE, _LEAST_HEIGHT = 40, 6
"""pixels of a picture's shorter side, and of a code's"""
_STEP = 6
"""every so many pixels of an array, both ways, tell whether it is black on white"""
_CONTRAST, _NEAR_ENDS = 100, 0.75
"""gray levels between dark and light, and the share of pixels near one of them, of a page in two tones: 0.85 and more with a code on it"""


@dataclass(frozen=True)
class ImageBarCode(Validator):
    """Does a bar code stand in the picture, and does it dominate it?

    What it finds: EAN, UPC, Code 128, Code 93, ITF-14, Data Matrix, Aztec and PDF417, turned or not: image-bar-code (error) where the code dominates
    the picture, image-contains-bar-code (info) where it is a part of it. Pictures in two tones are searched, black on white say, for a picture that a
    code dominates is one. bar_codes = true in [data] searches every picture, also for small codes in photos; that takes ten times as long as the
    search for QR codes, and is off by default. Stripes are read dark on light, square codes both ways. QR codes have a rule of their own. Codes
    without a check digit (Code 39, ITF, Codabar) are not read.

    Why it breaks training: a photo that was replaced by a label, a ticket or a login page's code trains a class on stripes.

    Example: img_0007.jpg holds one EAN-13 code over 61 % of its area that says "4006381333931": image-bar-code.

    What to do: look at the picture and fetch the right one. A small code in a photo is a part of the photo.

    Parameters and facts: a code dominates from dominating_share of the picture's area on, or where dominating_blank of what is around it is blank.
    Where a fifth of the set holds such codes, they belong there, and it is said once. The search runs on the reduced picture (longer side 240
    to 480 pixels): a code whose bars are narrower than two pixels there is missed. On all pictures of the corpus, 900 photos and drawings, it reads
    no code where there is none. bar_code_count (NULL where not searched), bar_share, bar_blank, bar_text, bar_format.
    """

    dominating_share: float = 0.25
    dominating_blank: float = 0.9
    bar_codes: bool = False

    measured_with: ClassVar[frozenset[str]] = frozenset({"bar_codes"})
    roles: ClassVar[frozenset[Role]] = frozenset((Role.IMAGE,))
    kinds: ClassVar[frozenset[Kind]] = frozenset((Kind.ENCODED, Kind.ARRAY))
    measures: ClassVar[Mapping[str, Measurement]] = {
        "bar_code_count": Measurement("BIGINT", "bar codes that were read; NULL where the picture was not searched", range=">= 0"),
        "bar_share": Measurement("DOUBLE", "share of the picture's area that the largest bar code covers", range="0 to 1"),
        "bar_blank": Measurement("DOUBLE", "share of the pixels around the largest bar code that are blank paper", range="0 to 1"),
        "bar_text": Measurement("VARCHAR", "what the largest bar code says: printable, at most 200 characters"),
        "bar_format": Measurement("VARCHAR", "of which kind the largest bar code is: EAN-13, Data Matrix, …"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        each = grays(column)
        for row in range(len(column)) if self.bar_codes else _two_toned(column, each):
            gray = each[row]
            if gray is None or min(gray.shape) < _LEAST_SIDE:
                continue
            found = search(gray, _FORMATS, _LEAST_HEIGHT)
            made["bar_code_count"][row] = found.codes
            if found.codes:
                made["bar_share"][row], made["bar_blank"][row] = found.share, found.blank
                made["bar_text"][row], made["bar_format"][row] = found.text, found.kind
        return made

    def rules(self) -> Sequence[Rule]:
        evidence = ("bar_code_count", "bar_share", "bar_text", "bar_format")
        return (
            RowRule(
                "image-bar-code",
                Severity.ERROR,
                "a bar code ({bar_format}) covers {bar_share:.0%} of the picture and says {bar_text}",
                evidence,
                "look at the picture, and fetch the right one",
                where=_DOMINATES,
                common="set",
                common_share=0.2,
            ),
            RowRule(
                "image-contains-bar-code",
                Severity.INFO,
                "a bar code ({bar_format}) covers {bar_share:.1%} of the picture and says {bar_text}",
                evidence,
                "nothing, if codes belong into these pictures",
                where=f"bar_share < dominating_share and not ({_DOMINATES})",
                common="set",
            ),
        )


def _two_toned(column: Column, each: Sequence[np.ndarray | None]) -> list[int]:
    """The rows of pictures whose pixels are nearly all near the darkest or the lightest of them."""
    if column.field.kind is Kind.ENCODED:
        small = small_pixels(column)
        rows, histograms = small.rows, small.histogram
    else:
        known = [(row, gray[::_STEP, ::_STEP]) for row, gray in enumerate(each) if gray is not None]
        rows = np.array([row for row, _ in known], np.int64)
        histograms = np.array([np.bincount(gray.ravel(), minlength=256) for _, gray in known], np.int64).reshape(-1, 256)
    if not len(rows):
        return []
    levels, totals = np.arange(256), histograms.sum(axis=1, keepdims=True)
    reached = histograms.cumsum(axis=1)
    # Half a percent at either end is left aside: specks, and what JPEG throws over the edge.
    dark, light = (reached >= 0.005 * totals).argmax(axis=1), (reached >= 0.995 * totals).argmax(axis=1)
    reach = np.maximum(16, (light - dark) // 5)[:, np.newaxis]
    near = (levels <= dark[:, np.newaxis] + reach) | (levels >= light[:, np.newaxis] - reach)
    shares = (histograms * near).sum(axis=1) / totals[:, 0]
    found: list[int] = rows[(light - dark >= _CONTRAST) & (shares >= _NEAR_ENDS)].tolist()
    return found
