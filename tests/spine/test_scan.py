"""The main job: a scan names every bad sample, accounts for all, and answers again from what it wrote."""

import csv
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import datascrub
from datascrub.api import runs
from datascrub.config import Config, RuleConfig, from_table
from datascrub.errors import CopyError, SourceError, UsageError
from datascrub.review import accept
from datascrub.run.folder import RunFolder
from tests.spine.conftest import MakeSet

BAD = {6: np.nan, 8: -np.inf, 120: np.nan}


def told(run: datascrub.Run) -> list[dict[str, object]]:
    return [finding.as_dict() for finding in run.findings()]


def test_scan_names_each_bad_row_and_no_other(make_set: MakeSet, tmp_path: Path) -> None:
    """NaN and Inf rows are errors by key; the account balances; the exit code is 1."""
    run = datascrub.scan(make_set(values=BAD), out=tmp_path / "run")
    errors = {f.key for f in run.findings() if f.severity == "error"}
    assert errors == {f"set.h5#{row}" for row in BAD}
    assert run.summary["account"] == {
        "records": 300, "kept": 297, "quarantined": 3, "unreadable": 0, "lost_bytes": 0, "parts_of_unknown_size": 0,
    }  # fmt: skip
    assert run.exit_code == 1
    assert run.summary["complete"] is True


def test_healthy_set_is_clean(make_set: MakeSet, tmp_path: Path) -> None:
    """Nothing is said of a healthy set, and the exit code is 0."""
    run = datascrub.scan(make_set(), out=tmp_path / "run")
    assert told(run) == []
    assert run.exit_code == 0


@pytest.mark.parametrize(("workers", "batch_size"), [(2, 1024), (1, 7), (2, 1)])
def test_findings_do_not_depend_on_workers_or_batches(make_set: MakeSet, tmp_path: Path, workers: int, batch_size: int) -> None:
    """Facts and findings are bit-equal for any number of workers and any batch size."""
    source = make_set(values=BAD)
    first = datascrub.scan(source, out=tmp_path / "one", workers=1)
    other = datascrub.scan(source, out=tmp_path / "other", workers=workers, batch_size=batch_size)
    assert told(first) == told(other)
    assert first.facts.order("number").fetchall() == other.facts.order("number").fetchall()


