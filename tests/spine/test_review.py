"""Reviewed decisions and baselines: what a person accepted is quiet and counted; what is new is told from what was there."""

from __future__ import annotations

import csv
import datetime
from pathlib import Path

import h5py
import numpy as np
import pytest

import datascrub
from datascrub.cli import main
from datascrub.config import Config, from_table, load
from datascrub.errors import UsageError
from datascrub.review import accept
from datascrub.run.folder import RunFolder
from datascrub.spine.accepted import HEADER
from tests.spine.conftest import MakeSet

BAD = {6: np.nan, 8: -np.inf, 120: np.nan}
TODAY = datetime.datetime.now(datetime.UTC).date()
YESTERDAY, TOMORROW = TODAY - datetime.timedelta(1), TODAY + datetime.timedelta(1)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Decisions lie in a file of the test's own."""
    return Config(accepted=str(tmp_path / "accepted.csv"))


def errors(run: datascrub.Run) -> set[str | None]:
    return {finding.key for finding in run.findings() if finding.severity == "error"}


def lines(config: Config) -> list[dict[str, str]]:
    with Path(config.accepted or "").open(newline="") as file:
        return list(csv.DictReader(file))


def expire(config: Config, until: datetime.date) -> None:
    rows = lines(config)
    with Path(config.accepted or "").open("w", newline="") as file:
        writer = csv.DictWriter(file, HEADER)
        writer.writeheader()
        writer.writerows({**row, "until": until} for row in rows)


def test_accepted_finding_is_quiet_and_counted(make_set: MakeSet, tmp_path: Path, config: Config) -> None:
    """A decision about one sample leaves its finding out of findings, quarantine and exit code; the summary counts it."""
    run = datascrub.scan(make_set(values={6: np.nan}), out=tmp_path / "run", config=config)
    assert run.exit_code == 1
    made = accept(run.path, ["set.h5#6"], rule="values-not-finite", why="a gap in the log", config=config)
    accept(run.path, ["set.h5#6"], rule="network-loss-not-finite", why="a gap in the log", config=config)
    assert made.by_key == 0
    judged = datascrub.judge(run.path, config)
    assert list(judged.findings()) == []
    assert judged.exit_code == 0
    assert judged.summary["account"]["kept"] == 300
    told = judged.summary["accepted"]
    assert (told["findings"], told["samples"], told["expired"], told["unused"]) == (2, 1, 0, 0)
    assert told["rules"] == {"network-loss-not-finite": 1, "values-not-finite": 1}


def test_decision_goes_by_content_not_by_key(make_set: MakeSet, tmp_path: Path, config: Config) -> None:
    """A sample that moved stays accepted; another one under the old key speaks."""
    run = datascrub.scan(make_set(values=BAD), out=tmp_path / "run", config=config)
    accept(run.path, every=True, why="known", config=config)
    with h5py.File(make_set(name="other.h5", values=BAD), "a") as file:
        file["data"][7], file["data"][6] = file["data"][6], np.array([np.nan, 9, 9, 9], np.float32)
    other = datascrub.scan(tmp_path / "other.h5", out=tmp_path / "second", config=config)
    assert errors(other) == {"other.h5#6"}


def test_all_starts_from_a_red_set(make_set: MakeSet, tmp_path: Path, config: Config) -> None:
    """After accept --all the same set is clean, and a bad sample that comes later is not."""
    run = datascrub.scan(make_set(values=BAD), out=tmp_path / "run", config=config)
    accept(run.path, every=True, why="start", config=config)
    assert datascrub.judge(run.path, config).exit_code == 0
    later = datascrub.scan(make_set(values={**BAD, 200: np.inf}), out=tmp_path / "run", config=config)
    assert errors(later) == {"set.h5#200"}


