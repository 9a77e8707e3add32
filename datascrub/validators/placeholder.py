"""One picture under many keys: what a dead host, a hijacked name or a shop without stock sends for everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule, SetRule
from datascrub.validators.base import Validator

_MOST_LISTED = 50

# Few pictures stand often: these are found by a number of each hash, which takes a third of its memory, and only they are looked at.
_PLACEHOLDERS = f"""
    WITH often AS (
        SELECT hash(coalesce({{field}}.pixel_hash, {{field}}.hash)) AS id FROM facts WHERE {{field}}.hash IS NOT NULL AND $task = 'classification'
        GROUP BY ALL HAVING count(*) >= $least_copies
    ), labelled AS (
        SELECT number, key, coalesce({{field}}.pixel_hash, {{field}}.hash) AS picture,
            coalesce({{label}}.text, {{label}}.value::VARCHAR, {{label}}.number::VARCHAR) AS label
        FROM facts WHERE hash(coalesce({{field}}.pixel_hash, {{field}}.hash)) IN (SELECT id FROM often) AND {{field}}.hash IS NOT NULL
        AND {{is_alone}} AND {{field}}.status = 'ok' AND $task = 'classification'
        AND ({{label}}.value IS NULL OR NOT list_contains(CAST($ignore_labels AS BIGINT[]), {{label}}.value))
    ), counted AS (
        SELECT picture, label, count(*) AS copies FROM labelled WHERE label IS NOT NULL GROUP BY ALL
    ), told AS (
        SELECT picture, sum(copies)::BIGINT AS copies, count(*) AS classes,
            array_to_string(list(label || ': ' || copies ORDER BY copies DESC, label)[1:10], ', ') AS per_class
        FROM counted GROUP BY picture HAVING sum(copies) >= $least_copies AND count(*) > 1
    )
    SELECT copies, classes, per_class, list(key ORDER BY number)[1:{_MOST_LISTED}] AS keys, arg_min(key, number) AS first_key
    FROM told JOIN labelled USING (picture) WHERE copies <= 0.5 * (SELECT count(*) FROM facts)
    GROUP BY picture, copies, classes, per_class ORDER BY copies DESC, min(number) LIMIT {_MOST_LISTED}"""

_BURSTS = """
    WITH told AS (
        SELECT number, key, CASE WHEN {field}.status <> 'ok' THEN {field}.status || coalesce(': ' || {field}.detail, '')
            ELSE 'the same picture' END AS what, CASE WHEN {field}.status <> 'ok' THEN what ELSE {field}.hash END AS same
        FROM facts
    ), often AS (
        SELECT hash(same) AS id FROM told WHERE same IS NOT NULL GROUP BY ALL HAVING count(*) >= $least_burst
    ), stepped AS (
        SELECT *, number - row_number() OVER (PARTITION BY same ORDER BY number) AS run FROM told
        WHERE same IS NOT NULL AND hash(same) IN (SELECT id FROM often)
    )
    SELECT count(*) AS samples, any_value(what) AS what, arg_min(key, number) AS first_key, arg_max(key, number) AS last_key
    FROM stepped GROUP BY same, run HAVING count(*) >= $least_burst AND count(*) < (SELECT count(*) FROM facts) ORDER BY min(number)"""


@dataclass(frozen=True)
class Placeholder(Validator):
    """The picture that stands for pictures that could not be had.

    What it finds
        placeholder-picture (error): one picture, by its pixels, under three and more keys of different classes: one finding for each such picture,
        the most frequent first, with its classes and keys. Its samples are named by duplicate-label-conflict or pixel-duplicate-label-conflict, and
        all of them leave the cleaned copy. known-placeholder (error): a picture whose hash is on a list of yours. failures-in-a-row (warning):
        equal failures, or one picture, for many samples in the order of the records: the range in which a host was dead or a name hijacked.

    Why it breaks training
        The network learns that "image not available" is a cat, and a dog, and a bird; and the rate of each class changes by what was not to be had.

    Example
        the set  placeholder-picture  one picture under 6 keys of 3 classes (bird: 2, cat: 2, dog: 2), first cat/0003.jpg

    What to do
        Leave all of them out, fetch the pictures again, and put the hash (the fact of that name) on the list, so that the next one is known at once:
        [rules.known-placeholder] placeholders = ["0123…"].

    Parameters and facts
        least_copies, keys of one picture; least_burst, samples in a row; placeholders, hashes (32 hexadecimal digits) that are known, none built in.
        A picture that more than half of the set holds is none. On healthy sets none fires: MNIST, drawings, synthetic photos. No facts of its own.
    """

    least_copies: int = 3
    least_burst: int = 10
    placeholders: Sequence[str] = ("",)

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ENCODED})
    measures: ClassVar[Mapping[str, Measurement]] = {}

    def __post_init__(self) -> None:
        object.__setattr__(self, "placeholders", tuple(self.placeholders))  # a list, where it comes from a configuration

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        return {}

    def rules(self) -> Sequence[Rule]:
        fetch = "leave all of them out, and fetch the pictures again"
        return (
            SetRule(
                "placeholder-picture",
                Severity.ERROR,
                "a placeholder? one picture stands under {copies:,} keys of {classes} classes ({per_class}), first {first_key}",
                fix=fetch,
                sql=_PLACEHOLDERS,
                needs=("hash", "pixel_hash", "status"),
                minimum=3,
            ),
            RowRule(
                "known-placeholder",
                Severity.ERROR,
                "a picture from the list of known placeholders ({hash})",
                ("hash",),
                fetch,
                where="hash in placeholders or pixel_hash in placeholders",
            ),
            SetRule(
                "failures-in-a-row",
                Severity.WARNING,
                "{samples:,} samples in a row, {first_key} to {last_key}: {what}",
                fix="look at what delivered them: a dead host, a hijacked name, a full disk",
                sql=_BURSTS,
                needs=("hash", "status", "detail"),
                minimum=20,
            ),
        )
