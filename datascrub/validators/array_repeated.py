"""One array that stands all over a set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator

# Grouped by a number of each hash, which takes a third of its memory.
_REPEATED = """
    WITH grouped AS (
        SELECT count(*) AS copies, min(number) AS first, max(number) AS last
        FROM facts WHERE {field}.hash IS NOT NULL GROUP BY hash({field}.hash) HAVING count(*) > 1
    ), share AS (
        SELECT (SELECT count(*) FROM facts) AS samples, sum(copies) AS repeated FROM grouped
    ), said AS (
        SELECT copies, first, last, samples FROM grouped, share
        WHERE copies >= greatest($least_copies, $least_share * samples) AND copies > 0.5 * repeated
    )
    SELECT copies, one.key AS first_key, other.key AS last_key, samples AS of
    FROM said JOIN facts AS one ON one.number = first JOIN facts AS other ON other.number = last ORDER BY copies DESC, first"""


@dataclass(frozen=True)
class ArrayRepeated(Validator):
    """One sample repeated all over the set.

    What it finds
        array-repeated (warning, once): one array, bit for bit, in a hundredth of the samples and in twenty of them at least, which makes up more than
        half of all repetitions. Arrays of one value, and below 16 bytes, are not compared. Each copy is named by exact-duplicate, too. Pictures that
        stand under many keys are placeholder's.

    Why it breaks training
        A buffer that was not refilled, a read that failed and gave the last record again: each copy has the label of another sample, and what is
        learnt is the label's mean.

    Example
        the set  array-repeated  412 of 10,000 samples, train.h5#17 to train.h5#9981, are one and the same

    What to do
        Find what wrote it, and write these samples again, or leave them out.

    Parameters and facts
        least_copies: 20; least_share: 0.01. No facts of its own: hash is that of exact-duplicates.
    """

    least_copies: int = 20
    least_share: float = 0.01

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {}

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        return {}

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "array-repeated",
                Severity.WARNING,
                "{copies:,} of {of:,} samples, {first_key} to {last_key}, are one and the same",
                fix="find what wrote it, and write these samples again, or leave them out",
                sql=_REPEATED,
                needs=("hash",),
                minimum=40,
            ),
        )
