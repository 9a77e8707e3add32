"""What the owner declares of a field's values: a range, and what is computed of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import DOMAIN, Column, Field, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule
from datascrub.validators.base import Validator
from datascrub.validators.summary import flattened, is_number, masked, summarise


@dataclass(frozen=True)
class Domain(Validator):
    """A value that lies outside of what is declared of its field.

    What it finds
        Of fields that [data.fields.NAME] declares something of, and no others. range = [0, 1]: values-out-of-range (error). positive = true, for a
        logarithm is taken: values-not-positive (error; zero is one). nonzero = true, for they divide: values-zero (error). exp = true, for their
        exponential is taken: values-exponential-overflows (error; from 88.7 on in float32 and bfloat16, from 11.1 on in float16, by data.precision).
        zeros = 0.5, the largest share of zeros that is meant: values-mostly-zero (warning). What is so in most samples is said once: the declaration
        or the unit is wrong then. NaN and infinities are left to values-not-finite.

    Why it breaks training
        The logarithm of 0 is -Inf, a division by 0 Inf or NaN, and the exponential of 89 infinite in float32: each is a NaN one step later. None of
        them is seen in the data, which are finite.

    Example
        train.h5#17  values-not-positive  the smallest value is 0, and its logarithm is not finite

    What to do
        Correct the value or leave the sample out. If zeros are meant, add an epsilon, or use log1p; subtract the maximum before an exponential.

    Parameters and facts
        No parameters: each field has its own, in [data.fields.NAME]. An end of a range is reached, not passed, within a millionth of it (1.0000001).
        Facts, of declared fields alone: domain_minimum, domain_maximum (finite values), zero_count, domain_size. Other values can be declared for a
        measured field, and judged without reading again; a field that is declared for the first time has to be scanned.
    """

    sees_objects: ClassVar[bool] = True
    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.ARRAY, Role.LABEL, Role.BOXES, Role.MASK, Role.WEIGHT})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "domain_minimum": Measurement("DOUBLE", "smallest finite value of a field whose values are declared"),
        "domain_maximum": Measurement("DOUBLE", "largest finite value of such a field"),
        "zero_count": Measurement("BIGINT", "values of such a field that are 0", "values", ">= 0"),
        "domain_size": Measurement("BIGINT", "values of such a field", "values", ">= 0"),
    }

    def applies(self, field: Field) -> bool:
        return super().applies(field) and DOMAIN in field.declared

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        it = summarise(column)
        zeros = np.zeros(len(column), np.int64)
        for rows, block in column.blocks():
            if is_number(block.dtype) and block[0].size:
                zeros[rows] = (flattened(block) == 0).sum(axis=1)
        return {
            "domain_minimum": masked(it.minimum, it.has_range),
            "domain_maximum": masked(it.maximum, it.has_range),
            "zero_count": masked(zeros, it.is_measured),
            "domain_size": masked(it.size, it.is_measured),
        }

    def rules(self) -> Sequence[Rule]:
        return (
            RowRule(
                "values-out-of-range",
                Severity.ERROR,
                "values from {domain_minimum:g} to {domain_maximum:g}, declared {range_low:g} to {range_high:g}",
                ("domain_minimum", "domain_maximum"),
                "correct the value or the unit, or leave the sample out",
                where="domain_minimum < range_low - range_slack or domain_maximum > range_high + range_slack",
                common="set",
            ),
            RowRule(
                "values-not-positive",
                Severity.ERROR,
                "the smallest value is {domain_minimum:g}, and its logarithm is not finite",
                ("domain_minimum",),
                "correct the value, leave the sample out, or add an epsilon before the logarithm",
                where="positive == true and domain_minimum <= 0",
                common="set",
            ),
            RowRule(
                "values-zero",
                Severity.ERROR,
                "{zero_count:,} of {domain_size:,} values are zero, and divide",
                ("zero_count", "domain_size"),
                "correct the value, leave the sample out, or add an epsilon to the divisor",
                where="nonzero == true and zero_count > 0",
                common="set",
            ),
            RowRule(
                "values-exponential-overflows",
                Severity.ERROR,
                "the exponential of {domain_maximum:g} is infinite in {precision}",
                ("domain_maximum",),
                "subtract the maximum before the exponential, or leave the sample out",
                where="exp == true and domain_maximum > exp_limit",
                common="set",
            ),
            RowRule(
                "values-mostly-zero",
                Severity.WARNING,
                "{zero_count:,} of {domain_size:,} values are zero, a larger share than {most_zeros:g}",
                ("zero_count", "domain_size"),
                "look at the sample: was it filled in?",
                where="zero_count > most_zeros * domain_size",
                common="set",
            ),
        )
