"""Arrays that hold one value over and over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule
from datascrub.validators.base import Validator
from datascrub.validators.summary import masked, summarise

LEAST_SIZE = 4
"""of three numbers, all are equal by chance too often"""


@dataclass(frozen=True)
class Constant(Validator):
    """An array whose values are all equal.

    What it finds
        array-constant (warning): four values or more, finite, and all the same: an image that was never filled in, a failed sensor, the fill value of
        rows that were allocated and not written. Where most of the set is so, it is said once. Masks, boxes, labels and weights are not judged.

    Why it breaks training
        Scaling a sample to its own range divides by maximum - minimum, dividing by its deviation divides by zero: 0/0 is NaN, and the NaN spreads.
        Where neither is done, the sample teaches that nothing at all has this label.

    Example
        train.h5#812  array-constant  all 3,072 values are 0

    What to do
        Look at the sample. If it is empty by accident, leave it out; if it is meant, add an epsilon to the divisor.

    Parameters and facts
        No parameters. Facts: is_constant; constant_size and constant_value (NULL where it is not); all NULL for less than four values.
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "is_constant": Measurement("BOOLEAN", "whether all values are finite and equal"),
        "constant_size": Measurement("BIGINT", "how many values are all equal; NULL where they are not", "values", ">= 4"),
        "constant_value": Measurement("DOUBLE", "the value that they all have; NULL where they differ"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        it = summarise(column)
        is_judged = it.is_measured & (it.size >= LEAST_SIZE)
        same = is_constant(column)
        return {
            "is_constant": masked(same, is_judged),
            "constant_size": masked(it.size, is_judged & same),
            "constant_value": masked(it.minimum, is_judged & same),
        }

    def rules(self) -> Sequence[Rule]:
        return (
            RowRule(
                "array-constant",
                Severity.WARNING,
                "all {constant_size:,} values are {constant_value:g}",
                ("constant_value",),
                "look at the sample; leave it out if it is empty by accident",
                where="is_constant == true",
                common="set",
            ),
        )


def is_constant(column: Column) -> np.ndarray:
    """(N,) bool: the values of a sample, one or more, are finite and all equal."""
    it = summarise(column)
    same: np.ndarray = it.has_range & (it.nan_count == 0) & (it.inf_count == 0) & (it.minimum == it.maximum)
    return same
