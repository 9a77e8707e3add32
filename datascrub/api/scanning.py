"""A scan: recognise, plan, measure, judge."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from datascrub.api.runs import Run, default_run_folder, judge_into, judged_before
from datascrub.api.watcher import Watcher
from datascrub.config import Config
from datascrub.engines.isolated import call, stream
from datascrub.engines.local import Died, Interrupts, Local
from datascrub.engines.resources import default_workers, worker_bytes
from datascrub.engines.scratch import scratch_in
from datascrub.errors import ChildDiedError, DatascrubError, IncompleteError, SourceError, UsageError
from datascrub.model import Part
from datascrub.network.choose import checked, choose_backend, settings_of
from datascrub.readers import Survey
from datascrub.registry import load as load_files
from datascrub.run.compact import compact
from datascrub.run.facts import accounts, count_rows, sound_shards
from datascrub.run.folder import RunFolder
from datascrub.run.plan_file import Choice, RunPlan
from datascrub.spine.accepted import place_of, read_decisions
from datascrub.spine.account import Measured, exit_code, timestamp
from datascrub.spine.baseline import read_baseline
from datascrub.spine.deaths import closer, resumed
from datascrub.spine.listing import list_shards
from datascrub.spine.measure import measure_shard
from datascrub.spine.questions import check_questions
from datascrub.spine.selftest import misses
from datascrub.spine.survey import fingerprint_source, locate, make_plan, survey_source
from datascrub.spine.task import ShardAccount, ShardTask, chosen_rows

SELFTEST_S = 60.0


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
            before = judged_before(folder, run_plan, config) if is_measured and compared_with is None else None
            summary = before or judge_into(folder, run_plan, config, measured=measured, baseline=compared_with)[0]
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
        raise SourceError(f"{source} can't be read: {why(error)}", fix="check permissions, mounts and the disk") from error


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
            reasons.append(f"listing the source failed: {why(error)}; what was listed is measured")

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
        reasons += changed(run_plan)
    if (rows := count_rows(folder)) != measured.records:
        reasons.append(f"facts of {rows:,} samples are there, and {measured.records:,} were measured")
    measured.reasons, measured.measured_at = [*reasons, *measured.reasons], timestamp()
    if not measured.reasons:
        compact(folder, asdict(measured))
    return measured


def _engine(workers: int, run_plan: RunPlan) -> Local:
    # A GPU's driver maps more than it uses: such workers are not confined.
    return Local(workers, worker_bytes(workers) if run_plan.backend == "numpy" else None)


def changed(run_plan: RunPlan) -> list[str]:
    try:
        now = call(fingerprint_source, run_plan.plan.source, run_plan.plan.container)
    except (SourceError, ChildDiedError, OSError) as error:
        return [f"the source can't be reached any more: {why(error)}"]
    return [] if now == dict(run_plan.plan.fingerprint) else ["the source changed while it was scanned; scan again when it is at rest"]


def why(error: Exception) -> str:
    return error.what if isinstance(error, DatascrubError) else str(getattr(error, "strerror", None) or error)
