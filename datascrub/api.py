"""The library: scan, judge, clean, look. The command line is a thin twin of these calls."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datascrub.config import Config
from datascrub.engines.isolated import call, stream
from datascrub.engines.local import Died, Interrupts, Local
from datascrub.engines.processes import preload
from datascrub.engines.resources import default_workers, worker_bytes
from datascrub.engines.scratch import scratch_in
from datascrub.errors import ChildDiedError, CopyError, DatascrubError, IncompleteError, SourceError, UsageError
from datascrub.model import Finding, Part, Role, Severity
from datascrub.network.choose import checked, choose_backend, settings_of
from datascrub.plan import Plan
from datascrub.readers import CopyOptions, CopyReport, Survey
from datascrub.registry import load as load_files
from datascrub.run.facts import accounts, compact, count_rows, open_facts, plain_facts, sound_shards
from datascrub.run.findings import FindingsTable, findings_of, quarantined_keys, read_findings, write_quarantine
from datascrub.run.folder import RunFolder
from datascrub.run.plan_file import Choice, RunPlan
from datascrub.spine import copy as copying
from datascrub.spine.accepted import place_of, read_decisions
from datascrub.spine.account import Measured, exit_code, make_summary, timestamp
from datascrub.spine.baseline import Baseline, read_baseline
from datascrub.spine.deaths import closer, resumed
from datascrub.spine.flood import common_cause
from datascrub.spine.judge import parts_of
from datascrub.spine.listing import list_shards
from datascrub.spine.look import Look, look_at
from datascrub.spine.measure import ShardAccount, ShardTask, chosen_rows, measure_shard
from datascrub.spine.questions import check_questions
from datascrub.spine.selftest import misses
from datascrub.spine.survey import fingerprint_source, locate, make_plan, survey_source
from datascrub.spine.verdict import judge as judge_run

if TYPE_CHECKING:
    import duckdb

MAX_QUARANTINE = 0.10
SELFTEST_S = 60.0
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
            summary = _judge_into(folder, folder.plan(), folder.plan().config(), writes=False)[0]
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
        return clean(self.path, destination, **options)


def default_run_folder(source: Path, *, is_partial: bool = False) -> Path:
    """`<name of the source>.datascrub` in the working directory; beside the source where the working directory lies inside it.

    is_partial: `<name of the source>.sample.datascrub`, so that a look at a few samples never pushes a run of all of them aside.
    """
    real = source.resolve()
    here = Path.cwd()
    place = real.parent if source.is_dir() and (here == real or real in here.parents) else here
    return place / f"{real.name}{'.sample' if is_partial else ''}.datascrub"


def survey(source: str | os.PathLike[str], config: Config | None = None, tmp: str | None = None) -> RunPlan:
    """What the source is, as a scan would plan it; nothing is written."""
    config = config or Config()
    with scratch_in(tmp) as scratch:
        container, found, fingerprint = _surveyed(os.fspath(source), config, scratch)
    return make_plan(os.fspath(source), container, found, fingerprint, config, Choice(), "numpy")


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
    since: str | os.PathLike[str] | None = None,
    by_content: bool = False,
    baseline: str | os.PathLike[str] | None = None,
    fail_on: str = "error",
    batch_size: int = 1024,
    tmp: str | None = None,
    load: Sequence[str] = (),
    watcher: Watcher | None = None,
) -> Run:
    """Scan a data set: measure every sample, judge, write the run folder.

    load: files of validators of your own. limit, share: measure only so many samples, or that share of them, spread over the source by `seed`.
    since: an earlier run, whose facts of unchanged samples are taken over; without it, the run that this one replaces. by_content: whether a
    sample is unchanged is told by its bytes, not by sizes and times. reread: nothing is taken over, and all is measured anew.
    baseline: a judged run to compare the findings with; it may be the one that this run replaces.
    Raises SourceError, UsageError; a scan that was interrupted returns with exit_code 4 and goes on when called again.
    """
    config, watcher, source = config or Config(), watcher or Watcher(), os.fspath(source)
    _sensible(workers, limit, share)
    path = locate(source)
    is_partial = limit is not None or share is not None
    folder = RunFolder(Path(out) if out is not None else default_run_folder(path, is_partial=is_partial))
    _keep_outside(folder.path, path)
    load_files(load)
    read_decisions(place_of(config))  # what is wrong with them is said before hours of measuring, not after
    compared_with = read_baseline(baseline, fail_on)
    chosen = choose_backend(backend, config.network.device)
    network = _network_settings(config, chosen)
    with scratch_in(tmp) as scratch:
        container, found, fingerprint = _surveyed(source, config, scratch)
        run_plan = make_plan(source, container, found, fingerprint, config, Choice(limit, share, seed, by_content), chosen)
        files = tuple(str(Path(file).absolute()) for file in load)
        run_plan = dataclasses.replace(run_plan, load=files, rules=config.rules, network=network)
        run_plan = dataclasses.replace(run_plan, report=config.report, accepted=str(place_of(config).absolute()) if config.accepted else None)
        check_questions(run_plan.plan, config)
        folder.spill = scratch
        with folder.held():
            is_measured = _make_place(folder, run_plan, reread)
            folder.write_plan(run_plan)
            if is_measured:
                measured = Measured(**(folder.measured() or {}))
                watcher.reused(run_plan, measured.measured_at)
            else:
                watcher.recognised(run_plan, folder.path, workers or default_workers())
                failed = selftest()
                earlier = None if reread else _earlier_run(folder, run_plan, since)
                measured = _measure(folder, run_plan, workers or default_workers(), batch_size, scratch, watcher, earlier)
                measured.reasons += failed
            summary, _ = _judge_into(folder, run_plan, config, measured=measured, baseline=compared_with)
            summary["exit_code"] = exit_code(summary, fail_on)
            folder.write_json(folder.summary_file, summary)
            return Run(folder.path, summary, summary["exit_code"])


def _network_settings(config: Config, backend: str) -> dict[str, Any]:
    """What the configuration fixes for the network, looked at in a child where a device or a function of the user's own is named."""
    made = settings_of(config)
    return call(checked, made, backend, is_confined=False) if "device" in made or "call" in made.get("preprocess", {}) else made


