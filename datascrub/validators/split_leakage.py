"""The same picture on both sides of a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator
from datascrub.validators.near_pairs import ALIKE

_NAMES = "train|training|val|valid|validation|dev|test|testing"
_WORD = f"regexp_extract(lower(key), '(^|/)({_NAMES})(/|[-_.0-9][^/]*#)', 2)"
SPLIT = f"""CASE WHEN {_WORD} IN ('train', 'training') THEN 'train' WHEN {_WORD} IN ('test', 'testing') THEN 'test'
            WHEN {_WORD} IN ('val', 'valid', 'validation', 'dev') THEN 'val' END"""
"""SQL for the split that a key names: a folder of its path, or the beginning of its file where the key is a record of a file"""

_COPIES = f"""
    WITH first AS (
        SELECT coalesce({{field}}.pixel_hash, {{field}}.hash) AS same, {SPLIT} AS split, min(number) AS number, arg_min(key, number) AS key
        FROM facts WHERE {{field}}.hash IS NOT NULL AND split IS NOT NULL GROUP BY ALL
    ), shared AS (
        SELECT a.split AS split, b.split AS other_split, a.number AS number, a.key AS key, b.key AS other
        FROM first AS a JOIN first AS b ON a.same = b.same AND a.number < b.number AND a.split <> b.split
    )"""

_TOLD = """
    SELECT least(split, other_split) AS split, greatest(split, other_split) AS other_split, count(*) AS pictures,
        arg_min(key, number) AS first_key, arg_min(other, number) AS other_key, list(key || ' and ' || other ORDER BY number, other)[1:50] AS pairs
    FROM shared GROUP BY ALL ORDER BY ALL"""

# In a set without splits the pictures to compare are none, so that nothing is joined.
_PICTURES = "WHERE {field}.perceptual_hash IS NOT NULL"
_NEAR = f"""{ALIKE.replace(_PICTURES, f"{_PICTURES} AND (SELECT count(DISTINCT {SPLIT}) > 1 FROM facts)")}, placed AS (
        SELECT number, key, {SPLIT} AS split FROM facts
    ), shared AS (
        SELECT a.split AS split, b.split AS other_split, a.number AS number, a.key AS key, b.key AS other
        FROM alike JOIN placed AS a ON a.number = alike.number JOIN placed AS b ON b.number = alike.other WHERE a.split <> b.split
    )"""


@dataclass(frozen=True)
class SplitLeakage(Validator):
    """Does a picture of one split stand in another, too?

    What it finds
        split-leak (warning): the same picture, by its bytes or its pixels, in two splits; split-near-leak (warning): pictures that look alike in two.
        One finding for each two splits, with the number of pictures and the first fifty. The split of a sample is the folder of that name in its key
        (train, training; val, valid, validation, dev; test, testing), or the beginning of its file's name (train-00000-of-00010.tfrecord#12). The
        copies themselves are named by exact-duplicate, pixel-duplicate and near-duplicate.

    Why it breaks training
        The network has seen the answer: the score on the other split is a lie, and the model that is chosen by it is the one that remembers best.

    Example
        the set  split-leak  leak: train and val share 12 pictures; the first: train/a3.jpg is val/x1.jpg

    What to do
        Keep each picture, and all that look like it, in one split; take them out of the training split rather than out of a published test split.

    Parameters and facts
        near_bits and near_similarity as of near-duplicate. In a set without such names nothing is asked. It fires on no healthy set that was tried.
        No facts of its own.
    """

    near_bits: int = 8
    near_similarity: float = 0.997

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ENCODED})
    measures: ClassVar[Mapping[str, Measurement]] = {}

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        return {}

    def rules(self) -> Sequence[Rule]:
        fix = "keep each picture, and all that look like it, in one split"
        return (
            SetRule(
                "split-leak",
                Severity.WARNING,
                "leak: {split} and {other_split} share {pictures:,} pictures; the first: {first_key} is {other_key}",
                fix=fix,
                sql=_COPIES + _TOLD,
                needs=("hash", "pixel_hash"),
                minimum=2,
            ),
            SetRule(
                "split-near-leak",
                Severity.WARNING,
                "leak: {pictures:,} pairs of pictures in {split} and {other_split} look alike; the first: {first_key} and {other_key}",
                fix=fix,
                sql=_NEAR + _TOLD,
                needs=("perceptual_hash", "thumbnail", "pixel_hash"),
                minimum=2,
            ),
        )