def test_expired_decision_speaks_again(make_set: MakeSet, tmp_path: Path, config: Config) -> None:
    """On its last day a decision counts; the day after, the finding is back and the summary says why."""
    run = datascrub.scan(make_set(values={6: np.nan}), out=tmp_path / "run", config=config)
    accept(run.path, every=True, why="until the sensor is mended", until=TOMORROW, config=config)
    expire(config, TODAY)
    assert datascrub.judge(run.path, config).exit_code == 0
    expire(config, YESTERDAY)
    judged = datascrub.judge(run.path, config)
    assert errors(judged) == {"set.h5#6"}
    assert judged.summary["accepted"]["expired"] == 2
    assert judged.exit_code == 1


def test_decision_is_renewed_in_its_place(make_set: MakeSet, tmp_path: Path, config: Config) -> None:
    """Accepting again replaces reason and date; nothing stands twice."""
    run = datascrub.scan(make_set(values={6: np.nan}), out=tmp_path / "run", config=config)
    accept(run.path, every=True, why="first", config=config)
    before = lines(config)
    accept(run.path, every=True, why="second", until=TOMORROW, config=config)
    assert [(row["rule"], row["content"]) for row in lines(config)] == [(row["rule"], row["content"]) for row in before]
    assert {row["why"] for row in lines(config)} == {"second"}


def test_what_has_no_hash_is_remembered_by_key(tmp_path: Path, config: Config) -> None:
    """Of samples too small to hash the key is remembered, and accept says how many these are."""
    with h5py.File(tmp_path / "small.h5", "w") as file:
        file["data"], file["label"] = np.array([[1.0], [np.nan], [2.0]], np.float32), np.arange(3)
    run = datascrub.scan(tmp_path / "small.h5", out=tmp_path / "run", config=config)
    made = accept(run.path, every=True, rule="values-not-finite", why="known", config=config)
    assert made.by_key == len(made.decisions) == 1
    assert [(row["key"], row["content"]) for row in lines(config)] == [("small.h5#1", "")]
    assert "values-not-finite" not in {finding.code for finding in datascrub.judge(run.path, config).findings()}


def test_another_label_is_another_case(make_set: MakeSet, tmp_path: Path) -> None:
    """A label that was accepted on a sample does not excuse the next wrong label on the same sample."""
    config = from_table({"accepted": str(tmp_path / "accepted.csv"), "data": {"classes": 2}})
    for name, label in (("set.h5", 7), ("other.h5", 9)):
        with h5py.File(make_set(name=name), "a") as file:
            file["label"][5] = label
    first = datascrub.scan(tmp_path / "set.h5", out=tmp_path / "first", config=config)
    accept(first.path, every=True, why="a class of its own", config=config)
    assert datascrub.judge(first.path, config).exit_code == 0
    assert errors(datascrub.scan(tmp_path / "other.h5", out=tmp_path / "second", config=config)) == {"other.h5#5"}


def test_finding_of_the_set_is_accepted_without_a_key(make_set: MakeSet, tmp_path: Path, config: Config) -> None:
    """What a rule says of the set is accepted by the rule alone, whatever its numbers are later."""
    source = make_set()
    with h5py.File(source, "a") as file:
        file["label"][...] = np.arange(300) % 2 + 1
    run = datascrub.scan(source, out=tmp_path / "run", config=config)
    assert "label-one-based" in {finding.code for finding in run.findings()}
    accept(run.path, rule="label-one-based", why="training subtracts one", config=config)
    assert "label-one-based" not in {finding.code for finding in datascrub.judge(run.path, config).findings()}


def test_what_was_not_seen_is_not_accepted(make_set: MakeSet, tmp_path: Path, config: Config) -> None:
    """A line that accepts an unreadable record changes nothing."""
    (tmp_path / "accepted.csv").write_text(",".join(HEADER) + f"\nrecord-unreadable,set.h5#6,,,never mind,{TODAY},\n")
    run = datascrub.scan(make_set(values={6: np.nan}), out=tmp_path / "run", config=config)
    assert run.exit_code == 1
    with pytest.raises(UsageError, match="found nothing"):
        accept(run.path, every=True, rule="record-unreadable", why="never mind", config=config)


