"""Features of a table that have one value in the whole set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator
from datascrub.validators.summary import is_number

_MOST = 64
_EACH = 4
"""features of one 64-bit word, 16 bits each"""
_WORDS = _MOST // _EACH
_MIX = np.uint64(0x9E3779B97F4A7C15)
"""2**64 by the golden ratio: its upper bits after a multiplication depend on all bits of a value"""


def _place(at: int) -> str:
    """SQL for the number of a feature that never changes, NULL for another."""
    bits = f"(({{field}}.feature_word_{at // _EACH} >> {16 * (at % _EACH)}) & 65535)"
    return f"CASE WHEN min({bits}) = max({bits}) AND min({{field}}.feature_count) > {at} THEN {at} END"


_CONSTANT = f"""
    WITH told AS (
        SELECT list_filter([{", ".join(map(_place, range(_MOST)))}], lambda place: place IS NOT NULL) AS places, count(*) AS samples,
            min({{field}}.feature_count) AS of, max({{field}}.feature_count) AS widest
        FROM facts WHERE {{field}}.feature_count IS NOT NULL
    )
    SELECT len(places) AS features, of, samples, array_to_string(places[1:20], ', ') AS first FROM told
    WHERE samples >= $least_samples AND of = widest AND len(places) > 0 AND len(places) < of"""


@dataclass(frozen=True)
class ArrayFeatures(Validator):
    """A feature of a table that never changes.

    What it finds
        array-feature-constant (warning, once): features of one-dimensional samples, up to 64 of them, that have one value in all samples, while
        others differ. Silent in sets below 200 samples.

    Why it breaks training
        Standardising a column divides by its deviation over the set, which is 0: the column is NaN in every sample. Where that is guarded, the
        feature says nothing, and was probably meant to: a join that failed, a unit that was cut off.

    Example
        the set  array-feature-constant  1 of 30 features has one value in all 569 samples: 12

    What to do
        Remove the column, or find out why it was not filled in. Add an epsilon to the deviation.

    Parameters and facts
        least_samples: 200. Facts: feature_count (NULL where a value is not finite), and feature_word_0 to 15: 16 bits of a hash of each value, four
        features a word.
    """

    least_samples: int = 200

    roles: ClassVar[frozenset[Role]] = frozenset({Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "feature_count": Measurement("BIGINT", "values of a vector of 2 to 64, all of them finite; else NULL", "features", "2 to 64"),
        **{
            f"feature_word_{word}": Measurement("BIGINT", f"16 bits of a hash of each of the features {_EACH * word} to {_EACH * word + _EACH - 1}")
            for word in range(_WORDS)
        },
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        for rows, block in column.blocks():
            if not is_number(block.dtype) or block.dtype.kind == "c" or block.ndim != 2 or not 2 <= block.shape[1] <= _MOST:
                continue
            wide = np.zeros((len(block), -(-block.shape[1] // _EACH) * _EACH))
            wide[:, : block.shape[1]] = block
            is_whole = np.isfinite(wide).all(1)
            wide += 0.0  # -0 and 0 are one value
            words = ((wide.view(np.uint64) * _MIX) >> np.uint64(48)).astype("<u2").view(np.int64)
            made["feature_count"][rows[is_whole]] = block.shape[1]
            for word in range(words.shape[1]):
                made[f"feature_word_{word}"][rows[is_whole]] = words[is_whole, word]
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "array-feature-constant",
                Severity.WARNING,
                "{features:,} of {of:,} features have one value in all {samples:,} samples: {first}",
                fix="remove the column, or find out why it was not filled in",
                sql=_CONSTANT,
                needs=("feature_count",),
                minimum=200,
            ),
        )
