"""Classes of the objects in a picture that no class can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import OBJECTS, Column, Field, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator

MOST_LABELS = 256
"""different classes of one sample that are kept"""

_OBJECTS = """
    WITH object AS (
        SELECT number, unnest({field}.object_labels) AS label FROM facts WHERE {field}.object_labels IS NOT NULL
    ), counted AS (
        SELECT label, count(DISTINCT number) AS samples FROM object WHERE NOT list_contains(CAST($ignore_labels AS BIGINT[]), label) GROUP BY label
    ), told AS (
        SELECT min(label) FILTER (label >= 0) AS lowest, sum(samples)::BIGINT AS total FROM counted
    )"""
# Classes of objects are counted from 1 in most detection sets, 0 being the background: the number of classes is one of them where no object has 0.
_OUT_OF_RANGE = f"""{_OBJECTS}
    SELECT number, min(label) AS label, count(*) AS objects FROM object, told
    WHERE $classes IS NOT NULL AND NOT list_contains(CAST($ignore_labels AS BIGINT[]), label)
        AND (label < 0 OR label > $classes OR (label = $classes AND lowest = 0))
    GROUP BY number ORDER BY number"""
_OUTSIDE = f"""{_OBJECTS}, ordered AS (
        SELECT label, samples, lag(label) OVER (ORDER BY label) AS before, lowest, total,
            total - sum(samples) OVER (ORDER BY label) + samples AS from_here, sum(samples) OVER (ORDER BY label) AS to_here
        FROM counted, told WHERE $classes IS NULL
    ), cut AS (
        SELECT min(label) FILTER (label >= 0 AND before >= 0 AND label - before > greatest(10, before - lowest + 1)
                AND from_here <= greatest(1, total // 1000)) AS beyond,
            max(label) FILTER (label < 0 AND to_here <= greatest(1, total // 100)) AS below,
            max(lowest) AS lowest
        FROM ordered WHERE total >= 20
    ), highest AS (
        SELECT max(label) AS highest FROM counted, cut WHERE beyond IS NULL OR label < beyond
    )
    SELECT number, min(label) AS label, lowest, highest FROM object, cut, highest
    WHERE (label >= beyond OR label <= below) AND NOT list_contains(CAST($ignore_labels AS BIGINT[]), label) GROUP BY ALL ORDER BY number"""
# Farther from the others than these from each other in one sample or a thousandth of all, or negative in one sample or a hundredth.


@dataclass(frozen=True)
class ObjectLabels(Validator):
    """The class of an object that no class can be.

    What it finds
        object-label-out-of-range (error): below 0, or beyond the declared number of classes; the number itself is a class where no object has 0, for
        detection sets count from 1. Where no classes are declared, object-label-outside-evident-range (warning): a few that lie far from all others,
        or below 0. Labels in ignore_labels are healthy. Looked at are image/object/class/label of TensorFlow's detection sets, and the groups of
        SSD's AnnotatedDatum. As many classes as boxes are asked for by record-integrity.

    Why it breaks training
        The class is a place in the scores of each box: beyond them is a device assert, or foreign memory; a negative one is skipped by some losses
        and read from the end by others.

    Example
        train.tfrecord#13  object-label-out-of-range  an object of class 91, with 90 classes

    What to do
        Correct the label, or the declared classes; declare what marks a region to skip: ignore_labels = [-1].

    Parameters and facts
        classes, ignore_labels: as in [data]. Facts: object_labels (the different classes of a sample's objects, sorted; NULL where there are more
        than 256).
    """

    sees_objects: ClassVar[bool] = True
    roles: ClassVar[frozenset[Role]] = frozenset({Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "object_labels": Measurement("BIGINT[]", "the different classes of the sample's objects, sorted; NULL where there are more than 256"),
    }

    def applies(self, field: Field) -> bool:
        return super().applies(field) and OBJECTS in field.declared

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        for rows, block in column.blocks():
            if block.dtype.kind not in "iu":
                continue
            for row, labels in zip(rows.tolist(), block.reshape(len(block), -1), strict=True):
                found = np.unique(labels)
                if len(found) <= MOST_LABELS:
                    made["object_labels"][row] = found.tolist()
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "object-label-out-of-range",
                Severity.ERROR,
                "an object of class {label}, with {classes} classes",
                fix="correct the label or the declared classes, or declare it in ignore_labels",
                sql=_OUT_OF_RANGE,
                scope="sample",
                needs=("object_labels",),
            ),
            SetRule(
                "object-label-outside-evident-range",
                Severity.WARNING,
                "an object of class {label}, far from all others ({lowest} to {highest})",
                fix="correct the label, or declare classes or ignore_labels",
                sql=_OUTSIDE,
                scope="sample",
                needs=("object_labels",),
                minimum=20,
            ),
        )
