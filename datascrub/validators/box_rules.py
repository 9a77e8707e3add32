"""The rules of Boxes: conditions on one sample, and questions that need to know how the set writes its boxes."""

from __future__ import annotations

from datascrub.model import Severity
from datascrub.rules import RowRule, Rule, SetRule

_FIX = "correct the box, or leave the sample out"

# Corners by definition, or nearly all boxes are corners: what corner and size would look like is inverted in most samples.
_KNOWN = """
    WITH share AS (
        SELECT count(*) AS samples, count(*) FILTER ({field}.inverted_count > 0 OR {field}.flat_count > 0) AS odd,
            bool_and({field}.is_order_known) AS is_known
        FROM facts WHERE {field}.box_count > 0
    ), order_known AS (
        SELECT (is_known OR odd <= greatest(1, samples // 4)) AS is_known, samples, odd FROM share WHERE samples > 0
    )"""


def _of_corners(name: str) -> str:
    return f"""{_KNOWN}
    SELECT number, {{field}}.{name}_box AS box, {{field}}.{name}_count AS boxes, {{field}}.box_count AS of
    FROM facts, order_known WHERE is_known AND {{field}}.{name}_count > 0 ORDER BY number"""


_UNCLEAR = f"{_KNOWN} SELECT odd, samples FROM order_known WHERE NOT is_known"

# The unit of the set, where three samples of four agree. 2 is far beyond rounding and a box that leaves the picture, and no pixel box is that small.
_UNIT = """
    WITH bounds AS (
        SELECT number, greatest({field}.box_max_x, {field}.box_max_y) AS highest, least({field}.box_min_x, {field}.box_min_y) AS lowest,
            {field}.box_max_x AS max_x, {field}.box_max_y AS max_y, {field}.is_order_known AS is_known, {field}.wrapped_count AS wrapped
        FROM facts WHERE {field}.box_max_x IS NOT NULL
    ), shares AS (
        SELECT count(*) AS samples, count(*) FILTER (highest <= 2) AS parts FROM bounds
    ), unit AS (
        SELECT samples, CASE WHEN 4 * parts >= 3 * samples THEN 'parts' WHEN 4 * parts <= samples THEN 'pixels' END AS unit FROM shares
    )"""

_MIXED = f"""{_UNIT}
    SELECT number, lowest, highest, unit, CASE unit WHEN 'parts' THEN 'pixels' ELSE 'parts of the picture' END AS here
    FROM bounds, unit WHERE wrapped = 0 AND samples >= 3
        AND ((unit = 'parts' AND highest > 2) OR (unit = 'pixels' AND highest <= 1 AND highest <> floor(highest))) ORDER BY number"""

_OUTSIDE = f"""{_UNIT}, outside AS (
        SELECT number, lowest, highest, unit, samples FROM bounds, unit WHERE wrapped = 0
            AND ((unit = 'parts' AND highest <= 2 AND (highest > 1.001 OR lowest < -0.001)) OR (unit = 'pixels' AND lowest < -0.5))
    ), counted AS (
        SELECT *, count(*) OVER () AS found FROM outside
    )
    SELECT number, lowest, highest, unit, found FROM counted WHERE found <= greatest(2, samples // 2)
    UNION ALL
    SELECT NULL, min(lowest), max(highest), any_value(unit), any_value(found) FROM counted WHERE found > greatest(2, samples // 2) HAVING count(*) > 0
    ORDER BY number"""
# A thousandth of the picture is the rounding of half a pixel; in pixels, half of one.

_BEYOND = f"""{_UNIT}, pairs AS (
        SELECT bounds.*, samples, {{image}}.width AS width, {{image}}.height AS height
        FROM bounds JOIN facts USING (number), unit WHERE unit = 'pixels' AND wrapped = 0
    ), outside AS (
        SELECT *, count(*) OVER () AS found FROM pairs WHERE CASE WHEN is_known THEN max_x > width + 1 OR max_y > height + 1
            ELSE highest > greatest(width, height) + 1 END
    )
    SELECT number, max_x, max_y, width, height FROM outside WHERE found <= greatest(1, samples // 2)
    UNION ALL
    SELECT NULL, max(max_x), max(max_y), any_value(width), any_value(height) FROM outside WHERE found > greatest(1, samples // 2) HAVING count(*) > 0
    ORDER BY number"""
# One pixel more: edges counted from 1.

RULES: tuple[Rule, ...] = (
    SetRule(
        "box-inverted",
        Severity.ERROR,
        "box {box}: its second corner lies before the first ({boxes:,} of {of:,} boxes)",
        fix=_FIX,
        sql=_of_corners("inverted"),
        scope="sample",
        needs=("inverted_count", "inverted_box", "box_count", "is_order_known"),
    ),
    SetRule(
        "box-zero-area",
        Severity.ERROR,
        "box {box} has no area ({boxes:,} of {of:,} boxes)",
        fix=_FIX,
        sql=_of_corners("flat"),
        scope="sample",
        needs=("flat_count", "flat_box", "box_count", "is_order_known"),
    ),
    SetRule(
        "box-order-unclear",
        Severity.INFO,
        "{odd:,} of {samples:,} samples hold boxes that are no corners xmin, ymin, xmax, ymax: taken for corner and size, and not judged",
        fix="nothing, if boxes are written as x, y, width, height",
        sql=_UNCLEAR,
        needs=("inverted_count", "flat_count", "box_count"),
    ),
    RowRule(
        "box-wrapped",
        Severity.ERROR,
        "box {wrapped_box}: a coordinate that is a negative number in an unsigned type ({wrapped_count:,} of {box_count:,} boxes)",
        ("wrapped_box", "wrapped_count", "box_count"),
        "compute the box again in a signed type, and clip it",
        where="wrapped_count > 0",
    ),
    SetRule(
        "box-units-mixed",
        Severity.ERROR,
        "boxes from {lowest:g} to {highest:g} are {here}, where the set has {unit}: pixel and normalised coordinates are mixed, out of range",
        fix="write all boxes in one unit",
        sql=_MIXED,
        scope="sample",
        needs=("box_min_x", "box_max_x"),
        minimum=3,
    ),
    SetRule(
        "box-outside",
        Severity.ERROR,
        "boxes from {lowest:.6g} to {highest:.6g} reach outside the picture (in {unit})",
        fix="clip the box, or correct it; if objects may leave the picture, switch the rule off",
        sql=_OUTSIDE,
        scope="sample",
        needs=("box_min_x", "box_max_x"),
    ),
    SetRule(
        "box-outside-picture",
        Severity.ERROR,
        "boxes reach to {max_x:g}, {max_y:g} in a picture of {width} x {height} pixels",
        fix="clip the box, or find out whether the picture was resized after the boxes were written",
        sql=_BEYOND,
        scope="sample",
        needs=("box_max_x", "box_max_y"),
    ),
    RowRule(
        "box-repeated",
        Severity.INFO,
        "box {repeated_box} is a duplicate of another of this sample ({repeated_count:,} of {box_count:,} boxes)",
        ("repeated_count", "box_count"),
        "nothing, if two objects share a box; else remove one",
        where="repeated_count > 0",
        common="set",
    ),
    RowRule(
        "box-none",
        Severity.INFO,
        "no box at all: background, if it is meant",
        (),
        "nothing, if pictures without objects are meant",
        where="box_count == 0",
        common="set",
    ),
)
