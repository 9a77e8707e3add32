"""Rows that were allocated and never written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator
from datascrub.validators.summary import masked, summarise

# In each file whose last row is uniform: the rows behind the last one that is not uniform, or uniform in another value than that.
_TAIL = """
    WITH ends AS (
        SELECT coalesce(file, '') AS file, max(number) AS number FROM facts WHERE {field}.is_array GROUP BY ALL
    ), fills AS (
        SELECT ends.file AS file, {field}.uniform_value AS fill FROM facts JOIN ends USING (number) WHERE {field}.uniform_value IS NOT NULL
    ), uniform AS (
        SELECT number, key, fills.file AS file, {field}.uniform_value AS value, fill
        FROM facts JOIN fills ON coalesce(facts.file, '') = fills.file WHERE {field}.is_array
    ), written AS (
        SELECT file, count(*) AS samples, coalesce(max(number) FILTER (value IS NULL OR value <> fill), -1) AS last,
            count(*) FILTER (value = fill) AS filled
        FROM uniform GROUP BY file
    )
    SELECT any_value(file) AS file, any_value(fill) AS value, first(key ORDER BY number) AS first, last(key ORDER BY number) AS last_key,
        count(*) AS samples, any_value(written.samples) AS of
    FROM uniform JOIN written USING (file) WHERE number > last AND last >= 0
    GROUP BY file HAVING count(*) >= $least_rows AND any_value(filled) - count(*) <= 0.01 * any_value(last + 1) ORDER BY file"""


@dataclass(frozen=True)
class UnwrittenTail(Validator):
    """A run of empty rows at the end of a set.

    What it finds
        array-unwritten-tail (warning, once for a file): five rows or more at the end, all holding one and the same value, as no more than a hundredth
        of the rows before do: space that was allocated and never written.

    Why it breaks training
        The rows are samples to every loader: zeros with label 0. They shift the mean, teach that nothing is class 0, and a normalisation by the
        sample's own range divides by zero.

    Example
        array-unwritten-tail  the last 30 of 100 rows (train.h5#70 to train.h5#99) hold nothing but 0

    What to do
        Cut the set to the rows that were written, or write the others.

    Parameters and facts
        least_rows: 5. Facts: uniform_value (the one value of an array, NULL where it has several), is_array.
    """

    least_rows: int = 5

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "uniform_value": Measurement("DOUBLE", "the value of an array of two values and more that are all equal; NULL where they differ"),
        "is_array": Measurement("BOOLEAN", "whether the sample holds two numbers or more"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        it = summarise(column)
        is_array = it.is_measured & (it.size >= 2)
        is_uniform = is_array & it.has_range & (it.nan_count == 0) & (it.inf_count == 0) & (it.minimum == it.maximum)
        return {"uniform_value": masked(it.minimum, is_uniform), "is_array": is_array}

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "array-unwritten-tail",
                Severity.WARNING,
                "the last {samples:,} of {of:,} rows ({first} to {last_key}) hold nothing but {value:g}: allocated and never written?",
                fix="cut the set to the rows that were written, or write the others",
                sql=_TAIL,
                needs=("uniform_value", "is_array"),
                minimum=10,
            ),
        )
