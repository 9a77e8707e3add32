"""Cleaned copies of several sources in one folder, whole or not at all; what is paired stays paired."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from datascrub import api
from datascrub.errors import CopyError
from datascrub.readers import CopyReport
from datascrub.run.findings import read_findings
from datascrub.run.folder import RunFolder
from datascrub.several.court import Court
from datascrub.several.member import PAIRS, Member, read_quarantine
from datascrub.several.scan import Several
from datascrub.spine import copy as copying


def clean(
    run: str | os.PathLike[str], destination: str | os.PathLike[str], *, watcher: api.Watcher | None = None, **options: Any
) -> dict[str, CopyReport]:
    """Cleaned copies of all sources, each under its name in one new folder; nothing is left there where one of them fails.

    options: those of api.clean. Of sources that are read side by side all leave out the same samples. Raises CopyError.
    """
    several, place = Several.open(run), Path(destination)
    if several.summary["incomplete_because"]:
        raise CopyError(f"the scan is not complete: {several.summary['incomplete_because'][0]}", fix="run the scan again, then clean")
    aside = copying.prepare(Path(several.members[0].source), place, 0)
    drops = read_quarantine(RunFolder(several.path))
    if several.kind == PAIRS:
        drops = _paired_drops(several, drops, takes_unreadable=bool(options.get("drop_unreadable")))
    try:
        made = {
            member.name: api.clean(folder.path, aside / _copy_name(member), drop=drops.get(member.name, {}), watcher=watcher, **options)
            for member, folder in several.runs()
        }
        if aside.exists():
            copying.publish(aside, place)
    except BaseException:
        copying.remove(aside)
        raise
    return made


def _copy_name(member: Member) -> str:
    """The name of a source in the folder of copies: that of its split, with the source's ending."""
    suffix = Path(member.source).suffix
    return member.name if member.name.endswith(suffix) else member.name + suffix


def _paired_drops(several: Several, drops: dict[str, dict[str, tuple[str, str]]], *, takes_unreadable: bool) -> dict[str, dict[str, tuple[str, str]]]:
    """What all sources leave out together. Raises CopyError where nobody can tell which samples belong together."""
    plans = [folder.plan().plan for _, folder in several.runs()]
    if takes_unreadable:
        for member, folder in several.runs():
            unreadable = {finding.key: (finding.code, finding.message) for finding in read_findings(folder, "record-unreadable") if finding.key}
            drops[member.name] = {**unreadable, **drops.get(member.name, {})}
    if several.summary["paired_by"] == "position":
        lost = [part for _, folder in several.runs() for part in (folder.measured() or {}).get("parts", []) if part["lost_records"] != 0]
        counts = {its["account"]["records"] for its in several.summary["sources"].values()}
        if lost or len(counts) > 1:
            why = "records of one are lost" if lost else "their numbers differ"
            raise CopyError(f"the samples are paired by position, and {why}: nobody can tell which belong together", fix="write the sources anew")
    with Court(several.path, PAIRS, several.members, plans) as court:
        return court.with_partners(drops)
