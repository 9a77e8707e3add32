"""What readers found wrong with records."""

from __future__ import annotations

from pathlib import Path

import pytest

from datascrub.model import RECORD, Column, Problem, Severity
from datascrub.rules import PartRule, RowRule
from datascrub.validators import RecordIntegrity
from tests.validators.court import judged

SAMPLE_RULES = [rule for rule in RecordIntegrity().rules() if isinstance(rule, RowRule)]


@pytest.mark.parametrize("rule", SAMPLE_RULES, ids=lambda rule: rule.code)
def test_each_problem_is_its_finding(rule: RowRule, tmp_path: Path) -> None:
    """A problem of a record becomes the finding of its code, with the reader's sentence; the records beside it stay silent."""
    result = judged(tmp_path, problems={0: Problem(rule.code, "18 of 20 bytes {are} there"), 1: Problem("unknown-code", ""), 2: None})  # type: ignore[dict-item]  # healthy
    assert [(number, f.code, f.severity, f.message, f.field) for number, f in result] == [
        (0, rule.code, rule.severity, "18 of 20 bytes {are} there", None)
    ]


def test_healthy_records_have_sizes_only() -> None:
    """NULL where nothing is wrong; the size is always known."""
    facts = RecordIntegrity().measure(Column(RECORD, [None, Problem("record-empty", "no bytes")], {"size_bytes": [7, 0]}))
    assert facts["problem"].tolist() == [None, "record-empty"]
    assert facts["size_bytes"].tolist() == [7, 0]


def test_severities() -> None:
    """What can't be read here is a warning; what was left aside is an info; damage is an error."""
    severity = {rule.code: rule.severity for rule in RecordIntegrity().rules()}
    assert severity["record-unsupported"] is severity["part-trailing-bytes"] is Severity.WARNING
    assert severity["part-hidden"] is severity["part-name-mismatch"] is Severity.INFO
    assert severity["record-checksum-mismatch"] is severity["part-not-finite"] is Severity.ERROR
    assert {code for code in severity if code.startswith("part-")} == {r.code for r in RecordIntegrity().rules() if isinstance(r, PartRule)}
