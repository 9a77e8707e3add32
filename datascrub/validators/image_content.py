"""What a picture shows, judged by its own pixels: nothing, darkness, glare, a band that was never decoded, only transparency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.media.picture import Picture
from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule
from datascrub.validators.base import Validator
from datascrub.validators.small_pixels import shows_its_pixels, small_pixels, whole_pictures

_MOST_BITS = 8
"""deeper pictures (depth maps, X-rays) often use a small part of their range, and mean nothing by it"""
_SAME_LEVELS = 3
"""gray levels within which a row counts as flat: JPEG rounds an even surface by less"""


@dataclass(frozen=True)
class ImageContent(Validator):
    """Is there anything to see in the picture?

    What it finds
        image-blank (warning): all pixels are the same, but for a few gray levels. image-too-dark, image-too-bright (warning): even the brightest half
        percent is nearly black, or the darkest nearly white. image-flat-band (warning): the bottom is one flat middle gray under a picture that has
        no such band on top: a truncated JPEG that was opened leniently and saved again. image-fully-transparent (warning): no pixel is opaque.
        Pictures of more than 8 bits a sample, and those under alpha that varies, are judged for transparency alone. Where most of the set is so, it
        is said once.

    Why it breaks training
        Such a sample teaches that nothing at all has this label. Scaled to its own range, a blank one divides by zero: NaN. Of a transparent one,
        loaders that drop alpha train on hidden colours, others on nothing.

    Example
        bad.jpg  image-flat-band  the lowest 48% of the picture are flat gray (level 128): truncated, and saved again?

    What to do
        Look at the picture, and fetch it again. If such pictures are meant (night sky, empty masks), raise the threshold or accept them.

    Parameters and facts
        blank_levels, the range of gray levels up to which a picture is blank; dark_level and bright_level, gray levels of 255; flat_share, the least
        share of the height. How often it fires on real sets: never on the 116 drawings, the 364 blood cell photos and 27 photos of the corpus; among
        643 decoder test files of Pillow, which hold blank patches on purpose, blank 87, too bright 2, too dark 1. Thin drawings on white are not
        too bright: half a percent of ink is enough. A black band at the bottom is not named: pictures on black end in one, too.
        Facts: gray_mean, gray_deviation, gray_low, gray_high, gray_range, gray_entropy, flat_bottom, flat_top, flat_level, most_opaque, sharpness,
        is_coloured.
    """

    blank_levels: int = 4
    dark_level: int = 32
    bright_level: int = 228
    flat_share: float = 0.08

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ENCODED})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "gray_mean": Measurement("DOUBLE", "mean of the gray pixels at reduced size", "gray levels", "0 to 255"),
        "gray_deviation": Measurement("DOUBLE", "their standard deviation", "gray levels", "0 to 127.5"),
        "gray_low": Measurement("BIGINT", "the level that half a percent of the pixels do not exceed", "gray levels", "0 to 255"),
        "gray_high": Measurement("BIGINT", "the level that all but half a percent of the pixels do not exceed", "gray levels", "0 to 255"),
        "gray_range": Measurement("BIGINT", "the brightest pixel less the darkest", "gray levels", "0 to 255"),
        "gray_entropy": Measurement("DOUBLE", "entropy of the histogram of gray levels", "bits", "0 to 8"),
        "flat_bottom": Measurement("DOUBLE", "share of the height that is one flat band at the bottom", range="0 to 1"),
        "flat_top": Measurement("DOUBLE", "share of the height that is one flat band at the top; NULL without one at the bottom", range="0 to 1"),
        "flat_level": Measurement("BIGINT", "gray level of the flat band at the bottom", "gray levels", "0 to 255"),
        "sharpness": Measurement("DOUBLE", "squared steps between neighbours, over squared steps four pixels wide", range=">= 0; 0.06 is a ramp"),
        "most_opaque": Measurement("BIGINT", "the largest alpha of any pixel; NULL without alpha", range="0 to 255"),
        "is_coloured": Measurement("BOOLEAN", "whether red, green and blue differ anywhere; NULL for other modes"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        known = whole_pictures(column)
        if not known:
            return made
        is_judged = np.array([_is_judged(picture) for _, picture, _ in known])
        rows = small_pixels(column).rows[is_judged]
        for name, values in _levels(small_pixels(column).histogram[is_judged]).items():
            made[name][rows] = values
        for row, picture, pixels in known:
            if picture.alpha is not None:
                made["most_opaque"][row] = picture.alpha[1]
            if picture.is_coloured is not None:
                made["is_coloured"][row] = picture.is_coloured
            if _is_judged(picture):
                _bands(made, row, pixels)
                sharp = sharpness(pixels)
                if sharp is not None:
                    made["sharpness"][row] = sharp
        return made

    def rules(self) -> Sequence[Rule]:
        look = "look at the picture, and fetch it again"
        seen = "gray_range > blank_levels and (most_opaque is None or most_opaque > 0)"
        return (
            RowRule(
                "image-blank",
                Severity.WARNING,
                "blank: all pixels lie within {gray_range} gray levels around {gray_mean:.0f}",
                ("gray_mean", "gray_range"),
                look,
                where="gray_range <= blank_levels",
                common="set",
            ),
            RowRule(
                "image-too-dark",
                Severity.WARNING,
                "too dark: all but half a percent of the pixels are at {gray_high} of 255 or below",
                ("gray_high", "gray_mean"),
                look,
                where=f"gray_high < dark_level and {seen}",
                common="set",
            ),
            RowRule(
                "image-too-bright",
                Severity.WARNING,
                "too bright: all but half a percent of the pixels are at {gray_low} of 255 or above",
                ("gray_low", "gray_mean"),
                look,
                where=f"gray_low > bright_level and {seen}",
                common="set",
            ),
            RowRule(
                "image-flat-band",
                Severity.WARNING,
                "the lowest {flat_bottom:.0%} of the picture are one flat gray (level {flat_level}): truncated, and saved again?",
                ("flat_bottom", "flat_level"),
                look,
                where="flat_bottom >= flat_share and flat_bottom < 1 and flat_top < 0.02 and 120 <= flat_level <= 136"
                f" and gray_deviation > 8 and gray_high >= dark_level and {seen}",
                common="set",
            ),
            RowRule(
                "image-fully-transparent",
                Severity.WARNING,
                "fully transparent: no pixel has any alpha",
                ("most_opaque",),
                "look at the picture; flatten it onto a background if its colours are meant",
                where="most_opaque == 0",
                common="set",
            ),
        )


def _is_judged(picture: Picture) -> bool:
    return picture.bits <= _MOST_BITS and shows_its_pixels(picture)


def _levels(histogram: np.ndarray) -> dict[str, np.ndarray]:
    """Statistics of (n, 256) counts of gray levels."""
    levels, total = np.arange(256.0), histogram.sum(1)
    share = histogram / total[:, None]
    # No matrix product: its last digits depend on how many pictures are multiplied at once.
    mean = (share * levels).sum(1)
    upto = histogram.cumsum(1)
    is_there = histogram > 0
    darkest, brightest = is_there.argmax(1), 255 - is_there[:, ::-1].argmax(1)
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    return {
        "gray_mean": mean,
        "gray_deviation": np.sqrt((share * (levels - mean[:, None]) ** 2).sum(1)),
        "gray_low": (upto > 0.005 * total[:, None]).argmax(1),
        "gray_high": (upto >= 0.995 * total[:, None]).argmax(1),
        "gray_range": brightest - darkest,
        "gray_entropy": np.maximum(-(share * logs).sum(1), 0),
    }


def _bands(made: dict[str, np.ndarray], row: int, pixels: np.ndarray) -> None:
    """Notes how much of a picture's bottom and top is one flat band. Few pictures end in a flat row, and for those alone all rows are looked at."""
    last = pixels[-1]
    level = int(last[0])
    if int(last.max()) - int(last.min()) > _SAME_LEVELS:
        made["flat_bottom"][row] = 0.0
        return
    is_flat = (pixels.max(1).astype(np.int16) - level <= _SAME_LEVELS) & (level - pixels.min(1).astype(np.int16) <= _SAME_LEVELS)
    height = len(pixels)
    made["flat_bottom"][row] = (height if is_flat.all() else int((~is_flat[::-1]).argmax())) / height
    made["flat_top"][row] = (height if is_flat.all() else int((~is_flat).argmax())) / height
    made["flat_level"][row] = level


def sharpness(pixels: np.ndarray) -> float | None:
    """How much of the change across four pixels of (h, w) uint8 happens between neighbours; None below 16 pixels a side, and without change.

    The ratio of mean squares does not depend on contrast: 1/16 on a ramp, and on anything blurred; 1 for noise. Every fourth row and column is read.
    """
    if min(pixels.shape) < 16:
        return None
    near = far = 0.0
    for lines in (pixels[::4], pixels[:, ::4].T):
        values = np.ascontiguousarray(lines).astype(np.int16)
        step, wide = ((values[:, gap:] - values[:, :-gap]).astype(np.float32) for gap in (1, 4))
        near += float(np.vdot(step, step)) / step.size
        far += float(np.vdot(wide, wide)) / wide.size
    return near / far if far > 1.0 else None
