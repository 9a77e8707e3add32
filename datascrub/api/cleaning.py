"""A cleaned copy from a finished run."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datascrub.engines.isolated import call
from datascrub.engines.scratch import scratch_in
from datascrub.errors import ChildDiedError, CopyError, SourceError
from datascrub.model import Role, Severity
from datascrub.plan import Plan
from datascrub.readers import CopyOptions, CopyReport
from datascrub.run.findings import quarantined_keys
from datascrub.run.folder import RunFolder
from datascrub.run.plan_file import RunPlan
from datascrub.spine import copy as copying
from datascrub.spine.survey import locate

if TYPE_CHECKING:
    pass
from datascrub.api.runs import Run
from datascrub.api.scanning import changed, why
from datascrub.api.watcher import Watcher

MAX_QUARANTINE = 0.10


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
    if changed(run_plan):
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
        raise CopyError(f"the copy can't be written: {why(error)}", fix="make room or give access, then run the command again") from error


def _read_back(plan: Plan, aside: Path, tmp: str | None) -> tuple[int, str]:
    try:
        return call(copying.read_back, plan, str(aside), tmp, hear=_only_a_pulse)
    except ChildDiedError as death:
        raise CopyError(f"the process that read the copy back was ended by {death.cause}", fix="run the command again; look at the disk") from death
    except (SourceError, OSError) as error:
        raise CopyError(f"the copy can't be read back: {why(error)}", fix="run the command again; if it happens twice, look at the disk") from error


def _only_a_pulse(count: int) -> None:
    """The bar was filled when the copy was written; reading it back shows that it goes on, and no more."""
