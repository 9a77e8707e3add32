"""Scan several sources, each in full, then ask what concerns more than one of them; or judge all that anew."""

from __future__ import annotations

import csv
import dataclasses
import heapq
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datascrub import api
from datascrub.config import Config
from datascrub.errors import UsageError
from datascrub.model import Finding, Scope
from datascrub.registry import load as load_files
from datascrub.run.findings import FindingsTable, read_findings
from datascrub.run.folder import RunFolder
from datascrub.several.court import Court
from datascrub.several.member import NAME, PAIRS, SPLITS, Member, named, write_quarantine
from datascrub.several.summary import Before, make_summary
from datascrub.spine.account import exit_code
from datascrub.spine.survey import locate

_SCOPES = {Scope.SET: 0, Scope.PART: 1, Scope.SAMPLE: 2}


@dataclass
class Several:
    """The scan of several sources: one folder, in which each has a run of its own."""

    path: Path
    kind: str
    members: tuple[Member, ...]
    summary: dict[str, Any]
    exit_code: int = 0

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Several:
        """The scan in a folder. Raises UsageError where there is none, or it did not come to its end."""
        place = Path(path)
        try:
            told = json.loads((place / NAME).read_text("utf-8"))
            members = tuple(Member(**each) for each in told["members"])
            summary = json.loads((place / "summary.json").read_text("utf-8"))
        except (FileNotFoundError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{place} holds no finished scan of several sources", fix="run the scan command again; it goes on") from error
        return cls(place, told["kind"], members, summary, summary["exit_code"])

    def runs(self) -> list[tuple[Member, RunFolder]]:
        return [(member, RunFolder(self.path / member.name)) for member in self.members]

    @property
    def config(self) -> Config:
        """What the scan was told: what the data is, and how rules are set."""
        return self.runs()[0][1].plan().config()

    def findings(self, code: str | None = None) -> Iterator[Finding]:
        """What concerns several sources and what each run found, the worst first; keys begin with the name of the source."""
        own = read_findings(RunFolder(self.path), code)
        theirs = [named(member, read_findings(run, code)) for member, run in self.runs()]
        yield from heapq.merge(own, *theirs, key=lambda finding: (-finding.severity.rank, _SCOPES[finding.scope]))

    def clean(self, destination: str | os.PathLike[str], **options: Any) -> Mapping[str, Any]:
        """Cleaned copies of all sources in one folder, whole or not at all; of pairs, what one leaves out all leave out."""
        from datascrub.several.copy import clean  # it needs this class

        return clean(self.path, destination, **options)


def is_several(path: str | os.PathLike[str]) -> bool:
    """Whether a folder holds a scan of several sources."""
    return (Path(path) / NAME).is_file()


def open_run(path: str | os.PathLike[str]) -> api.Run | Several:
    """The run in a folder, of one source or of several."""
    return Several.open(path) if is_several(path) else api.Run.open(path)


def scan_splits(splits: Mapping[str, str | os.PathLike[str]], **options: Any) -> Several:
    """Scan the splits of a set, each in full, then ask what concerns two of them: leaks, labels that one lacks, names in both.

    splits: name -> source. options: those of api.scan, out being the folder of the whole.
    """
    if len(splits) < 2:
        raise UsageError("a scan of splits needs two of them", fix="as in --split train=a.lmdb --split val=b.lmdb")
    return _scan(SPLITS, tuple(Member(name, os.fspath(source)) for name, source in splits.items()), **options)


def scan_pairs(sources: Sequence[str | os.PathLike[str]], **options: Any) -> Several:
    """Scan sources that are read side by side, the pictures first, each in full; then ask whether they fit together.

    options: those of api.scan, out being the folder of the whole.
    """
    if len(sources) < 2:
        raise UsageError("paired sources are two or more", fix="as in scan images.lmdb --paired labels.lmdb")
    return _scan(PAIRS, tuple(_members(sources)), **options)


def _members(sources: Sequence[str | os.PathLike[str]]) -> Iterator[Member]:
    """A source is called by its own name, without its ending where that is enough to tell it from the others."""
    paths = [Path(source).absolute() for source in sources]
    stems = [path.stem for path in paths]
    names = stems if len(set(stems)) == len(stems) else [path.name for path in paths]
    for number, (name, source) in enumerate(zip(names, sources, strict=True)):
        its = re.sub(r"^\W+", "", re.sub(r"[^\w.-]", "_", name))[:50] or f"source{number}"
        yield Member(its if names.count(name) == 1 else f"{its}-{number}", os.fspath(source))


def _scan(kind: str, members: tuple[Member, ...], *, out: str | os.PathLike[str] | None = None, **options: Any) -> Several:
    is_partial = options.get("limit") is not None or options.get("share") is not None
    path = Path(out) if out is not None else _default_folder(members, is_partial=is_partial)
    config: Config = options.get("config") or Config()
    fail_on = options.get("fail_on", "error")
    for member in members:
        _check_name(member.name)
        inside = locate(member.source)
        if inside.is_dir() and inside.resolve() in path.absolute().resolve().parents:
            raise UsageError(f"the run folder {path} lies inside {member.source}", fix="choose a place outside it with --out")
    baseline = Before.read(options.get("baseline"))
    _make_folder(path, kind, members)
    runs: dict[str, api.Run] = {}
    for member in members:
        its: dict[str, Any] = {name: _of_member(value, member) if name in ("since", "baseline") else value for name, value in options.items()}
        runs[member.name] = api.scan(member.source, out=path / member.name, **its)
        if any(reason.startswith("interrupted") for reason in runs[member.name].summary["incomplete_because"]):
            break
    load_files(options.get("load", ()))
    return _judge(path, kind, members, {name: run.summary for name, run in runs.items()}, config, fail_on, baseline)


def _of_member(run: str | os.PathLike[str] | None, member: Member) -> Path | None:
    """The run of one source in an earlier scan of several."""
    if run is None:
        return None
    return Path(run) / member.name if is_several(run) else Path(run)


def judge(
    run: str | os.PathLike[str], config: Config | None = None, fail_on: str = "error", baseline: str | os.PathLike[str] | None = None
) -> Several:
    """Judge the runs of several sources anew, and what concerns all of them; no byte of a source is read."""
    place, before = Path(run), Before.read(baseline)
    told = json.loads((place / NAME).read_text("utf-8"))
    members = tuple(Member(**each) for each in told["members"])
    summaries = {member.name: api.judge(place / member.name, config, fail_on, _of_member(baseline, member)).summary for member in members}
    known = config or RunFolder(place / members[0].name).plan().config()
    return _judge(place, told["kind"], members, summaries, known, fail_on, before)


def _default_folder(members: Sequence[Member], *, is_partial: bool) -> Path:
    first = api.default_run_folder(Path(members[0].source))
    names = "+".join(Path(member.source).resolve().name for member in members)
    return first.with_name(f"{names[:120]}{'.sample' if is_partial else ''}.datascrub")


def _check_name(name: str) -> None:
    if not re.fullmatch(r"\w[\w.-]{0,60}", name) or name in (NAME, "summary.json", "quarantine.csv", "findings.parquet"):
        raise UsageError(f"{name!r} can't be the name of a split: it becomes a folder of the run", fix="use letters, digits, - and _")


def _make_folder(path: Path, kind: str, members: Sequence[Member]) -> None:
    try:
        if path.exists() and not is_several(path) and (not path.is_dir() or any(path.iterdir())):
            raise UsageError(f"{path} exists and is no scan of several sources", fix="choose another folder with --out")
        path.mkdir(parents=True, exist_ok=True)
        for stale in ("summary.json", "findings.parquet", "quarantine.csv"):
            (path / stale).unlink(missing_ok=True)
        told = {"schema": 1, "kind": kind, "members": [dataclasses.asdict(member) for member in members]}
        RunFolder(path).write_json(path / NAME, told)
    except OSError as error:
        raise UsageError(f"can't write the run folder {path}: {error.strerror}", fix="choose a place with --out") from error


def _judge(
    path: Path,
    kind: str,
    members: tuple[Member, ...],
    summaries: Mapping[str, dict[str, Any]],
    config: Config,
    fail_on: str,
    before: Before | None = None,
) -> Several:
    plans = [RunFolder(path / member.name).plan().plan for member in members if member.name in summaries]
    not_checked = _not_comparable(kind, path, members, summaries)
    table, by = FindingsTable(), ""
    if not not_checked:
        with Court(path, kind, members, plans) as court:
            by = court.by
            for number, finding in court.findings(config):
                table.add(number, finding)
            not_checked += court.not_checked
    folder = RunFolder(path)
    table.write(folder)
    drops = _drops(path, members, table)
    if kind == PAIRS and by:
        with Court(path, kind, members, plans) as court:
            drops = court.with_partners(drops)
    write_quarantine(folder, drops)
    summary = make_summary(kind, members, summaries, table, drops, not_checked)
    summary["paired_by"] = by or None
    if before is not None:
        summary["baseline"] = before.compared(table, [(name, its["baseline"]) for name, its in summaries.items()])
    summary["exit_code"] = exit_code(summary, fail_on)
    folder.write_json(folder.summary_file, summary)
    return Several(path, kind, members, summary, summary["exit_code"])


def _not_comparable(kind: str, path: Path, members: Sequence[Member], summaries: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Why nothing that concerns all sources can be asked."""
    for member in members:
        if member.name not in summaries or RunFolder(path / member.name).measured() is None:
            return [f"{kind} against each other: {member.name} is not measured to its end"]
    if kind == PAIRS and any(not RunFolder(path / member.name).plan().choice.is_everything for member in members):
        return ["pairs against each other: only a part of the sources was measured"]
    return []


def _drops(path: Path, members: Sequence[Member], table: FindingsTable) -> dict[str, dict[str, tuple[str, str]]]:
    """source -> key -> (codes, message) of all that a cleaned copy leaves out, by the runs and by what concerns several of them."""
    made: dict[str, dict[str, tuple[str, str]]] = {}
    for member in members:
        place = RunFolder(path / member.name).quarantine
        rows: list[dict[str, str]] = []
        if place.exists():
            with place.open(encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
        made[member.name] = {row["key"]: (row["codes"], row["message"]) for row in rows}
    for findings in table.quarantined().values():
        for finding in findings:
            its = made[finding.evidence["source"]]
            codes, message = its.get(finding.evidence["key"], ("", finding.message))
            its[finding.evidence["key"]] = (f"{codes} {finding.code}".strip(), message)
    return made
