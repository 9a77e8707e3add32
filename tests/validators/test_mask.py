"""Masks: segmentation, and of sequences."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from datascrub.model import Column, Field, Kind, Role
from datascrub.validators import AttentionMask
from tests.validators.court import column, judged, of


def blob(seed: int, value: int = 1) -> np.ndarray:
    made = np.zeros((24, 24), np.uint8)
    y, x = np.random.default_rng(seed).integers(2, 12, 2)
    made[y : y + 9, x : x + 8] = value
    return made


def png(values: np.ndarray, mode: str | None = None) -> bytes:
    made = io.BytesIO()
    image = Image.fromarray(values)
    if mode == "P":
        image = Image.new("P", (24, 24))
        image.putdata(values.ravel().tolist())
        image.putpalette([0, 0, 0, 128, 0, 0, 0, 128, 0])
    image.save(made, "PNG")
    return made.getvalue()


def masks(values: list[Any]) -> Column:
    keys = [f"masks/m{number}.png" for number in range(len(values))]
    encoded = [value if isinstance(value, bytes) else png(value) for value in values]
    return Column(Field("mask", Role.MASK, Kind.ENCODED), encoded, {"mask_key": keys})


def told(folder: Path, values: list[Any], **data: Any) -> set[tuple[str | None, str, str]]:
    found = judged(folder, masks(values), **data)
    return {(finding.key, finding.severity.value, finding.code) for _, finding in found if finding.code.startswith("mask")}


def test_healthy(tmp_path: Path) -> None:
    """Classes, palettes read by index, a declared ignored value and a set of many classes are no faults."""
    border = [blob(seed) for seed in range(6)]
    for mask in border:
        mask[0] = 255
    many = [np.kron(np.random.default_rng(seed).integers(0, 150, (4, 4)), np.ones((6, 6))).astype(np.uint8) for seed in range(20)]
    assert told(tmp_path / "a", border, classes=2, ignore_labels=(255,)) == set()
    assert told(tmp_path / "b", [png(blob(seed, 2), "P") for seed in range(6)], classes=3) == set()
    assert told(tmp_path / "c", many, classes=150) == set()


def test_values_outside_the_classes(tmp_path: Path) -> None:
    """The mask's file is named, with value and pixel."""
    values = [blob(seed) for seed in range(6)]
    values[4][7, 3] = 9
    (number, severity, message), *rest = of(judged(tmp_path, masks(values), classes=2), "mask-value-out-of-range")
    assert (number, severity, rest) == (4, "error", []) and "value 9 at pixel (3, 7)" in message


def test_scaled(tmp_path: Path) -> None:
    """0 and 255 throughout is said once: an error where classes are declared."""
    values = [blob(seed, 255) for seed in range(6)]
    assert told(tmp_path / "a", values, classes=2) == {(None, "error", "mask-scaled")}
    assert told(tmp_path / "b", values) == {(None, "info", "mask-scaled")}


def test_interpolated(tmp_path: Path) -> None:
    """One mask resized with a smooth filter is a warning on its file."""
    values: list[Any] = [blob(seed, 5) for seed in range(6)]
    values[3] = np.asarray(Image.fromarray(values[3]).resize((60, 60), Image.Resampling.BILINEAR).resize((24, 24), Image.Resampling.BILINEAR))
    assert told(tmp_path, values, classes=6) == {("masks/m3.png", "warning", "mask-values-interpolated")}


def test_empty_and_colours(tmp_path: Path) -> None:
    """An empty mask is info; colours in most masks are said once, in one they name it."""
    values: list[Any] = [blob(seed) for seed in range(6)]
    values[2][:] = 0
    assert told(tmp_path / "a", values, classes=2) == {("masks/m2.png", "info", "mask-empty")}
    colours = [np.stack([blob(seed, 128), blob(seed, 0), blob(seed, 0)], axis=-1) for seed in range(6)]
    assert told(tmp_path / "b", colours, classes=2) == {(None, "error", "mask-in-colours")}
    assert told(tmp_path / "c", [blob(seed) for seed in range(6)] + colours[:1]) == {("masks/m6.png", "warning", "mask-in-colours")}


def test_size(tmp_path: Path) -> None:
    """A mask of another size than its picture is an error; turned by a quarter it is one that EXIF explains."""
    images = column("image", np.zeros((6, 1, 24, 30), np.uint8))
    planes = [np.zeros((24, 30), np.uint8) for _ in range(6)]
    planes[1], planes[2] = np.zeros((30, 24), np.uint8), np.zeros((24, 24), np.uint8)
    found = judged(tmp_path, images, column("mask", planes))
    assert [number for number, _, _ in of(found, "mask-size-mismatch")] == [2]


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([[1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 0, 0]], [2]),
        ([[1, 1, 1], [1, 1, 1], [0, 0, 0]], [2]),
        ([[0, 0, 1], [0, 1, 1], [0, 0, 0], [0, 0, 0]], []),
        ([[0, 0, 0]] * 5, []),
        ([[0, 0, 1]] * 3 + [[1, 1, 1]] * 10 + [[0, 0, 0]], [13]),
    ],
)
def test_attention(tmp_path: Path, rows: list[list[int]], named: list[int]) -> None:
    """What hides everything is named where the set tells which value hides; masks padded in front or inverted are not accused."""
    found = judged(tmp_path, column("mask", np.array(rows, np.uint8)))
    assert [number for number, _, _ in of(found, "attention-mask-hides-all")] == named


@pytest.mark.parametrize(("hides", "dtype"), [(-1e9, np.float32), (-np.inf, np.float32), (-10000, np.int64)])
def test_added_masks(tmp_path: Path, hides: float, dtype: Any) -> None:
    """Masks that are added hide by a large negative number: the one that hides all is named, and no -Inf in them is a fault."""
    rows = [[0, 0, 0], [0, 0, hides], [hides] * 3, [0, hides, hides], [0, 0, 0]] + [[0, 0, 0]] * 8
    found = judged(tmp_path, column("mask", np.array(rows, dtype)))
    assert [(number, finding.code) for number, finding in found] == [(2, "attention-mask-hides-all")]
    assert "all 3 positions of the mask are far below 0" in found[0][1].message


def test_added_masks_are_measured_row_by_row() -> None:
    """What is measured of a mask does not depend on those beside it in the batch."""
    rows = np.array([[0, 0, -1e9], [1, 1, 0], [0, np.nan, 1], [0, 0, 0]], np.float32)
    whole = AttentionMask().measure(column("mask", rows))["visible_count"]
    alone = [AttentionMask().measure(column("mask", rows[at : at + 1]))["visible_count"][0] for at in range(4)]
    assert whole.tolist() == [2, 2, None, 0] == [None if each is np.ma.masked else int(each) for each in alone]
