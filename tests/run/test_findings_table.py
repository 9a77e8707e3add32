"""Findings gathered, ordered, counted and written, however many there are."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from datascrub.engines.isolated import call
from datascrub.model import Finding, Scope, Severity
from datascrub.run.findings import Row, read_numbered
from datascrub.run.findings_table import FindingsTable
from datascrub.run.folder import RunFolder
from tests.run.many import memory_for

KEYS = ["a", "a/é", "a/z", "Z", "ß", "日本", "𝄞", "a b", 'say "so"', "it's", "", "new\nline"]
SCOPES = {Scope.SET: 0, Scope.PART: 1, Scope.SAMPLE: 2}


def some(count: int) -> list[Row]:
    """Findings of all kinds in no order, several of them alike."""
    chance = random.Random(11)
    made: list[Row] = []
    for _ in range(count):
        scope = chance.choice(list(Scope))
        number = chance.randrange(count // 3) if scope is Scope.SAMPLE else None
        key = None if scope is Scope.SET else chance.choice(KEYS)
        code, severity = chance.choice(["b", "a", "record-unreadable", "c"]), chance.choice(list(Severity))
        evidence = {"samples": chance.randrange(9), "of": None, "name": chance.choice(KEYS)}
        made.append((number, Finding(key, code, severity, chance.choice([None, "image", "label"]), chance.choice(KEYS), evidence, scope)))
    return made


def in_order(rows: list[Row]) -> list[Row]:
    often = Counter((finding.severity, finding.scope, finding.code) for _, finding in rows)

    def place(row: Row) -> tuple[object, ...]:
        number, it = row
        count = often[it.severity, it.scope, it.code]
        weight = -count if it.severity is Severity.ERROR else count
        return (-it.severity.rank, SCOPES[it.scope], weight, it.code, number or 0, it.key or "", it.field or "", it.message)

    return sorted(rows, key=place)


@pytest.fixture
def rows() -> list[Row]:
    return some(12_000)  # more than are held in memory at once


def test_order_is_that_of_reading(rows: list[Row], tmp_path: Path) -> None:
    """The worst first, then the set, parts, samples, then by how often a rule fires; what is alike stays as it came. So it is written, too."""
    run = RunFolder(tmp_path / "run")
    run.create()
    table = FindingsTable(rows)
    assert list(table.rows()) == rows
    assert list(table.ordered()) == in_order(rows)
    table.write(run)
    assert list(read_numbered(run)) == in_order(rows)


def test_counts_are_those_of_the_order(rows: list[Row]) -> None:
    """Of each rule and severity: findings, samples, parts, the first three keys and the first sentence, in the order of reading."""
    expected: dict[tuple[str, str], list[Row]] = {}
    for row in in_order(rows):
        expected.setdefault((row[1].code, row[1].severity.value), []).append(row)
    assert FindingsTable(rows).counts() == [
        {
            "code": code,
            "severity": severity,
            "findings": len(its),
            "samples": len({number for number, _ in its if number is not None}),
            "parts": sum(finding.scope is Scope.PART for _, finding in its),
            "first": list(dict.fromkeys(finding.key for _, finding in its))[:3],
            "says": its[0][1].message,
        }
        for (code, severity), its in expected.items()
    ]


def test_quarantined_are_the_errors_of_what_could_be_read(rows: list[Row]) -> None:
    """By number, each with its errors in the order of reading; a sample that could not be read is none of them."""
    errors: dict[int, list[Finding]] = {}
    for number, finding in in_order(rows):
        if number is not None and finding.severity is Severity.ERROR:
            errors.setdefault(number, []).append(finding)
    expected = [(number, its) for number, its in sorted(errors.items()) if all(finding.code != "record-unreadable" for finding in its)]
    table = FindingsTable(rows)
    assert list(table.quarantined()) == expected
    assert table.quarantined_numbers().tolist() == [number for number, _ in expected]


def test_fired_counts_samples_once(rows: list[Row]) -> None:
    """How often a rule fires on a field: samples, not findings; what is said first is of a sample where there is one."""
    table = FindingsTable(rows)
    for (code, field), fired in table.fired().items():
        its = [(number, finding) for number, finding in rows if (finding.code, finding.field) == (code, field)]
        of_samples = [(number, finding) for number, finding in its if number is not None]
        assert (fired.samples, fired.others) == (len({number for number, _ in of_samples}), len(its) - len(of_samples))
        assert (fired.said, fired.first) == (of_samples[0][1].message, of_samples[0][1].key)
        assert fired.collected == sum(finding.evidence["samples"] for number, finding in its if number is None)
    assert table.fired("a")["a", None].samples == len({number for number, finding in rows if finding.code == "a" and number is not None})


def test_what_is_removed_is_gone(rows: list[Row]) -> None:
    """Findings that are taken out are in no count and no order any more, and the samples that they speak of are told once."""
    table = FindingsTable(rows)
    left, samples = list[Row](), 0
    for known, its in list(table.pieces()):
        is_quiet = [finding.code == "a" for _, finding in its]
        samples += table.remove(known[is_quiet])
        left += [row for row in its if row[1].code != "a"]
    assert list(table.ordered()) == in_order(left)
    assert samples >= len({number for number, finding in rows if finding.code == "a" and number is not None})


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells it there")
def test_many_findings_take_little_memory(tmp_path: Path) -> None:
    """Gathered, ordered, counted and written, as many findings as would take 400 MB as Python's objects take a quarter of it."""
    one, many = (call(memory_for, str(tmp_path / f"run{count}"), count) for count in (1, 200_000))
    assert many - one < 120 << 20
