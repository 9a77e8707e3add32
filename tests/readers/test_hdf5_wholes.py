"""HDF5 with one sample a file or a group: fields, keys, what is wrong with one, cleaned copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from datascrub import scan
from datascrub.api import look
from datascrub.config import Config, DataConfig
from datascrub.errors import SourceError, UsageError
from datascrub.model import Batch, Shard
from datascrub.plan import Plan
from datascrub.readers.hdf5 import HDF5
from tests.media.drawn import jpeg

RANDOM = np.random.default_rng(4)


def sample(place: Any, number: int, bad: bool = False) -> None:
    """image, label, caption and encoded bytes under one group."""
    image = RANDOM.normal(size=(3, 8, 8)).astype(np.float32)
    if bad:
        image[1, 2, 3] = np.nan
    place.create_dataset("image", data=image, chunks=(1, 8, 8), compression="gzip")
    place["label"], place["caption"] = number % 3, f"picture {number}"
    place["jpeg"] = np.frombuffer(jpeg(number), np.uint8)


def grouped(place: Path, count: int = 12, bad: tuple[int, ...] = ()) -> Path:
    with h5py.File(place, "w") as file:
        file.attrs["made"], file["classes"] = "today", np.arange(3)
        for number in range(count):
            group = file.create_group(f"train/{number:04d}")
            group.attrs["number"] = number
            sample(group, number, number in bad)
    return place


def scanned(source: Path, per: str, out: Path) -> Any:
    return scan(source, config=Config(DataConfig(sample=per)), out=out, workers=1, backend="numpy")


def keys(run: Any, *codes: str) -> list[tuple[str | None, str]]:
    return [(finding.key, finding.code) for finding in run.findings() if finding.code in codes or (not codes and finding.severity == "error")]


def test_groups(tmp_path: Path) -> None:
    """Each group is a sample under its own path, with arrays, label, text and picture as fields; a NaN costs its group, and only that in the copy."""
    source = grouped(tmp_path / "set.h5", bad=(5,))
    run = scanned(source, "group", tmp_path / "run")
    roles = {field.name: (field.role.value, field.kind.value) for field in _plan(run).fields}
    assert roles == {"image": ("array", "array"), "label": ("label", "array"), "caption": ("text", "text"), "jpeg": ("image", "encoded")}
    assert run.summary["account"]["records"] == 12
    assert set(keys(run)) == {("set.h5:train/0005", "values-not-finite"), ("set.h5:train/0005", "network-loss-not-finite")}
    run.clean(tmp_path / "clean.h5")
    with h5py.File(source) as before, h5py.File(tmp_path / "clean.h5") as after:
        assert sorted(after["train"]) == [name for name in sorted(before["train"]) if name != "0005"]
        assert after.attrs["made"] == "today" and after["train/0003"].attrs["number"] == 3 and after["classes"][:].tolist() == [0, 1, 2]
        assert np.array_equal(after["train/0007/image"][:], before["train/0007/image"][:]) and after["train/0007/image"].compression == "gzip"
    assert keys(scanned(tmp_path / "clean.h5", "group", tmp_path / "again")) == []
    seen = look(source, "set.h5:train/0005", Config(DataConfig(sample="group")))
    assert seen.values["label"] == "2" and seen.values["image"] == "float32 3x8x8"


def test_files(tmp_path: Path) -> None:
    """Each file is a sample; one that is cut short or no HDF5 is named by its own key, and leaves the copy."""
    folder = tmp_path / "set"
    folder.mkdir()
    for number in range(10):
        with h5py.File(folder / f"{number}.h5", "w") as file:
            sample(file, number, bad=number == 3)
    whole = (folder / "6.h5").read_bytes()
    (folder / "6.h5").write_bytes(whole[: len(whole) // 2])
    with h5py.File(folder / "8.h5", "a") as file:
        del file["label"]
    run = scanned(folder, "file", tmp_path / "run")
    found = {key: code for key, code in keys(run) if code != "network-loss-not-finite" and not code.startswith("part-")}
    assert set(found) == {"3.h5", "6.h5", "8.h5"} and found["3.h5"] == "values-not-finite" and found["8.h5"] == "record-field-missing"
    assert run.summary["account"]["records"] == 10
    run.clean(tmp_path / "clean", max_quarantine=1.0)
    assert sorted(path.name for path in (tmp_path / "clean").iterdir()) == ["0.h5", "1.h5", "2.h5", "4.h5", "5.h5", "7.h5", "9.h5"]
    assert keys(scanned(tmp_path / "clean", "file", tmp_path / "again")) == []


def test_healthy_wholes(tmp_path: Path) -> None:
    """Nothing is said of groups of differing length and fields that few of them have."""
    with h5py.File(tmp_path / "set.h5", "w") as file:
        for number in range(10):
            group = file.create_group(f"{number}")
            group["signal"], group["label"] = RANDOM.normal(size=(20 + number, 2)).astype(np.float32), number % 2
            if number == 4:
                group["remark"] = "odd one"
    run = scanned(tmp_path / "set.h5", "group", tmp_path / "run")
    assert [f.code for f in run.findings() if f.severity != "info"] == []


@pytest.mark.parametrize("per", ["group", "file"])
def test_shards(tmp_path: Path, per: str) -> None:
    """Shards are disjoint and complete; any batch size and any choice of rows gives the same samples; untouched ones are named without values."""
    folder = tmp_path / "set"
    folder.mkdir()
    for number in range(300 if per == "file" else 2):
        with h5py.File(folder / f"{number:03d}.h5", "w") as file:
            for name in [f"g{each:03d}/" for each in range(300)] if per == "group" else [""]:
                file[f"{name}x"], file[f"{name}label"] = np.full(4, number, np.float32), number % 3
    with HDF5(folder) as reader:
        survey = reader.survey(DataConfig(sample=per))
        plan = Plan(str(folder), "hdf5", None, survey.fields, data=DataConfig(sample=per))
        shards = [each for each in reader.shards(plan) if isinstance(each, Shard)]
        assert len(shards) > 1 and sum(each.count or 0 for each in shards) == survey.count == (300 if per == "file" else 600)
        keys = [key for shard in shards for batch in reader.read(plan, shard) if isinstance(batch, Batch) for key in batch.keys]
        assert len(set(keys)) == len(keys) == survey.count and keys == [key for key, _ in reader.digests(plan)]
        some = [
            each for each in reader.read(plan, shards[0], batch_size=1, rows=frozenset({3, 7}), untouched=frozenset({7})) if isinstance(each, Batch)
        ]
        assert [(batch.keys[0], int(batch.rows[0])) for batch in some] == [(keys[3], 3), (keys[7], 7)]
        assert some[1].columns["x"].values[0] is None and not some[1].problems


@pytest.mark.parametrize("per", ["group", "file"])
def test_nothing_there(tmp_path: Path, per: str) -> None:
    """A file without groups holds no sample of groups; a key that is none is refused."""
    with h5py.File(tmp_path / "set.h5", "w") as file:
        file["data"] = np.arange(3)
    if per == "group":
        with pytest.raises(SourceError, match="no sample"):
            scanned(tmp_path / "set.h5", per, tmp_path / "run")
    with pytest.raises((UsageError, SourceError)):
        look(tmp_path / "set.h5", "other.h5:x", Config(DataConfig(sample=per)))


def _plan(run: Any) -> Any:
    from datascrub.run.folder import RunFolder

    return RunFolder(run.path).plan().plan
