"""Boxes that no object can have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datascrub.model import CORNERS, Column, Field, Kind, Role
from datascrub.validators import Boxes
from tests.validators.court import column, judged, of

GOOD = [0.1, 0.2, 0.5, 0.6]
HEALTHY: dict[str, Any] = {
    "edges and rounding": [np.float32([[0, 0, 1, 1]]), np.float32([[0.5, 0.5, 1.0000001, 1.0000001]]), np.float32([GOOD] * 3)],
    "no boxes": [np.zeros((0, 4), np.float32), np.float32([GOOD]), np.float32([GOOD])],
    "pixels": np.uint16([[10, 20, 110, 220]] * 6),
    "corner and size": np.float32(np.random.default_rng(0).uniform([100, 100, 5, 5], [400, 400, 90, 90], (50, 4))),
    "padding": np.concatenate([np.float32([[GOOD]] * 9), np.zeros((9, 2, 4), np.float32)], axis=1),
    "not four numbers": np.float32([[1, 0, 3]] * 9),
    "a small box in pixels": np.int64([[0, 0, 1, 1]] + [[10, 20, 40, 40]] * 5),
}


def court(folder: Path, values: Any) -> set[tuple[int | None, str]]:
    found = judged(folder, column("boxes", values))
    return {(number, finding.code) for number, finding in found if finding.code.startswith("box") and finding.severity != "info"}


@pytest.mark.parametrize("values", HEALTHY.values(), ids=HEALTHY.keys())
def test_healthy(tmp_path: Path, values: Any) -> None:
    """Edges, rounding, padding, empty lists and other orders of four numbers are no faults."""
    assert court(tmp_path, values) == set()


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ([0.5, 0.2, 0.1, 0.6], "box-inverted"),
        ([0.1, 0.2, 0.1, 0.6], "box-zero-area"),
        ([0.1, 0.2, 0.5, 1.3], "box-outside"),
        ([-0.1, 0.2, 0.5, 0.6], "box-outside"),
        ([48, 60, 240, 300], "box-units-mixed"),
    ],
)
def test_one_among_normalised(tmp_path: Path, bad: list[float], code: str) -> None:
    """One box of six samples is wrong: that sample is named, by that code alone."""
    values = np.float32([[GOOD]] * 6)
    values[3, 0] = bad
    assert court(tmp_path, values) == {(3, code)}


@pytest.mark.parametrize(
    ("bad", "codes"),
    [
        ([65535, 176, 221, 438], {"box-wrapped", "box-inverted"}),
        ([10, 20, 10, 220], {"box-zero-area"}),
        ([-7, 20, 110, 220], {"box-outside"}),
        ([0.1, 0.2, 0.5, 0.6], {"box-units-mixed"}),
    ],
)
def test_one_among_pixels(tmp_path: Path, bad: list[float], codes: set[str]) -> None:
    """The same in pixels."""
    values = np.float64([[10, 20, 110, 220]] * 8)
    values[4] = bad
    assert court(tmp_path, values) == {(4, code) for code in codes}


def test_outside_the_picture(tmp_path: Path) -> None:
    """Pixel boxes are held against the set's one picture field; one pixel more is an edge counted from 1."""
    images = Column(Field("image", Role.IMAGE, Kind.ARRAY), np.zeros((5, 1, 40, 60), np.uint8))
    boxes = np.int64([[1, 1, 60, 40]] * 5)
    boxes[1], boxes[2] = [1, 1, 61, 41], [5, 5, 62, 30]
    assert [number for number, _, _ in of(judged(tmp_path, images, column("boxes", boxes)), "box-outside-picture")] == [2]


def test_order_by_definition(tmp_path: Path) -> None:
    """Where the format defines corners, most may be inverted, and each is named; else the set is said to be unclear, once."""
    values = [np.float32([[0.5, 0.5, 0.1, 0.1]])] * 6
    known = Column(Field("boxes", Role.BOXES, Kind.ARRAY, declared=(CORNERS,)), values)
    assert len(of(judged(tmp_path / "a", known), "box-inverted")) == 6
    found = judged(tmp_path / "b", column("boxes", values))
    assert (len(of(found, "box-inverted")), len(of(found, "box-order-unclear"))) == (0, 1)


def test_repeated_and_none(tmp_path: Path) -> None:
    """A box twice and no box at all are told as info."""
    values = [np.float32([GOOD, GOOD]), np.zeros((0, 4), np.float32), np.float32([GOOD]), np.float32([GOOD, [0.2, 0.2, 0.3, 0.3]])]
    found = judged(tmp_path, column("boxes", values))
    assert [(n, s) for n, s, _ in of(found, "box-repeated")] == [(0, "info")]
    assert [(n, s) for n, s, _ in of(found, "box-none")] == [(1, "info")]


def test_not_finite_is_told_elsewhere() -> None:
    """A box with NaN has no bounds; its sample is measured by its other boxes."""
    facts = Boxes().measure(column("boxes", [np.float32([[np.nan, 0, 1, 1], GOOD])]))
    assert (facts["box_count"][0], round(facts["box_max_x"][0], 6), facts["inverted_count"][0]) == (2, 0.5, 0)
