"""A machine that is full, read-only, slow to answer or changing under the scan: a clear word, the right exit code, nothing half written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import datascrub
from datascrub.errors import CopyError, SourceError
from datascrub.run.folder import RunFolder
from tests.spine.conftest import MakeSet

CONTAINERS = ["photos.lmdb", "photos.leveldb", "photos.h5", "photos.tfrecord", "photos"]


def mount(*words: str | Path) -> bool:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    return subprocess.run(["mount", *map(str, words)], capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Mounts a file system of so many KB, or changes its size."""
    place = tmp_path / "disk"
    place.mkdir()

    def sized(kilobytes: int) -> Path:
        again = ["-o", f"remount,size={kilobytes}k"] if place.is_mount() else ["-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs"]
        if not mount(*again, place):
            pytest.skip("no file system can be mounted here")
        return place

    yield sized
    if place.is_mount():
        subprocess.run(["umount", "-l", str(place)], check=True)


def command(*words: str | Path, largest_file: int | None = None) -> tuple[int, str]:
    """Exit code and words of a call of datascrub. largest_file: bytes that it may write into one file."""
    environment = os.environ | {"PYTHONPATH": str(Path(datascrub.__file__).parent.parent)}
    called = [sys.executable, "-m", "datascrub", *map(str, words)]
    if largest_file is not None:
        called = ["prlimit", f"--fsize={largest_file}", *called]
    done = subprocess.run(called, capture_output=True, text=True, check=False, env=environment, timeout=120)
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr


def names(place: Path) -> list[str]:
    return sorted(each.name for each in place.iterdir())


def outside(place: Path) -> dict[str, tuple[int, int, int]]:
    """Name, size, time and mode of all that is there."""
    return {
        str(each.relative_to(place.parent)): ((told := each.lstat()).st_size, told.st_mtime_ns, told.st_mode) for each in (place, *place.rglob("*"))
    }


@pytest.mark.parametrize("kilobytes", [8, 40, 120])
def test_disk_of_the_run_is_full(make_set: MakeSet, small_disk: Callable[[int], Path], tmp_path: Path, kilobytes: int) -> None:
    """However early a disk is full, the scan says so and is incomplete; with room made, the same command goes on to the same end."""
    source = make_set(count=20_000, values={7: float("nan"), 19_990: float("inf")}, chunk=1000)
    whole = datascrub.scan(source, out=tmp_path / "whole", tmp=str(tmp_path))
    disk = small_disk(kilobytes)
    code, said = command("scan", source, "--out", disk / "run", "--tmp", tmp_path)
    assert (code, "No space left on device" in said, "same command goes on" in said) == (4, True, True), said
    small_disk(100_000)
    run = datascrub.scan(source, out=disk / "run", tmp=str(tmp_path))
    assert [f.as_dict() for f in run.findings()] == [f.as_dict() for f in whole.findings()]
    assert run.summary["account"] == whole.summary["account"]
    assert run.facts.order("number").fetchall() == whole.facts.order("number").fetchall()


@pytest.mark.parametrize("container", CONTAINERS)
def test_disk_of_the_copy_is_full(fixtures: Path, small_disk: Callable[[int], Path], tmp_path: Path, container: str) -> None:
    """A copy that finds no room is refused with exit code 5, and leaves nothing at the destination, nor beside it; with room made, it is written."""
    run = datascrub.scan(fixtures / container, out=tmp_path / "run")
    disk = small_disk(2_000)
    (disk / "fill").write_bytes(bytes(1_950_000))
    with pytest.raises(CopyError) as caught:
        run.clean(disk / "clean", max_quarantine=1.0)
    assert caught.value.exit_code == 5
    assert caught.value.fix
    assert names(disk) == ["fill"]
    (disk / "fill").unlink()
    assert mount("-o", "remount,size=30000k", disk)
    assert run.clean(disk / "clean", max_quarantine=1.0).kept > 100
    assert names(disk) == ["clean"]


