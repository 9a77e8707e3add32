"""Conditions: numpy on a batch and DuckDB on the facts give one answer."""

from __future__ import annotations

import re
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datascrub.rules.expression import Condition, compile_condition, literal, quoted

TYPES = {"count": "BIGINT", "size": "BIGINT", "ratio": "DOUBLE", "depth": "DOUBLE", "is_finite": "BOOLEAN", "format": "VARCHAR"}
DTYPES = {"BIGINT": np.int64, "DOUBLE": np.float64, "BOOLEAN": bool}
PARAMETERS: dict[str, Any] = {"limit": 3, "share": 0.5, "loader": "caffe", "known": ("png", "jpeg"), "none_of_it": (), "undeclared": None}

integers = st.one_of(st.integers(-5, 5), st.sampled_from([2**31, 2**53 + 1, -(2**63), 2**63 - 1]))
floats = st.one_of(st.sampled_from([0.0, -0.0, 0.5, 1e308, -1e308, 5e-324, np.inf, -np.inf, np.nan]), st.floats(-10, 10))
texts = st.sampled_from(["", "png", "jpeg", "caffe", "it's", "ä", "\U0001f600", "\uffff", 'a"b'])
VALUES = {"BIGINT": integers, "DOUBLE": floats, "BOOLEAN": st.booleans(), "VARCHAR": texts}

numbers = st.one_of(
    st.sampled_from(["count", "size", "ratio", "depth", "limit", "share"]),
    st.integers(-4, 9).map(str),
    st.sampled_from(["0.5", "1e308", "2.0", "1e999"]),
)
terms = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda t: f"abs({t})"),
        inner.map(lambda t: f"(-{t})"),
    ),
    max_leaves=4,
)
orders = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
comparisons = st.one_of(
    st.tuples(terms, orders, terms).map(" ".join),
    st.tuples(terms, orders, terms, orders, terms).map(" ".join),
    st.tuples(terms, st.sampled_from(["in (1, 2, -3)", "not in (0,)", "in ()", "not in ()", "is None", "is not None", "in (0.5, 2)"])).map(" ".join),
    st.tuples(st.sampled_from(["format", "loader"]), orders, st.sampled_from(["'png'", '"it\'s"', "format", "loader"])).map(" ".join),
    st.tuples(st.just("format"), st.sampled_from(["in known", "not in known", "in none_of_it", "not in none_of_it", "is None", "in ('ä', '')"])).map(
        " ".join
    ),
    st.sampled_from(["is_finite", "is_finite == true", "is_finite != false", "is_finite is None", "true", "False", "limit == 3"]),
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        inner.map(lambda t: f"not ({t})"),
        st.lists(inner, min_size=2, max_size=3).map(lambda t: "(" + " and ".join(t) + ")"),
        st.lists(inner, min_size=2, max_size=3).map(lambda t: "(" + " or ".join(t) + ")"),
    ),
    max_leaves=5,
)
rows_of_values = st.lists(st.fixed_dictionaries({name: st.one_of(st.none(), VALUES[type_]) for name, type_ in TYPES.items()}), min_size=1, max_size=6)


def compiled(text: str) -> Condition:
    return compile_condition(text, frozenset(TYPES), PARAMETERS)


