"""Values far from everything else in the set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator
from datascrub.validators.summary import masked, summarise

SENTINELS = (-9999.0, -999.0, 9999.0, 99999.0, -99999.0, 999999.0, -32768.0, -2147483648.0, 2147483647.0, 1e20, -1e20, 1e30, -1e30)
"""numbers that stand for "missing" in tables, sensors and rasters"""

# How far a sample's extremes lie from the median of all extremes; and the farthest of the others, without the one, or the hundredth, that may be odd.
# The median of a large set is that of every so-manieth sample.
_FAR = """
    WITH measured AS (
        SELECT number, {field}.minimum AS low, {field}.maximum AS high, {field}.sentinel AS sentinel FROM facts
        WHERE {field}.minimum IS NOT NULL AND {field}.maximum IS NOT NULL
    ), size AS (
        SELECT count(*) AS samples FROM measured
    ), middle AS (
        SELECT median(value) AS value FROM (
            SELECT unnest([low, high]) AS value FROM measured, size WHERE number % greatest(1, samples // $median_of) = 0
        )
    ), farthest AS (
        SELECT number, sentinel, greatest(abs(low - middle.value), abs(high - middle.value)) AS distance,
            CASE WHEN abs(low - middle.value) > abs(high - middle.value) THEN low ELSE high END AS value
        FROM measured, middle
    ), usual AS (
        SELECT distance AS reach FROM farthest ORDER BY distance DESC LIMIT 1 OFFSET (SELECT greatest(1, samples // 100) FROM size)
    )
    SELECT number, value, round(distance / reach, 1) AS times, reach FROM farthest, usual
    WHERE reach > 0 AND (distance > $far * reach OR (value = sentinel AND distance > $far_sentinel * reach)) ORDER BY number"""


@dataclass(frozen=True)
class Outlier(Validator):
    """A finite value that lies far outside all others of the set.

    What it finds
        values-outlier (warning): a sample whose smallest or largest value lies a hundred times as far from the middle as those of all but a hundredth
        of the samples; ten times is enough for numbers that stand for "missing" (-9999, -999, 1e20, …). Silent below 20 samples.

    Why it breaks training
        It is finite, and no check for NaN sees it. One -9999 in a standardised column makes a loss a million times as large as its neighbours', and
        the step that follows throws the weights away; it also spoils the mean and deviation of the column.

    Example
        train.h5#4  values-outlier  the value -9999 lies 2,631 times as far from the middle as those of the other samples

    What to do
        Replace sentinels by a mask or a mean; look for a wrong unit. If the range is meant, take a logarithm, or switch the rule off.

    Parameters and facts
        far: 100; far_sentinel: 10; median_of: 100,000 (samples, spread evenly, that the middle of a larger set is taken from).
        Facts: sentinel (the sample's smallest or largest value, where it is such a number).
    """

    far: float = 100.0
    median_of: int = 100_000
    far_sentinel: float = 10.0

    roles: ClassVar[frozenset[Role]] = frozenset({Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "sentinel": Measurement("DOUBLE", "the smallest or largest value, where it is a number that often stands for missing; else NULL"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        it = summarise(column)
        known = np.array(SENTINELS)
        is_low, is_high = (np.isin(ends, known) & it.has_range for ends in (it.minimum, it.maximum))
        return {"sentinel": masked(np.where(is_low, it.minimum, it.maximum), is_low | is_high)}

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "values-outlier",
                Severity.WARNING,
                "the value {value:g} lies {times:,.0f} times as far from the middle as those of the other samples: an outlier or a sentinel",
                fix="replace sentinels, correct the unit, or leave the sample out",
                sql=_FAR,
                scope="sample",
                needs=("minimum", "maximum", "sentinel"),
                minimum=20,
            ),
        )
