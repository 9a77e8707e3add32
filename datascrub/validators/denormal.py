"""Values so small that float32 holds them with fewer digits, and slowly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule
from datascrub.validators.base import Validator
from datascrub.validators.summary import flattened

_LOOKED_AT = 64
_SMALLEST = 1.1754943508222875e-38
"""the smallest normal float32 (IEEE 754-2019, binary32)"""


@dataclass(frozen=True)
class Denormal(Validator):
    """Values that are not zero, and smaller than the smallest normal number of float32.

    What it finds
        values-denormal (info): among some 64 values of a float32 or float64 array, spread evenly over it. Where most of the set is so, it is said
        once.

    Why it breaks training
        Arithmetic on such numbers is up to a hundred times slower on a processor, and a GPU takes them for 0: what divides by them is finite here
        and infinite there. They are mostly what an exponential or a repeated product left over.

    Example
        train.h5#8  values-denormal  31 of 64 values are denormal in float32

    What to do
        Set them to 0 where the array is made. A logarithm or a division wants an epsilon above 1e-38.

    Parameters and facts
        No parameters. Facts: denormal_count, denormal_looked.
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.ARRAY, Role.WEIGHT})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "denormal_count": Measurement("BIGINT", "values, of those looked at, that are not 0 and below the smallest normal float32", "values", ">= 0"),
        "denormal_looked": Measurement("BIGINT", "values that were looked at; NULL for integers", "values", "1 to 127"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        for rows, block in column.blocks():
            if block.dtype in (np.float32, np.float64) and block[0].size:
                flat = flattened(block)
                some = np.abs(flat[:, :: max(1, flat.shape[1] // _LOOKED_AT)])
                made["denormal_count"][rows] = ((some > 0) & (some < _SMALLEST)).sum(1)
                made["denormal_looked"][rows] = some.shape[1]
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            RowRule(
                "values-denormal",
                Severity.INFO,
                "{denormal_count:,} of {denormal_looked:,} values are denormal in float32",
                ("denormal_count", "denormal_looked"),
                "set them to 0 where the array is made",
                where="denormal_count > 0",
                common="set",
            ),
        )