@pytest.mark.parametrize("container", CONTAINERS[:4])
def test_copy_that_breaks_off_leaves_nothing(fixtures: Path, tmp_path: Path, container: str) -> None:
    """Where writing fails in the middle (no file may grow beyond 40 KB here): exit code 5, a word why, and neither a copy nor a part of one."""
    datascrub.scan(fixtures / container, out=tmp_path / "run")
    (tmp_path / "place").mkdir()
    code, said = command("clean", tmp_path / "run", "--to", tmp_path / "place" / "copy", "--max-quarantine", "100%", largest_file=40_000)
    assert (code, names(tmp_path / "place")) == (5, []), said


def test_disk_fills_while_the_copy_is_written(fixtures: Path, small_disk: Callable[[int], Path], tmp_path: Path) -> None:
    """Links need no room by the plan, and files that have to be copied all the same fill the disk: nothing is left."""
    run = datascrub.scan(fixtures / "photos", out=tmp_path / "run")
    disk = small_disk(300)
    with pytest.raises(CopyError) as caught:  # another file system: hard links become copies
        run.clean(disk / "clean", max_quarantine=1.0, link="hard")
    assert caught.value.exit_code == 5
    assert names(disk) == []


@pytest.mark.parametrize("container", CONTAINERS)
def test_read_only_source_is_scanned_and_copied(fixtures: Path, tmp_path: Path, container: str) -> None:
    """A source on a read-only file system is scanned and copied, and nothing in or beside it changes, no time and no mode either."""
    place = tmp_path / "mount"
    shutil.copytree(fixtures / container, place / container) if (fixtures / container).is_dir() else place.mkdir()
    if (fixtures / container).is_file():
        shutil.copy(fixtures / container, place)
    if not (mount("--bind", place, place) and mount("-o", "remount,bind,ro", place)):
        pytest.skip("no file system can be mounted here")
    try:
        before = outside(place)
        run = datascrub.scan(place / container, out=tmp_path / "run")
        writable = datascrub.scan(fixtures / container, out=tmp_path / "writable")
        assert [f.as_dict() for f in run.findings()] == [f.as_dict() for f in writable.findings()]
        assert run.clean(tmp_path / "clean", max_quarantine=1.0).kept > 100
        assert outside(place) == before
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


ROOM = """
mount --make-rprivate /
mount -t tmpfs -o size=100m,mode=1777 tmpfs /mnt
cp -r {source} /mnt/source
mkdir --mode 1777 /mnt/room
umount -l /dev/shm 2>/dev/null
mount -o remount,bind,ro / || exit 77
cd /
exec env -i PATH="$PATH" PYTHONPATH={root} setpriv --reuid 54321 --regid 54321 --clear-groups --bounding-set=+dac_read_search \
    --inh-caps=+dac_read_search --ambient-caps=+dac_read_search sh -c '
        {python} -m datascrub scan /mnt/source --out /mnt/room/run --tmp /mnt/room --clean /mnt/room/clean --max-quarantine 100%
        echo ended with $?; ls -A /mnt/room'
"""
"""a private view of the machine: a read-only root, one small room, no /dev/shm, a user without name and home (who may read python, wherever it is)"""


