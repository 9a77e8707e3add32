"""Several sources in one scan: splits and pairs, what concerns both, one summary, copies that fit together."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import h5py
import lmdb
import numpy as np
import pytest
from PIL import Image

from datascrub import several
from datascrub.cli import main
from datascrub.config import Config, DataConfig
from datascrub.errors import CopyError, UsageError
from tests.media.drawn import encoded, jpeg, picture, png


def folder(place: Path, files: dict[str, bytes]) -> Path:
    """Pictures by path."""
    for name, data in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
    return place


def database(place: Path, records: dict[str, bytes]) -> Path:
    """An LMDB of records by key."""
    with lmdb.open(str(place), map_size=1 << 24) as store, store.begin(write=True) as transaction:
        for key, value in records.items():
            transaction.put(key.encode(), value)
    return place


def label_map(width: int = 48, height: int = 32, seed: int = 0) -> bytes:
    """A palette picture of three classes."""
    values = np.random.default_rng(seed).integers(0, 3, (height // 8, width // 8)).repeat(8, 0).repeat(8, 1).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(values).save(file, "PNG")
    return file.getvalue()


def told(run: Any, *codes: str) -> list[tuple[str, str, str | None]]:
    """(code, severity, key) of the findings of these rules."""
    return [(f.code, f.severity.value, f.key) for f in run.findings() if f.code in codes]


LEAKS = ("split-leak", "split-near-leak", "split-leak-label-conflict", "split-near-leak-label-conflict")
LABELS = ("split-label-unseen", "split-label-lacking", "split-name-repeated")
PAIRED = ("pair-count-mismatch", "pair-missing", "pair-order-differs", "pair-shape-mismatch")


def test_splits(tmp_path: Path) -> None:
    """Copies in two splits are one finding, those under another label each their own, before it; keys bear the name of the split."""
    train = {f"{label}/{label}{number}.jpg": jpeg(10 * number + at) for at, label in enumerate(("cat", "dog", "owl")) for number in range(6)}
    val = {"cat/a.jpg": jpeg(0), "dog/wrong.jpg": jpeg(10), "cat/dog3.jpg": jpeg(701), "dog/c.jpg": jpeg(702)}
    val |= {"fox/x.jpg": jpeg(900), "fox/y.jpg": jpeg(901)}
    again = encoded(picture(21), "JPEG", quality=50)
    sources = {"train": folder(tmp_path / "t", train), "val": folder(tmp_path / "v", {**val, "owl/near.jpg": again})}
    run = several.scan_splits(sources, out=tmp_path / "run", workers=1)
    assert told(run, *LEAKS) == [
        ("split-leak-label-conflict", "error", "train:cat/cat1.jpg"),
        ("split-leak-label-conflict", "error", "val:dog/wrong.jpg"),
        ("split-leak", "warning", None),
        ("split-near-leak", "warning", None),
        ("split-near-leak-label-conflict", "warning", "val:owl/near.jpg"),
    ]
    assert sorted(told(run, *LABELS)) == [("split-label-unseen", "warning", None), ("split-name-repeated", "info", None)]
    leak = next(f for f in run.findings("split-leak"))
    assert leak.evidence["pairs"] == ["train:cat/cat0.jpg and val:cat/a.jpg", "train:cat/cat1.jpg and val:dog/wrong.jpg"]
    assert run.exit_code == 1 and run.summary["account"]["records"] == 25 and run.summary["account"]["quarantined"] == 2
    assert run.summary["rules"][0]["code"] == "split-leak-label-conflict"
    assert all((tmp_path / "run" / name / "summary.json").exists() for name in ("train", "val"))


def test_healthy_splits(tmp_path: Path) -> None:
    """Splits with nothing in common but their counters and classes are clean, and so is a smaller one that lacks a class, but for a remark."""
    classes = ("cat", "dog", "owl")
    train = {f"{label}/{number:05d}.jpg": jpeg(10 * number + at) for at, label in enumerate(classes) for number in range(8)}
    val = {f"{label}/{number:05d}.jpg": jpeg(500 + 10 * number + at) for at, label in enumerate(classes) for number in range(3)}
    sources = {"train": folder(tmp_path / "t", train), "val": folder(tmp_path / "v", val)}
    run = several.scan_splits(sources, out=tmp_path / "run", workers=1)
    assert told(run, *LEAKS, *LABELS) == [] and run.exit_code == 0
    few = {name: data for name, data in val.items() if not name.startswith("owl")}
    lacking = several.scan_splits({**sources, "val": folder(tmp_path / "w", few)}, out=tmp_path / "other", workers=1)
    assert told(lacking, *LEAKS, *LABELS) == [("split-label-lacking", "info", None)]


def test_arrays_in_splits(tmp_path: Path) -> None:
    """Rows of numbers leak, too; where most of a split is labelled otherwise, that is said once and no sample is blamed."""
    random = np.random.default_rng(3)
    values = random.normal(size=(60, 8)).astype(np.float32)
    for name, rows, shift in (("train", slice(0, 40), 0), ("few", slice(38, 60), 1), ("most", slice(20, 44), 1)):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["data"], file["label"] = values[rows], (np.arange(60)[rows] + shift) % 3
    found = {
        name: several.scan_splits({"train": tmp_path / "train.h5", "val": tmp_path / f"{name}.h5"}, out=tmp_path / name, workers=1)
        for name in ("few", "most")
    }
    rows = ["train:train.h5#38", "train:train.h5#39", "val:few.h5#0", "val:few.h5#1"]
    assert told(found["few"], *LEAKS) == [
        *(("split-leak-label-conflict", "error", key) for key in rows),
        ("split-leak", "warning", None),
    ]
    assert told(found["most"], *LEAKS) == [("split-leak-label-conflict", "error", None), ("split-leak", "warning", None)]


def test_paired_by_key(tmp_path: Path) -> None:
    """A missing partner and a map of another size are named; all copies leave out the same samples, also those that one source alone condemns."""
    names = [f"{number:08d}" for number in range(24)]
    images = {name: jpeg(number, width=48, height=32) for number, name in enumerate(names)}
    maps = {name: label_map(seed=number) for number, name in enumerate(names)}
    images[names[3]] = images[names[3]][:300]
    maps[names[5]] = label_map(40, 24)
    del maps[names[7]]
    sources = [database(tmp_path / "images.lmdb", images), database(tmp_path / "labels.lmdb", maps)]
    run = several.scan_pairs(sources, out=tmp_path / "run", workers=1)
    assert run.summary["paired_by"] == "key"
    assert told(run, *PAIRED) == [
        ("pair-count-mismatch", "error", None),
        ("pair-missing", "error", f"images:{names[7]}"),
        ("pair-shape-mismatch", "error", f"labels:{names[5]}"),
    ]
    run.clean(tmp_path / "clean", max_quarantine=1.0)
    kept = []
    for name in ("images.lmdb", "labels.lmdb"):
        with lmdb.open(str(tmp_path / "clean" / name), readonly=True) as store, store.begin() as transaction:
            kept.append([bytes(key).decode() for key in transaction.cursor().iternext(values=False)])
    assert kept[0] == kept[1] == [name for number, name in enumerate(names) if number not in (3, 5, 7)]
    with (tmp_path / "run" / "quarantine.csv").open(newline="") as file:
        assert {(row["source"], row["key"]) for row in csv.DictReader(file)} >= {("images", names[5]), ("labels", names[3]), ("images", names[7])}


def test_paired_by_position(tmp_path: Path) -> None:
    """Keys that have nothing in common are paired by position; unequal counts are an error, and no copy is made of them."""
    images = {f"img{number:04d}": jpeg(number, width=48, height=32) for number in range(12)}
    maps = {f"{number:08d}_map": label_map(seed=number) for number in range(12)}
    sources = [database(tmp_path / "images.lmdb", images), database(tmp_path / "labels.lmdb", maps)]
    run = several.scan_pairs(sources, out=tmp_path / "run", workers=1)
    assert run.summary["paired_by"] == "position" and told(run, *PAIRED) == []
    short = database(tmp_path / "short.lmdb", dict(list(maps.items())[1:]))
    uneven = several.scan_pairs([sources[0], short], out=tmp_path / "uneven", workers=1)
    assert told(uneven, *PAIRED) == [("pair-count-mismatch", "error", None)]
    with pytest.raises(CopyError, match="by position"):
        uneven.clean(tmp_path / "clean")
    assert not (tmp_path / "clean").exists()


def test_other_order(tmp_path: Path) -> None:
    """The same names in another order are a warning: who reads by position pairs the wrong ones."""
    pictures = {f"{number}.png": png(number) for number in range(8)}
    folder(tmp_path / "a", pictures)
    folder(tmp_path / "b", pictures)
    for name, order in (("a", range(8)), ("b", (0, 1, 3, 2, 4, 5, 6, 7))):
        (tmp_path / name / "list.txt").write_text("".join(f"{number}.png {number % 2}\n" for number in order))
    run = several.scan_pairs([tmp_path / "a" / "list.txt", tmp_path / "b" / "list.txt"], out=tmp_path / "run", workers=1)
    assert told(run, *PAIRED) == [("pair-order-differs", "warning", None)]


def test_maps_of_another_size_by_design(tmp_path: Path) -> None:
    """Where no map fits its picture, none was meant to."""
    sources = [
        database(tmp_path / "images.lmdb", {f"{n:04d}": jpeg(n, width=48, height=32) for n in range(12)}),
        database(tmp_path / "labels.lmdb", {f"{n:04d}": label_map(24, 16, n) for n in range(12)}),
    ]
    assert told(several.scan_pairs(sources, out=tmp_path / "run", workers=1), *PAIRED) == []


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """scan, findings, judge and clean take a scan of several sources as they take one of one."""
    monkeypatch.chdir(tmp_path)
    train = {f"{label}/{label}{number}.jpg": jpeg(10 * number + at) for at, label in enumerate(("cat", "dog")) for number in range(6)}
    folder(tmp_path / "t", train)
    folder(tmp_path / "v", {"cat/a.jpg": jpeg(0), "dog/b.jpg": jpeg(10), "dog/c.jpg": jpeg(900)})
    scan = ["scan", "--split", "train=t", "--split", "val=v", "--out", "run", "--workers", "1"]
    assert main([*scan, "--clean", "clean", "--max-quarantine", "50%"]) == 1
    assert "split-leak-label-conflict" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "clean").iterdir()) == ["train", "val"]
    assert not (tmp_path / "clean" / "val" / "dog" / "b.jpg").exists()
    assert main(["findings", "run", "--rule", "split-leak-label-conflict", "--format", "keys"]) == 0
    assert capsys.readouterr().out.split() == ["train:cat/cat1.jpg", "val:dog/b.jpg"]
    assert main(["judge", "run", "--set", "rules.split-leak-label-conflict.severity=warning"]) == 0
    assert main([*scan, "--fail-on", "never"]) == 0
    assert "nothing read again" in capsys.readouterr().out
    for wrong in (["scan"], ["scan", "t", "--split", "a=t"], ["scan", "--split", "train=t"], ["scan", "--split", "t", "--split", "v"]):
        assert main(wrong) == 2


def test_wrong_use(tmp_path: Path) -> None:
    """A name that can't be a folder, a missing source and a folder of something else are refused before anything is read."""
    place = folder(tmp_path / "t", {"a.jpg": jpeg(1), "b.jpg": jpeg(2)})
    for splits in ({"../x": place, "b": place}, {"summary.json": place, "b": place}):
        with pytest.raises(UsageError):
            several.scan_splits(splits, out=tmp_path / "run", config=Config(DataConfig()))
    with pytest.raises(UsageError):
        several.scan_splits({"a": place, "b": place}, out=place)
