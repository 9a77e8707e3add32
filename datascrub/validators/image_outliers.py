"""The picture that is unlike the rest of its set: in size, aspect, sharpness, information, colour, frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator

_WHOLE = "{field}.status = 'ok'"


def _outside(value: str, floor: str, where: str, *, both: bool) -> str:
    """SQL for samples whose value lies outside the quartiles by more than three times their distance (or `floor`, where that is more)."""
    above = " OR value > high" if both else ""
    return f"""
    WITH measured AS (
        SELECT number, {value} AS value FROM facts WHERE {_WHOLE} AND {value} IS NOT NULL
    ), fence AS (
        SELECT median(value) AS middle, quantile_cont(value, 0.25) AS q1, quantile_cont(value, 0.75) AS q3,
            q1 - 3 * greatest(q3 - q1, {floor}) AS low, q3 + 3 * greatest(q3 - q1, {floor}) AS high, count(*) AS total FROM measured
    ), odd AS (
        SELECT number, value, middle FROM measured, fence WHERE (value < low{above}) AND total >= 20
    ), share AS (SELECT count(*) <= greatest(1, $most_odd * any_value(total)) AS is_few FROM odd, fence)
    SELECT {where}"""


_FAR = _outside(
    "log2(sqrt({field}.width * {field}.height))", "0.25",
    """number, {field}.width AS width, {field}.height AS height,
        format('pictures of the set are about {} pixels square', round(power(2, middle))::BIGINT) AS usual
    FROM odd JOIN facts USING (number), share WHERE is_few AND abs(value - middle) > 1.0""", both=True,
)  # fmt: skip
# Where nearly all pictures have one size to the pixel, any other is odd, unless it is turned or differs as rounding does; what is far off in aspect
# has a rule of its own.
_SIZE = f"""
    WITH far AS ({_FAR}), sides AS (
        SELECT number, {{field}}.width AS width, {{field}}.height AS height FROM facts WHERE {_WHOLE} AND {{field}}.width > 0 AND {{field}}.height > 0
    ), usual AS (
        SELECT width, height, count(*) AS alike, sum(count(*)) OVER () AS total FROM sides GROUP BY ALL ORDER BY alike DESC, width, height LIMIT 1
    )
    SELECT * FROM far
    UNION ALL
    SELECT number, s.width, s.height, format('{{:,}} of {{:,}} have {{}} x {{}}', alike, total::BIGINT, u.width, u.height)
    FROM sides AS s, usual AS u WHERE total >= 50 AND total - alike <= greatest(1, $most_odd * total) AND number NOT IN (SELECT number FROM far)
        AND NOT (s.width = u.height AND s.height = u.width) AND abs(log2(s.width / s.height) - log2(u.width / u.height)) <= 1.5
        AND greatest(abs(s.width / u.width - 1), abs(s.height / u.height - 1)) > 0.05
    ORDER BY number"""

_ASPECT = _outside(
    "log2({field}.width / {field}.height)", "0.25",
    """number, {field}.width AS width, {field}.height AS height, round(power(2, middle), 2)::DOUBLE AS usual
    FROM odd JOIN facts USING (number), share
    WHERE is_few AND abs(value - middle) > 1.5 AND least({field}.width, {field}.height) >= 4 ORDER BY number""", both=True,
)  # fmt: skip

_BLURRED = _outside(
    "CASE WHEN {field}.gray_range >= 16 THEN log2(greatest({field}.sharpness - 0.0625, 0.001)) END", "0.5",
    """number, {field}.sharpness AS sharpness, round(power(2, middle) + 0.0625, 3)::DOUBLE AS usual
    FROM odd JOIN facts USING (number), share WHERE is_few AND {field}.sharpness < $blurred ORDER BY number""", both=False,
)  # fmt: skip

_INFORMATION = _outside(
    "CASE WHEN {field}.gray_range > 4 THEN {field}.gray_entropy END", "0.3",
    """number, {field}.gray_entropy AS gray_entropy, round(middle, 2)::DOUBLE AS usual
    FROM odd JOIN facts USING (number), share WHERE is_few AND value < $little_information AND value < middle / 2 ORDER BY number""", both=False,
)  # fmt: skip


def _among(value: str, is_odd: str) -> str:
    """SQL for the few samples for which `is_odd` holds of `value`, where it holds for hardly any."""
    return f"""
    WITH measured AS (SELECT number, {value} AS value FROM facts WHERE {_WHOLE} AND {value} IS NOT NULL),
    counted AS (SELECT count(*) AS total, count(*) FILTER ({is_odd}) AS odd FROM measured)
    SELECT number, value, total FROM measured, counted WHERE {is_odd} AND total >= 20 AND odd <= greatest(1, $most_odd * total) ORDER BY number"""


@dataclass(frozen=True)
class ImageOutliers(Validator):
    """The picture that is unlike the others.

    What it finds
        image-size-odd, image-aspect-odd: size (root of the area) or aspect outside the quartiles of the set by more than three times their distance,
        and by a factor of 2 (size) or 2.8 (aspect) at least; also any size that differs by 5 % where 98 of 100 pictures have one to the pixel, and
        that is not this one turned. image-blurred: sharpness that far below the set's, and small at that.
        image-low-information: a histogram of gray levels whose entropy is that far below the set's, less than half of the usual, and below 3 bits.
        image-gray-among-colour, image-colour-among-gray: pictures of three channels, by what they show; a gray mode among colour ones is
        image-mode-odd. image-animated-odd: several frames where the others have one. All are warnings and ask for 20 whole pictures; of a set
        in which more than 2 % would be odd they say nothing: it is mixed.

    Why it breaks training
        What is unlike the rest is often something else: a thumbnail, an icon, a banner, a scan, a placeholder. Scaled to the input of the network it
        is a smear; with three channels expected to differ, gray ones teach that colour does not matter.

    Example
        17.jpg  image-blurred  sharpness 0.071, that of the set is 0.284

    What to do
        Look at the picture. Leave it out, or accept it.

    Parameters and facts
        most_odd, the share of the set up to which pictures are odd; blurred, the sharpness above which nothing is (a ramp has 0.0625);
        little_information, in bits. Everything is measured on the set itself: no number of another set accuses this one. On 5,000 digits
        of MNIST, the 116 drawings and the 364 blood cell photos of the corpus none fires. No facts of its own.
    """

    most_odd: float = 0.02
    blurred: float = 0.12
    little_information: float = 3.0

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ENCODED})
    measures: ClassVar[Mapping[str, Measurement]] = {}

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        return {}

    def rules(self) -> Sequence[Rule]:
        return (
            _odd("image-size-odd", "{width} x {height} pixels; {usual}", _SIZE, "width", "height"),
            _odd("image-aspect-odd", "{width} x {height} pixels; width by height is {usual} in the set", _ASPECT, "width", "height"),
            _odd("image-blurred", "sharpness {sharpness:.3f}, that of the set is {usual:.3f}", _BLURRED, "sharpness", "gray_range"),
            _odd(
                "image-low-information", "{gray_entropy:.1f} bits of gray levels, {usual:.1f} in the set", _INFORMATION, "gray_entropy", "gray_range"
            ),
            _odd(
                "image-gray-among-colour",
                "shows no colour, nearly all of {total:,} pictures do",
                _among("{field}.is_coloured", "NOT value"),
                "is_coloured",
            ),
            _odd(
                "image-colour-among-gray",
                "shows colour, nearly none of {total:,} pictures does",
                _among("{field}.is_coloured", "value"),
                "is_coloured",
            ),
            _odd("image-animated-odd", "{value} frames, nearly all of {total:,} pictures have one", _among("{field}.frames", "value > 1"), "frames"),
        )


def _odd(code: str, says: str, sql: str, *needs: str) -> SetRule:
    return SetRule(code, Severity.WARNING, says, (), "look at the picture; leave it out, or accept it", sql, "sample", ("status", *needs), 20)
