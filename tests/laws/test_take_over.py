"""Laws of taking over: after a change, a scan that measures only what is new finds what a scan of everything finds."""

from __future__ import annotations

import importlib.util
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import google_crc32c
import h5py
import lmdb
import numpy as np
import pytest

from datascrub import api
from datascrub.config import Config, DataConfig
from datascrub.errors import UsageError

CONFIG = Config(DataConfig(classes=6))


def change_folder(place: Path) -> None:
    """One picture cut in half, one gone, one new."""
    files = sorted(place.rglob("*.jpg"))
    files[3].write_bytes(files[3].read_bytes()[:2000])
    files[7].unlink()
    shutil.copy(files[9], files[9].with_name("new.jpg"))


def change_lmdb(place: Path) -> None:
    with lmdb.open(str(place), map_size=1 << 26) as environment, environment.begin(write=True) as transaction:
        keys = [key for key, _ in transaction.cursor()]
        transaction.put(keys[3], transaction.get(keys[3])[:2000])
        transaction.delete(keys[7])
        transaction.put(b"zzz_new.jpg", transaction.get(keys[9]))


def change_leveldb(place: Path) -> None:
    import plyvel

    with plyvel.DB(str(place), compression=None) as database:
        keys = list(database.iterator(include_value=False))
        database.put(keys[3], database.get(keys[3])[:2000])
        database.put(b"zzz_new.jpg", database.get(keys[9]))


def change_hdf5(place: Path) -> None:
    """A second file beside the first."""
    with h5py.File(next(place.glob("*.h5"))) as first, h5py.File(place / "b.h5", "w") as file:
        file["features"] = np.full((5, 16), np.nan, np.float32)
        file.create_dataset("image", (5,), h5py.vlen_dtype(np.uint8))[:] = [first["image"][0]] * 5
        file["label"] = np.arange(5)


def change_tfrecord(place: Path) -> None:
    """A second file beside the first, whose record is damaged."""
    length = struct.pack("<Q", 4)
    crc = google_crc32c.value(length)
    masked = struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
    (place / "b.tfrecord").write_bytes(length + masked + b"what" + bytes(4))


CHANGES: dict[str, tuple[str, Callable[[Path], None], int]] = {
    "image-folder": ("photos", change_folder, 110),
    "lmdb": ("photos.lmdb", change_lmdb, 110),
    "leveldb": ("photos.leveldb", change_leveldb, 0),  # its damaged block makes every record of that range doubtful
    "hdf5": ("photos.h5", change_hdf5, 110),
    "tfrecord": ("photos.tfrecord", change_tfrecord, 0),  # a file of which a part was named is read anew
}


@pytest.fixture(params=CHANGES)
def change(request: pytest.FixtureRequest, fixtures: Path, tmp_path: Path) -> tuple[Path, Callable[[Path], None], int]:
    """A copy of the damaged set of a container, what changes it, and how many samples are taken over at least."""
    if request.param == "leveldb" and importlib.util.find_spec("plyvel") is None:
        pytest.skip("plyvel has no wheel for this machine")
    name, act, least = CHANGES[request.param]
    place = tmp_path / "set"
    if (fixtures / name).is_dir():
        shutil.copytree(fixtures / name, place)
    else:
        place.mkdir()
        shutil.copy(fixtures / name, place / name)
    return place, act, least


def told(run: api.Run) -> list[dict[str, object]]:
    return [finding.as_dict() for finding in run.findings()]


@pytest.mark.parametrize("by_content", [False, True])
def test_what_is_new(change: tuple[Path, Callable[[Path], None], int], tmp_path: Path, by_content: bool) -> None:
    """Findings, facts and account equal those of a scan of everything; most samples are taken over."""
    place, act, least = change
    api.scan(place, out=tmp_path / "run", config=CONFIG, workers=1, by_content=by_content)
    act(place)
    new = api.scan(place, out=tmp_path / "run", config=CONFIG, workers=2, by_content=by_content)
    whole = api.scan(place, out=tmp_path / "whole", config=CONFIG, workers=1, by_content=by_content)
    assert told(new) == told(whole)
    assert new.facts.order("number").fetchall() == whole.facts.order("number").fetchall()
    assert new.summary["account"] == whole.summary["account"]
    assert new.summary["taken_over"] >= least
    assert whole.summary["taken_over"] == 0


def test_same_time_and_size_is_seen_by_content_alone(fixtures: Path, tmp_path: Path) -> None:
    """A file changed behind the back of its time is believed by default; --paranoid sees it."""
    place = tmp_path / "set"
    shutil.copytree(fixtures / "photos", place)
    victim = sorted(place.rglob("*.jpg"))[3]
    for name, by_content in (("trusting", False), ("paranoid", True)):
        api.scan(place, out=tmp_path / name, config=CONFIG, by_content=by_content)
    status = victim.stat()
    with victim.open("r+b") as file:
        file.seek(status.st_size // 2)
        file.write(bytes(400))
    os.utime(victim, ns=(status.st_atime_ns, status.st_mtime_ns))
    (place / "new.txt").write_text("the source as a whole did change")
    shutil.copy(victim, place / "another.jpg")
    key = victim.relative_to(place).as_posix()
    trusting = api.scan(place, out=tmp_path / "trusting", config=CONFIG)
    paranoid = api.scan(place, out=tmp_path / "paranoid", config=CONFIG, by_content=True)
    assert key not in {finding.key for finding in trusting.findings("image-damaged")}
    assert key in {finding.key for finding in paranoid.findings("image-damaged")}


def test_another_run_to_take_over_from(fixtures: Path, tmp_path: Path) -> None:
    """--since names a run; one that measured something else is refused."""
    place = tmp_path / "set"
    shutil.copytree(fixtures / "photos", place)
    api.scan(place, out=tmp_path / "first", config=CONFIG)
    change_folder(place)
    second = api.scan(place, out=tmp_path / "second", config=CONFIG, since=tmp_path / "first")
    assert second.summary["taken_over"] >= 110
    with pytest.raises(UsageError, match="measured something else"):
        api.scan(place, out=tmp_path / "third", config=CONFIG, since=tmp_path / "first", limit=5)
    with pytest.raises(UsageError, match="no run folder"):
        api.scan(place, out=tmp_path / "fourth", config=CONFIG, since=tmp_path / "nowhere")
