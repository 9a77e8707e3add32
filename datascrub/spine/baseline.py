"""Findings of a run against those of an earlier one: new, gone, kept, by the content that each speaks of and its rule."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datascrub.errors import UsageError
from datascrub.model import Finding
from datascrub.run.findings import read_numbered
from datascrub.run.folder import RunFolder
from datascrub.spine.identity import Identity, Row, contents

HEADER = ("change", "rule", "severity", "key", "field", "content", "message")
FIRST = 10
"""findings of each kind that a summary names"""


@dataclass(frozen=True)
class Baseline:
    """The findings of an earlier run, read before a new run may take its place."""

    path: str
    findings: Mapping[Identity, Finding]

    @classmethod
    def read(cls, run: Path) -> Baseline:
        """Raises UsageError where the folder holds no judged run."""
        folder = RunFolder(run)
        plan = folder.plan().plan
        if not folder.findings.exists():
            raise UsageError(f"{run} holds no findings to compare with: its scan did not come to its end", fix="name a finished run with --baseline")
        rows = list(read_numbered(folder))
        known = zip(rows, contents(folder, plan, rows), strict=True)
        return cls(str(run), {Identity.of(finding, content): finding for (_, finding), content in known})

    def compare(self, rows: Sequence[Row], identities: Sequence[Identity]) -> Comparison:
        """What is new, gone and kept now."""
        now = set(identities)
        gone = [(identity, finding) for identity, finding in self.findings.items() if identity not in now]
        told = [(identity not in self.findings, identity, row) for identity, row in zip(identities, rows, strict=True)]
        new = [(identity, row) for is_new, identity, row in told if is_new]
        kept = [(identity, row) for is_new, identity, row in told if not is_new]
        return Comparison(self.path, tuple(new), tuple(gone), tuple(kept))


def read_baseline(run: str | os.PathLike[str] | None, fail_on: str) -> Baseline | None:
    """The baseline of a scan or judge, where one is named. Raises UsageError where `fail_on` wants one."""
    if run is not None:
        return Baseline.read(Path(run))
    if fail_on.startswith("new-"):
        raise UsageError(f"{fail_on} needs a run to compare with", fix="name it with --baseline RUN")
    return None


@dataclass(frozen=True)
class Comparison:
    """new, kept: of the run; gone: of the earlier one."""

    baseline: str
    new: tuple[tuple[Identity, Row], ...]
    gone: tuple[tuple[Identity, Finding], ...]
    kept: tuple[tuple[Identity, Row], ...]

    def told(self) -> dict[str, Any]:
        """For the summary: counts, by rule too, and the first of the new and the gone."""
        new, gone = [finding for _, (_, finding) in self.new], [finding for _, finding in self.gone]
        kinds = {"new": new, "gone": gone, "kept": [finding for _, (_, finding) in self.kept]}
        counts = {change: Counter(finding.code for finding in its) for change, its in kinds.items()}
        codes = sorted({code for its in counts.values() for code in its})
        return {
            "run": self.baseline,
            **{change: len(its) for change, its in kinds.items()},
            "rules": [{"code": code, **{change: counts[change][code] for change in kinds}} for code in codes],
            "first_new": [finding.as_dict() for finding in _worst(new)],
            "first_gone": [finding.as_dict() for finding in _worst(gone)],
        }

    def write(self, place: Path) -> None:
        """Write all as a table, aside first."""
        rows = [("new", identity, finding) for identity, (_, finding) in self.new]
        rows += [("gone", identity, finding) for identity, finding in self.gone]
        rows += [("kept", identity, finding) for identity, (_, finding) in self.kept]
        aside = place.with_name(place.name + ".part")
        with aside.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(HEADER)
            for change, identity, it in rows:
                writer.writerow((change, it.code, it.severity.value, it.key or "", it.field or "", identity.content, it.message))
        aside.replace(place)


def _worst(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda it: (-it.severity.rank, it.code, it.key or "", it.message))[:FIRST]
