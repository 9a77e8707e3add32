"""plan.json: the plan of a run as plain JSON, and back."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from datascrub.config import DataConfig
from datascrub.model import Field, Kind, Limits, Role
from datascrub.plan import Plan

SCHEMA = 1
_JUDGED_ONLY = ("classes", "ignore_labels", "task", "precision", "batch_size", "loader")
"""what the owner declares for the judging alone: the same facts are measured whatever it says"""


@dataclass(frozen=True)
class Choice:
    """Which samples of the source are measured: all, or a seeded share or number spread over it."""

    limit: int | None = None
    share: float | None = None
    seed: int = 0

    @property
    def is_everything(self) -> bool:
        return self.limit is None and self.share is None


@dataclass(frozen=True)
class RunPlan:
    """The plan of the source, and how this run measures it.

    validators: name -> {"version": …, "parameters": {…}} of all that measure. backend: of the dummy network.
    load: files of the user's own validators.
    versions: of datascrub and the decoders. count: samples the survey saw; labels, notes: its words for people.
    """

    plan: Plan
    choice: Choice = Choice()
    validators: Mapping[str, Any] = field(default_factory=dict)
    backend: str = "numpy"
    load: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    count: int | None = None
    is_count_exact: bool = True
    size_bytes: int = 0
    labels: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        made: dict[str, Any] = json.loads(json.dumps({"schema": SCHEMA, **dataclasses.asdict(self)}, default=str))
        return made

    def identity(self) -> str:
        """Equal where the same facts would be measured: source, its fingerprint, plan, choice, validators, versions."""
        told = {name: value for name, value in self.as_json().items() if name not in ("notes", "labels", "count")}
        told["plan"].pop("task")
        for name in _JUDGED_ONLY:
            told["plan"]["data"].pop(name)
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def from_json(table: Mapping[str, Any]) -> RunPlan:
    """The plan that as_json wrote."""
    made = {f.name: table[f.name] for f in dataclasses.fields(RunPlan) if f.name in table}
    inner = dict(made.pop("plan"))
    inner["fields"] = tuple(_field(each) for each in inner["fields"])
    inner["limits"] = Limits(**inner["limits"])
    inner["data"] = _data(inner["data"])
    choice = Choice(**made.pop("choice"))
    return RunPlan(Plan(**inner), choice, **{**made, "labels": tuple(made["labels"]), "notes": tuple(made["notes"]), "load": tuple(made["load"])})


def _field(table: Mapping[str, Any]) -> Field:
    shape = None if table["shape"] is None else tuple(table["shape"])
    return Field(table["name"], Role(table["role"]), Kind(table["kind"]), table["dtype"], shape, tuple(table["declared"]))


def _data(table: Mapping[str, Any]) -> DataConfig:
    made = dict(table)
    made["classes"] = tuple(made["classes"]) if isinstance(made["classes"], list) else made["classes"]
    made["ignore_labels"] = tuple(made["ignore_labels"])
    made["roles"] = {name: Role(role) for name, role in made["roles"].items()}
    return DataConfig(**made)
