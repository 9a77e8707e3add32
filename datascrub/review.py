"""What a person has of a run besides its findings: accept what was looked at and is meant; the set as a whole."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datascrub.config import Config
from datascrub.errors import UsageError
from datascrub.model import Finding, Scope
from datascrub.registry import load as load_files
from datascrub.run.findings import read_numbered
from datascrub.run.folder import RunFolder
from datascrub.spine.accepted import UNSEEN, Decision, place_of, remember
from datascrub.spine.identity import Row, contents
from datascrub.spine.shares import LIMIT
from datascrub.spine.statistics import statistics


def is_run(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is the run of a scan."""
    return RunFolder(Path(path)).plan_file.is_file() and RunFolder(Path(path)).facts.is_dir()


def statistics_of(run: str | os.PathLike[str]) -> dict[str, Any]:
    """The set of a run as a whole: classes, splits, sizes, formats, shapes, ranges, mean and deviation; see spine.statistics."""
    return statistics(RunFolder(Path(run)))


@dataclass(frozen=True)
class Acceptance:
    """What accept() wrote. place: into which file; by_key: how many decisions are remembered by key alone, since nothing of their sample has a hash;
    unseen: findings that can't be accepted, for they say that something was not looked at, or are made by a limit of the owner's own."""

    place: Path
    decisions: tuple[Decision, ...]
    by_key: int
    unseen: int


def accept(
    run: str | os.PathLike[str],
    keys: Sequence[str] = (),
    *,
    rule: str | None = None,
    every: bool = False,
    why: str,
    until: datetime.date | None = None,
    config: Config | None = None,
) -> Acceptance:
    """Remember that findings of a judged run were looked at and are meant: later scans and judges leave them out, and count them.

    keys: of samples or parts, with the rule. Without keys: what the rule says of the set; with `every`, all findings of the rule, or of the run.
    config: names the file of decisions (see Config.accepted); else it is the one that the scan went by.
    Raises UsageError where nothing is found under a key, or nothing at all.
    """
    if not why.strip():
        raise UsageError("a decision needs a reason", fix="say it with --why")
    today = datetime.datetime.now(datetime.UTC).date()
    if until is not None and until < today:
        raise UsageError(f"--until {until} lies in the past")
    if rule is None and not every:
        raise UsageError("which findings?", fix="name a rule with --rule, or take all with --all")
    if keys and every:
        raise UsageError("keys and --all together", fix="leave one of them away")
    folder = RunFolder(Path(run))
    plan = folder.plan()
    load_files(plan.load)
    if not folder.findings.exists():
        raise UsageError(f"{run} holds no findings: its scan did not come to its end", fix="run the scan command again")
    place = place_of(config or plan.config())
    _keep_outside(place, Path(plan.plan.source))
    found = list(read_numbered(folder, rule))
    chosen = found if every else _under(found, keys, rule or "")
    seen = [row for row in chosen if row[1].code not in UNSEEN and LIMIT not in row[1].evidence]
    if not seen:
        what = (
            "says that something could not be looked at, or goes by your own limit, which can't be accepted"
            if chosen
            else "found nothing in this run"
        )
        raise UsageError(f"{rule or 'the run'} {what}", fix="see `datascrub findings RUN`")
    known = zip(seen, contents(folder, plan.plan, seen), strict=True)
    decisions = {each.identity: each for each in (_decision(finding, content, why, today, until) for (_, finding), content in known)}
    remember(place, decisions.values())
    made = tuple(decisions.values())
    return Acceptance(place, made, sum(not each.content and each.key != "" for each in made), len(chosen) - len(seen))


def _keep_outside(place: Path, source: Path) -> None:
    if source.is_dir() and source.resolve() in place.absolute().resolve().parents:
        raise UsageError(f"{place} lies inside the source", fix="name a place outside it with --accepted")


def _under(found: Sequence[Row], keys: Sequence[str], rule: str) -> list[Row]:
    if not keys:
        of_set = [row for row in found if row[1].scope is Scope.SET]
        if found and not of_set:
            raise UsageError(f"{rule} says nothing of the set as a whole", fix="name keys, or take all its findings with --all")
        return of_set
    wanted = dict.fromkeys(keys)
    named = [(row, {row[1].key, row[1].evidence.get("sample_key")}) for row in found]
    met = {key for _, its in named for key in its}
    for key in wanted:
        if key not in met:
            raise UsageError(f"{rule} found nothing on {key}", fix="see `datascrub findings RUN --rule CODE --format keys`")
    return [row for row, its in named if its & wanted.keys()]


def _decision(finding: Finding, content: str, why: str, today: datetime.date, until: datetime.date | None) -> Decision:
    is_set = finding.scope is Scope.SET
    key, field = ("", finding.field or "") if is_set else (finding.key or "", "")
    return Decision(finding.code, key, content, field, " ".join(why.split()), today, until)
