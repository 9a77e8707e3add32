"""What is wrong with a configuration is said before anything is measured."""

from pathlib import Path

import pytest

import datascrub
from datascrub.config import from_table
from datascrub.errors import UsageError
from tests.spine.conftest import MakeSet


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ({"my-x": {"where": "data.maximun > 1"}}, "can't be asked"),
        ({"my-x": {"where": "maximum > 1"}}, r"did you mean data\.maximum"),
        ({"my-x": {"where": "1=1); COPY (SELECT 1) TO 'x'; SELECT (1"}}, "statements"),
        ({"my-x": {"where": "1=1", "says": "x {"}}, "can't be filled in"),
        ({"my-x": {"where": "1=1", "says": "{data.maximun}"}}, "can't be asked"),
        ({"values-too-large": {"too_large": "abc"}}, "a number"),
        ({"network-loss-outlier": {"seed": 5}}, "measures with"),
        ({"values-too-larg": {"too_large": 5}}, "did you mean values-too-large"),
    ],
)
def test_refused_before_work(make_set: MakeSet, tmp_path: Path, rules: dict[str, dict[str, object]], says: str) -> None:
    """A condition, a sentence or a threshold that can't be is an error of use, and nothing is measured."""
    with pytest.raises(UsageError, match=says):
        datascrub.scan(make_set(), out=tmp_path / "run", config=from_table({"rules": rules}))
    assert not (tmp_path / "run").exists()


def test_a_sentence_of_ones_own_holds_facts(make_set: MakeSet, tmp_path: Path) -> None:
    """A rule's sentence names facts with their field, and the key."""
    rules = {"my-large": {"where": "data.maximum > 2.56", "says": "{key} reaches {data.maximum:.1f}", "severity": "error"}}
    run = datascrub.scan(make_set(), out=tmp_path / "run", config=from_table({"rules": rules}))
    (finding,) = run.findings("my-large")
    assert finding.message == f"{finding.key} reaches 2.6"


@pytest.mark.parametrize(("workers", "limit", "share"), [(0, None, None), (-1, None, None), (None, 0, None), (None, None, 2.0), (None, 5, 0.5)])
def test_numbers_that_ask_for_nothing(make_set: MakeSet, tmp_path: Path, workers: int | None, limit: int | None, share: float | None) -> None:
    """The library refuses what the command line refuses."""
    with pytest.raises(UsageError):
        datascrub.scan(make_set(), out=tmp_path / "run", workers=workers, limit=limit, share=share)


def test_a_judging_keeps_to_what_the_scan_was_told(make_set: MakeSet, tmp_path: Path) -> None:
    """Judging again without a configuration changes nothing; with one, what it does not say of the data stays."""
    told = from_table({"data": {"classes": 1}, "rules": {"values-not-finite": {"severity": "info"}}})
    run = datascrub.scan(make_set(values={3: float("nan")}), out=tmp_path / "run", config=told)
    before = [finding.as_dict() for finding in run.findings()]
    assert [finding.as_dict() for finding in datascrub.judge(run.path).findings()] == before
    assert {("label-out-of-range"), ("values-not-finite")} <= {str(finding["code"]) for finding in before}
