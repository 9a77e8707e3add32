"""Labels that are vectors: one-hot and soft labels that are no distribution over the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator
from datascrub.validators.summary import is_number

_TOLERANCE = 1e-3
"""of a sum of float16 shares"""

# How many vectors are distributions. Where some are not, and all hold 0 and 1 alone, the set may be one of several labels a sample.
_SHARES = """
    WITH vectors AS (
        SELECT number, {field}.label_sum AS total, {field}.label_minimum AS lowest, {field}.is_binary AS is_binary,
            {field}.is_distribution AS is_good FROM facts WHERE {field}.is_distribution IS NOT NULL
    ), shares AS (
        SELECT count(*) AS samples, count(*) FILTER (is_good) AS good, bool_and(is_binary) AS all_binary,
            count(*) FILTER (NOT is_good) AS bad, $task IN ('classification', 'unlabelled') AS is_asked FROM vectors
    ), verdict AS (
        SELECT *, is_asked AND (100 * good >= 95 * samples OR (4 * good >= 3 * samples AND (NOT all_binary OR samples < 20))) AS is_named,
            is_asked AND 4 * good >= 3 * samples AS is_likely FROM shares WHERE samples >= 4
    )"""

_WRONG = f"""{_SHARES}
    SELECT number, round(total, 6) AS total, lowest FROM vectors, verdict WHERE is_named AND NOT is_good ORDER BY number"""

_UNCLEAR = f"{_SHARES} SELECT bad, samples FROM verdict WHERE is_likely AND NOT is_named"


@dataclass(frozen=True)
class LabelVector(Validator):
    """A one-hot or soft label whose shares do not sum to 1.

    What it finds
        label-not-a-distribution (error): in a set whose label vectors are shares of classes (nearly all are 0 or more and sum to 1), one that sums to
        something else or holds a negative share: all zero, two ones, 0.9 alone. label-vectors-unclear (warning, once): three vectors of four are
        one-hot and the others are not: faults, or a set with several labels a sample. Nothing is said where the task is multilabel or regression.

    Why it breaks training
        A cross entropy with a vector of zeros has no gradient for the sample; with two ones it has twice as much; with negative shares it runs away.

    Example
        train.h5#2  label-not-a-distribution  the one-hot label sums to 0, not 1

    What to do
        Correct the label. If several labels a sample are meant, declare task = "multilabel".

    Parameters and facts
        No parameters. Facts, of label vectors: label_sum, label_minimum, is_binary (0 and 1 alone), is_distribution.
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.LABEL})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "label_sum": Measurement("DOUBLE", "sum of the values of a label vector"),
        "label_minimum": Measurement("DOUBLE", "smallest value of a label vector"),
        "is_binary": Measurement("BOOLEAN", "whether a label vector holds 0 and 1 alone"),
        "is_distribution": Measurement("BOOLEAN", "whether a label vector is 0 or more everywhere and sums to 1, to a thousandth"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        for rows, block in column.blocks():
            if not is_number(block.dtype) or block.dtype.kind == "c" or block.ndim < 2 or block[0].size < 2:
                continue
            flat = block.reshape(len(block), -1).astype(np.float64)
            is_finite = np.isfinite(flat).all(axis=1)
            with np.errstate(over="ignore"):
                total = flat[is_finite].sum(axis=1)
            lowest, here = flat[is_finite].min(axis=1), rows[is_finite]
            made["label_sum"][here], made["label_minimum"][here] = np.clip(total, -1e300, 1e300), lowest
            made["is_binary"][here] = ((flat[is_finite] == 0) | (flat[is_finite] == 1)).all(axis=1)
            made["is_distribution"][here] = (np.abs(total - 1) <= _TOLERANCE) & (lowest >= -_TOLERANCE)
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "label-not-a-distribution",
                Severity.ERROR,
                "the one-hot or soft label sums to {total:g}, not 1 (smallest share {lowest:g})",
                fix='correct the label, or declare task = "multilabel" if several labels a sample are meant',
                sql=_WRONG,
                scope="sample",
                needs=("label_sum", "label_minimum", "is_distribution", "is_binary"),
                minimum=4,
            ),
            SetRule(
                "label-vectors-unclear",
                Severity.WARNING,
                "{bad:,} of {samples:,} label vectors don't sum to 1, the others are one-hot: faults, or several labels a sample?",
                fix='declare task = "multilabel" or "classification"',
                sql=_UNCLEAR,
                needs=("is_distribution", "is_binary"),
                minimum=4,
            ),
        )
