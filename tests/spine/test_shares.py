"""How often a rule fires: loud warnings, limits of the owner's own, and the order in which findings are told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import datascrub
from datascrub.config import Config, RuleConfig, from_table
from datascrub.errors import UsageError
from datascrub.model import Finding, Scope, Severity
from datascrub.review import accept
from datascrub.run.findings import FindingsTable
from datascrub.spine.shares import loud, over_limits, worst_counted
from tests.spine.conftest import MakeSet

Row = tuple[int | None, Finding]


def fired(code: str, severity: Severity, count: int, scope: Scope = Scope.SAMPLE) -> list[Row]:
    if scope is Scope.SAMPLE:
        return [(number, Finding(f"#{number}", code, severity, "data", f"{code} here", scope=scope)) for number in range(count)]
    return [(None, Finding(None if scope is Scope.SET else f"{code}-{number}", code, severity, None, code, scope=scope)) for number in range(count)]


def told(table: FindingsTable) -> list[tuple[str, str]]:
    return list(dict.fromkeys((finding.code, finding.scope.value) for _, finding in table.ordered()))


def test_findings_are_ranked() -> None:
    """Errors first, in each severity the set, parts, samples; of errors the most frequent rule, of warnings the rarest."""
    rows = [
        *fired("warning-often", Severity.WARNING, 9),
        *fired("warning-rare", Severity.WARNING, 2),
        *fired("a-error-rare", Severity.ERROR, 1),
        *fired("error-often", Severity.ERROR, 5),
        *fired("warning-set", Severity.WARNING, 1, Scope.SET),
        *fired("error-part", Severity.ERROR, 3, Scope.PART),
        *fired("info", Severity.INFO, 1),
    ]
    expected = ["error-part", "error-often", "a-error-rare", "warning-set", "warning-rare", "warning-often", "info"]
    assert [code for code, _ in told(FindingsTable(rows))] == expected
    assert [rule["code"] for rule in FindingsTable(rows[::-1]).counts()] == expected


@pytest.mark.parametrize(("count", "total", "is_loud"), [(21, 100, True), (20, 100, False), (9, 10, False), (10, 10, True)])
def test_warning_on_much_of_the_set_is_loud(count: int, total: int, is_loud: bool) -> None:
    """Over a fifth of the set, and ten samples: one finding of the set beside those of the samples."""
    made = loud(fired("image-too-dark", Severity.WARNING, count), total, 0.2)
    assert len(made) == int(is_loud)
    if made:
        number, finding = made[0]
        assert (number, finding.key, finding.scope, finding.severity) == (None, None, Scope.SET, Severity.WARNING)
        assert finding.message.startswith(f"{count:,} of {total:,} samples ({count / total:.0%})")


def test_errors_infos_and_what_the_set_says_already_are_not_loud() -> None:
    """Loud is about warnings: errors have the flood, and one finding of the set is enough."""
    for severity in (Severity.ERROR, Severity.INFO):
        assert loud(fired("rule", severity, 50), 100, 0.2) == []
    rows = [*fired("rule", Severity.WARNING, 50), (None, Finding(None, "rule", Severity.WARNING, "data", "said", scope=Scope.SET))]
    assert loud(rows, 100, 0.2) == []


@pytest.mark.parametrize(
    ("warn_if", "fail_if", "worst"),
    [(None, 5, "error"), (None, 6, None), (None, 0.05, "error"), (None, 0.051, None), (2, 0.5, "warning"), (6, 0.5, None), (2, 5, "error")],
)
def test_limits_decide_in_place_of_severities(warn_if: int | float | None, fail_if: int | float | None, worst: str | None) -> None:
    """Five of a hundred: fail_if that is reached makes an error, warn_if a warning, and below both the rule does not count."""
    rules = {"rule": RuleConfig(warn_if=warn_if, fail_if=fail_if)}
    for severity in Severity:
        rows = fired("rule", severity, 5)
        over = over_limits(rows, 100, rules)
        assert worst_counted(rows, over, rules) == worst
        assert [finding.severity for _, finding in over] == ([worst] if worst else [])
    rows = fired("other", Severity.WARNING, 1)
    assert worst_counted(rows, over_limits(rows, 100, rules), rules) == "warning"


def test_limit_counts_what_is_said_once() -> None:
    """Where the set says it for its samples, the limit goes by the samples that it speaks of."""
    row: Row = (None, Finding(None, "rule", Severity.WARNING, "data", "said", {"samples": 60, "of": 100}, Scope.SET))
    assert len(over_limits([row], 100, {"rule": RuleConfig(fail_if=0.6)})) == 1
    assert over_limits([row], 100, {"rule": RuleConfig(fail_if=61)}) == []


@pytest.mark.parametrize(("given", "value"), [("1%", 0.01), (0.25, 0.25), (10, 10), (1, 1), ("100%", 1.0)])
def test_limits_in_the_configuration(given: object, value: object) -> None:
    """A whole number is samples, a percentage or a number below one is a share."""
    made = from_table({"rules": {"image-blank": {"fail_if": given, "warn_if": given}}}).rules["image-blank"]
    assert (made.fail_if, made.warn_if) == (value, value)
    assert type(made.fail_if) is type(value)


@pytest.mark.parametrize("given", ["many", "0%", 0, -1, 1.5, True, "120%", "1"])
def test_limits_that_are_none(given: object) -> None:
    """What is neither a number of samples nor a share is refused with the key."""
    with pytest.raises(UsageError, match=r"rules.image-blank.fail_if"):
        from_table({"rules": {"image-blank": {"fail_if": given}}})


def test_loud_share_is_set_in_report() -> None:
    """[report] loud_share is a share, and 1 switches loudness off."""
    assert from_table({"report": {"loud_share": "5%"}}).report.loud_share == 0.05
    assert from_table({"report": {"loud_share": 1}}).report.loud_share == 1.0
    with pytest.raises(UsageError, match=r"report.loud_share"):
        from_table({"report": {"loud_share": 10}})


@pytest.fixture
def large(make_set: MakeSet) -> Path:
    """A third of the samples hold a value that is too large."""
    return make_set(values=dict.fromkeys(range(0, 300, 3), np.float32(1e12)))


def test_loud_and_limits_in_a_run(large: Path, tmp_path: Path) -> None:
    """One loud finding, the samples still listed; with fail_if the run is red though the rule is a warning, and no sample is quarantined."""
    config = Config(accepted=str(tmp_path / "accepted.csv"))
    run = datascrub.scan(large, out=tmp_path / "run", config=config)
    found = list(run.findings("values-too-large"))
    assert [finding.scope.value for finding in found] == ["set"] + ["sample"] * 100
    assert run.exit_code == 0
    limited = from_table({"rules": {"values-too-large": {"fail_if": "30%"}}, "accepted": str(tmp_path / "accepted.csv")})
    judged = datascrub.judge(run.path, limited)
    assert judged.exit_code == 1
    assert judged.summary["account"]["quarantined"] == 0
    assert next(judged.findings("values-too-large")).message.startswith("100 of 300 samples (33.33%) reach fail_if = 0.3")


def test_tolerated_errors_are_quarantined_all_the_same(make_set: MakeSet, tmp_path: Path) -> None:
    """Below its fail_if a rule of errors does not fail the run; its samples still leave the cleaned copy."""
    rules = {code: {"fail_if": "1%"} for code in ("values-not-finite", "network-loss-not-finite")}
    for count, code in ((2, 0), (3, 1)):
        source = make_set(values=dict.fromkeys(range(count), np.nan))
        run = datascrub.scan(source, out=tmp_path / f"run{count}", config=from_table({"rules": rules}))
        assert (run.exit_code, run.summary["account"]["quarantined"]) == (code, count)


def test_accepted_loudness_is_quiet(large: Path, tmp_path: Path) -> None:
    """What a rule says of the set can be accepted; its samples are still listed. Accepted samples make no noise together."""
    config = Config(accepted=str(tmp_path / "accepted.csv"))
    run = datascrub.scan(large, out=tmp_path / "run", config=config)
    accept(run.path, rule="values-too-large", why="the unit is meant", config=config)
    judged = datascrub.judge(run.path, config)
    assert {finding.scope.value for finding in judged.findings("values-too-large")} == {"sample"}
    assert judged.summary["accepted"]["unused"] == 0
    accept(run.path, rule="values-too-large", every=True, why="the unit is meant", config=config)
    judged = datascrub.judge(run.path, config)
    assert list(judged.findings("values-too-large")) == []
    assert judged.summary["accepted"]["unused"] == 0
