"""One summary of several runs, with what concerns more than one of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datascrub.errors import UsageError
from datascrub.model import Severity
from datascrub.run.findings import FindingsTable, read_findings
from datascrub.run.folder import RunFolder
from datascrub.several.member import Drops, Member
from datascrub.spine.baseline import FIRST


def make_summary(
    kind: str,
    members: Sequence[Member],
    summaries: Mapping[str, dict[str, Any]],
    table: FindingsTable,
    drops: Drops,
    not_checked: Sequence[str],
) -> dict[str, Any]:
    """Like the summary of one run, over all of them."""
    known = [(member.name, summaries[member.name]) for member in members if member.name in summaries]
    reasons = [f"{name}: {reason}" for name, its in known for reason in its["incomplete_because"]]
    reasons += [f"{member.name} was not scanned" for member in members if member.name not in summaries]
    rules = _merged([("", table.counts()), *((name, its["rules"]) for name, its in known)])
    account = {name: sum(its["account"][name] for _, its in known) for name in known[0][1]["account"]} if known else {}
    left_out = sum(len(its) for its in drops.values())
    account |= {"quarantined": left_out, "kept": account["records"] - left_out - account["unreadable"]}
    across = [finding.severity for _, finding in table.rows]
    worst = worst_of([*across, *(Severity(its["worst"]) for _, its in known if its["worst"])])
    flood = next((f"{name}: {its['flood']}" for name, its in known if its["flood"]), None)
    return {
        "schema_version": 1,
        "kind": kind,
        "sources": {member.name: {"source": member.source, **_told(summaries.get(member.name))} for member in members},
        "complete": not reasons and all(its["complete"] for _, its in known),
        "incomplete_because": reasons,
        "account": account,
        "worst": worst.value if worst else None,
        "rules": rules,
        "not_checked": [*not_checked, *dict.fromkeys(each for _, its in known for each in its["not_checked"])],
        "notes": list(dict.fromkeys(note for _, its in known for note in its["notes"])),
        "flood": flood,
        "taken_over": sum(its["taken_over"] for _, its in known),
    }


def worst_of(severities: Sequence[Severity]) -> Severity | None:
    return max(severities, key=lambda severity: severity.rank, default=None)


@dataclass(frozen=True)
class Before:
    """What an earlier scan of several sources, the baseline, said of more than one of them: told again by code and key."""

    path: str
    said: frozenset[tuple[str, str | None]]

    @classmethod
    def read(cls, run: str | os.PathLike[str] | None) -> Before | None:
        """None where no baseline is named. Raises UsageError where the folder holds no finished run."""
        if run is None:
            return None
        folder = RunFolder(Path(run))
        if not folder.findings.exists():
            raise UsageError(f"{run} holds no findings to compare with: its scan did not come to its end", fix="name a finished run with --baseline")
        return cls(os.fspath(run), frozenset((finding.code, finding.key) for finding in read_findings(folder)))

    def compared(self, table: FindingsTable, known: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
        """New, gone and kept over all sources, and the worst of what is new."""
        now = [finding for _, finding in table.ordered()]
        new = [finding for finding in now if (finding.code, finding.key) not in self.said]
        told = {(finding.code, finding.key) for finding in now}
        counts = {"new": len(new), "kept": len(now) - len(new), "gone": len(self.said - told)}
        worst = worst_of([*(f.severity for f in new), *(Severity(its["worst_new"]) for _, its in known if its["worst_new"])])
        first = {change: [_with_source(name, each) for name, its in known for each in its[f"first_{change}"]] for change in ("new", "gone")}
        return {
            "run": self.path,
            **{change: count + sum(its[change] for _, its in known) for change, count in counts.items()},
            "first_new": ([finding.as_dict() for finding in new] + first["new"])[:FIRST],
            "first_gone": first["gone"][:FIRST],
            "worst_new": worst.value if worst else None,
        }


def _with_source(name: str, told: Mapping[str, Any]) -> dict[str, Any]:
    return {**told, "key": None if told["key"] is None else f"{name}:{told['key']}"}


def _told(summary: Mapping[str, Any] | None) -> dict[str, Any]:
    return {} if summary is None else {name: summary[name] for name in ("container", "account", "worst", "complete")}


def _merged(counted: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]) -> list[dict[str, Any]]:
    """The counts of all runs, code by code: the worst first, what concerns several sources before what one run found."""
    made: dict[tuple[str, str], dict[str, Any]] = {}
    for name, rules in counted:
        for rule in rules:
            first = [f"{name}:{key}" if name and key is not None else key for key in rule["first"]]
            its = made.setdefault(
                (rule["code"], rule["severity"]),
                {"code": rule["code"], "severity": rule["severity"], "findings": 0, "samples": 0, "first": [], "says": rule["says"]},
            )
            its["findings"] += rule["findings"]
            its["samples"] += rule["samples"]
            its["first"] = (its["first"] + [key for key in first if key not in its["first"]])[:3]
    return sorted(made.values(), key=lambda rule: -Severity(rule["severity"]).rank)
