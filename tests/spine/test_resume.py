"""What a kill leaves behind, and what the next run of the same command makes of it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import datascrub
from datascrub.api import Run
from datascrub.engines.isolated import call, stream
from datascrub.model import Shard
from datascrub.run.folder import RunFolder
from datascrub.spine.deaths import AT_THE_END, resumed
from datascrub.spine.listing import list_shards
from datascrub.spine.measure import measure_shard
from datascrub.spine.note import Note
from datascrub.spine.task import ShardTask
from tests.spine import faulty_validator as faults
from tests.spine.conftest import MakeSet

WORKER = [str(Path(faults.__file__))]


def same(one: Run, other: Run) -> bool:
    return [f.as_dict() for f in one.findings()] == [f.as_dict() for f in other.findings()] and one.summary["account"] == other.summary["account"]


def unfinished(source: Path, folder: Path) -> RunFolder:
    """A run whose facts lie shard by shard, as a kill before the compaction leaves them."""
    from datascrub import api

    measured = api.scan(source, out=folder)
    run = RunFolder(measured.path)
    plan = run.plan()
    shutil.rmtree(run.facts)
    run.facts.mkdir()
    run.notes.mkdir(exist_ok=True)
    for piece in stream(list_shards, plan.plan, None):
        if isinstance(piece, Shard):
            call(measure_shard, ShardTask(str(run.path), piece))
    return run


@pytest.mark.parametrize("spoil", ["cut", "empty", "other"])
def test_damaged_shard_file_is_measured_anew(make_set: MakeSet, tmp_path: Path, spoil: str) -> None:
    """A facts file that is half there, empty or another shard's is no proof that its shard is done."""
    source = make_set(count=40_000, values={5: float("nan"), 30_000: float("nan")}, chunk=1000)
    whole = datascrub.scan(source, out=tmp_path / "whole")
    run = unfinished(source, tmp_path / "run")
    files = sorted(run.facts.glob("*.parquet"))
    assert len(files) > 1
    if spoil == "other":
        shutil.copy(files[1], files[0])
    else:
        files[0].write_bytes(files[0].read_bytes()[: 0 if spoil == "empty" else -100])
    assert same(datascrub.scan(source, out=run.path), whole)


@pytest.mark.parametrize("left", ["compacted", "old", "retired"])
def test_kill_between_two_renames_loses_nothing(make_set: MakeSet, tmp_path: Path, left: str) -> None:
    """Whatever stands half renamed is finished or undone; what was measured for another plan is never taken for this one."""
    source = make_set(values={5: float("nan")})
    before = datascrub.scan(source, out=tmp_path / "run")
    run = RunFolder(before.path)
    if left == "compacted":
        shutil.copytree(run.facts, run.path / "facts.old")
        run.facts.rename(run.path / "facts.new")
    elif left == "old":
        shutil.copytree(run.facts, run.path / "facts.old")
    else:
        (run.path / "previous.part").mkdir()
        run.plan_file.rename(run.path / "previous.part" / "plan.json")
    (run.path / "summary.json.part").write_text("{")
    after = datascrub.scan(source, out=run.path)
    assert same(after, before)
    assert (after.summary["measured_at"] == before.summary["measured_at"]) or left == "retired"
    assert [entry.name for entry in run.path.iterdir() if entry.name.startswith("facts.") or entry.name.endswith(".part")] == []


def test_samples_that_end_whole_runs_stay_condemned(tmp_path: Path) -> None:
    """A sample in hand alone at two deaths of the whole run is named; a second such sample of the shard doesn't make the run forget the first."""
    run = RunFolder(tmp_path / "run")
    run.create()
    task = ShardTask(str(run.path), Shard(0, {}, 100))
    for row in (7, 9):
        for suspect in (-1, row):
            Note(run.note_file(0), suspect).take(row, row + 1, careful=True)
            again = resumed(task)
    assert again.condemned == {7: AT_THE_END, 9: AT_THE_END}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_keeps_what_is_measured(make_set: MakeSet, tmp_path: Path, root: Path, number: int) -> None:
    """SIGINT and SIGTERM end a scan within seconds with exit code 4; the summary says so, no process is left, and the same command goes on."""
    source = make_set(count=40_000, values={39_900: faults.HANG}, chunk=1000)
    words = [sys.executable, "-m", "datascrub", "scan", source, "--out", tmp_path / "run", "--workers", "2", "--load", *WORKER]
    process = subprocess.Popen(words, env=os.environ | {"PYTHONPATH": str(root)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    run = RunFolder(tmp_path / "run")
    deadline = time.monotonic() + 60
    while not any(run.facts.glob("shard-*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.05)
    began = time.monotonic()
    process.send_signal(number)
    said, _ = process.communicate(timeout=30)  # children that lived on would hold the pipe open
    assert time.monotonic() - began < 10
    assert process.returncode == 4, said
    assert f"interrupted by {signal.Signals(number).name}" in said
    assert "Traceback" not in said
    assert any(run.facts.glob("shard-*.parquet"))
    environment = os.environ | {"PYTHONPATH": str(root), "DATASCRUB_TEST_HURRY": "1"}
    undisturbed = [tmp_path / "whole" if word == tmp_path / "run" else word for word in words]
    codes = [subprocess.run(each, env=environment, capture_output=True, check=False).returncode for each in (words, undisturbed)]
    assert codes[0] == codes[1] != 4
    assert same(Run.open(tmp_path / "run"), Run.open(tmp_path / "whole"))


def test_worker_ends_with_its_parent(make_set: MakeSet, tmp_path: Path, root: Path) -> None:
    """A main process that is killed takes its workers along, also one that hangs in a decoder: its pipe closes."""
    source = make_set(count=10, values={3: faults.HANG}, chunk=10)
    words = [sys.executable, "-m", "datascrub", "scan", source, "--out", tmp_path / "run", "--load", *WORKER]
    process = subprocess.Popen(words, env=os.environ | {"PYTHONPATH": str(root)}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    run = RunFolder(tmp_path / "run")
    deadline = time.monotonic() + 60
    while not any(run.notes.glob("*.note")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.communicate(timeout=10)
