"""Columns -> facts on disk -> findings, the way a run judges them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from datascrub.config import Config, DataConfig
from datascrub.model import RECORD, Column, Field, Finding, Kind, Problem, Role
from datascrub.plan import Plan
from datascrub.run.facts import FactsTable
from datascrub.run.folder import RunFolder
from datascrub.run.plan_file import RunPlan
from datascrub.spine.judge import Judge
from datascrub.spine.station import measuring, schema_of

ROLES = {role.value: role for role in Role}


def column(name: str, values: Any, role: Role | None = None, kind: Kind = Kind.ARRAY) -> Column:
    """A column whose role is its name, unless another is given."""
    return Column(Field(name, role or ROLES[name], kind), values)


def judged(
    folder: Path, *columns: Column, task: str = "classification", problems: Mapping[int, Problem] | None = None, **data: Any
) -> list[tuple[int | None, Finding]]:
    """(number of the sample, finding) for a set of these columns; keys are "#0", "#1", …"""
    count = len(columns[0]) if columns else len(problems or {})
    fields = tuple(each.field for each in columns)
    plan = Plan("set", "hdf5", None, fields, data=DataConfig(**data), task=task)
    run = RunFolder(folder / "run")
    run.create()
    table = FactsTable.empty(schema_of(plan))
    notes = Column(RECORD, [(problems or {}).get(row) for row in range(count)], {"size_bytes": np.full(count, 10)})
    measured: dict[str, dict[str, np.ndarray]] = {}
    for each in (*columns, notes):
        measured[each.field.name] = {}
        for validator in measuring(plan, "numpy")[each.field.name]:
            measured[each.field.name] |= validator.measure(each)
    nothing = np.full(count, None, object)
    place = {
        "shard": np.zeros(count, np.int32),
        "row": np.arange(count),
        "key": np.array([f"#{row}" for row in range(count)], object),
        "file": nothing,
        "offset": np.ma.MaskedArray(np.zeros(count, np.int64), np.ones(count, bool)),
        "stamp": nothing,
    }
    table.add(place, measured, count)
    table.write(run.shard_file(0), {"parts": []})
    return list(Judge(run, RunPlan(plan), Config(data=DataConfig(**data))).findings())


def codes(found: list[tuple[int | None, Finding]]) -> set[tuple[int | None, str]]:
    """(number, code) of findings; None for the set."""
    return {(number, finding.code) for number, finding in found}


def of(found: list[tuple[int | None, Finding]], code: str) -> list[tuple[int | None, str, str]]:
    """(number, severity, message) of the findings of one rule."""
    return [(number, finding.severity.value, finding.message) for number, finding in found if finding.code == code]
