"""A condition as numpy on the columns of a batch: closures built once for a rule, then a few numpy calls a batch."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from datascrub.rules.language import ARITHMETIC, COMPARE, ConditionError, constant_of, is_arithmetic, literals

Values = tuple[Any, Any]
"""(values, known): arrays (N,) or scalars; known is True where the values count"""
Rows = Mapping[str, np.ndarray]
Evaluate = Callable[[Rows], Any]


class RowForm:
    """Compiles to closures over rows: built once for a rule, then a few numpy calls a batch."""

    def __init__(self, names: frozenset[str], parameters: Mapping[str, Any]) -> None:
        self.names, self.parameters = names, parameters

    def boolean(self, node: ast.expr) -> Evaluate:
        if isinstance(node, ast.Constant):
            value = bool(node.value)
            return lambda rows: value
        if isinstance(node, ast.BoolOp):
            parts = [self.boolean(value) for value in node.values]
            return _all(parts) if isinstance(node.op, ast.And) else _any(parts)
        if not isinstance(node, ast.Compare):
            raise ConditionError(f"not a condition: {ast.unparse(node)}")
        return self._compare(node.left, type(node.ops[0]), node.comparators[0])

    def _compare(self, left: ast.expr, op: type[ast.cmpop], right: ast.expr) -> Evaluate:
        a = self.operand(left)
        if op in (ast.Is, ast.IsNot):
            if not (isinstance(right, ast.Constant) and right.value is None):
                raise ConditionError(f"`is` asks for None alone, not {ast.unparse(right)}")
            wanted = op is ast.IsNot
            return lambda rows: np.equal(a(rows)[1], wanted)
        if op in (ast.In, ast.NotIn):
            choices, inside = self._choices(right), op is ast.In

            def member(rows: Rows) -> Any:
                x, known = a(rows)
                hit = np.zeros(np.shape(x), bool)
                for choice in choices:
                    hit = hit | (x == choice)
                return (hit == inside) & known

            return member
        b, compare = self.operand(right), COMPARE[op][0]

        def compared(rows: Rows) -> Any:
            (x, known_x), (y, known_y) = a(rows), b(rows)
            known = _known(known_x, known_y)
            if _holds_objects(x) or _holds_objects(y):  # None has no order: compare what is known alone
                return _where_known(compare, x, y, known)
            return compare(x, y) & known

        return compared

    def _choices(self, node: ast.expr) -> tuple[Any, ...]:
        choices = self.parameters.get(node.id) if isinstance(node, ast.Name) else literals(node)
        if not isinstance(choices, (tuple, list)):
            raise ConditionError(f"`in` wants a tuple, not {ast.unparse(node)}")
        return tuple(choices)

    def operand(self, node: ast.expr) -> Callable[[Rows], Values]:
        """One side of a comparison; the result of arithmetic is known only where it is finite."""
        inner = self.value(node)
        if not is_arithmetic(node):
            return inner

        def finite(rows: Rows) -> Values:
            values, known = inner(rows)
            return values, _known(known, np.isfinite(values))

        return finite

    def value(self, node: ast.expr) -> Callable[[Rows], Values]:
        if isinstance(node, (ast.Constant, ast.Name)) and not (isinstance(node, ast.Name) and node.id in self.names):
            constant = constant_of(node, self.parameters)
            return lambda rows: (constant, True)
        if isinstance(node, ast.Name):
            name = node.id
            return lambda rows: _read(rows[name])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._number(node.operand, np.negative)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "abs" and len(node.args) == 1 and not node.keywords:
            return self._number(node.args[0], np.abs)
        if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            a, b, operate = self._number(node.left), self._number(node.right), ARITHMETIC[type(node.op)][0]

            def operated(rows: Rows) -> Values:
                (x, known_x), (y, known_y) = a(rows), b(rows)
                return operate(x, y), _known(known_x, known_y)

            return operated
        raise ConditionError(f"not part of the language: {ast.unparse(node)}")

    def _number(self, node: ast.expr, operate: Callable[[Any], Any] = lambda x: x) -> Callable[[Rows], Values]:
        """A term of arithmetic, in float64 whatever it is stored as: integers would wrap in numpy and raise in SQL."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            raise ConditionError(f"no number: {ast.unparse(node)}")
        inner = self.value(node)

        def number(rows: Rows) -> Values:
            values, known = inner(rows)
            return operate(np.asarray(values, np.float64)), known

        return number


def _known(left: Any, right: Any) -> Any:
    if left is True:
        return right
    return left if right is True else left & right


def _holds_objects(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype == object


def _where_known(compare: Callable[[Any, Any], Any], x: Any, y: Any, known: Any) -> np.ndarray:
    hit = np.zeros(np.broadcast_shapes(np.shape(x), np.shape(y)), bool)
    chosen = np.broadcast_to(known, hit.shape)
    hit[chosen] = compare(*(side[chosen] if np.ndim(side) else side for side in (x, y)))
    return hit


def _read(column: np.ndarray) -> Values:
    known: Any = True
    if isinstance(column, np.ma.MaskedArray):
        mask = np.ma.getmask(column)
        column, known = column.data, True if mask is np.ma.nomask else ~mask
    if column.dtype == object:
        return column, _known(known, np.asarray(column != np.array(None, object), bool))
    if column.dtype.kind == "f":  # the facts hold a number that is not finite as NULL
        return column, _known(known, np.isfinite(column))
    return column, known


def _all(parts: list[Evaluate]) -> Evaluate:
    def every(rows: Rows) -> Any:
        result = parts[0](rows)
        for part in parts[1:]:
            result = result & part(rows)
        return result

    return every


def _any(parts: list[Evaluate]) -> Evaluate:
    def some(rows: Rows) -> Any:
        result = parts[0](rows)
        for part in parts[1:]:
            result = result | part(rows)
        return result

    return some
