"""Arrays of another shape or type than the set's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator

_DTYPE_ODD = """
    WITH counted AS (
        SELECT {field}.dtype AS dtype, count(*) AS samples, sum(count(*)) OVER () AS total FROM facts WHERE {field}.dtype IS NOT NULL GROUP BY ALL
    ), usual AS (
        SELECT * FROM counted WHERE total >= 10 AND samples >= $evident_share * total AND samples < total
    )
    SELECT number, {field}.dtype AS dtype, usual.dtype AS expected, usual.samples AS samples
    FROM facts, usual WHERE {field}.dtype <> usual.dtype ORDER BY number"""

_SHAPE_ODD = """
    WITH counted AS (
        SELECT {field}.shape AS shape, {field}.ndim AS ndim, count(*) AS samples, sum(count(*)) OVER () AS total, count(*) OVER () AS shapes
        FROM facts WHERE {field}.shape IS NOT NULL GROUP BY ALL
    ), usual AS (
        SELECT * FROM counted WHERE total >= 10 AND samples >= $evident_share * total AND samples < total
    )
    SELECT number, {field}.shape AS shape, usual.shape AS expected, usual.samples AS samples
    FROM facts, usual WHERE {field}.shape <> usual.shape
    AND ({field}.ndim <> usual.ndim OR shapes <= 3 OR samples >= 0.99 * total) ORDER BY number"""
# Many shapes of one rank beside a common one are a length that varies (sequences cut at a maximum), and no fault, unless they are very few.


@dataclass(frozen=True)
class ArrayShape(Validator):
    """An array whose shape or type is not that of the others.

    What it finds
        array-shape-odd (warning): nine samples of ten share one shape, this one has another. Silent in sets below ten samples, in sets of many shapes
        (pictures that are resized when loaded), and for lengths that vary (sequences). array-dtype-odd (warning): the same of the number type.

    Why it breaks training
        A batch is one block: a loader that stacks samples raises at the odd one, hours into an epoch; one that reshapes or broadcasts does not raise
        and trains on scrambled numbers. A float64 or integer sample among float32 turns the batch's type, or fails in the graph.

    Example
        train.lmdb 00000417  array-shape-odd  shape 1x28x28, where 59,999 samples have 3x28x28

    What to do
        Convert or leave out the sample. If shapes are meant to differ, switch the rule off: [rules.array-shape-odd] enabled = false.

    Parameters and facts
        evident_share: 0.9, the share of samples that makes a shape or type that of the set.
        Facts: shape ("3x32x32", "" for a single number), dtype, ndim.
    """

    evident_share: float = 0.9

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.ARRAY, Role.MASK})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "shape": Measurement("VARCHAR", "lengths of the axes, joined by x; empty for a single number"),
        "dtype": Measurement("VARCHAR", "number type, in numpy's name"),
        "ndim": Measurement("BIGINT", "number of axes", "axes", ">= 0"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        for rows, block in column.blocks():
            shape = block.shape[1:]
            made["shape"][rows], made["dtype"][rows], made["ndim"][rows] = "x".join(map(str, shape)), block.dtype.name, len(shape)
        return made

    def rules(self) -> Sequence[Rule]:
        fix = "convert the sample, or leave it out"
        return (
            SetRule(
                "array-shape-odd",
                Severity.WARNING,
                "shape {shape}, where {samples:,} samples have {expected}",
                fix=fix,
                sql=_SHAPE_ODD,
                scope="sample",
                needs=("shape", "ndim"),
                minimum=10,
            ),
            SetRule(
                "array-dtype-odd",
                Severity.WARNING,
                "numbers are {dtype}, where {samples:,} samples have {expected}",
                fix=fix,
                sql=_DTYPE_ODD,
                scope="sample",
                needs=("dtype",),
                minimum=10,
            ),
        )
