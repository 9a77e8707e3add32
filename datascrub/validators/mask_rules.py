"""The rules of Mask: what the values of one mask mean is known from the declared classes and from the other masks of the set."""

from __future__ import annotations

from datascrub.model import Severity
from datascrub.rules import RowRule, Rule, SetRule

_FIX = "write the mask with the index of a class in each pixel"

# One row for each mask and value that is not ignored; and whether the set is one of 0 and 255.
_VALUES = """
    WITH spread AS (
        SELECT number, {field}.mask_key AS key, {field}.mask_width AS width, {field}.ramp_count AS ramps,
            unnest({field}.values) AS value, unnest({field}.counts) AS pixels, unnest({field}.firsts) AS first
        FROM facts WHERE {field}.values IS NOT NULL
    ), held AS (
        SELECT * FROM spread WHERE NOT list_contains(CAST($ignore_labels AS BIGINT[]), value)
    ), span AS (
        SELECT count(DISTINCT number) AS masks, count(DISTINCT value) AS present, min(value) AS lowest, max(value) AS highest,
            CAST($classes AS BIGINT) AS classes FROM held
    ), kind AS (
        SELECT *, present = 2 AND lowest = 0 AND highest = 255 AND masks >= 2 AND coalesce(classes, 2) <= 255 AS is_scaled FROM span
    )"""

_SCALED = f"""{_VALUES}
    SELECT masks, CASE WHEN classes IS NULL THEN 'info' ELSE 'error' END AS severity FROM kind WHERE is_scaled"""

_OUT_OF_RANGE = f"""{_VALUES}, wrong AS (
        SELECT number, any_value(key) AS key, min_by(value, first) AS value, min(first) % any_value(width) AS x, min(first) // any_value(width) AS y,
            sum(pixels)::BIGINT AS pixels, any_value(classes) AS classes, any_value(masks) AS masks
        FROM held, kind WHERE NOT is_scaled AND (value < 0 OR value >= classes) GROUP BY number
    ), counted AS (
        SELECT *, count(*) OVER () AS found FROM wrong
    )
    SELECT * EXCLUDE (masks, found) FROM counted WHERE found <= greatest(2, masks // 2)
    UNION ALL
    SELECT NULL, NULL, first(value ORDER BY number), first(x ORDER BY number), first(y ORDER BY number), sum(pixels)::BIGINT, any_value(classes)
    FROM counted WHERE found > greatest(2, masks // 2) HAVING count(*) > 0
    ORDER BY number NULLS FIRST"""

# Values that stand in this mask alone, between values of others, and on slopes; where few masks have such, for in a set of many classes most do.
_INTERPOLATED = f"""{_VALUES}, alone AS (
        SELECT value FROM held GROUP BY value HAVING count(DISTINCT number) = 1
    ), shared AS (
        SELECT min(value) AS low, max(value) AS high, count(DISTINCT value) AS shared FROM held ANTI JOIN alone USING (value)
    ), odd AS (
        SELECT number, any_value(key) AS key, string_agg(value::VARCHAR, ', ' ORDER BY value) AS "values", count(*) AS of_its_own,
            sum(pixels)::BIGINT AS pixels, any_value(ramps) AS ramps
        FROM held JOIN alone USING (value), shared WHERE value > low AND value < high GROUP BY number
    ), counted AS (
        SELECT *, count(*) OVER () AS found FROM odd WHERE of_its_own >= 2 AND ramps >= 4
    )
    SELECT number, key, CASE WHEN of_its_own > 20 THEN of_its_own || ' of them' ELSE "values" END AS "values", pixels, ramps
    FROM counted, kind WHERE masks >= 4 AND found <= greatest(1, CAST(floor($odd_share * masks) AS BIGINT)) ORDER BY number"""

_COLOURS = """
    WITH counted AS (
        SELECT number, {field}.mask_key AS key, {field}.mask_mode AS mode, count(*) OVER () AS found,
            CASE WHEN CAST($classes AS BIGINT) IS NULL THEN 'warning' ELSE 'error' END AS severity
        FROM facts WHERE {field}.is_colour
    ), whole AS (
        SELECT count(*) AS masks FROM facts WHERE {field}.mask_mode IS NOT NULL
    )
    SELECT number, key, mode, severity, 1 AS found, masks FROM counted, whole WHERE 2 * found <= masks OR masks < 3
    UNION ALL
    SELECT NULL, NULL, any_value(mode), any_value(severity), any_value(found), any_value(masks) FROM counted, whole
    WHERE 2 * found > masks AND masks >= 3 HAVING count(*) > 0
    ORDER BY number NULLS FIRST"""

