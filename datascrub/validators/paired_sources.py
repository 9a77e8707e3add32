"""Sources that are read side by side: pictures in one, their labels or label maps in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import AcrossRule, Measurement, Rule
from datascrub.validators.base import Validator

_COUNTS = """
    SELECT count(*) FILTER (split = $first) AS samples, count(*) FILTER (split = $other) AS others, $first AS first, $other AS other
    FROM facts HAVING count(*) FILTER (split = $first) <> count(*) FILTER (split = $other)"""

_MISSING = """
    SELECT number, CASE split WHEN $first THEN $other ELSE $first END AS lacking FROM facts
    WHERE $by = 'key' AND split IN ($first, $other)
    AND NOT EXISTS (FROM facts AS their WHERE their.split = CASE facts.split WHEN $first THEN $other ELSE $first END AND their.pair = facts.pair)
    ORDER BY number"""

_ORDER = """
    WITH both_sides AS (
        SELECT a.key AS key, b.key AS other_key, row_number() OVER (ORDER BY a.number) AS place, row_number() OVER (ORDER BY b.number) AS other_place
        FROM facts AS a JOIN facts AS b ON a.pair = b.pair AND a.split = $first AND b.split = $other WHERE $by = 'key'
    )
    SELECT count(*) AS samples, arg_min(key, place) AS first_key, arg_min(other_key, place) AS other_key, min(place) - 1 AS place
    FROM both_sides WHERE place <> other_place HAVING count(*) > 0"""

# What never fits was never meant to: a label map of an eighth of the size, a matrix that is no map.
_SHAPES = """
    WITH sized AS (
        SELECT b.number AS number, a.key AS other_key, a.width AS picture_width, a.height AS picture_height, b.width AS width, b.height AS height,
            a.width = b.width AND a.height = b.height AS is_fit
        FROM facts AS a JOIN facts AS b ON a.pair = b.pair AND a.split = $first AND b.split = $other WHERE a.width IS NOT NULL AND b.width IS NOT NULL
    ), share AS (SELECT avg(is_fit::INTEGER) AS fits FROM sized)
    SELECT number, width, height, other_key, picture_width, picture_height FROM sized, share WHERE NOT is_fit AND fits >= 0.5 ORDER BY number"""


@dataclass(frozen=True)
class PairedSources(Validator):
    """Two sources that are read side by side and do not fit together.

    What it finds
        Asked by scan images.lmdb --paired labels.lmdb alone. Samples belong together by key, where half of the keys stand in both (endings of names
        aside), else by position, as Caffe reads them. pair-count-mismatch (error): more samples in one. pair-missing (error): a key that the other
        source lacks. pair-order-differs (warning): the same keys in another order. pair-shape-mismatch (error): a label map of another width or
        height than its picture, where most of them fit.

    Why it breaks training
        A loader with two cursors does not look at keys. One record too few, and from there on every picture is trained on its neighbour's labels:
        nothing fails, nothing is learnt. A map of another size ends the training where the loss is computed, or is cropped without a word.

    Example
        labels:00000417  pair-shape-mismatch  32 x 24 pixels; its picture images:00000417 has 48 x 32

    What to do
        Write both sources anew from one list. With --clean, what is left out of one is left out of all of them.

    Parameters and facts
        No parameters, no facts of its own: width and height are those of image-shape, mask and array-shape.
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.MASK, Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ENCODED, Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {}

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        return {}

    def rules(self) -> Sequence[Rule]:
        anew = "write both sources anew from one list"
        return (
            AcrossRule(
                "pair-count-mismatch",
                Severity.ERROR,
                "{first} has {samples:,} samples, {other} has {others:,}: what is read side by side does not belong together",
                fix=anew,
                sql=_COUNTS,
                scope="set",
            ),
            AcrossRule("pair-missing", Severity.ERROR, "{lacking} has no sample of this key", fix="write it, or leave this one out", sql=_MISSING),
            AcrossRule(
                "pair-order-differs",
                Severity.WARNING,
                "{samples:,} samples stand at other places than their partners, from place {place:,} on: {first_key} beside {other_key}",
                fix="read them by key, or " + anew,
                sql=_ORDER,
                scope="set",
            ),
            AcrossRule(
                "pair-shape-mismatch",
                Severity.ERROR,
                "{width} x {height} pixels; its picture {other_key} has {picture_width} x {picture_height}",
                fix="find the right one, or resize the map with nearest neighbour; or leave both out",
                sql=_SHAPES,
            ),
        )
