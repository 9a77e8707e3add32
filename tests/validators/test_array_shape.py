"""Arrays of another shape or type than the set's."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datascrub.model import Role
from datascrub.validators import ArrayShape
from tests.validators.court import codes, column, judged, of

RANDOM = np.random.default_rng(5)


def of_shapes(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [RANDOM.normal(size=shape).astype(np.float32) for shape in shapes]


def found(folder: Path, values: list[np.ndarray], role: Role = Role.ARRAY) -> set[tuple[int | None, str]]:
    return {each for each in codes(judged(folder, column("data", values, role))) if each[1].startswith("array-")}


def test_facts() -> None:
    """Shape, type and number of axes, of dense blocks, of single numbers, and of nothing."""
    facts = ArrayShape().measure(column("array", [np.zeros((3, 4), np.uint8), np.array(1.5), None]))
    assert facts["shape"].tolist() == ["3x4", "", None]
    assert facts["dtype"].tolist() == ["uint8", "float64", None]
    assert facts["ndim"].tolist() == [2, 0, None]


def test_the_odd_one_out(tmp_path: Path) -> None:
    """One sample of another shape among nine is named with both shapes."""
    result = judged(tmp_path, column("data", of_shapes(*[(3, 8, 8)] * 9, (1, 8, 8)), Role.IMAGE))
    assert of(result, "array-shape-odd") == [(9, "warning", "shape 1x8x8, where 9 samples have 3x8x8")]


def test_silent_where_shapes_vary(tmp_path: Path) -> None:
    """Small sets, halves, pictures of many sizes, and sequences cut at a maximum are no fault."""
    assert found(tmp_path / "small", of_shapes(*[(4,)] * 8, (5,))) == set()
    assert found(tmp_path / "halves", of_shapes(*[(4,)] * 10, *[(5,)] * 10)) == set()
    assert found(tmp_path / "sizes", of_shapes(*[(3, 8, 5 + row) for row in range(20)])) == set()
    assert found(tmp_path / "cut", of_shapes(*[(32,)] * 95, *[(5 + row,) for row in range(5)])) == set()


def test_another_rank_is_odd_among_lengths(tmp_path: Path) -> None:
    """Among sequences of varying length, one of another rank is still odd."""
    values = of_shapes(*[(32,)] * 95, *[(5 + row,) for row in range(4)], (32, 1))
    assert found(tmp_path, values) == {(99, "array-shape-odd")}


def test_another_type(tmp_path: Path) -> None:
    """One float64 among float32 is named; equal types are not."""
    values = of_shapes(*[(6,)] * 12)
    assert found(tmp_path / "a", values) == set()
    values[7] = values[7].astype(np.float64)
    assert found(tmp_path / "b", values) == {(7, "array-dtype-odd")}
