"""Pictures by key, and labels -> findings, as a run judges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from datascrub.config import Config, DataConfig, RuleConfig
from datascrub.model import RECORD, Column, Field, Finding, Kind, Role
from datascrub.plan import Plan
from datascrub.run.facts import FactsTable
from datascrub.run.folder import RunFolder
from datascrub.run.plan_file import RunPlan
from datascrub.spine.judge import Judge
from datascrub.spine.station import measuring, schema_of

Found = list[tuple[str | None, str, str]]
"""(key, code, severity); key None for the set"""


def judged(
    folder: Path, files: Mapping[str, bytes], labels: Sequence[str] | None = None, rules: Mapping[str, RuleConfig] | None = None
) -> list[Finding]:
    """All findings on a set of pictures."""
    columns = [Column(Field("image", Role.IMAGE, Kind.ENCODED), list(files.values()))]
    if labels is not None:
        columns.append(Column(Field("label", Role.LABEL, Kind.TEXT), list(labels)))
    columns.append(Column(RECORD, [None] * len(files), {"size_bytes": np.full(len(files), 10)}))
    plan = Plan("set", "image-folder", None, tuple(each.field for each in columns[:-1]), task="classification" if labels else "unlabelled")
    run = RunFolder(folder / "run")
    run.create()
    table = FactsTable.empty(schema_of(plan))
    measured: dict[str, dict[str, np.ndarray]] = {}
    for each in columns:
        measured[each.field.name] = {}
        for validator in measuring(plan, "numpy")[each.field.name]:
            measured[each.field.name] |= validator.measure(each)
    nothing: Any = np.full(len(files), None, object)
    offset = np.ma.MaskedArray(np.zeros(len(files), np.int64), np.ones(len(files), bool))
    shard, row = np.zeros(len(files), np.int32), np.arange(len(files))
    place = {"shard": shard, "row": row, "key": np.array(list(files), object), "file": nothing, "offset": offset, "stamp": nothing}
    table.add(place, measured, len(files))
    table.write(run.shard_file(0), {"parts": []})
    config = Config(DataConfig(), rules or {})
    return [finding for _, finding in Judge(run, RunPlan(plan), config).findings()]


def of(found: Sequence[Finding], *codes: str) -> Found:
    """(key, code, severity) of the findings of these rules, or of all."""
    return [(f.key, f.code, f.severity.value) for f in found if not codes or f.code in codes]
