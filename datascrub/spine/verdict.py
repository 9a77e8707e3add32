"""From findings to a verdict: what was accepted is left out, what fires often is said of the set, limits and a baseline are held against it."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from datascrub.config import Config
from datascrub.model import Severity
from datascrub.run.findings import Row
from datascrub.run.findings_table import FindingsTable
from datascrub.run.folder import RunFolder
from datascrub.run.plan_file import RunPlan
from datascrub.spine.accepted import Review, place_of, read_decisions, review
from datascrub.spine.baseline import Baseline, Comparison
from datascrub.spine.identity import Identity, contents
from datascrub.spine.judge import Judge
from datascrub.spine.shares import LIMIT, loud, over_limits, worst_counted


@dataclass(frozen=True)
class Verdict:
    """What a judge came to.

    table: the findings that speak. not_checked: what could not be asked. worst: the severity that counts for the exit code, and
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
    court, table = _heard(run, run_plan, config)
    share = config.report.loud_share
    common = loud(table, court.total, share)
    reviewed = _reviewed(run, run_plan, config, table, common)
    over = over_limits(table, court.total, config.rules)
    settled = {finding.code for _, finding in over}
    still = loud(table, court.total, share) if reviewed.told["findings"] else common
    table.extend(row for row in still if row[1].code not in settled and Identity.of(row[1], "") not in reviewed.in_force)
    worst = worst_counted(table, over, config.rules)
    table.extend(over)
    made = Verdict(table, court.not_checked, worst, reviewed.told)
    return made if baseline is None else _compared(made, run, run_plan, config, baseline)


def _heard(run: RunFolder, run_plan: RunPlan, config: Config) -> tuple[Judge, FindingsTable]:
    import duckdb

    court, table = Judge(run, run_plan, config), FindingsTable(spill=run.spill)
    try:
        table.extend(court.findings())
    except duckdb.OutOfMemoryException:  # a set of many millions, or a rule of one's own that asks for much
        court = Judge(run, run_plan, config, is_little=False)
        table.clear()
        table.extend(court.findings())
    return court, table


def _reviewed(run: RunFolder, run_plan: RunPlan, config: Config, table: FindingsTable, common: Sequence[Row]) -> Review:
    place = place_of(config)
    today = datetime.datetime.now(datetime.UTC).date()
    return review(place, read_decisions(place), table, common, lambda rows: _identities(run, run_plan, rows), today)


def _compared(made: Verdict, run: RunFolder, run_plan: RunPlan, config: Config, baseline: Baseline) -> Verdict:
    rows = list(made.table.rows())
    compared = baseline.compare(rows, _identities(run, run_plan, rows))
    new = [row for _, row in compared.new]
    over = [row for row in new if LIMIT in row[1].evidence]
    with contextlib.closing(FindingsTable((row for row in new if LIMIT not in row[1].evidence), run.spill)) as others:
        worst = worst_counted(others, over, config.rules)
    return replace(made, compared=compared, worst_new=worst)


def _identities(run: RunFolder, run_plan: RunPlan, rows: Sequence[Row]) -> list[Identity]:
    known = zip(rows, contents(run, run_plan.plan, rows), strict=True)
    return [Identity.of(finding, content) for (_, finding), content in known]
