"""Values that are not finite, or that training can't hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule
from datascrub.validators.base import Validator
from datascrub.validators.sequence_mask import is_added, sequences
from datascrub.validators.summary import masked, summarise

# The largest finite number and half a step: from there on, rounding gives infinity (IEEE 754-2019; bfloat16 is float32 at 8 bits of precision).
_FLOAT16, _BFLOAT16, _FLOAT32 = 65520.0, 3.3961775292304601e38, 3.4028235677973366e38
_OVERFLOWS = (
    f"(precision == 'float16' and abs_max >= {_FLOAT16}) or (precision == 'bfloat16' and abs_max >= {_BFLOAT16!r})"
    f" or (precision == 'float32' and abs_max >= {_FLOAT32!r})"
)
_FITS = (
    f"(precision == 'float16' and abs_max < {_FLOAT16}) or (precision == 'bfloat16' and abs_max < {_BFLOAT16!r})"
    f" or (precision == 'float32' and abs_max < {_FLOAT32!r})"
)


@dataclass(frozen=True)
class Finite(Validator):
    """Numbers that are NaN or infinite, or too large to train on.

    What it finds
        values-not-finite (error): NaN, +Inf or -Inf among the values of an array. Counted per sample, exactly, at any place.
        values-overflow-precision (error): finite as stored, infinite in the precision of the training: from 65,520 on in float16 (the largest float16
        is 65,504, and what rounds up from there is infinity), from 3.4e38 on in float32 and bfloat16. Where most of the set is so, it is said once.
        values-too-large (warning): finite and in range, but so large that a square or an exponential of it is not.

    Why it breaks training
        One NaN makes the loss NaN, the gradient NaN, and after one step every weight: the whole run is lost, and the sample that did it is gone
        by. An Inf becomes NaN in the first subtraction of a mean.

    Example
        train.h5#6  values-not-finite  1 NaN and 0 Inf among 3,072 values

    What to do
        Leave the sample out (the cleaned copy does), or compute it again. If most samples overflow float16, the data are not normalised: divide
        them first, or train in bfloat16.

    Parameters and facts
        too_large: 1e10, where Theano's NanGuard drew the line. precision comes from [data] (float32 unless declared).
        Facts: nan_count, inf_count, size; minimum, maximum, mean, deviation, abs_max of the finite values (NULL where there are none). Mean and
        deviation of float32 data are computed in float32 and good to about six digits. A complex number counts as two.
    """

    too_large: float = 1e10

    version: ClassVar[int] = 2
    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.ARRAY, Role.BOXES, Role.MASK, Role.WEIGHT})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "size": Measurement("BIGINT", "numbers in the sample", "values", ">= 0"),
        "nan_count": Measurement("BIGINT", "how many of them are NaN", "values", ">= 0"),
        "inf_count": Measurement("BIGINT", "how many of them are +Inf or -Inf", "values", ">= 0"),
        "minimum": Measurement("DOUBLE", "smallest finite value"),
        "maximum": Measurement("DOUBLE", "largest finite value"),
        "mean": Measurement("DOUBLE", "mean of the finite values"),
        "deviation": Measurement("DOUBLE", "standard deviation of the finite values", "", ">= 0"),
        "abs_max": Measurement("DOUBLE", "largest magnitude of a finite value", "", ">= 0"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        it = summarise(column)
        counted = it.is_measured & ~_hiding(column) if column.field.role is Role.MASK else it.is_measured
        made = {name: masked(getattr(it, name), counted) for name in ("size", "nan_count", "inf_count")}
        made |= {name: masked(getattr(it, name), it.has_range & counted) for name in ("minimum", "maximum", "mean", "deviation")}
        made["abs_max"] = masked(np.maximum(-it.minimum, it.maximum), it.has_range & counted)
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            RowRule(
                "values-not-finite",
                Severity.ERROR,
                "{nan_count:,} NaN and {inf_count:,} Inf among {size:,} values",
                ("nan_count", "inf_count", "size"),
                "leave the sample out, or compute it again",
                where="nan_count > 0 or inf_count > 0",
            ),
            RowRule(
                "values-overflow-precision",
                Severity.ERROR,
                "a value of magnitude {abs_max:,.6g} is infinite in {precision}",
                ("abs_max",),
                "normalise the data, or train in a precision with a wider range",
                where=_OVERFLOWS,
                common="set",
            ),
            RowRule(
                "values-too-large",
                Severity.WARNING,
                "a value of magnitude {abs_max:,.6g}; more than {too_large:g} is hardly ever meant",
                ("abs_max",),
                "look for a sentinel or a wrong unit; normalise the data",
                where=f"abs_max > too_large and ({_FITS})",
                common="set",
            ),
        )


def _hiding(column: Column) -> np.ndarray:
    """(N,) bool: masks that are added to energies, whose -Inf is meant."""
    made = np.zeros(len(column), bool)
    for rows, block in column.blocks():
        flat = sequences(block)
        if flat is not None:
            made[rows] = is_added(flat)
    return made