@pytest.mark.parametrize(
    ("keys", "options", "words"),
    [
        (["set.h5#7"], {"rule": "values-not-finite", "why": "x"}, "found nothing on set.h5#7"),
        (["set.h5#6"], {"why": "x"}, "which findings"),
        (["set.h5#6"], {"rule": "values-not-finite", "why": " "}, "reason"),
        (["set.h5#6"], {"rule": "values-not-finite", "why": "x", "every": True}, "together"),
        ([], {"rule": "values-not-finite", "why": "x"}, "nothing of the set"),
        (["set.h5#6"], {"rule": "values-not-finite", "why": "x", "until": YESTERDAY}, "in the past"),
    ],
)
def test_wrong_use_is_said(make_set: MakeSet, tmp_path: Path, config: Config, keys: list[str], options: dict[str, object], words: str) -> None:
    """What can't be meant is refused, and no file is written."""
    run = datascrub.scan(make_set(values=BAD), out=tmp_path / "run", config=config)
    with pytest.raises(UsageError, match=words):
        accept(run.path, keys, config=config, **options)  # type: ignore[arg-type]  # the options of one case
    assert not (tmp_path / "accepted.csv").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rule,key\n", "lacks the column content"),
        (",".join(HEADER) + "\nimage-blank,a,,,ok,someday,\n", "line 2: accepted is a date"),
        (",".join(HEADER) + "\n,a,,,ok,2026-01-01,\n", "line 2: no rule"),
    ],
)
def test_broken_file_is_said_with_its_line(make_set: MakeSet, tmp_path: Path, config: Config, text: str, words: str) -> None:
    """A file of decisions that can't be read is said before anything is measured; it is never taken for empty."""
    (tmp_path / "accepted.csv").write_text(text)
    with pytest.raises(UsageError, match=words):
        datascrub.scan(make_set(), out=tmp_path / "run", config=config)
    assert not (tmp_path / "run").exists()