_SIZE = """
    WITH pairs AS (
        SELECT number, {field}.mask_key AS key, {field}.mask_width AS mask_width, {field}.mask_height AS mask_height,
            {image}.width AS width, {image}.height AS height, count(*) OVER () AS masks
        FROM facts WHERE {field}.mask_width IS NOT NULL AND {image}.width IS NOT NULL
    ), counted AS (
        SELECT *, count(*) OVER () AS found FROM pairs
        WHERE (mask_width <> width OR mask_height <> height) AND NOT (mask_width = height AND mask_height = width)
    )
    SELECT * EXCLUDE (masks, found) FROM counted WHERE found <= greatest(2, masks // 2)
    UNION ALL
    SELECT NULL, NULL, any_value(mask_width), any_value(mask_height), any_value(width), any_value(height)
    FROM counted WHERE found > greatest(2, masks // 2) HAVING count(*) > 0
    ORDER BY number NULLS FIRST"""
# Swapped sides: a picture that EXIF turns, whose mask was drawn upright.

_EMPTY = """
    WITH counted AS (
        SELECT number, {field}.mask_key AS key, count(*) OVER () AS found FROM facts WHERE {field}.is_empty
    ), whole AS (
        SELECT count(*) AS masks FROM facts WHERE {field}.is_empty IS NOT NULL
    )
    SELECT number, key, 1 AS found, masks FROM counted, whole WHERE found <= greatest(2, masks // 2)
    UNION ALL
    SELECT NULL, NULL, any_value(found), any_value(masks) FROM counted, whole WHERE found > greatest(2, masks // 2) HAVING count(*) > 0
    ORDER BY number NULLS FIRST"""

RULES: tuple[Rule, ...] = (
    SetRule(
        "mask-value-out-of-range",
        Severity.ERROR,
        "value {value} at pixel ({x}, {y}) is none of {classes} classes (0 to {classes} - 1); {pixels:,} pixels are so",
        fix="correct the mask, or declare the value in ignore_labels if it marks what is skipped",
        sql=_OUT_OF_RANGE,
        scope="sample",
        needs=("values", "counts", "firsts", "mask_key", "mask_width"),
    ),
    SetRule(
        "mask-scaled",
        Severity.ERROR,
        "all {masks:,} masks hold 0 and 255 alone: classes 0 and 1, scaled for the eye",
        fix="divide by 255 when loading, or write 0 and 1; declare 255 in ignore_labels if it marks what is skipped",
        sql=_SCALED,
        needs=("values",),
    ),
    SetRule(
        "mask-in-colours",
        Severity.ERROR,
        "colours (mode {mode}) in place of class indexes: {found:,} of {masks:,} masks have several channels",
        fix="map each colour to the index of its class, and write palette or 8-bit gray",
        sql=_COLOURS,
        scope="sample",
        needs=("is_colour", "mask_mode", "mask_key"),
    ),
    SetRule(
        "mask-size-mismatch",
        Severity.ERROR,
        "the mask has {mask_width} x {mask_height} pixels, its picture {width} x {height}",
        fix="resize the mask with nearest neighbour, or find the right one",
        sql=_SIZE,
        scope="sample",
        needs=("mask_width", "mask_height", "mask_key"),
    ),
    SetRule(
        "mask-values-interpolated",
        Severity.WARNING,
        "mask values {values} ({pixels:,} pixels) stand in no other mask, between those that do: resized with a filter that mixes classes?",
        fix="write the mask again, resized with nearest neighbour",
        sql=_INTERPOLATED,
        scope="sample",
        needs=("values", "counts", "ramp_count", "mask_key"),
        minimum=4,
    ),
    RowRule(
        "mask-lossy",
        Severity.WARNING,
        "the mask is stored as JPEG, which changes values near edges",
        ("mask_key", "value_count"),
        _FIX + ", as PNG",
        where="mask_format == 'jpeg'",
        common="set",
    ),
    SetRule(
        "mask-empty",
        Severity.INFO,
        "the mask is empty: all pixels are zero ({found:,} of {masks:,} masks)",
        fix="nothing, if pictures without objects are meant",
        sql=_EMPTY,
        scope="sample",
        needs=("is_empty", "mask_key"),
    ),
)
