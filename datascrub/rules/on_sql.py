"""A condition as SQL on the facts."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from datascrub.rules.language import ARITHMETIC, COMPARE, constant_of, is_arithmetic, literals


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
        return f"'{value!r}'::DOUBLE"  # quoted: inf is a number too
    return repr(value)


class SqlForm:
    def __init__(self, struct: str, names: frozenset[str], parameters: Mapping[str, Any]) -> None:
        self.struct, self.names, self.parameters = struct, names, parameters

    def boolean(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            return literal(bool(node.value))
        if isinstance(node, ast.BoolOp):
            joint = " AND " if isinstance(node.op, ast.And) else " OR "
            return "(" + joint.join(self.boolean(value) for value in node.values) + ")"
        assert isinstance(node, ast.Compare)
        left, op, right = self.operand(node.left), node.ops[0], node.comparators[0]
        if isinstance(op, (ast.Is, ast.IsNot)):
            return f"({left} IS {'NOT ' if isinstance(op, ast.IsNot) else ''}NULL)"
        if isinstance(op, (ast.In, ast.NotIn)):
            choices = literal(self.parameters[right.id] if isinstance(right, ast.Name) else literals(right))
            if choices == "(NULL)":  # nothing is in an empty tuple; IN (NULL) would be NULL
                return f"({left} IS NOT NULL)" if isinstance(op, ast.NotIn) else "false"
            return f"coalesce({left} {'NOT ' if isinstance(op, ast.NotIn) else ''}IN {choices}, false)"
        return f"coalesce({left} {COMPARE[type(op)][1]} {self.operand(right)}, false)"

    def operand(self, node: ast.expr) -> str:
        value = self.value(node)
        return f"nullif(nullif(nullif({value}, 'inf'::DOUBLE), '-inf'::DOUBLE), 'nan'::DOUBLE)" if is_arithmetic(node) else value

    def value(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name) and node.id in self.names:
            return f"{self.struct}.{quoted(node.id)}"
        if isinstance(node, (ast.Constant, ast.Name)):
            return literal(constant_of(node, self.parameters))
        if isinstance(node, ast.UnaryOp):
            return f"(-{self._number(node.operand)})"
        if isinstance(node, ast.Call):
            return f"abs({self._number(node.args[0])})"
        assert isinstance(node, ast.BinOp)
        return f"({self._number(node.left)} {ARITHMETIC[type(node.op)][1]} {self._number(node.right)})"

    def _number(self, node: ast.expr) -> str:
        return f"CAST({self.value(node)} AS DOUBLE)"
