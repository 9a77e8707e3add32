"""The chance that a class is absent from a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator
from datascrub.validators.batch_chance import SIZES, chance_of_none

_ABSENT = f"""
    WITH sizes AS ({SIZES}
    ), labelled AS (
        SELECT number, coalesce({{field}}.value::VARCHAR, {{field}}.text) AS label FROM facts
        WHERE $task = 'classification' AND NOT coalesce(list_contains(CAST($ignore_labels AS BIGINT[]), {{field}}.value), false)
    ), counted AS (
        SELECT label, count(*) AS samples FROM labelled WHERE label IS NOT NULL GROUP BY label
    ), chances AS (
        SELECT label, samples, total, batch, batches, {chance_of_none("samples")} AS chance FROM counted, sizes
    ), often AS (
        SELECT *, count(*) OVER () AS of_classes, count(*) FILTER (chance * batches * $epochs >= 1) OVER () AS classes FROM chances
    )
    SELECT label, samples, total, batch, chance, chance * batches AS an_epoch, classes, of_classes, batches::BIGINT AS batches,
        batches::BIGINT - (SELECT count(DISTINCT number // batch) FROM labelled WHERE labelled.label = often.label) AS in_order
    FROM often WHERE of_classes >= 2 AND chance * batches * $epochs >= 1 ORDER BY samples, label LIMIT 1"""


@dataclass(frozen=True)
class BatchClasses(Validator):
    """A class of which a batch may hold no sample.

    What it finds
        batch-lacks-class (info, once for the set): with the declared data.batch_size, the rarest class is absent from at least one batch in a hundred
        epochs. The finding tells the chance of one batch (drawn without putting back: hypergeometric), how many batches of an epoch that makes, how
        many classes are so, and how many batches lack the class where the set is read in its own order. It fires on most sets with more classes than
        a batch has samples, and harms only losses that count the classes of a batch.

    Why it breaks training
        A loss that is normalised by the frequency of classes within the batch (balanced cross entropy, Dice and F1 as a loss, a mean per class)
        divides by the count of the absent class: 0 / 0 is NaN, and every weight is NaN one step later, at random, in some epoch.

    Example
        batch-lacks-class  class 7 (12 of 60,000 samples) is absent from a batch of 32 with a chance of 0.994: 1,863 batches an epoch

    What to do
        Put 1 into the denominator where the count is 0, take the frequencies from the whole set, or sample each batch by class. To see what your
        loss does in such a batch: datascrub rehearse.

    Parameters and facts
        epochs: 100, in which one such batch is expected. data.batch_size and data.ignore_labels are declared. No facts of its own.
    """

    epochs: int = 100

    roles: ClassVar[frozenset[Role]] = frozenset({Role.LABEL})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY, Kind.TEXT})
    measures: ClassVar[Mapping[str, Measurement]] = {}

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        return {}

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "batch-lacks-class",
                Severity.INFO,
                "class {label} ({samples:,} of {total:,} samples) is absent from a batch of {batch:,} with a chance of {chance:.3g}: {an_epoch:,.3g}"
                " of {batches:,} batches an epoch, {in_order:,} in stored order; {classes:,} of {of_classes:,} classes are so",
                fix="a loss that divides by the count of each class in the batch is NaN there: guard it, or sample batches by class",
                sql=_ABSENT,
                needs=("value", "text"),
                minimum=4,
            ),
        )
