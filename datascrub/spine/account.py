"""The account of a run: records = kept + quarantined + unreadable, and the summary that tells it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from datascrub.model import Severity
from datascrub.run.plan_file import RunPlan

SCHEMA = 1


@dataclass
class Measured:
    """What the measuring of a run came to, summed over its shards."""

    records: int = 0
    unreadable: int = 0
    size_bytes: int = 0
    shards: int = 0
    taken: int = 0
    """samples whose facts come from an earlier run"""
    parts: list[dict[str, Any]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """why something in the plan was not done; empty where all was"""
    notes: list[str] = field(default_factory=list)
    """what a worker had to do another way, as the dummy network on the CPU since the GPU was busy"""
    measured_at: str = ""

    def add(self, account: Mapping[str, Any]) -> None:
        self.records += account["records"]
        self.unreadable += account["unreadable"]
        self.size_bytes += account["size_bytes"]
        self.shards += 1
        self.taken += account["taken"]
        self.parts += account["parts"]
        self.notes = sorted({*self.notes, *account["notes"]})
        self._enforce(account)

    def _enforce(self, account: Mapping[str, Any]) -> None:
        """Every record that the listing promised was read, or its loss was said."""
        lost = [part["lost_records"] for part in account["parts"]]
        if account["expected"] is None or None in lost:
            return
        missing = account["expected"] - account["records"] - sum(lost)
        if missing > 0:
            self.reasons.append(f"{missing:,} of the {account['expected']:,} records of shard {account['shard']} came to no account")


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
    account = balance(measured, quarantined)
    reasons = [*measured.reasons, *_doubts(account, rules)]
    return {
        "schema_version": SCHEMA,
        "source": plan.source,
        "container": plan.container,
        "layout": plan.layout,
        "complete": not reasons and run_plan.choice.is_everything,
        "incomplete_because": reasons,
        "account": account,
        "causes": _causes(rules),
        "worst": worst.value if worst else None,
        "rules": list(rules),
        "not_checked": list(not_checked),
        "notes": list(measured.notes),
        "flood": _flood(measured.records, quarantined, rules),
        "taken_over": measured.taken,
        "backend": run_plan.backend,
        "size_bytes": measured.size_bytes,
        "measured_at": measured.measured_at,
        "versions": dict(run_plan.versions),
    }


NOT_CHECKED_SHARE = 0.5
_INACCESSIBLE = frozenset({"record-unreadable", "part-unreadable"})
_UNSUPPORTED = frozenset({"record-unsupported", "part-unsupported", "part-layout-unknown", "record-pickled", "record-too-large", "part-too-large"})


def _doubts(account: Mapping[str, Any], rules: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why the verdict can't be trusted as it stands."""
    made = []
    if account["kept"] < 0:
        made.append(f"the account does not balance: {account}")
    for rule in rules:
        if rule["code"] == "part-layout-unknown":
            made.append(f"no record was checked: {rule['says']}")
        if rule["code"] == "sample-not-checked" and rule["samples"] > NOT_CHECKED_SHARE * account["records"]:
            made.append(f"{rule['samples']:,} of {account['records']:,} samples could not be checked: {rule['says']}")
    return made


def _causes(rules: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Findings on records and parts by what is behind them: damaged data, places that could not be reached, things that can't be read here."""
    made = dict.fromkeys(("damaged", "inaccessible", "unsupported"), 0)
    for rule in rules:
        if rule["code"].startswith(("record-", "part-")) and rule["severity"] != Severity.INFO:
            cause = "inaccessible" if rule["code"] in _INACCESSIBLE else "unsupported" if rule["code"] in _UNSUPPORTED else "damaged"
            made[cause] += rule["findings"]
    return made


FLOOD_SHARE = 0.10
FLOOD_LEAST = 10


def _flood(records: int, quarantined: int, rules: Sequence[Mapping[str, Any]]) -> str | None:
    """One sentence where so much would be quarantined that it has a cause of its own; None else."""
    if quarantined < FLOOD_LEAST or quarantined <= FLOOD_SHARE * records:
        return None
    errors = [rule for rule in rules if rule["severity"] == Severity.ERROR and rule["samples"]]
    most = max(errors, key=lambda rule: rule["samples"])
    return f"{quarantined:,} of {records:,} samples would be left out; most often {most['code']} ({most['samples']:,}): {most['says']}"


FAIL_ON = ("error", "warning", "info", "new-error", "new-warning", "never")


def exit_code(summary: Mapping[str, Any], fail_on: str, was_copy_refused: bool = False) -> int:
    """The first that applies: 4 incomplete, 5 a copy was asked for and not written, 1 findings at or over `fail_on` ("never": none), 0 clean.

    "new-error", "new-warning": of the findings that the baseline does not have.
    """
    if summary["incomplete_because"]:
        return 4
    if was_copy_refused:
        return 5
    worst = summary["worst"]
    if fail_on.startswith("new-"):
        worst, fail_on = (summary.get("baseline") or {}).get("worst_new"), fail_on.removeprefix("new-")
    if fail_on != "never" and worst is not None and Severity(worst).rank >= Severity(fail_on).rank:
        return 1
    return 0
