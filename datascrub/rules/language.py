"""The tree of a condition: what the language of conditions holds, before numpy or SQL gives it a meaning."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


class ConditionError(ValueError):
    """What is wrong with a condition: it is outside the language."""


FLIP: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], tuple[Callable[[Any, Any], Any], str]] = {
    ast.Lt: (lambda a, b: a < b, "<"),
    ast.LtE: (lambda a, b: a <= b, "<="),
    ast.Gt: (lambda a, b: a > b, ">"),
    ast.GtE: (lambda a, b: a >= b, ">="),
    ast.Eq: (lambda a, b: a == b, "="),
    ast.NotEq: (lambda a, b: a != b, "<>"),
}
ARITHMETIC: dict[type[ast.operator], tuple[Callable[[Any, Any], Any], str]] = {
    ast.Add: (np.add, "+"),
    ast.Sub: (np.subtract, "-"),
    ast.Mult: (np.multiply, "*"),
    ast.Div: (np.divide, "/"),
}
TRUTH = {"true": True, "false": False}


def push_not(node: ast.expr, negate: bool) -> ast.expr:
    """The same condition with every `not` pushed down to the comparisons, so that NULL stays false on both sides."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return push_not(node.operand, not negate)
    if isinstance(node, ast.BoolOp):
        op = node.op if not negate else (ast.Or() if isinstance(node.op, ast.And) else ast.And())
        return ast.BoolOp(op, [push_not(value, negate) for value in node.values])
    if isinstance(node, ast.Compare):
        links = [node.left, *node.comparators]
        parts: list[ast.expr] = [ast.Compare(links[i], [FLIP[type(op)]() if negate else op], [links[i + 1]]) for i, op in enumerate(node.ops)]
        return parts[0] if len(parts) == 1 else ast.BoolOp(ast.Or() if negate else ast.And(), parts)
    if isinstance(node, ast.Name) and node.id in TRUTH:
        return ast.Constant(TRUTH[node.id] != negate)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return ast.Constant(node.value != negate)
    if isinstance(node, ast.Name):
        return ast.Compare(node, [ast.Eq()], [ast.Constant(not negate)])
    raise ConditionError(f"not a condition: {ast.unparse(node)}")


def is_arithmetic(node: ast.expr) -> bool:
    return isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Call))


def literals(node: ast.expr) -> tuple[Any, ...] | None:
    """The constants of a written tuple; None where it is something else."""
    if not isinstance(node, (ast.Tuple, ast.List)):
        return None
    try:
        return tuple(_checked(ast.literal_eval(item)) for item in node.elts)
    except ValueError as error:
        raise ConditionError(f"only numbers and strings stand in a tuple: {ast.unparse(node)}") from error


def constant_of(node: ast.Constant | ast.Name, parameters: Mapping[str, Any]) -> Any:
    """A value that is the same for all rows."""
    if isinstance(node, ast.Constant):
        return _checked(node.value)
    if node.id in TRUTH:
        return TRUTH[node.id]
    if node.id not in parameters:
        raise ConditionError(f"{node.id} is no value")
    return _checked(parameters[node.id])


def _checked(value: Any) -> Any:
    if (
        not isinstance(value, (bool, int, float, str))
        or (isinstance(value, float) and math.isnan(value))
        or (isinstance(value, int) and abs(value) >> 127)
    ):
        raise ConditionError(f"neither a number of at most 128 bits nor a string: {value!r}")
    return value