def test_decisions_lie_beside_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is beside the configuration, by its default name or the one that the configuration gives; a flag goes by the working directory."""
    (tmp_path / "team").mkdir()
    place = tmp_path / "team" / "datascrub.toml"
    place.write_text("[data]\nclasses = 2\n")
    assert load(place).accepted == str(tmp_path / "team" / "datascrub-accepted.csv")
    place.write_text('accepted = "reviewed.csv"\n')
    assert load(place).accepted == str(tmp_path / "team" / "reviewed.csv")
    assert load(place, {"accepted": "mine.csv"}).accepted == "mine.csv"
    assert load(None).accepted is None


def test_a_run_remembers_its_file(make_set: MakeSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """accept and judge without flags, from anywhere, go by the file, the limits and the loudness that the scan was given."""
    (tmp_path / "team").mkdir()
    place = tmp_path / "team" / "datascrub.toml"
    place.write_text("[report]\nloud_share = 0.5\n[rules.exact-duplicate]\nfail_if = 7\n")
    source = make_set(values={6: np.nan})
    monkeypatch.chdir(tmp_path / "team")
    assert main(["scan", str(source), "--config", "datascrub.toml", "--out", str(tmp_path / "run")]) == 1
    monkeypatch.chdir(tmp_path)
    assert main(["accept", "run", "--all", "--why", "known"]) == 0
    assert (tmp_path / "team" / "datascrub-accepted.csv").exists()
    assert main(["judge", "run"]) == 0
    config = RunFolder(tmp_path / "run").plan().config()
    assert (config.report.loud_share, config.rules["exact-duplicate"].fail_if) == (0.5, 7)


def test_decisions_stay_out_of_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_set: MakeSet) -> None:
    """Nothing is written into the source, also where the working directory lies in it."""
    (tmp_path / "sets").mkdir()
    make_set(name="sets/a.h5", values={6: np.nan})
    run = datascrub.scan(tmp_path / "sets", out=tmp_path / "run")
    monkeypatch.chdir(tmp_path / "sets")
    with pytest.raises(UsageError, match="inside the source"):
        accept(run.path, every=True, why="known")


# -- against a baseline -------------------------------------------------------------------------------------------------------------------------


def test_baseline_tells_new_gone_and_kept(make_set: MakeSet, tmp_path: Path, config: Config) -> None:
    """Findings are known again by content and rule: a moved one is kept, a mended one gone, one more is new."""
    first = datascrub.scan(make_set(values={6: np.nan, 8: np.inf}), out=tmp_path / "first", config=config)
    with h5py.File(make_set(name="next.h5", values={6: np.nan, 120: np.nan}), "a") as file:
        file["data"][7], file["data"][6] = file["data"][6], file["data"][7]
    run = datascrub.scan(tmp_path / "next.h5", out=tmp_path / "next", config=config, baseline=first.path)
    told = run.summary["baseline"]
    by_rule = {rule["code"]: (rule["new"], rule["gone"], rule["kept"]) for rule in told["rules"]}
    assert by_rule["values-not-finite"] == (1, 1, 1)
    with (run.path / "changes.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["rule"] == "values-not-finite"]
    assert [(row["change"], row["key"]) for row in rows] == [("new", "next.h5#120"), ("gone", "set.h5#8"), ("kept", "next.h5#7")]


def test_only_new_errors_are_red(make_set: MakeSet, tmp_path: Path, config: Config) -> None:
    """With --fail-on new-error an old error does not fail the run, and one more does; the baseline may be the run that is replaced."""
    run = datascrub.scan(make_set(values={6: np.nan}), out=tmp_path / "run", config=config)
    again = datascrub.judge(run.path, config, fail_on="new-error", baseline=run.path)
    assert (again.summary["worst"], again.exit_code) == ("error", 0)
    later = datascrub.scan(make_set(values={6: np.nan, 7: np.nan}), out=tmp_path / "run", config=config, fail_on="new-error", baseline=run.path)
    assert later.exit_code == 1
    assert {each["key"] for each in later.summary["baseline"]["first_new"]} == {"set.h5#7"}


def test_new_error_needs_a_baseline(make_set: MakeSet, tmp_path: Path) -> None:
    """--fail-on new-error without a baseline, or with a folder that is none, is wrong use, before anything is measured."""
    with pytest.raises(UsageError, match="needs a run to compare with"):
        datascrub.scan(make_set(), out=tmp_path / "run", fail_on="new-error")
    with pytest.raises(UsageError, match="no run folder"):
        datascrub.scan(make_set(), out=tmp_path / "run", baseline=tmp_path / "none")
    assert not (tmp_path / "run").exists()


def test_a_judge_without_a_baseline_leaves_no_list_of_changes(make_set: MakeSet, tmp_path: Path, config: Config) -> None:
    """changes.csv is of the findings beside it, or not there."""
    run = datascrub.scan(make_set(values={6: np.nan}), out=tmp_path / "run", config=config)
    datascrub.judge(run.path, config, baseline=run.path)
    assert (run.path / "changes.csv").exists()
    assert datascrub.judge(run.path, config).summary["baseline"] is None
    assert not (run.path / "changes.csv").exists()


def test_commands(make_set: MakeSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """accept, judge and scan go together on the command line, with the file in the working directory."""
    make_set(values={6: np.nan})
    monkeypatch.chdir(tmp_path)
    assert main(["scan", "set.h5"]) == 1
    assert main(["accept", "set.h5.datascrub", "--all", "--why", "known", "--until", str(TOMORROW)]) == 0
    assert "decisions written to datascrub-accepted.csv: 2" in capsys.readouterr().out
    assert main(["judge", "set.h5.datascrub"]) == 0
    assert "accepted, and left out: 2 (network-loss-not-finite 1, values-not-finite 1)" in capsys.readouterr().out
    assert main(["scan", "set.h5", "--baseline", "set.h5.datascrub", "--accepted", "none.csv", "--fail-on", "new-error"]) == 1
    assert "2 findings are new, 0 gone, 0 kept" in capsys.readouterr().out
    assert main(["judge", "set.h5.datascrub", "--fail-on", "new-error"]) == 2
