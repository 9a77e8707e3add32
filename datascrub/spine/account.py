"""The account of a run: records = kept + quarantined + unreadable, and the summary that tells it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from datascrub.model import Finding, Severity
from datascrub.run.plan_file import RunPlan

SCHEMA = 1


@dataclass
class Measured:
    """What the measuring of a run came to, summed over its shards."""

    records: int = 0
    unreadable: int = 0
    size_bytes: int = 0
    shards: int = 0
    parts: list[dict[str, Any]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """why something in the plan was not done; empty where all was"""
    measured_at: str = ""

    def add(self, account: Mapping[str, Any]) -> None:
        self.records += account["records"]
        self.unreadable += account["unreadable"]
        self.size_bytes += account["size_bytes"]
        self.shards += 1
        self.parts += account["parts"]


def timestamp() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def balance(measured: Measured, quarantined: int) -> dict[str, Any]:
    """records = kept + quarantined + unreadable; beside it what parts lost, as far as it is known."""
    known = [part["lost_bytes"] for part in measured.parts if part["lost_bytes"] is not None]
    return {
        "records": measured.records,
        "kept": measured.records - quarantined - measured.unreadable,
        "quarantined": quarantined,
        "unreadable": measured.unreadable,
        "lost_bytes": sum(known),
        "parts_of_unknown_size": sum(part["lost_bytes"] is None for part in measured.parts),
    }


def make_summary(
    run_plan: RunPlan,
    measured: Measured,
    quarantined: int,
    rules: Sequence[Mapping[str, Any]],
    not_checked: Sequence[str],
    worst: Severity | None,
) -> dict[str, Any]:
    """summary.json, but for the exit code."""
    plan = run_plan.plan
    return {
        "schema_version": SCHEMA,
        "source": plan.source,
        "container": plan.container,
        "layout": plan.layout,
        "complete": not measured.reasons and run_plan.choice.is_everything,
        "incomplete_because": list(measured.reasons),
        "account": balance(measured, quarantined),
        "worst": worst.value if worst else None,
        "rules": list(rules),
        "not_checked": list(not_checked),
        "flood": _flood(measured.records, quarantined, rules),
        "backend": run_plan.backend,
        "size_bytes": measured.size_bytes,
        "measured_at": measured.measured_at,
        "versions": dict(run_plan.versions),
    }


FLOOD_SHARE = 0.10
FLOOD_LEAST = 10


def _flood(records: int, quarantined: int, rules: Sequence[Mapping[str, Any]]) -> str | None:
    """One sentence where so much would be quarantined that it has a cause of its own; None else."""
    if quarantined < FLOOD_LEAST or quarantined <= FLOOD_SHARE * records:
        return None
    errors = [rule for rule in rules if rule["severity"] == Severity.ERROR and rule["samples"]]
    most = max(errors, key=lambda rule: rule["samples"])
    return f"{quarantined:,} of {records:,} samples would be left out; most often {most['code']} ({most['samples']:,}): {most['says']}"


def worst_of(findings: Sequence[tuple[int | None, Finding]]) -> Severity | None:
    return max((finding.severity for _, finding in findings), key=lambda severity: severity.rank, default=None)


def exit_code(summary: Mapping[str, Any], fail_on: str, was_copy_refused: bool = False) -> int:
    """The first that applies: 4 incomplete, 5 a copy was asked for and not written, 1 findings at or over `fail_on` ("never": none), 0 clean."""
    if summary["incomplete_because"]:
        return 4
    if was_copy_refused:
        return 5
    worst = summary["worst"]
    if fail_on != "never" and worst is not None and Severity(worst).rank >= Severity(fail_on).rank:
        return 1
    return 0
