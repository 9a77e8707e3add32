"""Floating pictures on the scale of bytes: not normalised, all of them or one among others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator

# Above 16 no value of 0..1 is a rounding, and no picture of 0..255 stays below it but a black one.
_HELD = """
    WITH held AS (
        SELECT number, {field}.minimum AS minimum, {field}.maximum AS maximum, {field}.mean AS mean, {field}.deviation AS deviation,
            {field}.minimum >= 0 AND {field}.maximum > 16 AND {field}.maximum <= 255.5 AS is_bytes,
            {field}.minimum >= -0.001 AND {field}.maximum <= 1.001 AS is_unit
        FROM facts WHERE {field}.maximum IS NOT NULL AND {field}.ndim >= 2 AND {field}.dtype LIKE '%float%'
    ), share AS (
        SELECT count(*) AS samples, count(*) FILTER (is_bytes) AS bytes, count(*) FILTER (is_unit) AS units FROM held
    )"""

_ODD = f"""{_HELD}
    SELECT number, minimum, maximum, units AS samples FROM held, share WHERE is_bytes AND units >= 0.9 * samples ORDER BY number"""

_ALL = f"""{_HELD}
    SELECT bytes AS samples, any_value(share.samples) AS of, avg(mean) AS mean,
        sqrt(greatest(avg(deviation * deviation + mean * mean) - avg(mean) * avg(mean), 0)) AS deviation
    FROM held, share WHERE is_bytes AND bytes >= 0.9 * samples GROUP BY bytes"""


@dataclass(frozen=True)
class ArrayScale(Validator):
    """Floating values from 0 to 255, where 0 to 1 is expected.

    What it finds
        array-not-normalised (warning): a floating array of two axes and more with values up to 255, where nine of ten lie within 0 and 1.
        arrays-in-byte-range (info, once): nine of ten floating arrays run from 0 to some 255: nobody has normalised them yet; with the mean and
        deviation to do it by. A range that is declared, [data.fields.NAME] range = [0, 1], is held by values-out-of-range.

    Why it breaks training
        Inputs 255 times as large make the first activations, the loss and its gradient as much larger: with a rate that was right for the others, one
        such sample is enough to throw the weights out, and a set of them never settles.

    Example
        train.h5#17  array-not-normalised  values from 0 to 255, where 9,999 samples lie within 0 and 1

    What to do
        Divide the sample by 255. If the network normalises by itself, nothing is to do.

    Parameters and facts
        No parameters, no facts of its own: minimum, maximum, mean and deviation are those of finite.
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {}

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        return {}

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "array-not-normalised",
                Severity.WARNING,
                "values from {minimum:g} to {maximum:g}, where {samples:,} samples lie within 0 and 1: not normalised",
                fix="divide the sample by 255",
                sql=_ODD,
                scope="sample",
                needs=("minimum", "maximum", "ndim", "dtype"),
                minimum=10,
            ),
            SetRule(
                "arrays-in-byte-range",
                Severity.INFO,
                "{samples:,} of {of:,} floating arrays run from 0 to some 255: not normalised (mean {mean:.4g}, deviation {deviation:.4g})",
                fix="nothing, if the network or the loader normalises; else divide by 255, or by the deviation",
                sql=_ALL,
                needs=("minimum", "maximum", "mean", "deviation", "ndim", "dtype"),
                minimum=10,
            ),
        )