@pytest.mark.parametrize("container", CONTAINERS)
def test_container_with_a_read_only_root(fixtures: Path, root: Path, container: str) -> None:
    """A random user id, no HOME, no /dev/shm, a read-only root and one writable folder for --tmp and --out are enough; the folder is left tidy."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("setpriv") is None:
        pytest.skip("no view of one's own of the machine can be had here")
    script = ROOM.format(source=fixtures / container, root=root, python=sys.executable)
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode == 77:
        pytest.skip("the root can't be made read-only here")
    assert done.stdout.splitlines()[-3:] == ["ended with 1", "clean", "run"], done.stdout + done.stderr


class Vanishing(datascrub.Watcher):
    """Removes files when measuring is about to begin."""

    def __init__(self, *files: Path) -> None:
        self.files = files

    def recognised(self, run_plan: object, run: Path, workers: int) -> None:
        for file in self.files:
            file.unlink()


def test_files_that_vanish_are_unreadable_and_not_corrupt(fixtures: Path, tmp_path: Path) -> None:
    """A picture that is gone when its turn comes: it is unreadable, never damaged; the run is incomplete, and says that the source changed."""
    shutil.copytree(fixtures / "photos", tmp_path / "set")
    gone = sorted(each for each in (tmp_path / "set").rglob("*.jpg"))[20:23]
    before = datascrub.scan(tmp_path / "set", out=tmp_path / "before")
    run = datascrub.scan(tmp_path / "set", out=tmp_path / "run", watcher=Vanishing(*gone))
    assert run.exit_code == 4
    assert any("changed" in reason or "account" in reason for reason in run.summary["incomplete_because"])
    keys = {gone_file.relative_to(tmp_path / "set").as_posix() for gone_file in gone}
    assert {f.code for f in run.findings() if f.key in keys and f.severity == "error"} <= {"record-unreadable"}
    others = [f.as_dict() for f in before.findings() if f.key not in keys and f.severity == "error"]
    assert [f.as_dict() for f in run.findings() if f.key not in keys and f.severity == "error"] == others


def test_source_that_vanishes_whole_is_said(make_set: MakeSet, tmp_path: Path) -> None:
    """A mount that goes away under a scan: no traceback and no verdict, but a run that is incomplete and says why."""
    source = make_set()
    run = datascrub.scan(source, out=tmp_path / "run", watcher=Vanishing(source))
    assert run.exit_code == 4
    assert run.summary["account"]["records"] == 0
    assert run.summary["incomplete_because"]


def test_samples_that_the_disk_does_not_give(tmp_path: Path, fixtures: Path) -> None:
    """What fails with EIO is unreadable and never damaged, the others are measured, and no cleaned copy is written that would lose it."""
    place = tmp_path / "set"
    shutil.copytree(fixtures / "photos", place)
    (place / names(place)[0] / "zzz.jpg").symlink_to("/proc/self/mem")  # its first byte belongs to nobody: reading gives EIO
    run = datascrub.scan(place, out=tmp_path / "run")
    (unread,) = [f for f in run.findings() if f.key is not None and f.key.endswith("zzz.jpg") and f.severity == "error"]
    assert (unread.code, run.summary["account"]["unreadable"]) == ("record-unreadable", 1)
    with pytest.raises(CopyError):
        run.clean(tmp_path / "clean", max_quarantine=1.0)
    assert not (tmp_path / "clean").exists()


def test_leveldb_in_use_is_refused(fixtures: Path, tmp_path: Path) -> None:
    """A LevelDB that another process holds open is no source: exit code 3, with a word what to do, and its folder as it was."""
    plyvel = pytest.importorskip("plyvel")
    shutil.copytree(fixtures / "photos.leveldb", tmp_path / "set")
    held = plyvel.DB(str(tmp_path / "set"))
    try:
        before = outside(tmp_path / "set")
        with pytest.raises(SourceError) as caught:
            datascrub.scan(tmp_path / "set", out=tmp_path / "run")
        assert caught.value.exit_code == 3
        assert caught.value.fix
        assert outside(tmp_path / "set") == before
    finally:
        held.close()


def test_run_folder_that_is_held_is_refused(make_set: MakeSet, tmp_path: Path) -> None:
    """Another process that scans into a folder keeps it: the second ends with exit code 2, and touches nothing."""
    source = make_set()
    datascrub.scan(source, out=tmp_path / "run")
    before = outside(tmp_path / "run")
    held = RunFolder(tmp_path / "run")
    held.hold()
    code, said = command("scan", source, "--out", tmp_path / "run", "--reread")
    held.release()
    assert (code, "live" in said) == (2, True), said
    assert {**outside(tmp_path / "run"), "run/run.lock": None} == {**before, "run/run.lock": None}
