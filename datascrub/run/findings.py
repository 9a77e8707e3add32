"""findings.parquet and quarantine.csv: what the rules say, sorted so that two runs write the same."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from datascrub.model import Finding, Scope, Severity
from datascrub.rules.columns import struct
from datascrub.rules.expression import literal
from datascrub.run.facts import connect, fact_files, open_facts
from datascrub.run.folder import RunFolder

if TYPE_CHECKING:
    import duckdb

Row = tuple[int | None, Finding]
"""(number of the sample or None, finding)"""
COLUMNS = ("number", "key", "code", "severity", "field", "message", "evidence", "scope")
QUARANTINE_HEADER = ("key", "codes", "message", "label", "file", "offset")
_AT_ONCE = 5_000


def read_findings(run: RunFolder, code: str | None = None) -> Iterator[Finding]:
    """The findings of a finished run, in the order of reading."""
    return (finding for _, finding in read_numbered(run, code))


def read_numbered(run: RunFolder, code: str | None = None) -> Iterator[Row]:
    """(number of the sample or None, finding) of a finished run, in the order of reading."""
    return _read(run, f"WHERE code = {literal(code)}" if code else "")


def _read(run: RunFolder, where: str) -> Iterator[Row]:
    with connect() as connection:
        yield from read_rows(connection, f"read_parquet({literal(str(run.findings))}) {where}")


def read_rows(connection: duckdb.DuckDBPyConnection, source: str) -> Iterator[Row]:
    """The findings that a table holds. source: what follows FROM."""
    result = connection.cursor().execute(f"SELECT {', '.join(COLUMNS)} FROM {source}")
    while some := result.fetchmany(_AT_ONCE):
        for number, key, code, severity, its_field, message, evidence, scope in some:
            yield number, Finding(key, code, Severity(severity), its_field, message, json.loads(evidence), Scope(scope))


def findings_of(run: RunFolder, key: str) -> list[Finding]:
    """The findings on one sample in a finished run, also those that go by the name of another file of it, in the order of reading."""
    of_sample = f"key = {literal(key)} OR json_extract_string(evidence, 'sample_key') = {literal(key)}"
    return [finding for _, finding in _read(run, f"WHERE scope = 'sample' AND ({of_sample})")]


def write_quarantine(run: RunFolder, quarantined: Iterable[tuple[int, list[Finding]]], numbers: np.ndarray, label: str | None) -> None:
    """Write quarantine.csv: one line a sample, its codes joined by spaces.

    quarantined: (number, its errors) in the order of numbers, and numbers: these alone. label: the field whose value stands in the column label.
    """
    aside = run.quarantine.with_name(run.quarantine.name + ".part")
    with aside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(QUARANTINE_HEADER)
        for (_, findings), (key, its_label, place, offset) in zip(quarantined, _places(run, numbers, label), strict=True):
            codes = " ".join(dict.fromkeys(f.code for f in findings))
            messages = "; ".join(dict.fromkeys(f.message for f in findings))
            writer.writerow((key, codes, messages, its_label, place, offset))
    aside.replace(run.quarantine)


def _places(run: RunFolder, numbers: np.ndarray, label: str | None) -> Iterator[tuple[Any, ...]]:
    """(key, label, file, offset) of each of these samples, in order."""
    if not len(numbers) or not fact_files(run):
        return
    shown = f"coalesce({struct(label)}.text, {struct(label)}.value::VARCHAR, {struct(label)}.number::VARCHAR)" if label else "NULL"
    with open_facts(run) as connection:
        connection.register("chosen", {"number": numbers})
        query = f'SELECT key, {shown}, file, "offset" FROM facts WHERE number IN (SELECT number FROM chosen) ORDER BY number'
        result = connection.execute(query)
        while some := result.fetchmany(_AT_ONCE):
            yield from some


def quarantined_keys(place: Path) -> list[str]:
    """The keys of a quarantine.csv, as a run wrote it or a person edited it."""
    with place.open(encoding="utf-8", newline="") as file:
        return [row["key"] for row in csv.DictReader(file)]
