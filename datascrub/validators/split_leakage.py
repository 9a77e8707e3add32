"""The same picture on both sides of a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import AcrossRule, Measurement, Rule, SetRule
from datascrub.validators.base import Validator
from datascrub.validators.near_pairs import ALIKE

_NAMES = "train|training|val|valid|validation|dev|test|testing"
_WORD = f"regexp_extract(lower(key), '(^|/)({_NAMES})(/|[-_.0-9][^/]*#)', 2)"
SPLIT = f"""CASE WHEN {_WORD} IN ('train', 'training') THEN 'train' WHEN {_WORD} IN ('test', 'testing') THEN 'test'
            WHEN {_WORD} IN ('val', 'valid', 'validation', 'dev') THEN 'val' END"""
"""SQL for the split that a key names: a folder of its path, or the beginning of its file where the key is a record of a file"""

_COPIES = """
    WITH first AS (
        SELECT coalesce({field}.pixel_hash, {field}.hash) AS same, SPLIT AS split, min(number) AS number, arg_min(key, number) AS key
        FROM facts WHERE {field}.hash IS NOT NULL AND SPLIT IS NOT NULL GROUP BY ALL
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
_NEAR = f"""{ALIKE.replace(_PICTURES, f"{_PICTURES} AND (SELECT count(DISTINCT SPLIT) > 1 FROM facts)")}, placed AS (
        SELECT number, key, SPLIT AS split FROM facts
    ), shared AS (
        SELECT a.split AS split, b.split AS other_split, a.number AS number, a.key AS key, b.number AS other_number, b.key AS other
        FROM alike JOIN placed AS a ON a.number = alike.number JOIN placed AS b ON b.number = alike.other WHERE a.split <> b.split
    )"""

# A text and a number are no labels of one kind: nothing is said of them.
_LABELLED = """labelled AS (
        SELECT number, key, split, coalesce({field}.pixel_hash, {field}.hash) AS same, {label}.text IS NOT NULL AS is_text,
            coalesce({label}.text, {label}.value::VARCHAR, {label}.number::VARCHAR) AS label
        FROM facts WHERE $task <> 'multilabel' AND ({label}.text IS NOT NULL OR {label}.number IS NOT NULL)
        AND ({label}.value IS NULL OR NOT list_contains(CAST($ignore_labels AS BIGINT[]), {label}.value))
    )"""
_CONFLICT = f"""
    WITH {_LABELLED}, distinct_ones AS (
        SELECT same, split, label, is_text, min(number) AS number, arg_min(key, number) AS key FROM labelled WHERE same IS NOT NULL GROUP BY ALL
    )
    SELECT a.number AS number, a.label AS label, arg_min(b.label, b.number) AS other_label, arg_min(b.key, b.number) AS other_key,
        CASE WHEN $task = 'classification' THEN 'error' ELSE 'warning' END AS severity
    FROM labelled AS a JOIN distinct_ones AS b ON a.same = b.same AND a.split <> b.split AND a.label <> b.label AND a.is_text = b.is_text
    GROUP BY ALL ORDER BY ALL"""
_NEAR_CONFLICT = f"""{_NEAR.replace("SPLIT", "split")}, {_LABELLED}
    SELECT b.number AS number, b.label AS label, arg_min(a.label, a.number) AS other_label, arg_min(a.key, a.number) AS other_key
    FROM shared JOIN labelled AS a ON a.number = shared.number JOIN labelled AS b ON b.number = shared.other_number
    WHERE a.label <> b.label AND a.is_text = b.is_text GROUP BY ALL ORDER BY ALL"""

# Of each two splits the one with more samples is held to be the one that is trained on. A label that is an id, nearly each of them another, is none.
_LABELS = f"""
    WITH {_LABELLED}, counted AS (
        SELECT split, is_text, label, count(*) AS samples FROM labelled WHERE $task = 'classification' GROUP BY ALL
    ), sizes AS (
        SELECT split, sum(samples)::BIGINT AS samples, count(*) AS labels, bool_and(is_text) AS is_text FROM counted GROUP BY split
        HAVING bool_and(is_text) = bool_or(is_text)
    ), pairs AS (
        SELECT a.split AS large, b.split AS small, a.labels AS large_labels, b.labels AS small_labels FROM sizes AS a JOIN sizes AS b
        ON a.split <> b.split AND a.is_text = b.is_text AND a.samples >= 2 * a.labels
        AND (a.samples > b.samples OR (a.samples = b.samples AND a.split < b.split))
    )"""
_UNSEEN = f"""{_LABELS}
    SELECT small AS split, large AS other_split, count(*) AS labels, any_value(small_labels) AS of, sum(counted.samples)::BIGINT AS samples,
        array_to_string(list(label ORDER BY label)[1:20], ', ') AS first
    FROM pairs JOIN counted ON counted.split = small
    WHERE NOT EXISTS (FROM counted AS other WHERE other.split = large AND other.label = counted.label) GROUP BY ALL ORDER BY ALL"""
_LACKING = f"""{_LABELS}
    SELECT small AS split, large AS other_split, count(*) AS labels, any_value(large_labels) AS of,
        array_to_string(list(label ORDER BY label)[1:20], ', ') AS first
    FROM pairs JOIN counted ON counted.split = large
    WHERE NOT EXISTS (FROM counted AS other WHERE other.split = small AND other.label = counted.label) GROUP BY ALL ORDER BY ALL"""

# Names of files alone: what ends in a suffix, and is no counter, which each split begins anew. Caffe's tool puts a counter before the name.
_NAMES_IN_BOTH = """
    WITH named AS (
        SELECT split, key, number, regexp_replace(regexp_extract(plain, '[^/]+$'), '^[0-9]{8,}_', '') AS name FROM facts
    ), first AS (
        SELECT split, name, min(number) AS number, arg_min(key, number) AS key FROM named
        WHERE regexp_matches(name, '^[^#]*[^#0-9.][^#]*[.][A-Za-z0-9]{1,5}$') GROUP BY ALL
    )
    SELECT a.split AS split, b.split AS other_split, count(*) AS names, arg_min(a.key, a.number) AS first_key, arg_min(b.key, a.number) AS other_key
    FROM first AS a JOIN first AS b ON a.name = b.name AND a.number < b.number AND a.split <> b.split GROUP BY ALL ORDER BY ALL"""


@dataclass(frozen=True)
class SplitLeakage(Validator):
    """Does a picture of one split stand in another, too?

    What it finds
        split-leak (warning): the same picture, by its bytes or its pixels, in two splits; split-near-leak (warning): pictures that look alike in two.
        One finding for each two splits, with the number of pictures and the first fifty. The split of a sample is the folder of that name in its key
        (train, training; val, valid, validation, dev; test, testing), or the beginning of its file's name (train-00000-of-00010.tfrecord#12). The
        copies themselves are named by exact-duplicate, pixel-duplicate and near-duplicate.
        Where splits are sources of their own (scan --split train=a.lmdb --split val=b.lmdb), both are asked across them, arrays too, and beside
        them: split-leak-label-conflict (error in a classification: the same bytes or pixels in two splits under different labels, each sample
        named), split-near-leak-label-conflict (warning: pictures that look alike, labelled differently), split-label-unseen (warning: a label of a
        smaller split that the larger one lacks), split-label-lacking (info: the other way round), split-name-repeated (info: one file name in two).

    Why it breaks training
        The network has seen the answer: the score on the other split is a lie, and the model that is chosen by it is the one that remembers best.
        A label that training never showed can't be answered, and one beyond the last output is memory that is no score.

    Example
        the set  split-leak  leak: train and val share 12 pictures; the first: train/a3.jpg is val/x1.jpg

    What to do
        Keep each picture, and all that look like it, in one split; take them out of the training split rather than out of a published test split.

    Parameters and facts
        near_bits and near_similarity as of near-duplicate. In a set without such names nothing is asked. It fires on no healthy set that was tried.
        No facts of its own. Labels of two splits are compared where each has one label field, of one kind, each of which
        stands twice on average in the larger split.
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
                sql=(_COPIES + _TOLD).replace("SPLIT", SPLIT),
                needs=("hash", "pixel_hash"),
                minimum=2,
            ),
            SetRule(
                "split-near-leak",
                Severity.WARNING,
                "leak: {pictures:,} pairs of pictures in {split} and {other_split} look alike; the first: {first_key} and {other_key}",
                fix=fix,
                sql=(_NEAR + _TOLD).replace("SPLIT", SPLIT),
                needs=("perceptual_hash", "thumbnail", "pixel_hash"),
                minimum=2,
            ),
            AcrossRule(
                "split-leak-label-conflict",
                Severity.ERROR,
                "labelled {label}; the same sample is {other_key} in another split, labelled {other_label}",
                fix="look at the sample: keep it in one split, under the label that is right",
                sql=_CONFLICT,
            ),
            AcrossRule(
                "split-near-leak-label-conflict",
                Severity.WARNING,
                "labelled {label}; it looks like {other_key} in another split, labelled {other_label}",
                fix="look at both: keep them in one split, under the label that is right",
                sql=_NEAR_CONFLICT,
            ),
            AcrossRule(
                "split-label-unseen",
                Severity.WARNING,
                "{labels:,} of {of:,} labels of {split} stand nowhere in {other_split}: {first} ({samples:,} samples)",
                fix="train on these classes too, or leave them out of the other split",
                sql=_UNSEEN,
                scope="set",
            ),
            AcrossRule(
                "split-label-lacking",
                Severity.INFO,
                "{split} lacks {labels:,} of {of:,} labels of {other_split}: {first}",
                fix="nothing, if the classes are rare; else draw the split anew, class by class",
                sql=_LACKING,
                scope="set",
            ),
            AcrossRule(
                "split-name-repeated",
                Severity.INFO,
                "{names:,} file names stand in {split} and in {other_split}; the first: {first_key} and {other_key}",
                fix="nothing, if names are given anew in each split; else look whether the pictures are one",
                sql=_NAMES_IN_BOTH,
                scope="set",
            ),
        )


def across_questions(rules: Sequence[Rule]) -> tuple[AcrossRule, ...]:
    """The questions that splits in sources of their own are asked: those to one set, its splits told by a column, then those to several alone."""
    asked = [rule for rule in rules if isinstance(rule, SetRule)]
    told = [AcrossRule(r.code, r.severity, r.says, r.evidence, r.fix, r.sql.replace(SPLIT, "split"), r.scope) for r in asked]
    return (*told, *(rule for rule in rules if isinstance(rule, AcrossRule)))
