"""A run: where it lies, what it holds, and judging it again."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xxhash

from datascrub.config import Config
from datascrub.model import Finding, Role
from datascrub.readers import CopyReport
from datascrub.registry import load as load_files
from datascrub.registry import validators
from datascrub.run.facts import accounts, open_facts, plain_facts
from datascrub.run.findings import FindingsTable, read_findings, write_quarantine
from datascrub.run.folder import RunFolder
from datascrub.run.plan_file import RunPlan
from datascrub.spine.accepted import place_of
from datascrub.spine.account import Measured, exit_code, make_summary
from datascrub.spine.baseline import Baseline, read_baseline
from datascrub.spine.flood import common_cause
from datascrub.spine.judge import parts_of
from datascrub.spine.verdict import judge as judge_run

if TYPE_CHECKING:
    import duckdb


@dataclass
class Run:
    """One finished, running or broken run."""

    path: Path
    summary: dict[str, Any]
    exit_code: int = 0

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Run:
        """The run in a folder, judged as far as it is measured. Raises UsageError where there is none."""
        folder = RunFolder(Path(path))
        folder.plan()
        summary = folder.summary()
        if summary is None:
            summary = judge_into(folder, folder.plan(), folder.plan().config(), writes=False)[0]
        return cls(folder.path, summary, summary.get("exit_code", 0))

    def findings(self, code: str | None = None) -> Iterator[Finding]:
        """The findings, the worst first; of one rule where `code` is given."""
        folder = RunFolder(self.path)
        if folder.findings.exists():
            return read_findings(folder, code)
        judged = judge_run(folder, folder.plan(), folder.plan().config())
        return (finding for _, finding in judged.table.ordered() if code in (None, finding.code))

    @property
    def config(self) -> Config:
        """What the scan was told: what the data is, and how rules are set."""
        return RunFolder(self.path).plan().config()

    @property
    def facts(self) -> duckdb.DuckDBPyRelation:
        """All measurements, one row a sample, as a DuckDB relation (.df(), .arrow(), .fetchnumpy())."""
        return plain_facts(open_facts(RunFolder(self.path)))

    def clean(self, destination: str | os.PathLike[str], **options: Any) -> CopyReport:
        """A cleaned copy of the source without the quarantined samples; see clean()."""
        from datascrub.api.cleaning import clean

        return clean(self.path, destination, **options)


def default_run_folder(source: Path, *, is_partial: bool = False) -> Path:
    """`<name of the source>.datascrub` in the working directory; beside the source where the working directory lies inside it.

    is_partial: `<name of the source>.sample.datascrub`, so that a look at a few samples never pushes a run of all of them aside.
    """
    real = source.resolve()
    here = Path.cwd()
    place = real.parent if source.is_dir() and (here == real or real in here.parents) else here
    return place / f"{real.name}{'.sample' if is_partial else ''}.datascrub"


def judge(run: str | os.PathLike[str], config: Config | None = None, fail_on: str = "error", baseline: str | os.PathLike[str] | None = None) -> Run:
    """Judge a run anew from its facts; no byte of the source is read.

    config: other thresholds, severities and rules, and what the data is said to be. baseline: a judged run to compare the findings with.
    """
    folder = RunFolder(Path(run))
    run_plan = folder.plan()
    load_files(run_plan.load)
    compared_with = read_baseline(baseline, fail_on)
    config = config or run_plan.config()
    with folder.held():
        task = config.data.task or run_plan.plan.task
        judged = dataclasses.replace(run_plan, plan=dataclasses.replace(run_plan.plan, data=config.data, task=task))
        before = folder.measured()
        summary, _ = judge_into(folder, judged, config, measured=Measured(**before) if before else None, baseline=compared_with)
        summary["exit_code"] = exit_code(summary, fail_on)
        folder.write_json(folder.summary_file, summary)
        return Run(folder.path, summary, summary["exit_code"])


def judge_into(
    folder: RunFolder, run_plan: RunPlan, config: Config, measured: Measured | None = None, writes: bool = True, baseline: Baseline | None = None
) -> tuple[dict[str, Any], FindingsTable]:
    if measured is None:
        measured = Measured(reasons=["the scan has not come to its end; the same scan command goes on"])
        for account in accounts(folder):
            measured.add(account)
        measured.parts = parts_of(folder)
    judged = judge_run(folder, run_plan, config, baseline)
    table, quarantined = judged.table, judged.table.quarantined()
    if writes:
        table.write(folder)
        folder.changes.unlink(missing_ok=True)
        if judged.compared is not None:
            judged.compared.write(folder.changes)
        labels = run_plan.plan.fields_of(Role.LABEL)
        write_quarantine(folder, quarantined, labels[0].name if labels else None)
    summary = make_summary(run_plan, measured, len(quarantined), table.counts(), judged.not_checked, judged.worst)
    summary |= judged.told()
    summary["judged_by"] = _judged_by(run_plan, config)
    if summary["flood"]:
        summary["flood"] += common_cause(folder, list(quarantined))
    return summary, table


def judged_before(folder: RunFolder, run_plan: RunPlan, config: Config) -> dict[str, Any] | None:
    """The summary of a finished run that was judged by all that counts now; None where it has to be judged anew."""
    summary, results = folder.summary(), (folder.findings, folder.quarantine)
    if summary is None or summary["incomplete_because"] or summary["baseline"] is not None or not all(file.exists() for file in results):
        return None
    # The summary is written last: what is younger than it is of a judging that was ended before it.
    is_whole = all(file.stat().st_mtime_ns <= folder.summary_file.stat().st_mtime_ns for file in results)
    # A file of decisions, or of validators of one's own, may say something else today, and so may a day on which a decision ends.
    is_settled = not run_plan.load and not place_of(config).exists()
    return summary if is_whole and is_settled and summary.get("judged_by") == _judged_by(run_plan, config) else None


def _judged_by(run_plan: RunPlan, config: Config) -> str:
    """A digest of what findings depend on beside the facts: plan, rules as they are today, their thresholds, versions."""
    catalogue = [repr(kind()) + repr(kind().rules()) for kind in validators()]
    told = [catalogue, run_plan.identity(), run_plan.plan.task, *(dataclasses.asdict(each) for each in (config.data, config.report)), config.accepted]
    rules = {code: dataclasses.asdict(rule) for code, rule in sorted(config.rules.items())}
    return xxhash.xxh3_64_hexdigest(json.dumps([*told, rules], default=str, sort_keys=True).encode())