def test_quarantine_is_a_table_for_people_and_programs(make_set: MakeSet, tmp_path: Path) -> None:
    """quarantine.csv has the header of the contract, and one line a sample with its codes, label and place."""
    run = datascrub.scan(make_set(values=BAD), out=tmp_path / "run")
    with (run.path / "quarantine.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["key", "codes", "message", "label", "file", "offset"]
    assert [row["key"] for row in rows] == ["set.h5#6", "set.h5#8", "set.h5#120"]
    assert [row["label"] for row in rows] == ["0", "0", "0"]


def test_second_scan_reads_nothing(make_set: MakeSet, tmp_path: Path) -> None:
    """A finished run of an unchanged source answers again with the same findings, and says when it was measured."""
    source = make_set(values=BAD)
    first = datascrub.scan(source, out=tmp_path / "run")
    before = (first.path / "facts" / "facts-000000.parquet").stat().st_mtime_ns
    heard: list[str] = []

    class Listener(datascrub.Watcher):
        def reused(self, run_plan: object, measured_at: str) -> None:
            heard.append(measured_at)

    again = datascrub.scan(source, out=tmp_path / "run", watcher=Listener())
    assert heard == [first.summary["measured_at"]]
    assert told(again) == told(first)
    assert (first.path / "facts" / "facts-000000.parquet").stat().st_mtime_ns == before


def test_second_scan_judges_only_what_changed(make_set: MakeSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict on the same facts by the same rules stands; other rules, a judge in between, and a file of decisions are judged anew."""
    source, out = make_set(values=BAD), tmp_path / "run"
    asked: list[str] = []
    judge = runs.judge_run

    def counted(*given: Any) -> Any:
        asked.append("")
        return judge(*given)

    monkeypatch.setattr(runs, "judge_run", counted)
    quiet = Config(rules={"values-not-finite": RuleConfig(enabled=False)})
    first = told(datascrub.scan(source, out=out))
    assert told(datascrub.scan(source, out=out)) == first
    assert len(asked) == 1
    assert told(datascrub.scan(source, out=out, config=quiet)) != first
    assert told(datascrub.scan(source, out=out)) == first
    assert len(asked) == 3
    datascrub.judge(out, config=quiet)
    assert told(datascrub.scan(source, out=out)) == first
    assert len(asked) == 5
    with monkeypatch.context() as newer:
        newer.setattr(runs, "validators", list)
        datascrub.scan(source, out=out)
    assert len(asked) == 6
    decided = Config(accepted=str(tmp_path / "reviewed.csv"))
    datascrub.scan(source, out=out, config=decided)
    accept(out, ["set.h5#6"], rule="values-not-finite", why="meant", config=decided)
    assert told(datascrub.scan(source, out=out, config=decided)) != first


def test_changed_source_makes_a_new_run_and_keeps_the_old(make_set: MakeSet, tmp_path: Path) -> None:
    """Where the source changed, it is measured anew, and the old run stays as previous/."""
    datascrub.scan(make_set(values=BAD), out=tmp_path / "run")
    run = datascrub.scan(make_set(values={}), out=tmp_path / "run")
    assert told(run) == []
    assert json.loads((run.path / "previous" / "summary.json").read_text())["account"]["quarantined"] == 3


def test_run_of_another_source_is_refused(make_set: MakeSet, tmp_path: Path) -> None:
    """A run folder serves one source."""
    datascrub.scan(make_set(), out=tmp_path / "run")
    with pytest.raises(UsageError, match="another source"):
        datascrub.scan(make_set(name="other.h5"), out=tmp_path / "run")


def test_source_has_one_address(make_set: MakeSet, tmp_path: Path) -> None:
    """A run goes on with its source however the path is written; of a link the name stays the link's."""
    source = make_set()
    first = datascrub.scan(source, out=tmp_path / "run")
    (tmp_path / "aside").mkdir()
    again = datascrub.scan(tmp_path / "aside" / ".." / source.name, out=tmp_path / "run")
    assert again.summary["measured_at"] == first.summary["measured_at"]
    (tmp_path / "aside" / "mine.h5").symlink_to(source)
    assert datascrub.scan(tmp_path / "aside" / "mine.h5", out=tmp_path / "two").summary["source"] == str(tmp_path / "aside" / "mine.h5")


def test_live_run_is_refused(make_set: MakeSet, tmp_path: Path) -> None:
    """Two scans into one run folder at once: the second is refused."""
    source = make_set()
    folder = RunFolder(tmp_path / "run")
    folder.create()
    folder.hold()
    with pytest.raises(UsageError, match="live"):
        datascrub.scan(source, out=tmp_path / "run")
    folder.release()


def test_run_folder_inside_the_source_is_refused(tmp_path: Path, make_set: MakeSet) -> None:
    """A scan writes nothing into its source."""
    (tmp_path / "sets").mkdir()
    make_set(name="sets/a.h5")
    with pytest.raises(UsageError, match="inside the source"):
        datascrub.scan(tmp_path / "sets", out=tmp_path / "sets" / "run")


def test_judging_again_reads_no_source(make_set: MakeSet, tmp_path: Path) -> None:
    """Other severities and a rule of one's own are judged from the facts alone; the source may be gone."""
    source = make_set(values=BAD)
    run = datascrub.scan(source, out=tmp_path / "run")
    source.unlink()
    config = from_table({"rules": {"values-not-finite": {"severity": "info"}, "my-large": {"where": "data.maximum > 2.5", "says": "large"}}})
    judged = datascrub.judge(run.path, config)
    codes = {(f.code, f.severity.value) for f in judged.findings()}
    assert ("values-not-finite", "info") in codes
    assert ("my-large", "warning") in codes


def test_unknown_rule_and_parameter_are_errors(make_set: MakeSet, tmp_path: Path) -> None:
    """A misspelt rule or threshold names its nearest neighbour."""
    run = datascrub.scan(make_set(), out=tmp_path / "run")
    with pytest.raises(UsageError, match="values-not-finite"):
        datascrub.judge(run.path, from_table({"rules": {"values-not-finit": {"severity": "info"}}}))
    with pytest.raises(UsageError, match="can't be asked"):
        datascrub.judge(run.path, from_table({"rules": {"mine": {"where": "data.no_such > 1"}}}))


@pytest.mark.parametrize("choice", [{"limit": 40}, {"share": 0.1}])
def test_part_of_the_source_is_said_to_be_a_part(make_set: MakeSet, tmp_path: Path, choice: dict[str, float]) -> None:
    """--limit and --sample measure a seeded part, say so, and give no copy."""
    source = make_set()
    run = datascrub.scan(source, out=tmp_path / "run", **choice)  # type: ignore[arg-type]  # a limit or a share
    assert run.summary["complete"] is False
    assert 15 <= run.summary["account"]["records"] <= 45
    assert run.exit_code == 0
    with pytest.raises(CopyError, match="only a part"):
        run.clean(tmp_path / "clean.h5")


def test_source_that_is_none(tmp_path: Path) -> None:
    """Missing, remote and unrecognised sources are refused with what to do."""
    (tmp_path / "note.txt").write_text("hello")
    for source, words in (("s3://bucket/x", "remote"), (tmp_path / "gone", "does not exist"), (tmp_path / "note.txt", "not recognised")):
        with pytest.raises(SourceError, match=words) as caught:
            datascrub.scan(source, out=tmp_path / "run")
        assert caught.value.fix


def test_cleaned_copy_scans_clean(make_set: MakeSet, tmp_path: Path) -> None:
    """The copy leaves out what the quarantine names, and a scan of it finds nothing."""
    run = datascrub.scan(make_set(values=BAD), out=tmp_path / "run")
    report = run.clean(tmp_path / "clean.h5")
    assert (report.kept, report.dropped) == (297, 3)
    again = datascrub.scan(tmp_path / "clean.h5", out=tmp_path / "again", config=Config())
    assert told(again) == []


def test_flood_is_no_copy(make_set: MakeSet, tmp_path: Path) -> None:
    """More than a tenth in quarantine is a cause: the summary says so first, and no copy is written without a word."""
    run = datascrub.scan(make_set(values=dict.fromkeys(range(0, 300, 5), np.nan)), out=tmp_path / "run")
    assert "60 of 300" in run.summary["flood"]
    with pytest.raises(CopyError, match="max-quarantine"):
        run.clean(tmp_path / "clean.h5")
    assert not (tmp_path / "clean.h5").exists()
    assert run.clean(tmp_path / "clean.h5", max_quarantine=1.0).kept == 240


def test_numbers_beside_the_samples_are_judged(make_set: MakeSet, tmp_path: Path) -> None:
    """A NaN in a table that no sample holds is a finding of its part; no sample is blamed."""
    source = make_set()
    with h5py.File(source, "a") as file:
        file["mean"] = np.array([1.0, np.nan, np.inf])
    run = datascrub.scan(source, out=tmp_path / "run")
    assert [(f.scope.value, f.key, f.code) for f in run.findings()] == [("part", "set.h5:mean", "part-not-finite")]
    assert run.summary["account"]["kept"] == 300


NAMES = (
    "shape", "dtype", "total", "first", "hash", "samples", "copies", "key", "number", "row", "file", "offset", "shard", "stamp", "image", "select",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_field_may_have_any_name(tmp_path: Path, name: str) -> None:
    """Words that stand in queries are names of fields like any other; a NaN under them is found, and its finding names the field."""
    values = np.random.default_rng(3).normal(0, 1, (40, 4)).astype(np.float32)
    values[7, 2] = np.nan
    with h5py.File(tmp_path / "set.h5", "w") as file:
        file[name], file["target"] = values, np.arange(40) % 2
    run = datascrub.scan(tmp_path / "set.h5", out=tmp_path / "run")
    assert [(f.key, f.field) for f in run.findings("values-not-finite")] == [("set.h5#7", name)]


def test_names_that_differ_in_capitals_alone(tmp_path: Path) -> None:
    """Names in SQL ignore the case of letters, and no field hides another."""
    values = np.random.default_rng(3).normal(0, 1, (40, 4)).astype(np.float32)
    values[7, 2] = np.nan
    with h5py.File(tmp_path / "set.h5", "w") as file:
        file["X"], file["x"] = np.ones((40, 4), np.float32) * np.arange(40, dtype=np.float32)[:, None], values
    run = datascrub.scan(tmp_path / "set.h5", out=tmp_path / "run")
    assert [(f.key, f.field) for f in run.findings("values-not-finite")] == [("set.h5#7", "x")]
