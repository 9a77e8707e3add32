"""From findings to a verdict: what was accepted is left out, what fires often is said of the set, limits and a baseline are held against it."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from datascrub.config import Config
from datascrub.model import Severity
from datascrub.run.findings import FindingsTable
from datascrub.run.folder import RunFolder
from datascrub.run.plan_file import RunPlan
from datascrub.spine.accepted import Review, place_of, read_decisions, review
from datascrub.spine.baseline import Baseline, Comparison
from datascrub.spine.identity import Identity, Row, contents
from datascrub.spine.judge import Judge
from datascrub.spine.shares import loud, over_limits, worst_counted


@dataclass(frozen=True)
class Verdict:
    """What a judge came to.

    table: the findings that speak, sorted for reading. not_checked: what could not be asked. worst: the severity that counts for the exit code, and
    worst_new: that of what the baseline does not have. accepted: what reviewed decisions keep quiet, in numbers. compared: against the baseline.
    """

    table: FindingsTable
    not_checked: list[str]
    worst: Severity | None
    accepted: dict[str, Any]
    compared: Comparison | None = None
    worst_new: Severity | None = None

    def told(self) -> dict[str, Any]:
        """What a summary tells of decisions and of the baseline."""
        told: dict[str, Any] = {"accepted": self.accepted, "baseline": None}
        if self.compared is not None:
            told["baseline"] = {**self.compared.told(), "worst_new": self.worst_new.value if self.worst_new else None}
        return told


def judge(run: RunFolder, run_plan: RunPlan, config: Config, baseline: Baseline | None = None) -> Verdict:
    """All that a run has measured, judged. Raises UsageError where the configuration or the file of decisions is wrong."""
    court, rows = _heard(run, run_plan, config)
    share = config.report.loud_share
    common = loud(rows, court.total, share)
    reviewed = _reviewed(run, run_plan, config, [*rows, *common])
    is_common = {id(row) for row in common}
    rows = [row for row in reviewed.spoken if id(row) not in is_common]
    over = over_limits(rows, court.total, config.rules)
    settled = {finding.code for _, finding in over}
    still = loud(rows, court.total, share) if reviewed.told["findings"] else common
    rows += [row for row in still if row[1].code not in settled and Identity.of(row[1], "") not in reviewed.in_force]
    made = Verdict(FindingsTable([*rows, *over]), court.not_checked, worst_counted(rows, over, config.rules), reviewed.told)
    return made if baseline is None else _compared(made, run, run_plan, config, baseline, over)


def _heard(run: RunFolder, run_plan: RunPlan, config: Config) -> tuple[Judge, list[Row]]:
    import duckdb

    try:
        court = Judge(run, run_plan, config)
        return court, list(court.findings())
    except duckdb.OutOfMemoryException:  # a set of many millions, or a rule of one's own that asks for much
        court = Judge(run, run_plan, config, is_little=False)
        return court, list(court.findings())


def _reviewed(run: RunFolder, run_plan: RunPlan, config: Config, rows: list[Row]) -> Review:
    place = place_of(config)
    decisions = read_decisions(place)
    identities = _identities(run, run_plan, rows) if decisions else [Identity(finding.code) for _, finding in rows]
    return review(place, decisions, rows, identities, datetime.datetime.now(datetime.UTC).date())


def _compared(made: Verdict, run: RunFolder, run_plan: RunPlan, config: Config, baseline: Baseline, over: Sequence[Row]) -> Verdict:
    compared = baseline.compare(made.table.rows, _identities(run, run_plan, made.table.rows))
    is_over = {id(row) for row in over}
    new = [row for _, row in compared.new]
    worst = worst_counted([row for row in new if id(row) not in is_over], [row for row in new if id(row) in is_over], config.rules)
    return replace(made, compared=compared, worst_new=worst)


def _identities(run: RunFolder, run_plan: RunPlan, rows: Sequence[Row]) -> list[Identity]:
    known = zip(rows, contents(run, run_plan.plan, rows), strict=True)
    return [Identity.of(finding, content) for (_, finding), content in known]
