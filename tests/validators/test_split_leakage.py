"""split_leakage: the same picture on both sides of a split."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from datascrub.validators.split_leakage import SPLIT
from tests.media.drawn import encoded, jpeg, picture, png
from tests.validators.picture_court import judged, of

OURS = ("split-leak", "split-near-leak")


def test_copies_across_splits(tmp_path: Path) -> None:
    """Equal bytes, and equal pixels in other bytes, in train and val are one finding of the set; within a split there is none."""
    train = {f"train/{seed}.png": png(seed) for seed in range(5)}
    found = judged(tmp_path / "a", {**train, "val/a.png": png(3), "val/b.png": png(4, compress_level=1), "val/c.png": png(60)})
    assert of(found, *OURS) == [(None, "split-leak", "warning")]
    leak = next(f for f in found if f.code == "split-leak")
    assert leak.evidence["pairs"] == ["train/3.png and val/a.png", "train/4.png and val/b.png"]
    assert of(judged(tmp_path / "b", {**train, "train/a.png": png(3), "val/c.png": png(60)}), *OURS) == []
    assert of(judged(tmp_path / "c", {"cat/a.png": png(3), "dog/b.png": png(3)}), *OURS) == []


def test_alike_across_splits(tmp_path: Path) -> None:
    """A picture saved anew in another split leaks, too."""
    again = encoded(picture(2), "JPEG", quality=50)
    files = {**{f"train/{seed}.jpg": jpeg(seed) for seed in range(5)}, "test/1.jpg": again, "test/2.jpg": jpeg(70)}
    assert of(judged(tmp_path, files), *OURS) == [(None, "split-near-leak", "warning")]


@pytest.mark.parametrize(
    ("key", "split"),
    [
        ("train/cat/1.jpg", "train"), ("images/Val/1.jpg", "val"), ("valid/1.jpg", "val"), ("testing/1.jpg", "test"), ("1.jpg", None),
        ("train-00000-of-00010.tfrecord#12", "train"), ("test.tfrecord#3", "test"), ("trainer/1.jpg", None), ("cat/train.jpg", None),
    ],
)  # fmt: skip
def test_split_of_a_key(key: str, split: str | None) -> None:
    """The split is a folder of that name, or the beginning of a file's name where the key is a record of it."""
    assert duckdb.execute(f"SELECT {SPLIT} FROM (SELECT $1 AS key)", [key]).fetchall() == [(split,)]
