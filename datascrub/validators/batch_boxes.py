"""The chance that a batch of a detection set holds no box at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator
from datascrub.validators.batch_chance import SIZES, chance_of_none

_WITHOUT = f"""
    WITH sizes AS ({SIZES}
    ), boxed AS (
        SELECT count(*) FILTER ({{field}}.box_count > 0) AS samples, count({{field}}.box_count) AS measured FROM facts
    ), chances AS (
        SELECT *, {chance_of_none("samples")} AS chance FROM boxed, sizes WHERE samples > 0 AND measured > 0
    )
    SELECT total - samples AS empty, total, batch, chance, chance * batches AS an_epoch, batches::BIGINT AS batches,
        batches::BIGINT - (SELECT count(DISTINCT number // batch) FROM facts WHERE {{field}}.box_count > 0) AS in_order
    FROM chances WHERE chance * batches * $epochs >= 1"""


@dataclass(frozen=True)
class BatchBoxes(Validator):
    """A detection set of which a batch may hold no box.

    What it finds
        batch-without-box (warning, once for the set): with the declared data.batch_size, at least one batch in a hundred epochs holds no box at all.
        The finding tells the chance of one batch (drawn without putting back: hypergeometric), and how many batches are so where the set is read in
        its own order. It needs many pictures without a box: half of a set and batches of 8 make it, one in a hundred never does.

    Why it breaks training
        Detection losses are divided by the number of matched boxes. Without any it is 0 / 0, or the loss of the background alone over a clamped 1.

    Example
        batch-without-box  512 of 1,000 samples have no box; a batch of 8 has none with a chance of 0.0046: 0.58 of 125 batches an epoch

    What to do
        Leave pictures without objects out, keep at least one with a box in each batch, or put at least 1 into the denominator.

    Parameters and facts
        epochs: 100, in which one such batch is expected. data.batch_size is declared. No facts of its own.
    """

    epochs: int = 100

    roles: ClassVar[frozenset[Role]] = frozenset({Role.BOXES})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {}

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        return {}

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "batch-without-box",
                Severity.WARNING,
                "{empty:,} of {total:,} samples have no box; a batch of {batch:,} has none with a chance of {chance:.3g}: {an_epoch:,.3g} of"
                " {batches:,} batches an epoch, {in_order:,} in stored order",
                fix="leave pictures without objects out, or put at least 1 into the denominator of the loss",
                sql=_WITHOUT,
                needs=("box_count",),
                minimum=4,
            ),
        )
