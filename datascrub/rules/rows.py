"""Row rules judged in memory: for one value, one batch, or one stream, in microseconds and without a database."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from datascrub.model import Finding
from datascrub.rules.expression import Condition, compile_condition
from datascrub.rules.rule import RowRule, Rule


class _Sentences(string.Formatter):
    """Fills a sentence; what is unknown is said to be unknown, whatever its format."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None:
            return "unknown"
        try:
            return str(super().format_field(value, format_spec))
        except (TypeError, ValueError):
            return str(value)

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        return kwargs.get(field_name), field_name  # a name with a dot is a name, and reaches into nothing

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return kwargs.get(str(key))


SENTENCES = _Sentences()


def sentence(says: str, values: Mapping[str, Any]) -> str:
    """The sentence of a finding, with the numbers in it."""
    return SENTENCES.vformat(says, (), values)


def names_in(says: str) -> list[str]:
    """The names that a sentence fills in, each once. Raises ValueError where its braces do not stand in pairs."""
    return list(dict.fromkeys(name for _, name, _, _ in SENTENCES.parse(says) if name))


@dataclass(frozen=True)
class _Bound:
    rule: RowRule
    condition: Condition


class RowJudge:
    """The row rules of one validator, compiled once.

    measures: the names that conditions may read; parameters: values of the other names (the validator's own win over declared ones).
    """

    def __init__(self, rules: Sequence[Rule], measures: frozenset[str], parameters: Mapping[str, Any]) -> None:
        self.parameters = parameters
        compiled = [_Bound(r, compile_condition(r.where, measures, parameters)) for r in rules if isinstance(r, RowRule)]
        self.bound = [bound for bound in compiled if not bound.condition.missing]

    def findings(self, field: str, rows: Mapping[str, np.ndarray], keys: Sequence[str | None]) -> list[Finding]:
        """Findings on the samples of a batch, in the order of rules, then samples. rows: measurement -> (N,) array."""
        found = []
        for bound in self.bound:
            for row in np.flatnonzero(bound.condition.numpy(rows)).tolist():
                values = {name: plain(column[row]) for name, column in rows.items()}
                message = sentence(bound.rule.says, {**self.parameters, **values})
                evidence = {name: values.get(name, self.parameters.get(name)) for name in bound.rule.evidence}
                found.append(Finding(keys[row], bound.rule.code, bound.rule.severity, field, message, evidence))
        return found


def plain(value: Any) -> Any:
    """A plain Python value for JSON: numpy scalars unwrapped, masked as None."""
    if value is np.ma.masked:
        return None
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value
