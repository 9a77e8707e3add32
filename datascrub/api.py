"""The library: scan, judge, clean, look. The command line is a thin twin of these calls."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datascrub.config import Config
from datascrub.engines.isolated import call, stream
from datascrub.engines.local import Died, Interrupts, Local
from datascrub.engines.processes import preload
from datascrub.engines.resources import default_workers, worker_bytes
from datascrub.errors import ChildDiedError, CopyError, DatascrubError, IncompleteError, SourceError, UsageError
from datascrub.model import Finding, Part, Role, Severity
from datascrub.network.choose import choose_backend
from datascrub.readers import CopyOptions, CopyReport, Survey
from datascrub.registry import load as load_files
from datascrub.run.facts import accounts, compact, count_rows, open_facts, sound_shards
from datascrub.run.findings import FindingsTable, quarantined_keys, read_findings, write_quarantine
from datascrub.run.folder import RunFolder
from datascrub.run.plan_file import Choice, RunPlan
from datascrub.spine import copy as copying
from datascrub.spine.account import Measured, exit_code, make_summary, timestamp, worst_of
from datascrub.spine.deaths import closer, resumed
from datascrub.spine.judge import judge as judge_run
from datascrub.spine.judge import parts_of
from datascrub.spine.listing import list_shards
from datascrub.spine.look import Look, look_at
from datascrub.spine.measure import ShardAccount, ShardTask, chosen_rows, measure_shard
from datascrub.spine.selftest import misses
from datascrub.spine.survey import fingerprint_source, locate, make_plan, survey_source

if TYPE_CHECKING:
    import duckdb

MAX_QUARANTINE = 0.10
SURVEY_S = 1800.0
"""what recognising a source may take: damage can hold a library up for ever, and so can a mount that went stale"""
preload("datascrub.spine.preload")


class Watcher:
    """Hears how a scan goes on; the command line prints it. Every method may be left as it is."""

    def recognised(self, run_plan: RunPlan, run: Path, workers: int) -> None:
        """The source was recognised, and measuring is about to begin."""

    def reused(self, run_plan: RunPlan, measured_at: str) -> None:
        """A finished run of the unchanged source answers; nothing is read again."""

    def advanced(self, records: int, errors: int) -> None:
        """So many more samples were measured, so many of them with errors."""

    def copied(self, records: int) -> None:
        """So many more samples were copied."""

    def finished(self) -> None:
        """Measuring, or copying, came to its end."""


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
            summary = _judge_into(folder, folder.plan(), Config(data=folder.plan().plan.data), writes=False)[0]
        return cls(folder.path, summary, summary.get("exit_code", 0))

    def findings(self, code: str | None = None) -> Iterator[Finding]:
        """The findings, the worst first; of one rule where `code` is given."""
        folder = RunFolder(self.path)
        if folder.findings.exists():
            return read_findings(folder, code)
        table, _ = judge_run(folder, folder.plan(), Config(data=folder.plan().plan.data))
        return (finding for _, finding in table.ordered() if code in (None, finding.code))

    @property
    def facts(self) -> duckdb.DuckDBPyRelation:
        """All measurements, one row a sample, as a DuckDB relation (.df(), .arrow(), .fetchnumpy())."""
        return open_facts(RunFolder(self.path)).table("facts")

    def clean(self, destination: str | os.PathLike[str], **options: Any) -> CopyReport:
        """A cleaned copy of the source without the quarantined samples; see clean()."""
        return clean(self.path, destination, **options)


def default_run_folder(source: Path) -> Path:
    """`<name of the source>.datascrub` in the working directory; beside the source where the working directory lies inside it."""
    real = source.resolve()
    here = Path.cwd()
    place = real.parent if source.is_dir() and (here == real or real in here.parents) else here
    return place / f"{real.name}.datascrub"


def survey(source: str | os.PathLike[str], config: Config | None = None, tmp: str | None = None) -> RunPlan:
    """What the source is, as a scan would plan it; nothing is written."""
    config = config or Config()
    with _scratch(tmp) as scratch:
        container, found, fingerprint = _surveyed(os.fspath(source), config, scratch)
    return make_plan(os.fspath(source), container, found, fingerprint, config, Choice(), "numpy")


def _scratch(tmp: str | None) -> tempfile.TemporaryDirectory[str]:
    """A place for shadows and scratch of one call, gone when it ends. Raises UsageError where none can be written."""
    try:
        return tempfile.TemporaryDirectory(prefix="datascrub-", dir=tmp)
    except OSError as error:
        raise UsageError(f"no place for scratch can be written{f' in {tmp}' if tmp else ''}: {_why(error)}", fix="give one with --tmp") from error


def scan(
    source: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    config: Config | None = None,
    workers: int | None = None,
    backend: str = "auto",
    limit: int | None = None,
    share: float | None = None,
    seed: int = 0,
    reread: bool = False,
    fail_on: str = "error",
    batch_size: int = 1024,
    tmp: str | None = None,
    load: Sequence[str] = (),
    watcher: Watcher | None = None,
) -> Run:
    """Scan a data set: measure every sample, judge, write the run folder.

    load: files of validators of your own. limit, share: measure only so many samples, or that share of them, spread over the source by `seed`.
    Raises SourceError, UsageError; a scan that was interrupted returns with exit_code 4 and goes on when called again.
    """
    config, watcher, source = config or Config(), watcher or Watcher(), os.fspath(source)
    path = locate(source)
    folder = RunFolder(Path(out) if out is not None else default_run_folder(path))
    _keep_outside(folder.path, path)
    load_files(load)
    with _scratch(tmp) as scratch:
        container, found, fingerprint = _surveyed(source, config, scratch)
        run_plan = make_plan(source, container, found, fingerprint, config, Choice(limit, share, seed), choose_backend(backend))
        run_plan = dataclasses.replace(run_plan, load=tuple(str(Path(file).absolute()) for file in load))
        with folder.held():
            is_measured = _make_place(folder, run_plan, reread)
            folder.write_plan(run_plan)
            if is_measured:
                measured = Measured(**(folder.measured() or {}))
                watcher.reused(run_plan, measured.measured_at)
            else:
                watcher.recognised(run_plan, folder.path, workers or default_workers())
                failed = selftest()
                measured = _measure(folder, run_plan, workers or default_workers(), batch_size, scratch, watcher)
                measured.reasons += failed
            summary, _ = _judge_into(folder, run_plan, config, measured=measured)
            summary["exit_code"] = exit_code(summary, fail_on)
            folder.write_json(folder.summary_file, summary)
            return Run(folder.path, summary, summary["exit_code"])


def selftest() -> list[str]:
    """What the decoders of this machine miss among a handful of known-bad inputs, a sentence each; empty where all is well."""
    try:
        return call(misses)
    except ChildDiedError as death:
        return [f"the self-test failed: a known-bad input ended the process that decoded it ({death.cause})"]


def _surveyed(source: str, config: Config, tmp: str | None) -> tuple[str, Survey, dict[str, Any]]:
    locate(source)
    try:
        return call(survey_source, source, config, tmp, limit_s=SURVEY_S)
    except ChildDiedError as death:
        raise SourceError(
            f"{source} can't be opened: the process that tried was ended by {death.cause}", fix="the container is damaged; restore it from its origin"
        ) from death
    except OSError as error:
        raise SourceError(f"{source} can't be read: {_why(error)}", fix="check permissions, mounts and the disk") from error


def _keep_outside(run: Path, source: Path) -> None:
    if source.is_dir() and source.resolve() in run.absolute().resolve().parents:
        raise UsageError(f"the run folder {run} lies inside the source", fix="choose a place outside it with --out")


def _make_place(folder: RunFolder, run_plan: RunPlan, reread: bool) -> bool:
    """Whether the folder holds the finished measurements of this very plan; a run of another plan moves to previous/.

    Raises UsageError where it holds a run of another source.
    """
    if not folder.plan_file.exists():  # whatever else lies there is left of a run that a kill ended while it was moved away
        folder.retire()
        return False
    try:
        before = folder.plan()
    except UsageError:  # a plan of another version of datascrub
        folder.retire()
        return False
    if before.plan.source != run_plan.plan.source:
        raise UsageError(f"{folder.path} holds a run of another source ({before.plan.source})", fix="choose another folder with --out")
    if reread or before.identity() != run_plan.identity():
        folder.retire()
        return False
    return folder.measured() is not None


def _measure(folder: RunFolder, run_plan: RunPlan, workers: int, batch_size: int, tmp: str | None, watcher: Watcher) -> Measured:
    """Measure all shards that are not done yet; compact where the whole came to its end."""
    done = sound_shards(folder)
    measured, listed, reasons = Measured(), list[dict[str, Any]](), list[str]()
    for before in accounts(folder):
        watcher.advanced(before["records"], before["errors"])
    sample_s = run_plan.plan.limits.sample_s

    def tasks() -> Iterator[ShardTask]:
        try:
            for piece in stream(list_shards, run_plan.plan, tmp):
                if isinstance(piece, Part):
                    listed.append(asdict(piece))
                elif piece.number not in done:
                    rows = chosen_rows(run_plan.choice, piece, run_plan.count)
                    if rows is None or rows:
                        yield resumed(ShardTask(str(folder.path), piece, batch_size, rows=rows, tmp=tmp, sample_s=sample_s))
        except ChildDiedError as death:
            reasons.append(f"listing the source was ended by {death.cause}; what was listed is measured")
        except (SourceError, OSError) as error:
            reasons.append(f"listing the source failed: {_why(error)}; what was listed is measured")

    def again(died: Died) -> list[ShardTask]:
        return [closer(died.task, died.cause)]

    with Interrupts() as interrupts:
        try:
            for account in _engine(workers, run_plan).map(measure_shard, tasks(), again):
                assert isinstance(account, ShardAccount)
                watcher.advanced(account.records, account.errors)
            folder.write_listing(0, listed)
        except KeyboardInterrupt:
            reasons.append(f"interrupted by {interrupts.received or 'SIGINT'}; the same command goes on")
        except (SourceError, IncompleteError) as error:
            reasons.append(f"{error.what}; the same command goes on")
        watcher.finished()
    for each in accounts(folder):
        measured.add(each)
    if not reasons:
        measured.parts = listed + measured.parts
        reasons += _changed(run_plan)
    if (rows := count_rows(folder)) != measured.records:
        reasons.append(f"facts of {rows:,} samples are there, and {measured.records:,} were measured")
    measured.reasons, measured.measured_at = [*reasons, *measured.reasons], timestamp()
    if not measured.reasons:
        compact(folder, asdict(measured))
    return measured


def _engine(workers: int, run_plan: RunPlan) -> Local:
    # A GPU's driver maps more than it uses: such workers are not confined.
    return Local(workers, worker_bytes(workers) if run_plan.backend == "numpy" else None)


def _changed(run_plan: RunPlan) -> list[str]:
    try:
        now = call(fingerprint_source, run_plan.plan.source, run_plan.plan.container)
    except (SourceError, ChildDiedError, OSError) as error:
        return [f"the source can't be reached any more: {_why(error)}"]
    return [] if now == dict(run_plan.plan.fingerprint) else ["the source changed while it was scanned; scan again when it is at rest"]


def _why(error: Exception) -> str:
    return error.what if isinstance(error, DatascrubError) else str(getattr(error, "strerror", None) or error)


def judge(run: str | os.PathLike[str], config: Config | None = None, fail_on: str = "error") -> Run:
    """Judge a run anew from its facts; no byte of the source is read.

    config: other thresholds, severities and rules, and what the data is said to be.
    """
    folder = RunFolder(Path(run))
    run_plan = folder.plan()
    load_files(run_plan.load)
    config = config or Config(data=run_plan.plan.data)
    with folder.held():
        task = config.data.task or run_plan.plan.task
        judged = dataclasses.replace(run_plan, plan=dataclasses.replace(run_plan.plan, data=config.data, task=task))
        before = folder.measured()
        summary, _ = _judge_into(folder, judged, config, measured=Measured(**before) if before else None)
        summary["exit_code"] = exit_code(summary, fail_on)
        folder.write_json(folder.summary_file, summary)
        return Run(folder.path, summary, summary["exit_code"])


def _judge_into(
    folder: RunFolder, run_plan: RunPlan, config: Config, measured: Measured | None = None, writes: bool = True
) -> tuple[dict[str, Any], FindingsTable]:
    if measured is None:
        measured = Measured(reasons=["the scan has not come to its end; the same scan command goes on"])
        for account in accounts(folder):
            measured.add(account)
        measured.parts = parts_of(folder)
    table, court = judge_run(folder, run_plan, config)
    quarantined = table.quarantined()
    if writes:
        table.write(folder)
        labels = run_plan.plan.fields_of(Role.LABEL)
        write_quarantine(folder, quarantined, labels[0].name if labels else None)
    summary = make_summary(run_plan, measured, len(quarantined), table.counts(), court.not_checked, worst_of(table.rows))
    return summary, table


def clean(
    run: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    *,
    link: str = "copy",
    only_changed: bool = False,
    drop_unreadable: bool = False,
    max_quarantine: float | int = MAX_QUARANTINE,
    tmp: str | None = None,
    watcher: Watcher | None = None,
) -> CopyReport:
    """A cleaned copy of a run's source: same container and settings, without the samples in quarantine.csv.

    max_quarantine: a share (below 1, or 1.0 for all) or a number of samples; a larger quarantine is a cause to look at, and refused.
    Raises CopyError where the copy is refused or does not read back; nothing is left at the destination then.
    """
    folder, watcher = RunFolder(Path(run)), watcher or Watcher()
    run_plan, summary = folder.plan(), folder.summary()
    _ready(run_plan, summary)
    assert summary is not None
    drop = quarantined_keys(folder.quarantine)
    _no_flood(summary, len(drop), max_quarantine)
    unreadable = [f.key for f in Run(folder.path, summary).findings("record-unreadable") if f.key is not None]
    if unreadable and not drop_unreadable:
        raise CopyError(
            f"{len(unreadable):,} samples could not be read ({unreadable[0]} first), and a copy would lose them",
            fix="make them readable and scan again, or leave them out with --drop-unreadable",
        )
    plan, place = run_plan.plan, Path(destination)
    if call(fingerprint_source, plan.source, plan.container) != dict(plan.fingerprint):
        raise CopyError("the source changed since it was scanned", fix="scan it again")
    aside = copying.prepare(Path(plan.source), place, 0 if link in ("hard", "sym", "reflink") else run_plan.size_bytes)
    options = CopyOptions(link, only_changed, drop_unreadable)
    try:
        with _scratch(tmp) as scratch:
            report = _copied(plan, aside, frozenset(drop) | frozenset(unreadable), options, scratch, watcher)
            if aside.exists():
                found = call(copying.read_back, plan, str(aside), scratch) if not only_changed else (report.kept, report.digest)
                copying.verify(report, found, aside)
                copying.publish(aside, place)
    except BaseException:
        copying.remove(aside)
        raise
    watcher.finished()
    return report


def _ready(run_plan: RunPlan, summary: Mapping[str, Any] | None) -> None:
    if summary is None or summary["incomplete_because"]:
        why = summary["incomplete_because"][0] if summary else "it has not come to its end"
        raise CopyError(f"the scan is not complete: {why}", fix="run the scan again, then clean")
    if not run_plan.choice.is_everything:
        raise CopyError("only a part of the source was scanned (--limit or --sample)", fix="scan the whole, then clean")


def _no_flood(summary: Mapping[str, Any], quarantined: int, allowed: float | int) -> None:
    records = summary["account"]["records"]
    most = allowed * records if isinstance(allowed, float) else allowed
    if quarantined > most:
        cause = next((rule for rule in summary["rules"] if rule["severity"] == Severity.ERROR and rule["samples"]), None)
        told = f"; most often {cause['code']}: {cause['says']}" if cause else ""
        raise CopyError(
            f"{quarantined:,} of {records:,} samples would be left out, more than --max-quarantine allows{told}",
            fix="find the common cause first; or say --max-quarantine 100% (or a number) to copy all the same",
        )


def _copied(plan: Any, aside: Path, drop: frozenset[str], options: CopyOptions, tmp: str | None, watcher: Watcher) -> CopyReport:
    try:
        report: CopyReport | None = None
        for item in stream(copying.write_copy, plan, str(aside), drop, options, tmp):
            if isinstance(item, dict):
                report = CopyReport(**{**item, **{name: tuple(item[name]) for name in ("files", "stale", "notes")}})
            else:
                watcher.copied(item)
    except ChildDiedError as death:
        raise CopyError(f"the copying process was ended by {death.cause}", fix="run the command again; nothing is left behind") from death
    except OSError as error:
        raise CopyError(f"the copy can't be written: {_why(error)}", fix="make room or give access, then run the command again") from error
    assert report is not None
    return report


def look(source: str | os.PathLike[str], key: str, config: Config | None = None, tmp: str | None = None) -> Look:
    """One sample, measured and judged on the spot. Raises UsageError where the source has no such key."""
    with _scratch(tmp) as scratch:
        return call(look_at, survey(source, config, scratch).plan, key, "numpy", scratch)
