"""Arrays without a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule
from datascrub.validators.base import Validator


@dataclass(frozen=True)
class ArrayEmpty(Validator):
    """An array of length zero.

    What it finds
        array-empty (info): an axis of length zero, and so no value at all: a sequence that was filtered away, a recording that never began. In
        detection sets the lists of a picture without objects are empty, and meant so. Where most of the set is so, it is said once.

    Why it breaks training
        The mean of nothing is 0/0, NaN in every framework. A softmax over nothing is, too, and a recurrent network without a step gives back what it
        began with.

    Example
        train.tfrecord#412  array-empty  the array is empty: length zero

    What to do
        Leave the sample out, or guard what divides by the length.

    Parameters and facts
        No parameters. Facts: is_without_values.
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.ARRAY, Role.IMAGE})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {"is_without_values": Measurement("BOOLEAN", "whether an axis of the array is 0 long")}

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        for rows, block in column.blocks():
            made["is_without_values"][rows] = block[0].size == 0
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            RowRule(
                "array-empty",
                Severity.INFO,
                "the array is empty: length zero",
                fix="leave the sample out, or guard what divides by the length",
                where="is_without_values",
                common="set",
            ),
        )
