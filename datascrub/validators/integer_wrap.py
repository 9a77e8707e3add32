"""Unsigned numbers at the very end of their range, where the set stays at the beginning: a negative number that wrapped around."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator

_WRAPPED = """
    WITH held AS (
        SELECT number, {field}.maximum AS value, CASE {field}.dtype WHEN 'uint16' THEN 65535.0 WHEN 'uint32' THEN 4294967295.0
            ELSE 18446744073709551615.0 END AS top
        FROM facts WHERE {field}.maximum IS NOT NULL AND {field}.dtype IN ('uint16', 'uint32', 'uint64')
    ), usual AS (
        SELECT quantile_cont(value / top, 0.95) AS reach, count(*) AS samples, count(*) FILTER (value > 0.99 * top) AS wrapped FROM held
    )
    SELECT number, value, top + 1 - value AS below, round(reach * top) AS usual FROM held, usual
    WHERE value > 0.99 * top AND reach < 0.25 AND wrapped <= greatest(1, 0.05 * samples) ORDER BY number"""


@dataclass(frozen=True)
class IntegerWrap(Validator):
    """An unsigned number that was negative.

    What it finds
        values-wrapped (warning): a value in the last hundredth of the range of uint16, uint32 or uint64, in at most a twentieth of the samples, where
        the others stay in the first quarter. Pictures are left aside, for sensors saturate; boxes have box-wrapped.

    Why it breaks training
        Minus one, stored as 65535, is the largest number of the set: it rules the loss of its batch, and the maximum that the set is scaled by.

    Example
        train.h5#4  values-wrapped  65,534, where the others reach 812: -2, wrapped around?

    What to do
        Compute the array again in a signed type, and clip it. If the number marks what is missing, mask it out.

    Parameters and facts
        No parameters, no facts of its own: the maximum is that of finite, the type that of array-shape.
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {}

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        return {}

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "values-wrapped",
                Severity.WARNING,
                "{value:,.0f}, where the others reach {usual:,.0f}: -{below:,.0f}, wrapped around?",
                fix="compute the array again in a signed type, and clip it",
                sql=_WRAPPED,
                scope="sample",
                needs=("maximum", "dtype"),
                minimum=20,
            ),
        )
