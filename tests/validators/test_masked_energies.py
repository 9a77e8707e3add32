"""masked_energies: what a mask hides must not break the softmax from behind it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from datascrub import scan
from datascrub.config import FieldConfig, from_table
from datascrub.model import DOMAIN, MASKED, Column, Field, Kind, Role
from tests.validators.court import column, judged, of

CODE = "masked-energies-too-large"
ENERGIES = FieldConfig(exp=True)


def padded(count: int = 30, length: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Energies around 0, zeros where the mask hides: all but a few sequences are shorter than the row."""
    random = np.random.default_rng(5)
    mask = (np.arange(length) < random.integers(2, length + 1, (count, 1))).astype(np.uint8)
    return (random.normal(0, 3, (count, length)) * mask).astype(np.float32), mask


def told(folder: Path, values: Any, mask: Any, its: FieldConfig | None = None, precision: str = "float32") -> list[tuple[int | None, str, str]]:
    field = Field("scores", Role.ARRAY, Kind.ARRAY, "float32", declared=(MASKED,) if its is None else (MASKED, DOMAIN))
    columns = Column(field, values, {MASKED: mask}), column("mask", mask)
    return of(judged(folder, *columns, precision=precision, fields={} if its is None else {"scores": its}), CODE)


def test_healthy(tmp_path: Path) -> None:
    """Padded energies are healthy in each precision; values far from any energy are, where nothing is declared; so is a sentinel behind masks."""
    values, mask = padded()
    for precision in ("float32", "bfloat16"):
        assert told(tmp_path / precision, values, mask, ENERGIES, precision) == []
    assert told(tmp_path / "hpa", 1000 + values, mask) == []
    assert told(tmp_path / "sentinel", np.where(mask == 0, 9999, values), mask) == []
    levels = np.where(mask == 0, 0, values - 60)
    levels[9, mask[9] == 1] = -110
    assert told(tmp_path / "db", levels, mask) == []


@pytest.mark.parametrize(("bad", "precision"), [(100.0, "float32"), (120.0, "float32"), (95.0, "bfloat16"), (25.0, "float16")])
def test_large_behind_a_mask(tmp_path: Path, bad: float, precision: str) -> None:
    """One hidden energy that is too large: an error where energies are declared, else a warning on the odd one."""
    values, mask = padded()
    values, mask[7] = values.clip(-3, 3), [1, 1, 0, 0, 0, 0]
    values[7, 3] = bad
    for its, severity in ((ENERGIES, "error"), (None, "warning")):
        ((number, said, message),) = told(tmp_path / severity, values, mask, its, precision)
        assert (number, said) == (7, severity)
        assert message.startswith(f"the mask hides {bad:g}, and shows ") and message.endswith(f" in {precision}")


def test_swamped_by_padding(tmp_path: Path) -> None:
    """Where all that is shown lies far below the padding, nothing of it is left."""
    values, mask = padded()
    values[11], mask[11] = np.where(np.arange(6) < 3, -200.0, 0.0), np.arange(6) < 3
    ((number, severity, message),) = told(tmp_path, values, mask, ENERGIES)
    assert (number, severity) == (11, "error")
    assert message == "the mask hides 0, and shows -200 at most: taking off the maximum before the mask leaves 0/0 in float32"


def test_most_of_a_set(tmp_path: Path) -> None:
    """Where most samples are so, it is said once."""
    values, mask = padded()
    assert [(number, severity) for number, severity, _ in told(tmp_path, np.where(mask == 0, 1e9, values), mask, ENERGIES)] == [(None, "error")]


def test_ones_that_hide(tmp_path: Path) -> None:
    """Which of 0 and 1 hides is read from the set; where it can't be told, nothing is said."""
    values, mask = padded()
    values[7], mask[7] = 0, [1, 1, 0, 0, 0, 0]
    values[7, 3] = 120
    mask[:, 5] = 0
    assert told(tmp_path / "unclear", values, 1 - mask, ENERGIES) == []
    mask[:6] = 1
    assert [number for number, _, _ in told(tmp_path / "ones", values, 1 - mask, ENERGIES)] == [7]


def test_lists_of_other_lengths(tmp_path: Path) -> None:
    """Sequences of many lengths are held against their own masks; one without a mask, or of another length, is not measured."""
    values, mask = padded()
    values[7], mask[7] = [1, 2, 0, 120, 0, 0], [1, 1, 0, 0, 0, 0]
    ragged = [row[: 3 + at % 4] for at, row in enumerate(values)]
    masks: list[np.ndarray | None] = [row[: 3 + at % 4] for at, row in enumerate(mask)]
    ragged[7], masks[7] = values[7], mask[7]
    masks[3], masks[4] = None, mask[4]
    assert [number for number, _, _ in told(tmp_path, ragged, masks, ENERGIES)] == [7]


def test_not_finite(tmp_path: Path) -> None:
    """NaN and infinities are left to values-not-finite."""
    values, mask = padded()
    values[2, 5], mask[2] = np.inf, [1, 1, 0, 0, 0, 0]
    values[3] = np.nan
    assert told(tmp_path, values, mask, ENERGIES) == []


def test_in_a_scan(tmp_path: Path) -> None:
    """A scan finds the mask that lies over an array; features of another shape, whole numbers and a second mask leave it alone."""
    values, mask = padded()
    values[7], mask[7] = [1, 2, 0, 120, 0, 0], [1, 1, 0, 0, 0, 0]
    with h5py.File(tmp_path / "set.h5", "w") as file:
        file["energy"], file["mask"], file["features"] = values, mask, np.random.default_rng(1).normal(size=(30, 6, 2))
        file["tokens"] = (1000 * np.abs(values)).astype(np.int64)
    config = from_table({"data": {"fields": {"energy": {"exp": True}}}})
    run = scan(str(tmp_path / "set.h5"), out=tmp_path / "run", config=config, workers=1, backend="numpy")
    assert [(finding.key, finding.field) for finding in run.findings(CODE)] == [("set.h5#7", "energy")]
    with h5py.File(tmp_path / "set.h5", "a") as file:
        file["other_mask"] = mask
    run = scan(str(tmp_path / "set.h5"), out=tmp_path / "two", config=config, workers=1, backend="numpy")
    assert list(run.findings(CODE)) == []


def test_unmeasured_without_a_mask() -> None:
    """An array without a mask is not measured at all."""
    from datascrub.validators import MaskedEnergies

    field = replace(column("array", np.ones((2, 3), np.float32), Role.ARRAY).field, declared=(MASKED,))
    made = MaskedEnergies().measure(Column(field, np.ones((2, 3), np.float32)))
    assert np.ma.getmaskarray(made["largest_at_zero"]).all()