def _sensible(workers: int | None, limit: int | None, share: float | None) -> None:
    """Raises UsageError for numbers that ask for nothing."""
    for name, value in (("workers", workers), ("limit", limit)):
        if value is not None and value < 1:
            raise UsageError(f"{name} is at least 1, not {value}")
    if share is not None and not 0 < share <= 1:
        raise UsageError(f"the share of samples is above 0 and at most 1, not {share}")
    if limit is not None and share is not None:
        raise UsageError("a limit and a share of the samples exclude each other", fix="give one of them")


def selftest() -> list[str]:
    """What the decoders of this machine miss among a handful of known-bad inputs, a sentence each; empty where all is well."""
    try:
        return call(misses, silence_s=SELFTEST_S)
    except ChildDiedError as death:
        return [f"the self-test failed: a known-bad input ended the process that decoded it ({death.cause})"]


def _surveyed(source: str, config: Config, tmp: str | None) -> tuple[str, Survey, dict[str, Any]]:
    locate(source)
    try:
        return call(survey_source, source, config, tmp)
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


def _earlier_run(folder: RunFolder, run_plan: RunPlan, since: str | os.PathLike[str] | None) -> str | None:
    """The finished run whose facts of unchanged samples hold for this one too: the one named, else the one that this run replaces.

    Raises UsageError where a named run is of no use.
    """
    before = RunFolder(Path(since)) if since is not None else RunFolder(folder.previous)
    if since is None and not before.plan_file.exists():
        return None
    try:
        is_alike = run_plan.measures_like(before.plan()) and before.measured() is not None
    except UsageError:
        if since is not None:
            raise
        return None
    if since is not None and not is_alike:
        raise UsageError(f"{before.path} measured something else, or did not come to its end", fix="leave --since away, or name another run")
    return str(before.path.absolute()) if is_alike else None


def _measure(folder: RunFolder, run_plan: RunPlan, workers: int, batch_size: int, tmp: str | None, watcher: Watcher, since: str | None) -> Measured:
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
                        yield resumed(ShardTask(str(folder.path), piece, batch_size, rows=rows, tmp=tmp, sample_s=sample_s, since=since))
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
        summary, _ = _judge_into(folder, judged, config, measured=Measured(**before) if before else None, baseline=compared_with)
        summary["exit_code"] = exit_code(summary, fail_on)
        folder.write_json(folder.summary_file, summary)
        return Run(folder.path, summary, summary["exit_code"])


