"""Conditions on a row: one expression, evaluated by numpy on a batch in memory and by DuckDB on the facts, with the same answer.

The language is a small part of Python's: names, numbers, strings, tuples, `and or not`, comparisons and their chains, `in`, `is None`,
`+ - * /`, `abs()`. A name is a measurement of the field, else a parameter. Where a measurement is NULL (not measured), a comparison that reads it
is false, and so is its negation: a rule never fires on what was not measured.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Values = tuple[Any, Any]
"""(values, known): arrays (N,) or scalars; known is True where the values count"""
Rows = Mapping[str, np.ndarray]
Evaluate = Callable[[Rows], Any]

_FLIP: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], tuple[Callable[[Any, Any], Any], str]] = {
    ast.Lt: (lambda a, b: a < b, "<"),
    ast.LtE: (lambda a, b: a <= b, "<="),
    ast.Gt: (lambda a, b: a > b, ">"),
    ast.GtE: (lambda a, b: a >= b, ">="),
    ast.Eq: (lambda a, b: a == b, "="),
    ast.NotEq: (lambda a, b: a != b, "<>"),
}
_ARITHMETIC: dict[type[ast.operator], tuple[Callable[[Any, Any], Any], str]] = {
    ast.Add: (lambda a, b: a + b, "+"),
    ast.Sub: (lambda a, b: a - b, "-"),
    ast.Mult: (lambda a, b: a * b, "*"),
    ast.Div: (np.divide, "/"),
}


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
        with np.errstate(all="ignore"):
            return np.asarray(self._evaluate(rows), bool)

    def sql(self, struct: str) -> str:
        """A boolean SQL expression that is never NULL. struct: the quoted column that holds the measurements as members."""
        return _Sql(struct, self.names, self._parameters).boolean(self._tree)


def compile_condition(text: str, measurements: frozenset[str], parameters: Mapping[str, Any]) -> Condition:
    """The condition that `text` says, its names bound.

    parameters: name -> number, string, bool, or a tuple of these; one that is None counts as missing.
    Raises ValueError with what is wrong where `text` is outside the language.
    """
    try:
        tree = _push_not(ast.parse(text, mode="eval").body, False)
    except SyntaxError as error:
        raise ValueError(f"not an expression: {text!r} ({error.msg})") from error
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - {"abs", "true", "false"}
    names = frozenset(found & measurements)
    missing = frozenset(name for name in found - names if parameters.get(name) is None)
    bound = {name: parameters[name] for name in found - names - missing}
    evaluate: Evaluate = _Numpy(names, bound).boolean(tree) if not missing else (lambda rows: False)
    return Condition(text, names, missing, tree, bound, evaluate)


def _push_not(node: ast.expr, negate: bool) -> ast.expr:
    """The same condition with every `not` pushed down to the comparisons, so that NULL stays false on both sides."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _push_not(node.operand, not negate)
    if isinstance(node, ast.BoolOp):
        op = node.op if not negate else (ast.Or() if isinstance(node.op, ast.And) else ast.And())
        return ast.BoolOp(op, [_push_not(value, negate) for value in node.values])
    if isinstance(node, ast.Compare):
        links = [node.left, *node.comparators]
        parts: list[ast.expr] = [ast.Compare(links[i], [_FLIP[type(op)]() if negate else op], [links[i + 1]]) for i, op in enumerate(node.ops)]
        return parts[0] if len(parts) == 1 else ast.BoolOp(ast.Or() if negate else ast.And(), parts)
    if isinstance(node, ast.Name) and node.id in ("true", "false"):
        return ast.Constant((node.id == "true") != negate)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return ast.Constant(node.value != negate)
    if isinstance(node, ast.Name):
        return ast.Compare(node, [ast.Eq()], [ast.Constant(not negate)])
    raise ValueError(f"not a condition: {ast.unparse(node)}")


def _known(left: Any, right: Any) -> Any:
    if left is True:
        return right
    return left if right is True else left & right


