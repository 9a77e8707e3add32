"""One sample of a source, measured and judged on the spot, for a person to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from datascrub.model import Column, Finding, Kind, Problem
from datascrub.plan import Plan
from datascrub.registry import reader_named
from datascrub.rules.rows import RowJudge, plain
from datascrub.spine.station import measuring


@dataclass(frozen=True)
class Look:
    """A sample: what each field holds (a short description), its measurements, its findings, its record as stored, and its picture.

    picture, encoded: an array (H, W[, 3]) uint8, or the encoded bytes of the record. run: the run whose findings these are; without one, rules that
    need the set are not asked.
    """

    key: str
    values: dict[str, str]
    measured: dict[str, dict[str, Any]]
    findings: tuple[Finding, ...]
    problem: Problem | None
    raw: bytes
    picture: np.ndarray | None
    encoded: bytes | None
    run: str | None = None


def look_at(plan: Plan, key: str, backend: str, tmp: str | None, network: Mapping[str, Any] | None = None) -> Look:
    """Fetch, measure and judge one sample; meant for a child process. Raises UsageError where there is no such key."""
    with reader_named(plan.container)(Path(plan.source), limits=plan.limits, tmp=Path(tmp) if tmp else None) as reader:
        batch, raw = reader.fetch(plan, key)
    validators = measuring(plan, backend, network)
    measured: dict[str, dict[str, Any]] = {}
    findings: list[Finding] = []
    for name, column in {**batch.columns, "record": batch.record_column()}.items():
        column.limits = plan.limits
        rows: dict[str, np.ndarray] = {}
        for validator in validators.get(name, []):
            rows |= validator.measure(column)
        measured[name] = {measure: plain(values[0]) for measure, values in rows.items()}
        for validator in validators.get(name, []):
            own = {k: v for k, v in validator.parameters().items() if v is not None}
            judge = RowJudge(validator.rules(), frozenset(rows), {**plan.declared(), **plan.declared_of(name), **own})
            findings += judge.findings(name, rows, [key])
    values = {name: describe(column) for name, column in batch.columns.items()}
    return Look(key, values, measured, tuple(findings), batch.problems.get(0), raw, _picture(batch.columns), _encoded(batch.columns))


def describe(column: Column) -> str:
    """The first value of a column in a few words."""
    value = column.values[0]
    if value is None:
        return "not there"
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    if isinstance(value, str):
        return repr(value if len(value) <= 80 else value[:77] + "…")
    array = np.asarray(value)
    return str(array) if array.ndim == 0 else f"{array.dtype} {'x'.join(map(str, array.shape))}"


def _picture(columns: dict[str, Column]) -> np.ndarray | None:
    for column in columns.values():
        value = column.values[0]
        if column.field.kind is Kind.ARRAY and column.field.role == "image" and value is not None:
            return _as_picture(np.asarray(value))
    return None


def _encoded(columns: dict[str, Column]) -> bytes | None:
    held = (column.values[0] for column in columns.values() if column.field.kind is Kind.ENCODED)
    return next((value for value in held if value is not None), None)


def _as_picture(value: np.ndarray) -> np.ndarray | None:
    """An array as uint8 (H, W) or (H, W, 3): channels first or last, numbers outside 0..255 scaled."""
    if value.ndim == 3 and value.shape[0] in (1, 3, 4) and value.shape[-1] not in (1, 3, 4):
        value = np.moveaxis(value, 0, -1)
    if value.ndim == 3:
        value = value[..., 0] if value.shape[-1] in (1, 2) else value[..., :3]
    if value.ndim not in {2, 3}:
        return None
    if value.dtype != np.uint8:
        finite = np.where(np.isfinite(value), value, 0).astype(np.float64)
        low, high = finite.min(), finite.max()
        value = ((finite - low) * (255 / (high - low) if high > low else 0)).astype(np.uint8)
    return np.ascontiguousarray(value)
