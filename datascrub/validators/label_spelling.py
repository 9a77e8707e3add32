"""One class under several spellings."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator

_VARIANTS = """
    WITH spelt AS (
        SELECT {field}.spelling AS spelling, {field}.text AS text, count(*) AS samples FROM facts
        WHERE {field}.spelling IS NOT NULL AND $task IN ('classification', 'unlabelled') GROUP BY ALL
    ), grouped AS (
        SELECT spelling, string_agg('''' || text || ''' (' || samples || ')', ', ' ORDER BY samples DESC, text) AS variants, count(*) AS spellings,
            sum(samples)::BIGINT AS samples
        FROM spelt WHERE (SELECT count(*) FROM spelt) <= $most_classes GROUP BY spelling
    )
    SELECT variants, spellings, samples FROM grouped WHERE spellings > 1 ORDER BY samples DESC, spelling LIMIT 50"""


@dataclass(frozen=True)
class LabelSpelling(Validator):
    """Class names that differ only in case, spaces or Unicode form.

    What it finds
        label-spelling-varies (warning): "Cat" and "cat", "dog" and "dog " (a space behind it), "é" as one character and as two. One finding for each
        class, with its spellings, most frequent first.

    Why it breaks training
        Each spelling becomes a class of its own: the network must tell apart what is the same, class numbers shift, and a disk that ignores case
        merges the folders or overwrites one with the other.

    Example
        label-spelling-varies  one class, 2 spellings: 'cat' (812), 'Cat' (3)

    What to do
        Rename to one spelling. If case tells classes apart (letters), switch the rule off.

    Parameters and facts
        most_classes: 10,000; with more different labels they are no classes. Facts: spelling (the label without case, outer and doubled spaces, in
        Unicode form NFKC).
    """

    most_classes: int = 10_000

    roles: ClassVar[frozenset[Role]] = frozenset({Role.LABEL})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TEXT})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "spelling": Measurement("VARCHAR", "the label without case, outer and doubled spaces, in Unicode form NFKC"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        for row, value in enumerate(column.values):
            if isinstance(value, str):
                made["spelling"][row] = _plain(value)
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "label-spelling-varies",
                Severity.WARNING,
                "one class in {spellings} spellings, which differ in case, spaces or Unicode form: {variants}",
                fix="rename to one spelling",
                sql=_VARIANTS,
                needs=("spelling", "text"),
            ),
        )


@lru_cache(maxsize=10_000)
def _plain(text: str) -> str:
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    # One letter is told from another by its case alone in sets of characters, where both are classes.
    return plain if len(plain) > 1 else text.strip()