class _Numpy:
    """Compiles to closures over rows: built once for a rule, then a few numpy calls a batch."""

    def __init__(self, names: frozenset[str], parameters: Mapping[str, Any]) -> None:
        self.names, self.parameters = names, parameters

    def boolean(self, node: ast.expr) -> Evaluate:
        if isinstance(node, ast.Constant):
            value = bool(node.value)
            return lambda rows: np.full(len(next(iter(rows.values()))), value) if rows else np.array([value])
        if isinstance(node, ast.BoolOp):
            parts = [self.boolean(value) for value in node.values]
            return _all(parts) if isinstance(node.op, ast.And) else _any(parts)
        if not isinstance(node, ast.Compare):
            raise ValueError(f"not a condition: {ast.unparse(node)}")
        return self._compare(node.left, type(node.ops[0]), node.comparators[0])

    def _compare(self, left: ast.expr, op: type[ast.cmpop], right: ast.expr) -> Evaluate:
        a = self.value(left)
        if op in (ast.Is, ast.IsNot):
            wanted = op is ast.IsNot
            return lambda rows: _spread(a(rows)[1], rows) == wanted
        b = self.value(right)
        if op in (ast.In, ast.NotIn):
            inside = op is ast.In

            def member(rows: Rows) -> Any:
                (x, known), (choices, _) = a(rows), b(rows)
                hit = np.zeros(np.shape(x), bool)
                for choice in choices:
                    hit = hit | (x == choice)
                return (hit == inside) & known

            return member
        compare = _COMPARE[op][0]

        def compared(rows: Rows) -> Any:
            (x, known_x), (y, known_y) = a(rows), b(rows)
            return compare(x, y) & _known(known_x, known_y)

        return compared

    def value(self, node: ast.expr) -> Callable[[Rows], Values]:
        if isinstance(node, ast.Constant):
            constant = node.value
            return lambda rows: (constant, True)
        if isinstance(node, ast.Tuple):
            items = tuple(ast.literal_eval(item) for item in node.elts)
            return lambda rows: (items, True)
        if isinstance(node, ast.Name) and node.id in self.names:
            name = node.id
            return lambda rows: _read(rows[name])
        if isinstance(node, ast.Name):
            bound = self.parameters[node.id]
            return lambda rows: (bound, True)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.value(node.operand)
            return lambda rows: (lambda v: (-v[0], v[1]))(inner(rows))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "abs" and len(node.args) == 1:
            inside = self.value(node.args[0])
            return lambda rows: (lambda v: (np.abs(v[0]), v[1]))(inside(rows))
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            a, b, operate = self.value(node.left), self.value(node.right), _ARITHMETIC[type(node.op)][0]

            def operated(rows: Rows) -> Values:
                (x, known_x), (y, known_y) = a(rows), b(rows)
                return operate(x, y), _known(known_x, known_y)

            return operated
        raise ValueError(f"not part of the language: {ast.unparse(node)}")


def _read(column: np.ndarray) -> Values:
    if isinstance(column, np.ma.MaskedArray):
        mask = np.ma.getmask(column)
        return column.data, True if mask is np.ma.nomask else ~mask
    if column.dtype == object:
        return column, np.array([value is not None for value in column], bool)
    return column, True


def _spread(known: Any, rows: Rows) -> Any:
    return np.full(len(next(iter(rows.values()))), True) if known is True else known


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


def quoted(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """An SQL literal of a number, string, bool, or a tuple of these."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(literal(item) for item in value) + ")" if value else "(NULL)"
    if isinstance(value, float):
        return f"{value!r}::DOUBLE"
    return repr(value)


class _Sql:
    def __init__(self, struct: str, names: frozenset[str], parameters: Mapping[str, Any]) -> None:
        self.struct, self.names, self.parameters = struct, names, parameters

    def boolean(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            return literal(bool(node.value))
        if isinstance(node, ast.BoolOp):
            joint = " AND " if isinstance(node.op, ast.And) else " OR "
            return "(" + joint.join(self.boolean(value) for value in node.values) + ")"
        assert isinstance(node, ast.Compare)
        left, op, right = self.value(node.left), node.ops[0], node.comparators[0]
        if isinstance(op, (ast.Is, ast.IsNot)):
            return f"({left} IS {'NOT ' if isinstance(op, ast.IsNot) else ''}NULL)"
        if isinstance(op, (ast.In, ast.NotIn)):
            if self.value(right) == "(NULL)":  # nothing is in an empty tuple; IN (NULL) would be NULL
                return f"({left} IS NOT NULL)" if isinstance(op, ast.NotIn) else "false"
            return f"coalesce({left} {'NOT ' if isinstance(op, ast.NotIn) else ''}IN {self.value(right)}, false)"
        return f"coalesce({left} {_COMPARE[type(op)][1]} {self.value(right)}, false)"

    def value(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            return literal(node.value)
        if isinstance(node, ast.Tuple):
            return literal(tuple(ast.literal_eval(item) for item in node.elts))
        if isinstance(node, ast.Name):
            return f"{self.struct}.{quoted(node.id)}" if node.id in self.names else literal(self.parameters[node.id])
        if isinstance(node, ast.UnaryOp):
            return f"(-{self.value(node.operand)})"
        if isinstance(node, ast.Call):
            return f"abs({self.value(node.args[0])})"
        assert isinstance(node, ast.BinOp)
        return f"({self.value(node.left)} {_ARITHMETIC[type(node.op)][1]} {self.value(node.right)})"