def columns(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Rows as a batch holds them: numbers masked where they are NULL, text as objects."""
    made: dict[str, np.ndarray] = {}
    for name, type_ in TYPES.items():
        values = [row[name] for row in rows]
        if type_ == "VARCHAR":
            made[name] = np.array([*values, None], object)[:-1]
        else:
            made[name] = np.ma.MaskedArray(np.array([0 if v is None else v for v in values], DTYPES[type_]), [v is None for v in values])
    return made


def cell(value: Any, type_: str) -> str:
    """A value as the facts hold it: a number that is not finite is NULL."""
    missing = value is None or (isinstance(value, float) and not np.isfinite(value))
    return f"NULL::{type_}" if missing else f"({literal(value)})::{type_}"


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def asked(database: duckdb.DuckDBPyConnection, condition: Condition, rows: list[dict[str, Any]]) -> list[Any]:
    packs = [f"({i}, struct_pack({', '.join(f'{quoted(n)} := {cell(row[n], t)}' for n, t in TYPES.items())}))" for i, row in enumerate(rows)]
    query = f'SELECT {condition.sql(quoted("field"))} FROM (VALUES {", ".join(packs)}) AS facts(number, "field") ORDER BY number'
    return [answer for (answer,) in database.execute(query).fetchall()]


@settings(max_examples=400)
@given(text=conditions, rows=rows_of_values)
def test_numpy_and_sql_agree(database: duckdb.DuckDBPyConnection, text: str, rows: list[dict[str, Any]]) -> None:
    """Any condition over any rows, NULLs, infinities and the ends of int64 among them, has one answer, and SQL's is never NULL."""
    condition = compiled(text)
    assert condition.numpy(columns(rows)).tolist() == asked(database, condition, rows)


@given(text=conditions, rows=rows_of_values)
def test_a_condition_and_its_negation_never_both_hold(text: str, rows: list[dict[str, Any]]) -> None:
    """No row fulfils a condition and its negation; where a measurement is NULL it may fulfil neither."""
    batch = columns(rows)
    assert not (compiled(text).numpy(batch) & compiled(f"not ({text})").numpy(batch)).any()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("count > 1", [True, False, False]),
        ("not count > 1", [False, True, False]),
        ("count is None", [False, False, True]),
        ("1 / count > 0", [True, False, False]),
        ("1 / count < 1 or count == 0", [True, True, False]),
        ("limit == 3", [True, True, True]),
        ("loader == 'caffe' and is_finite", [True, False, False]),
        ("format in known", [True, False, False]),
        ("format > 'a'", [True, True, False]),
        ("count * count * count > 0", [True, False, False]),
        ("undeclared == 1", [False, False, False]),
    ],
)
def test_answers(database: duckdb.DuckDBPyConnection, text: str, expected: list[bool]) -> None:
    """NULL is neither side of a comparison, a division by zero is NULL, a condition over parameters alone speaks of every row."""
    rows = [
        {"count": 2**40, "size": 1, "ratio": 0.5, "depth": 1.0, "is_finite": True, "format": "png"},
        {"count": 0, "size": 1, "ratio": 0.5, "depth": 1.0, "is_finite": False, "format": "tiff"},
        {"count": None, "size": 1, "ratio": None, "depth": None, "is_finite": None, "format": None},
    ]
    condition = compiled(text)
    assert condition.numpy(columns(rows)).tolist() == expected
    assert asked(database, condition, rows) == expected


@pytest.mark.parametrize(
    "text",
    [
        "count ==", "__import__('os')", "count.real > 1", "count if true else size", "[x for x in known]", "lambda: 1", "abs(count, 2) > 1",
        "max(count) > 1", "count is 5", "format == None", "format in 'png'", "format in loader", "count in (size, 1)", "count == (1, 2)", "5",
        "count % 2 == 0", "count ** 2 > 1", "count + 'a' > 1", "count in (None, 1)", f"count < {2**200}", "f'{count}' == '1'", "b'x' == format",
        "count & 1 == 1", "-format",
    ],
)  # fmt: skip
def test_what_is_outside_the_language_is_refused(text: str) -> None:
    """What is no condition raises ValueError when it is compiled, before any row is judged; nothing of it is ever evaluated as Python."""
    with pytest.raises(ValueError, match=r"\w"):
        compiled(text)


def test_names() -> None:
    """A condition knows which measurements it reads, and which names nobody has a value for."""
    condition = compiled("count > limit and abs(ratio) < undeclared or not is_finite and misspelt")
    assert (condition.names, condition.missing) == ({"count", "ratio", "is_finite"}, {"undeclared", "misspelt"})


@given(name=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_quoting(database: duckdb.DuckDBPyConnection, name: str) -> None:
    """Any text is held as an identifier and as a literal without getting out of its quotes."""
    relation = database.execute(f"SELECT {literal(name)} AS {quoted(name)}")
    assert relation.description is not None
    assert (relation.description[0][0], relation.fetchall()) == (name, [(name,)])


def test_sql_of_parameters_is_quoted() -> None:
    """A parameter with a quote in it stays one literal."""
    condition = compile_condition("format == wanted", frozenset({"format"}), {"wanted": "x' OR true --"})
    assert re.fullmatch(r"""coalesce\("f"\."format" = 'x'' OR true --', false\)""", condition.sql('"f"'))
