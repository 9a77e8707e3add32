"""Arrays of one value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from datascrub.model import Role
from datascrub.validators import Constant
from tests.validators.court import codes, column, judged


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32", "float64", "bool"])
def test_constant(dtype: str) -> None:
    """Four equal values are constant, whatever the value; one different value at any end makes them not."""
    for value in (0, 1):
        block = np.full((3, 5, 5), value, dtype)
        block[1, 0, 0], block[2, -1, -1] = 1 - value, 1 - value
        facts = Constant().measure(column("array", block))
        assert facts["is_constant"].tolist() == [True, False, False]
        assert facts["constant_value"].tolist() == [value, None, None]


def test_not_judged() -> None:
    """Scalars, three values, NaN alone and missing samples are not constant."""
    for value in (np.array(1.0), np.ones(3), np.full(5, np.nan), np.array([np.nan, 1, 1, 1]), np.full(4, np.inf), np.zeros((2, 0)), None):
        assert Constant().check(value) == []
    assert [finding.code for finding in Constant().check(np.zeros(4))] == ["array-constant"]


def test_named_or_said_once(tmp_path: Path) -> None:
    """One empty sample is named; where most are, it is said once; masks, weights and boxes are left alone."""
    block = np.random.default_rng(0).normal(size=(10, 6)).astype(np.float32)
    block[4] = 0
    assert codes(judged(tmp_path / "a", column("data", block, Role.ARRAY))) == {(4, "array-constant")}
    block[2:] = 7
    assert (None, "array-constant") in codes(judged(tmp_path / "b", column("data", block, Role.ARRAY)))
    for role in (Role.MASK, Role.WEIGHT, Role.BOXES):
        assert not {code for _, code in codes(judged(tmp_path / role.value, column("x", block, role)))} & {"array-constant"}
