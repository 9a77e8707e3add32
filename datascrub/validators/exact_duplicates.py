"""The same bytes more than once, and the same bytes under different labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import xxhash

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator
from datascrub.validators.constant import is_constant

_LEAST_BYTES = 16
"""arrays below it are numbers that repeat by chance"""

_SHARE = """, share AS (
        SELECT coalesce(sum(copies), 0) > greatest(2, 0.5 * (SELECT count(*) FROM facts)) AS is_most, sum(copies)::BIGINT AS samples,
            count(*) AS groups
        FROM {groups}
    )"""

_GROUPS = f"""
    WITH grouped AS (
        SELECT hash, count(*) AS copies, min(number) AS first FROM {{repeats}} GROUP BY hash HAVING count(*) > 1
    ){_SHARE.replace("{groups}", "grouped")}"""

_DUPLICATES = f"""{_GROUPS}
    SELECT repeated.number AS number, facts.key AS first_key, copies
    FROM {{repeats}} AS repeated JOIN grouped USING (hash) JOIN facts ON facts.number = first, share
    WHERE repeated.number > first AND NOT is_most ORDER BY repeated.number"""

_MOSTLY_DUPLICATES = f"""{_GROUPS}
    SELECT samples, groups, (SELECT count(*) FROM facts) AS of FROM share WHERE is_most"""

_CONFLICTS = f"""
    WITH labelled AS (
        SELECT number, key, hash, coalesce({{label}}.text, {{label}}.value::VARCHAR, {{label}}.number::VARCHAR) AS label
        FROM facts JOIN {{repeats}} AS repeated USING (number)
        WHERE $task <> 'multilabel' AND ({{label}}.value IS NULL OR NOT list_contains(CAST($ignore_labels AS BIGINT[]), {{label}}.value))
    ), conflicts AS (
        SELECT hash, count(*) AS copies, arg_min(key, number) AS first_key FROM labelled
        WHERE label IS NOT NULL GROUP BY hash HAVING min(label) <> max(label)
    ){_SHARE.replace("{groups}", "conflicts")}"""

_CONFLICTING = f"""{_CONFLICTS}, told AS (
        SELECT hash, list(DISTINCT label ORDER BY label) AS every FROM labelled JOIN conflicts USING (hash) WHERE label IS NOT NULL GROUP BY hash
    )
    SELECT number, label, array_to_string(list_filter(every, lambda each: each <> label)[1:10], ', ') AS labels, copies, first_key,
        CASE WHEN $task = 'classification' THEN 'error' ELSE 'warning' END AS severity
    FROM labelled JOIN conflicts USING (hash) JOIN told USING (hash), share WHERE label IS NOT NULL AND NOT is_most ORDER BY number"""

_MOSTLY_CONFLICTING = f"""{_CONFLICTS}
    SELECT samples, groups, (SELECT count(*) FROM facts) AS of FROM share WHERE is_most"""


@dataclass(frozen=True)
class ExactDuplicates(Validator):
    """The same sample under more than one key.

    What it finds
        exact-duplicate (warning): every copy but the first, by the bytes of an encoded image, the numbers, shape and type of an array, the letters of
        a text. A sample of several such fields is a copy where all of them are equal: one picture under two questions is none.
        duplicate-label-conflict (error in a classification, else a warning): the same bytes under different labels; all of them are named, for nobody
        can tell which one is right. Where most of the set is so, it is said once (duplicates-in-most-samples, conflicts-in-most-samples).
        Arrays below 16 bytes and arrays of one single value (array-constant names them) are not compared. Labels are those of the set's one label
        field; single numbers and texts.

    Why it breaks training
        A copy weighs double, and one in the test split makes the score a lie. Copies with different labels can't be learnt: the loss has a floor.
        Many equal files under many keys are what a dead host leaves: its "not found" picture.

    Example
        cat/17.jpg  duplicate-label-conflict  labelled cat; the same bytes also stand under dog (2 samples, first cat/17.jpg)

    What to do
        Keep one copy of each. Where labels conflict, look at the sample, and keep the copy whose label is right.

    Parameters and facts
        No parameters. Facts: hash (xxh3-128; NULL where not compared).
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.ARRAY, Role.TEXT})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY, Kind.ENCODED, Kind.TEXT})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "hash": Measurement("VARCHAR", "xxh3-128 of the encoded bytes, of a text, or of an array's numbers, seeded with shape and type"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        if column.field.kind is Kind.ENCODED:
            for row, value in enumerate(column.values):
                if value:
                    made["hash"][row] = xxhash.xxh3_128_hexdigest(value)
            return made
        if column.field.kind is Kind.TEXT:
            for row, value in enumerate(column.values):
                if value:
                    raw = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)
                    made["hash"][row] = xxhash.xxh3_128_hexdigest(raw)
            return made
        is_compared = ~is_constant(column)
        for rows, block in column.blocks():
            if block.dtype.hasobject or block[0].nbytes < _LEAST_BYTES:
                continue
            seed = xxhash.xxh3_64_intdigest(f"{block.dtype.str}{block.shape[1:]}".encode())
            flat = np.ascontiguousarray(block).reshape(len(block), -1).view(np.uint8)
            for row, values in zip(rows.tolist(), flat, strict=True):
                if is_compared[row]:
                    made["hash"][row] = xxhash.xxh3_128_hexdigest(values.data, seed)
        return made

    def rules(self) -> Sequence[Rule]:
        keep_one = "keep one copy"
        decide = "look at the sample, and keep the copy whose label is right"
        return (
            SetRule(
                "exact-duplicate",
                Severity.WARNING,
                "the same bytes as {first_key}; {copies:,} samples hold them",
                fix=keep_one,
                sql=_DUPLICATES,
                scope="sample",
                needs=("hash",),
                minimum=2,
            ),
            SetRule(
                "duplicates-in-most-samples",
                Severity.WARNING,
                "{samples:,} of {of:,} samples hold the same bytes as another one ({groups:,} different ones)",
                fix=keep_one,
                sql=_MOSTLY_DUPLICATES,
                needs=("hash",),
                minimum=2,
            ),
            SetRule(
                "duplicate-label-conflict",
                Severity.ERROR,
                "labelled {label}; the same bytes also stand under {labels} ({copies:,} samples, first {first_key})",
                fix=decide,
                sql=_CONFLICTING,
                scope="sample",
                needs=("hash",),
                minimum=2,
            ),
            SetRule(
                "conflicts-in-most-samples",
                Severity.WARNING,
                "{samples:,} of {of:,} samples share their bytes with one of another label ({groups:,} different ones)",
                fix=decide,
                sql=_MOSTLY_CONFLICTING,
                needs=("hash",),
                minimum=2,
            ),
        )
