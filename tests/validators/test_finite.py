"""Values that are not finite, or that training can't hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datascrub.model import Role
from datascrub.validators import Finite
from tests.validators.court import codes, column, judged

FLOATS = ("float16", "float32", "float64")
BAD = (np.nan, np.inf, -np.inf)


def measured(values: Any) -> dict[str, Any]:
    return {name: facts.tolist() for name, facts in Finite().measure(column("array", values)).items()}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bad", BAD)
def test_each_place(dtype: str, bad: float) -> None:
    """One bad value at any corner, edge or the middle of any sample of a block is counted there and nowhere else."""
    shape = (5, 3, 7, 9)
    for row in (0, 2, 4):
        for place in ((0, 0, 0), (0, 0, 8), (1, 3, 4), (2, 6, 8), (2, 6, 0)):
            block = np.ones(shape, dtype)
            block[(row, *place)] = bad
            facts = measured(block)
            expected = [int(each == row) for each in range(5)]
            assert facts["nan_count"] == (expected if np.isnan(bad) else [0] * 5)
            assert facts["inf_count"] == ([0] * 5 if np.isnan(bad) else expected)
            assert facts["maximum"] == [1.0] * 5


@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 0), (2, 3, 4, 5)])
def test_any_shape(shape: tuple[int, ...]) -> None:
    """Scalars, vectors, volumes and empty arrays have a size; only where there is a value is there a range."""
    facts = measured([np.full(shape, 2.5)])
    size = int(np.prod(shape))
    assert facts["size"] == [size]
    assert facts["maximum"] == [2.5 if size else None]
    assert facts["deviation"] == [0.0 if size else None]


def test_nothing_finite() -> None:
    """A sample without a finite value has counts and no range; a missing one has neither; texts are not measured."""
    facts = measured([np.array([np.nan, np.inf, -np.inf]), None, np.array(["x"])])
    assert facts["nan_count"] == [1, None, None]
    assert facts["inf_count"] == [2, None, None]
    assert facts["mean"] == [None] * 3


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(dtype: str) -> None:
    """A NaN in the real or the imaginary part is counted; a complex number is two values."""
    values = [np.array(value, dtype) for value in (1 + 2j, complex(0, np.nan), complex(-np.inf, np.nan))]
    facts = measured([*values, np.stack(values)])
    assert facts["size"] == [2, 2, 2, 6]
    assert facts["nan_count"] == [0, 1, 1, 2]
    assert facts["inf_count"] == [0, 0, 1, 1]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64", "uint64", "bool", *FLOATS])
def test_statistics(dtype: str) -> None:
    """Range, mean and deviation agree with numpy's in float64; they don't depend on the batch."""
    block = (np.random.default_rng(3).normal(size=(70, 3, 32, 32)) * 25 + 100).astype(dtype)
    facts, wide = measured(block), block.reshape(70, -1).astype(np.float64)
    assert facts["minimum"] == wide.min(axis=1).tolist()
    assert facts["maximum"] == wide.max(axis=1).tolist()
    np.testing.assert_allclose(facts["mean"], wide.mean(axis=1), rtol=1e-6)
    np.testing.assert_allclose(facts["deviation"], wide.std(axis=1), rtol=1e-5)
    for start in (0, 33, 69):
        alone = measured(block[start : start + 1])
        assert {name: its[0] for name, its in alone.items()} == {name: its[start] for name, its in facts.items()}


def test_batch_of_tiny_rows_equals_single_ones() -> None:
    """Rows of four numbers measure bit-equal alone and among 1,000."""
    block = np.random.default_rng(4).normal(size=(1000, 4)).astype(np.float32)
    facts = measured(block)
    for row in range(0, 1000, 97):
        assert {name: its[0] for name, its in measured(block[row : row + 1]).items()} == {name: its[row] for name, its in facts.items()}


def test_huge_values_have_finite_facts() -> None:
    """Sums and squares of the largest numbers overflow; what is measured of them does not."""
    for value in (np.float32(3e38), np.float64(1.7e308)):
        facts = measured([np.array([value, -value, value])])
        assert all(np.isfinite(its[0]) for its in facts.values())
        assert facts["abs_max"] == [float(value)]


def found(values: Any) -> list[str]:
    return [finding.code for finding in Finite().check(values)]


def test_single_values() -> None:
    """NaN and Inf are errors; 1e11 is a warning, 1e9 healthy; a float64 beyond float32 overflows; integers are healthy."""
    assert found(np.array([1.0, np.nan])) == ["values-not-finite"]
    assert found(np.array([1.0, -np.inf], np.float16)) == ["values-not-finite"]
    assert found(np.array([1e11])) == ["values-too-large"]
    assert found(np.array([-1e9])) == []
    assert found(np.array([1e39])) == ["values-overflow-precision"]
    assert found(np.array([3.4028235e38], np.float32)) == ["values-too-large"]
    assert found(np.arange(256, dtype=np.uint8)) == []


def test_float16_overflow(tmp_path: Path) -> None:
    """In float16, 70,000 and 65,520 are infinite; 65,519 and 65,000 are not, though a loss of their squares is; in float32 all are healthy."""
    block = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32)
    block[3, 1], block[4, 2], block[5, 1], block[6, 1] = 70_000, -65_520, 65_000, 65_519
    data = column("data", block, Role.ARRAY)
    overflowing = {(row, "network-overflows-half") for row in (3, 4, 5, 6)}
    assert codes(judged(tmp_path / "a", data, precision="float16")) == {
        (3, "values-overflow-precision"),
        (4, "values-overflow-precision"),
        *overflowing,
    }
    assert codes(judged(tmp_path / "b", data)) == set()


def test_bfloat16_overflow(tmp_path: Path) -> None:
    """3.3961e38 is finite in float32 and in bfloat16; 3.3965e38 only in float32."""
    block = np.ones((10, 4), np.float32)
    block[:] = np.random.default_rng(0).normal(size=(10, 4))
    block[1, 0], block[2, 0] = 3.3965e38, 3.3961e38
    assert (1, "values-overflow-precision") in codes(judged(tmp_path, column("data", block, Role.ARRAY), precision="bfloat16"))
    assert (2, "values-overflow-precision") not in codes(judged(tmp_path, column("data", block, Role.ARRAY), precision="bfloat16"))


def test_mostly_overflowing_is_said_once(tmp_path: Path) -> None:
    """A set that was never normalised is one finding; NaN is named sample by sample however common."""
    block = np.random.default_rng(0).normal(size=(10, 4)) + 1e5
    said = codes(judged(tmp_path / "a", column("data", block, Role.ARRAY), precision="float16"))
    assert said == {(None, "values-overflow-precision"), (None, "network-overflows-half")}
    block = np.random.default_rng(0).normal(size=(10, 4))
    block[:9, 0] = np.nan
    bad = codes(judged(tmp_path / "b", column("data", block, Role.ARRAY)))
    assert {(row, "values-not-finite") for row in range(9)} <= bad
