"""A set as a whole: what `datascrub info RUN` tells is what numpy says of the samples that are kept."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

import datascrub
from datascrub.cli import main
from datascrub.config import from_table
from datascrub.review import is_run, statistics_of
from tests.spine.conftest import MakeSet


def test_statistics_are_of_what_is_kept(make_set: MakeSet, tmp_path: Path) -> None:
    """A quarantined sample is in no count and in no mean."""
    source = make_set(values={6: np.nan, 9: np.inf})
    run = datascrub.scan(source, out=tmp_path / "run", config=from_table({"data": {"exact_statistics": True}}))
    with h5py.File(source) as file:
        kept = np.delete(file["data"][...].astype(np.float64), [6, 9], 0)
        labels = np.delete(file["label"][...], [6, 9])
    told = statistics_of(run.path)
    assert (told["samples"], told["kept"]) == (300, 298)
    assert told["fields"]["label"]["classes"] == {str(label): {"samples": int((labels == label).sum())} for label in (0, 1)}
    data = told["fields"]["data"]
    assert data["shapes"] == {"4": 298}
    assert data["types"] == {"float32": 298}
    assert (data["range"]["least"], data["range"]["most"]) == (kept.min(), kept.max())
    assert data["all_values"]["mean"] == pytest.approx(kept.mean(), rel=1e-5)
    assert data["all_values"]["deviation"] == pytest.approx(kept.std(), rel=1e-6)
    (channels,) = data["channels"]
    np.testing.assert_allclose(channels["mean"], kept.mean(0), rtol=1e-11)
    np.testing.assert_allclose(channels["deviation"], kept.std(0), rtol=1e-11)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Two splits of two classes, of two sizes; one picture is gray."""
    rng = np.random.default_rng(5)
    for split, count in (("train", 6), ("val", 2)):
        for label in ("cat", "dog"):
            for number in range(count):
                place = tmp_path / "pets" / split / label / f"{number}.png"
                place.parent.mkdir(parents=True, exist_ok=True)
                shape = (48, 64, 3) if number else (32, 32, 3)
                image = Image.fromarray(rng.integers(0, 256, shape, np.uint8))
                (image.convert("L") if (split, label, number) == ("val", "dog", 1) else image).save(place)
    return tmp_path / "pets"


def test_statistics_of_pictures(pictures: Path, tmp_path: Path) -> None:
    """Splits, classes in each, formats, sizes, gray statistics always, and exact channels for each number of channels."""
    run = datascrub.scan(pictures, out=tmp_path / "run", config=from_table({"data": {"exact_statistics": True}}))
    told = statistics_of(run.path)
    assert told["splits"] == {"train": 12, "val": 4}
    image = told["fields"]["image"]
    assert image["formats"] == {"png": 16}
    assert image["sizes"] == {"64 x 48": 12, "32 x 32": 4}
    assert image["kinds"] == {"8-bit colour": 15, "8-bit gray": 1}
    assert (image["width"]["least"], image["width"]["median"], image["width"]["most"]) == (32, 64, 64)
    assert [(each["channels"], each["samples"]) for each in image["channels"]] == [(3, 15), (1, 1)]
    loaded = [np.asarray(Image.open(file), np.float64) for file in sorted(pictures.rglob("*.png"))]
    pixels = np.concatenate([each.reshape(-1, 3) for each in loaded if each.ndim == 3])
    np.testing.assert_allclose(image["channels"][0]["mean"], pixels.mean(0), rtol=1e-11)
    np.testing.assert_allclose(image["channels"][0]["deviation"], pixels.std(0), rtol=1e-11)
    assert 100 < image["gray"]["mean"] < 155


def test_statistics_do_not_depend_on_workers(pictures: Path, tmp_path: Path) -> None:
    """Two runs of one source tell the same to the last digit told, however they were measured."""
    config = from_table({"data": {"exact_statistics": True}})
    one = datascrub.scan(pictures, out=tmp_path / "one", config=config, workers=1, batch_size=3)
    two = datascrub.scan(pictures, out=tmp_path / "two", config=config, workers=2)
    assert statistics_of(one.path) == statistics_of(two.path)


def test_numbers_as_labels(tmp_path: Path) -> None:
    """Targets of a regression have a range and a mean, and are no classes."""
    targets = np.random.default_rng(1).normal(10, 2, 50).astype(np.float32)
    with h5py.File(tmp_path / "set.h5", "w") as file:
        file["data"], file["label"] = np.random.default_rng(2).normal(size=(50, 4)).astype(np.float32), targets
    run = datascrub.scan(tmp_path / "set.h5", out=tmp_path / "run", config=from_table({"data": {"task": "regression"}}))
    label = statistics_of(run.path)["fields"]["label"]
    assert "classes" not in label
    assert label["numbers"]["mean"] == pytest.approx(targets.mean(dtype=np.float64))
    assert label["numbers"]["deviation"] == pytest.approx(targets.std(dtype=np.float64))


def test_command(pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """info of a run prints the set for people, or as JSON; of a source it says what was recognised."""
    run = tmp_path / "run"
    assert main(["scan", str(pictures), "--out", str(run), "--exact-statistics"]) == 0
    assert is_run(run)
    capsys.readouterr()
    assert main(["info", str(run)]) == 0
    said = capsys.readouterr().out
    assert "splits: train 12, val 4" in said
    assert "3 channels of 15 samples, exact: mean" in said
    assert main(["info", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(statistics_of(run)))
    assert main(["info", str(pictures)]) == 0
    assert "image-folder" in capsys.readouterr().out
