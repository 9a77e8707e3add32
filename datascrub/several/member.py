"""One of several sources, and what one scan says of all of them: an outcome is named by its source, then by the key there."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from datascrub.model import Finding
from datascrub.run.folder import RunFolder

SPLITS, PAIRS = "splits", "pairs"
NAME = "several.json"
QUARANTINE_HEADER = ("source", "key", "codes", "message")
Drops = Mapping[str, Mapping[str, tuple[str, str]]]
"""source -> key -> (codes, message) of what a cleaned copy leaves out"""


@dataclass(frozen=True)
class Member:
    """One of several sources. name: of its split, or of the source; its run lies in a folder of that name."""

    name: str
    source: str


def named(member: Member, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings of one run, under the name of its source."""
    for finding in findings:
        evidence = {**finding.evidence, "source": member.name, "key": finding.key}
        key = None if finding.key is None else f"{member.name}:{finding.key}"
        message = finding.message if key is not None else f"{member.name}: {finding.message}"
        yield dataclasses.replace(finding, key=key, message=message, evidence=evidence)


def write_quarantine(folder: RunFolder, drops: Drops) -> None:
    """quarantine.csv of several sources: what each of them leaves out, and why."""
    aside = folder.quarantine.with_name(folder.quarantine.name + ".part")
    with aside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(QUARANTINE_HEADER)
        writer.writerows((name, key, codes, message) for name, its in drops.items() for key, (codes, message) in its.items())
    aside.replace(folder.quarantine)


def read_quarantine(folder: RunFolder) -> dict[str, dict[str, tuple[str, str]]]:
    """quarantine.csv of several sources, as a scan wrote it or a person edited it."""
    made: dict[str, dict[str, tuple[str, str]]] = {}
    with folder.quarantine.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            made.setdefault(row["source"], {})[row["key"]] = (row["codes"], row["message"])
    return made
