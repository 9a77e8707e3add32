"""Conditions on a row: one expression, evaluated by numpy on a batch in memory and by DuckDB on the facts, with the same answer.

The language is a small part of Python's: names, numbers, strings, tuples, `and or not`, comparisons and their chains, `in`, `is None`,
`+ - * /`, `abs()`. A name is a measurement of the field, else a parameter. Where a measurement is NULL (not measured), a comparison that reads it
is false, and so is its negation: a rule never fires on what was not measured. Arithmetic is in float64; a result that is not finite (a division by
zero) counts as NULL, for numpy and SQL order NaN and Inf differently.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from datascrub.rules.language import TRUTH, ConditionError, push_not
from datascrub.rules.on_rows import Evaluate, RowForm, Rows
from datascrub.rules.on_sql import SqlForm, literal, quoted

__all__ = ["Condition", "ConditionError", "compile_condition", "literal", "quoted"]


@dataclass(frozen=True)
class Condition:
    """A compiled expression.

    names: the measurements that it reads. missing: names that are neither measurements nor parameters with a value; such a condition can't be judged.
    """

    text: str
    names: frozenset[str]
    missing: frozenset[str]
    _tree: ast.expr
    _parameters: Mapping[str, Any]
    _evaluate: Evaluate

    def numpy(self, rows: Rows) -> np.ndarray:
        """(N,) bool. rows: measurement name -> (N,) array; a masked array's masked entries are NULL."""
        count = len(next(iter(rows.values()))) if rows else 1
        with np.errstate(all="ignore"):
            result = np.asarray(self._evaluate(rows), bool)
        return result if result.ndim else np.full(count, bool(result))

    def sql(self, struct: str) -> str:
        """A boolean SQL expression that is never NULL. struct: the quoted column that holds the measurements as members."""
        return "false" if self.missing else SqlForm(struct, self.names, self._parameters).boolean(self._tree)


def compile_condition(text: str, measurements: frozenset[str], parameters: Mapping[str, Any]) -> Condition:
    """The condition that `text` says, its names bound.

    parameters: name -> number, string, bool, or a tuple of these; one that is None counts as missing.
    Raises ValueError with what is wrong where `text` is outside the language.
    """
    try:
        tree = push_not(ast.parse(text, mode="eval").body, False)
    except SyntaxError as error:
        raise ConditionError(f"not an expression: {text!r} ({error.msg})") from error
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in called} - {*TRUTH}
    names = frozenset(found & measurements)
    missing = frozenset(name for name in found - names if parameters.get(name) is None)
    bound = {name: parameters[name] for name in found - names - missing}
    evaluate: Evaluate = RowForm(names, bound).boolean(tree) if not missing else (lambda rows: False)
    return Condition(text, names, missing, tree, bound, evaluate)
