"""Labels of another type than the set's, and class names whose order is not one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator

# A word among numbers, or a number among words, is odd only where its class has a sample or two: a class folder may be called anything.
_ODD = """
    WITH told AS (
        SELECT number, {field}.text AS text, CASE WHEN {field}.kind <> 'text' THEN {field}.kind
            WHEN regexp_full_match({field}.text, '\\s*[-+]?[0-9]+([.][0-9]*)?\\s*') THEN 'number' ELSE 'word' END AS kind
        FROM facts WHERE {field}.kind NOT IN ('missing', 'outside')
    ), counted AS (
        SELECT kind, count(*) AS samples, sum(count(*)) OVER () AS total FROM told GROUP BY ALL
    ), usual AS (
        SELECT kind, samples FROM counted WHERE samples >= 0.99 * total AND samples < total
    ), spelled AS (
        SELECT text, count(*) AS samples FROM told WHERE text IS NOT NULL GROUP BY ALL
    )
    SELECT told.number AS number, told.kind AS kind, told.text AS text, usual.kind AS expected, usual.samples AS samples,
        CASE WHEN told.text IS NULL THEN 'error' ELSE 'warning' END AS severity
    FROM told JOIN usual ON told.kind <> usual.kind LEFT JOIN spelled USING (text)
    WHERE told.text IS NULL OR spelled.samples <= 2 ORDER BY number"""

_ORDER = """
    WITH named AS (SELECT DISTINCT {field}.text AS text FROM facts WHERE {field}.text IS NOT NULL),
    shape AS (SELECT count(*) AS classes, bool_and(regexp_full_match(text, '[0-9]{1,9}')) AS is_numbers FROM named),
    ordered AS (
        SELECT list(text ORDER BY text) AS by_text, list(text ORDER BY TRY_CAST(text AS BIGINT), text) AS by_number FROM named
    )
    SELECT classes, array_to_string(by_text[1:4], ', ') AS by_text, array_to_string(by_number[1:4], ', ') AS by_number
    FROM ordered, shape WHERE is_numbers AND classes >= 2 AND by_text <> by_number"""


@dataclass(frozen=True)
class LabelKind(Validator):
    """A label of another type than those of the set, or numbers for names.

    What it finds
        label-kind-odd: 99 of 100 labels are of one type, this one is of another: a vector or a text among integers (error), a word among numbers that
        stand as text, or a number among words, whose class has no more than two samples (warning). label-order-ambiguous (info, once): class names
        that are numbers of differing length, whose order as text (0, 1, 10, 2) is not their order as numbers.

    Why it breaks training
        A batch of labels is one block: the odd one ends the epoch, or turns its type. Loaders number class folders in the order of their names:
        class 10 becomes output 2, which nobody notices until the outputs are read by their number.

    Example
        the set  label-order-ambiguous  12 class names are numbers: as text 0, 1, 10, 11, as numbers 0, 1, 2, 3

    What to do
        Write the label in the type of the others. Give class names of one length (00, 01, … 11), or map names to outputs explicitly.

    Parameters and facts
        No parameters, no facts of its own: kind and text are those of label-range.
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.LABEL})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY, Kind.TEXT})
    measures: ClassVar[Mapping[str, Measurement]] = {}

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        return {}

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "label-kind-odd",
                Severity.ERROR,
                "the label is of another type: {kind}, where {samples:,} samples have {expected}",
                fix="write the label in the type of the others",
                sql=_ODD,
                scope="sample",
                needs=("kind", "text"),
                minimum=50,
            ),
            SetRule(
                "label-order-ambiguous",
                Severity.INFO,
                "{classes:,} class names are numbers: as text {by_text}, as numbers {by_number}",
                fix="give class names of one length, or map names to outputs explicitly",
                sql=_ORDER,
                needs=("text",),
                minimum=2,
            ),
        )