def _judge_into(
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
    if summary["flood"]:
        summary["flood"] += common_cause(folder, list(quarantined))
    return summary, table


def clean(
    run: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    *,
    link: str = "copy",
    only_changed: bool = False,
    drop_unreadable: bool = False,
    max_quarantine: float | int = MAX_QUARANTINE,
    drop: Iterable[str] | None = None,
    tmp: str | None = None,
    watcher: Watcher | None = None,
) -> CopyReport:
    """A cleaned copy of a run's source: same container and settings, without the samples in quarantine.csv.

    max_quarantine: a share (below 1, or 1.0 for all) or a number of samples; a larger quarantine is a cause to look at, and refused.
    drop: keys to leave out instead of those in quarantine.csv.
    Raises CopyError where the copy is refused or does not read back; nothing is left at the destination then.
    """
    folder, watcher = RunFolder(Path(run)), watcher or Watcher()
    run_plan, summary = folder.plan(), folder.summary()
    _ready(run_plan, summary)
    assert summary is not None
    drop = quarantined_keys(folder.quarantine) if drop is None else list(drop)
    _no_flood(summary, len(drop), max_quarantine)
    unreadable = [f.key for f in Run(folder.path, summary).findings("record-unreadable") if f.key is not None]
    if unreadable and not drop_unreadable:
        raise CopyError(
            f"{len(unreadable):,} samples could not be read ({unreadable[0]} first), and a copy would lose them",
            fix="make them readable and scan again, or leave them out with --drop-unreadable",
        )
    plan, place = run_plan.plan, Path(destination)
    locate(plan.source)
    if _changed(run_plan):
        raise CopyError("the source changed since it was scanned, or can't be reached any more", fix="scan it again")
    aside = copying.prepare(Path(plan.source), place, 0 if link in ("hard", "sym", "reflink") else run_plan.size_bytes)
    options = CopyOptions(link, only_changed, drop_unreadable)
    try:
        with scratch_in(tmp) as scratch:
            report = _copied(plan, aside, frozenset(drop) | frozenset(unreadable), options, scratch, watcher)
            if aside.exists():
                if report.kept:
                    copying.verify(report, _read_back(plan, aside, scratch), aside)
                copying.publish(aside, place)
    except BaseException:
        copying.remove(aside)
        raise
    watcher.finished()
    return dataclasses.replace(report, notes=(*report.notes, *_warned(run_plan, summary, report)))


def _warned(run_plan: RunPlan, summary: Mapping[str, Any], report: CopyReport) -> list[str]:
    """What somebody who trains on the copy must know of it."""
    made = []
    parts = {rule["code"]: rule["parts"] for rule in summary["rules"] if rule["severity"] == Severity.ERROR and rule["parts"]}
    if parts:
        told = ", ".join(f"{code} ({count:,})" for code, count in parts.items())
        made.append(f"STILL TO MEND: {sum(parts.values()):,} errors stand in places that are no sample, and no copy mends them: {told}")
    plan = run_plan.plan
    if report.dropped and plan.fields_of(Role.IMAGE) and not plan.fields_of(Role.LABEL):
        made.append(f"NO LABELS IN HERE: whatever is read beside it by position is shifted by the {report.dropped:,} samples that are left out")
    return made


def check_destination(source: str | os.PathLike[str] | None, destination: str | os.PathLike[str], *, is_partial: bool = False) -> None:
    """What would refuse a cleaned copy is known before the scan: raises CopyError then, and not hours later."""
    if is_partial:
        raise CopyError("a scan of a part of the source gives no cleaned copy", fix="leave --limit and --sample away")
    copying.check_destination(None if source is None else Path(source), Path(destination))


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
        told = f": {summary['flood']}" if summary["flood"] else told
        raise CopyError(
            f"{quarantined:,} of {records:,} samples would be left out, more than --max-quarantine allows{told}",
            fix="find the common cause first; or say --max-quarantine 100% (or a number) to copy all the same",
        )


def _copied(plan: Plan, aside: Path, drop: frozenset[str], options: CopyOptions, tmp: str | None, watcher: Watcher) -> CopyReport:
    try:
        return call(copying.write_copy, plan, str(aside), drop, options, tmp, hear=watcher.copied)
    except SourceError as error:
        raise CopyError(error.what, fix=error.fix) from error
    except ChildDiedError as death:
        raise CopyError(f"the copying process was ended by {death.cause}", fix="run the command again; nothing is left behind") from death
    except OSError as error:
        raise CopyError(f"the copy can't be written: {_why(error)}", fix="make room or give access, then run the command again") from error


def _read_back(plan: Plan, aside: Path, tmp: str | None) -> tuple[int, str]:
    try:
        return call(copying.read_back, plan, str(aside), tmp, hear=_only_a_pulse)
    except ChildDiedError as death:
        raise CopyError(f"the process that read the copy back was ended by {death.cause}", fix="run the command again; look at the disk") from death
    except (SourceError, OSError) as error:
        raise CopyError(f"the copy can't be read back: {_why(error)}", fix="run the command again; if it happens twice, look at the disk") from error


def _only_a_pulse(count: int) -> None:
    """The bar was filled when the copy was written; reading it back shows that it goes on, and no more."""


def look(
    source: str | os.PathLike[str],
    key: str,
    config: Config | None = None,
    tmp: str | None = None,
    run: str | os.PathLike[str] | None = None,
) -> Look:
    """One sample, measured on the spot, with the findings of a run of the source: of the one named, else of its own run folder.

    Without a run it is judged alone. Raises UsageError where the source has no such key.
    """
    folder = RunFolder(Path(run) if run is not None else default_run_folder(locate(os.fspath(source))))
    if run is not None:
        folder.plan()  # raises where there is none
    with scratch_in(tmp) as scratch:
        network = {name: value for name, value in settings_of(config or Config()).items() if name != "device"}
        run_plan = survey(source, config, scratch)
        seen = call(look_at, run_plan.plan, key, "numpy", scratch, network)
    if folder.findings.exists() and folder.plan().plan.source == run_plan.plan.source:
        return dataclasses.replace(seen, findings=tuple(findings_of(folder, seen.key)), run=str(folder.path))
    return seen
