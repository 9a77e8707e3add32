"""A set of pictures, measured and judged: conditions on a row in memory, questions to the set in DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import duckdb
import numpy as np

from datascrub.model import Column, Field, Kind, Role
from datascrub.rules import SetRule
from datascrub.rules.rows import RowJudge, plain
from datascrub.validators.base import Validator

Found = list[tuple[str, str, str]]
"""(key, code, severity)"""


def pictures_named(files: Mapping[str, bytes]) -> Column:
    """A folder of pictures: the suffix of each name declares its format."""
    suffixes = [PurePath(name).suffix or None for name in files]
    return Column(Field("image", Role.IMAGE, Kind.ENCODED), list(files.values()), {"extension": suffixes})


def arrays(values: Any, **declared: Sequence[Any]) -> Column:
    return Column(Field("image", Role.IMAGE, Kind.ARRAY), values, declared)


def row_findings(validator: Validator, column: Column, keys: Sequence[str] | None = None, **declared: Any) -> Found:
    """What the conditions on a row find. declared: what the plan declares, as loader="tensorflow"."""
    judge = RowJudge(validator.rules(), frozenset(validator.measures), declared | validator.parameters())
    names = list(keys or map(str, range(len(column))))
    found = judge.findings("image", validator.measure(column), names)
    return [(str(finding.key), finding.code, finding.severity.value) for finding in found]


def set_findings(validator: Validator, column: Column) -> Found:
    """What the questions to the set find, each asked from its minimum on."""
    rows = validator.measure(column)
    members = ", ".join(f'"{name}" {measurement.type}' for name, measurement in validator.measures.items())
    found: Found = []
    with duckdb.connect() as connection:
        connection.execute(f'CREATE TABLE facts (number BIGINT, "image" STRUCT({members}))')
        values = [{name: plain(np.ma.MaskedArray(rows[name])[row]) for name in rows} for row in range(len(column))]
        connection.executemany("INSERT INTO facts VALUES (?, ?)", list(enumerate(values)))
        for rule in validator.rules():
            if isinstance(rule, SetRule) and len(column) >= rule.minimum:
                sql = rule.sql.replace("{field}", '"image"')
                parameters = {name: value for name, value in validator.parameters().items() if f"${name}" in sql}
                answer = connection.execute(sql, parameters or None)
                names = [described[0] for described in answer.description or ()]
                for row in answer.fetchall():
                    told = dict(zip(names, row, strict=True))
                    found.append((str(told["number"]), rule.code, told.get("severity", rule.severity.value)))
    return found
