"""findings.parquet and quarantine.csv: what the rules say, sorted so that two runs write the same."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from datascrub.model import Finding, Scope, Severity
from datascrub.rules.columns import struct
from datascrub.rules.expression import literal, quoted
from datascrub.run.facts import connect, fact_files, open_facts
from datascrub.run.folder import RunFolder

_COLUMNS = ("number", "key", "code", "severity", "field", "message", "evidence", "scope")
_SCOPES = {Scope.SET: 0, Scope.PART: 1, Scope.SAMPLE: 2}
QUARANTINE_HEADER = ("key", "codes", "message", "label", "file", "offset")


@dataclass
class FindingsTable:
    """Findings as rows, gathered from a judge."""

    rows: list[tuple[int | None, Finding]] = field(default_factory=list)

    def add(self, number: int | None, finding: Finding) -> None:
        self.rows.append((number, finding))

    def ordered(self) -> list[tuple[int | None, Finding]]:
        """By how much harm, and how sure: the worst severity first; in it the set, parts, samples; of these the rules that fire most often where they
        are errors, and the rarest where they are not; then by code and in the order of the source.
        """
        often = Counter((finding.severity, finding.scope, finding.code) for _, finding in self.rows)
        return sorted(self.rows, key=lambda row: _order(row, often))

    def counts(self) -> list[dict[str, Any]]:
        """For each code and severity: how many findings, and the first keys, in the order of reading."""
        counted: Counter[tuple[str, str]] = Counter()
        samples: dict[tuple[str, str], set[int]] = defaultdict(set)
        first: dict[tuple[str, str], list[str | None]] = defaultdict(list)
        says: dict[tuple[str, str], str] = {}
        parts: Counter[tuple[str, str]] = Counter()
        for number, finding in self.ordered():
            at = (finding.code, finding.severity.value)
            counted[at] += 1
            parts[at] += finding.scope is Scope.PART
            says.setdefault(at, finding.message)
            if number is not None:
                samples[at].add(number)
            if len(first[at]) < 3 and finding.key not in first[at]:
                first[at].append(finding.key)
        return [
            {"code": code, "severity": severity, "findings": count, "samples": len(samples[code, severity]), "parts": parts[code, severity],
             "first": first[code, severity], "says": says[code, severity]}
            for (code, severity), count in counted.items()
        ]  # fmt: skip

    def write(self, run: RunFolder) -> None:
        """Write findings.parquet aside and rename it."""
        rows = self.ordered()
        columns: dict[str, np.ndarray] = {
            "number": np.ma.MaskedArray([n or 0 for n, _ in rows], [n is None for n, _ in rows], dtype=np.int64),
            "evidence": _texts(json.dumps(f.evidence, default=str, sort_keys=True) for _, f in rows),
            "key": _texts(f.key for _, f in rows),
            "field": _texts(f.field for _, f in rows),
            "code": _texts(f.code for _, f in rows),
            "severity": _texts(f.severity.value for _, f in rows),
            "message": _texts(f.message for _, f in rows),
            "scope": _texts(f.scope.value for _, f in rows),
        }
        aside = run.findings.with_name(run.findings.name + ".part")
        selects = ", ".join(f"{name}::{'BIGINT' if name == 'number' else 'VARCHAR'} AS {quoted(name)}" for name in _COLUMNS)
        with connect(threads=1) as connection:
            connection.register("columns", columns)
            connection.execute(f"COPY (SELECT {selects} FROM columns) TO {literal(str(aside))} (FORMAT parquet)")
        aside.replace(run.findings)

    def quarantined(self, unreadable: str = "record-unreadable") -> dict[int, list[Finding]]:
        """number -> errors of each sample that a cleaned copy leaves out; unreadable ones are counted apart (see unread)."""
        errors: dict[int, list[Finding]] = defaultdict(list)
        for number, finding in self.ordered():
            if number is not None and finding.severity is Severity.ERROR:
                errors[number].append(finding)
        return {number: its for number, its in sorted(errors.items()) if all(f.code != unreadable for f in its)}


def _order(row: tuple[int | None, Finding], often: Mapping[tuple[Severity, Scope, str], int]) -> tuple[Any, ...]:
    number, finding = row
    count = often[finding.severity, finding.scope, finding.code]
    # Many errors are much harm. A warning that many samples share is likely their custom; one among thousands is a surer sign.
    weight = -count if finding.severity is Severity.ERROR else count
    place = (number or 0, finding.key or "", finding.field or "", finding.message)
    return (-finding.severity.rank, _SCOPES[finding.scope], weight, finding.code, *place)


def _texts(values: Iterable[str | None]) -> np.ndarray:
    items = list(values)
    made = np.empty(len(items), object)
    made[:] = items
    return made


def read_findings(run: RunFolder, code: str | None = None) -> Iterator[Finding]:
    """The findings of a finished run, in the order of reading."""
    return (finding for _, finding in read_numbered(run, code))


def read_numbered(run: RunFolder, code: str | None = None) -> Iterator[tuple[int | None, Finding]]:
    """(number of the sample or None, finding) of a finished run, in the order of reading."""
    return _read(run, f"WHERE code = {literal(code)}" if code else "")


def _read(run: RunFolder, where: str) -> Iterator[tuple[int | None, Finding]]:
    with connect() as connection:
        result = connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM read_parquet({literal(str(run.findings))}) {where}")
        while some := result.fetchmany(10_000):
            for number, key, its_code, severity, its_field, message, evidence, scope in some:
                yield number, Finding(key, its_code, Severity(severity), its_field, message, json.loads(evidence), Scope(scope))


def findings_of(run: RunFolder, key: str) -> list[Finding]:
    """The findings on one sample in a finished run, also those that go by the name of another file of it, in the order of reading."""
    of_sample = f"key = {literal(key)} OR json_extract_string(evidence, 'sample_key') = {literal(key)}"
    return [finding for _, finding in _read(run, f"WHERE scope = 'sample' AND ({of_sample})")]


def write_quarantine(run: RunFolder, quarantined: Mapping[int, list[Finding]], label: str | None) -> None:
    """Write quarantine.csv: one line a sample, its codes joined by spaces. label: the field whose value stands in the column label."""
    places = _places(run, list(quarantined), label)
    aside = run.quarantine.with_name(run.quarantine.name + ".part")
    with aside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(QUARANTINE_HEADER)
        for number, findings in quarantined.items():
            key, its_label, place, offset = places[number]
            codes = " ".join(dict.fromkeys(f.code for f in findings))
            messages = "; ".join(dict.fromkeys(f.message for f in findings))
            writer.writerow((key, codes, messages, its_label, place, offset))
    aside.replace(run.quarantine)


def _places(run: RunFolder, numbers: list[int], label: str | None) -> dict[int, tuple[Any, ...]]:
    if not numbers or not fact_files(run):
        return {}
    shown = f"coalesce({struct(label)}.text, {struct(label)}.value::VARCHAR, {struct(label)}.number::VARCHAR)" if label else "NULL"
    made: dict[int, tuple[Any, ...]] = {}
    with open_facts(run) as connection:
        for start in range(0, len(numbers), 50_000):
            some = ", ".join(map(str, numbers[start : start + 50_000]))
            query = f'SELECT number, key, {shown}, file, "offset" FROM facts WHERE number IN ({some})'
            made |= {number: tuple(rest) for number, *rest in connection.execute(query).fetchall()}
    return made


def quarantined_keys(place: Path) -> list[str]:
    """The keys of a quarantine.csv, as a run wrote it or a person edited it."""
    with place.open(encoding="utf-8", newline="") as file:
        return [row["key"] for row in csv.DictReader(file)]
