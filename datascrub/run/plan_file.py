"""plan.json: the plan of a run as plain JSON, and back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from datascrub.config import Config, DataConfig, FieldConfig, ReportConfig, RuleConfig
from datascrub.model import Field, Kind, Limits, Role, Severity
from datascrub.plan import Plan

SCHEMA = 2
_JUDGED_ONLY = ("classes", "ignore_labels", "task", "precision", "batch_size", "loader", "fields")
"""what the owner declares for the judging alone: the same facts are measured whatever it says"""


@dataclass(frozen=True)
class Choice:
    """Which samples of the source are measured: all, or a seeded share or number spread over it.

    by_content: samples are known again in a later run by their bytes, not by sizes and times of files.
    """

    limit: int | None = None
    share: float | None = None
    seed: int = 0
    by_content: bool = False

    @property
    def is_everything(self) -> bool:
        return self.limit is None and self.share is None


@dataclass(frozen=True)
class RunPlan:
    """The plan of the source, and how this run measures it.

    validators: name -> {"version": …, "parameters": {…}} of all that measure. backend, network: of the dummy network, and
    the other parameters of it that the configuration fixes.
    load: files of the user's own validators. rules, report, accepted: how the owner set them; a later
    judging without a configuration of its own keeps to them.
    versions: of datascrub and the decoders. count: samples the survey saw; labels, notes: its words for people.
    """

    plan: Plan
    choice: Choice = Choice()
    validators: Mapping[str, Any] = field(default_factory=dict)
    backend: str = "numpy"
    network: Mapping[str, Any] = field(default_factory=dict)
    load: tuple[str, ...] = ()
    rules: Mapping[str, RuleConfig] = field(default_factory=dict)
    report: ReportConfig = ReportConfig()
    accepted: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    count: int | None = None
    is_count_exact: bool = True
    size_bytes: int = 0
    labels: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()

    def config(self) -> Config:
        """What the scan was told that a judging needs too."""
        return Config(data=self.plan.data, rules=self.rules, limits=self.plan.limits, report=self.report, accepted=self.accepted)

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        made: dict[str, Any] = json.loads(json.dumps({"schema": SCHEMA, **dataclasses.asdict(self)}, default=str))
        return made

    def identity(self) -> dict[str, Any]:
        """Equal where the same facts would be measured: source, its fingerprint, plan, choice, validators, versions."""
        told = {name: value for name, value in self.as_json().items() if name not in ("notes", "labels", "count", "rules", "report", "accepted")}
        told["plan"].pop("task")
        for name in _JUDGED_ONLY:
            told["plan"]["data"].pop(name)
        return told

    def measures_like(self, other: RunPlan) -> bool:
        """Whether a sample that is the same in both has the same facts in both: all that identity() holds but what the source as a whole is now."""
        one, two = self.identity(), other.identity()
        for told in (one, two):
            for name in ("source", "fingerprint"):
                told["plan"].pop(name)
            for name in ("size_bytes", "is_count_exact"):
                told.pop(name)
        return one == two and self.choice.is_everything


def from_json(table: Mapping[str, Any]) -> RunPlan:
    """The plan that as_json wrote. Raises ValueError where another version of datascrub wrote it."""
    if table["schema"] != SCHEMA:
        raise ValueError(f"its schema is {table['schema']}, and this is {SCHEMA}")
    made = {f.name: table[f.name] for f in dataclasses.fields(RunPlan) if f.name in table}
    inner = dict(made.pop("plan"))
    inner["fields"] = tuple(_field(each) for each in inner["fields"])
    inner["limits"] = Limits(**inner["limits"])
    inner["data"] = _data(inner["data"])
    choice = Choice(**made.pop("choice"))
    made["rules"] = {code: _rule(its) for code, its in made["rules"].items()}
    made["report"] = ReportConfig(**made.get("report", {}))
    return RunPlan(Plan(**inner), choice, **{**made, "labels": tuple(made["labels"]), "notes": tuple(made["notes"]), "load": tuple(made["load"])})


def _rule(table: Mapping[str, Any]) -> RuleConfig:
    return RuleConfig(**{**table, "severity": None if table["severity"] is None else Severity(table["severity"])})


def _field(table: Mapping[str, Any]) -> Field:
    shape = None if table["shape"] is None else tuple(table["shape"])
    return Field(table["name"], Role(table["role"]), Kind(table["kind"]), table["dtype"], shape, tuple(table["declared"]))


def _field_config(table: Mapping[str, Any]) -> FieldConfig:
    made: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}
    return FieldConfig(**made)


def _data(table: Mapping[str, Any]) -> DataConfig:
    made = dict(table)
    made["classes"] = tuple(made["classes"]) if isinstance(made["classes"], list) else made["classes"]
    made["ignore_labels"] = tuple(made["ignore_labels"])
    made["roles"] = {name: Role(role) for name, role in made["roles"].items()}
    made["decoders"] = tuple(made["decoders"])
    made["fields"] = {name: _field_config(its) for name, its in made["fields"].items()}
    return DataConfig(**made)
