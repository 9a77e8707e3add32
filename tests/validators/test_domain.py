"""domain: what [data.fields.NAME] declares of values, and nothing where nothing is declared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from datascrub import judge, scan
from datascrub.config import Config, DataConfig, FieldConfig, load
from datascrub.errors import UsageError
from datascrub.model import DOMAIN, Column, Role
from tests.validators.court import codes, column, judged

CODES = ("values-out-of-range", "values-not-positive", "values-zero", "values-exponential-overflows", "values-mostly-zero")


def declared(values: np.ndarray) -> Column:
    """A column whose owner has declared something of it."""
    made = column("data", values, Role.ARRAY)
    return Column(replace(made.field, declared=(DOMAIN,)), values)


@pytest.mark.parametrize(
    ("its", "bad", "code"),
    [
        (FieldConfig(range=(0.0, 1.0)), [0.5, 1.01], "values-out-of-range"),
        (FieldConfig(range=(0.0, 1.0)), [-0.01, 0.5], "values-out-of-range"),
        (FieldConfig(positive=True), [0.5, 0.0], "values-not-positive"),
        (FieldConfig(nonzero=True), [-0.5, 0.0], "values-zero"),
        (FieldConfig(exp=True), [88.8, 0.0], "values-exponential-overflows"),
        (FieldConfig(zeros=0.6), [0.0, 0.0], "values-mostly-zero"),
    ],
)
def test_each_fault(tmp_path: Path, its: FieldConfig, bad: list[float], code: str) -> None:
    """The one sample that breaks a declaration is named, and nothing else is said."""
    values = np.random.default_rng(1).uniform(0.1, 1.0, (30, 2)).astype(np.float32)
    values[7] = bad
    found = codes(judged(tmp_path, declared(values), fields={"data": its}))
    assert {each for each in found if each[1] in CODES} == {(7, code)}


def test_healthy(tmp_path: Path) -> None:
    """Ends of a range, rounding past them, negative divisors and large energies below the limit are healthy; so is all that is not declared."""
    its = FieldConfig(range=(-1.0, 88.0), nonzero=True, exp=True, zeros=0.0)
    values = np.array([[-1, 88], [np.float32(88.00001), 0.5], [1, 2]], np.float32)
    assert not {code for _, code in codes(judged(tmp_path / "a", declared(values), fields={"data": its})) if code in CODES}
    assert not {code for _, code in codes(judged(tmp_path / "b", column("data", -values, Role.ARRAY))) if code in CODES}


def test_most_of_a_set(tmp_path: Path) -> None:
    """A declaration that most of the set breaks is said once: the unit is wrong, or the declaration."""
    values = np.random.default_rng(1).integers(0, 256, (30, 5))
    found = codes(judged(tmp_path, declared(values), fields={"data": FieldConfig(range=(0.0, 1.0))}))
    assert {each for each in found if each[1] in CODES} == {(None, "values-out-of-range")}


def test_declared_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of the configuration reaches the scan; other values are judged without reading, in another precision too."""
    monkeypatch.chdir(tmp_path)
    with h5py.File("set.h5", "w") as file:
        file["energy"], file["label"] = np.linspace(1, 12, 24, dtype=np.float32).reshape(12, 2), np.arange(12) % 3
    (tmp_path / "c.toml").write_text("[data.fields.energy]\nexp = true\nrange = [1, 11.5]\n")
    run = scan("set.h5", config=load(tmp_path / "c.toml"), out="run", workers=1)
    assert [f.key for f in run.findings() if f.code in CODES] == ["set.h5#11"]
    half = load(tmp_path / "c.toml", {"data.precision": "float16"})
    assert {(f.key, f.code) for f in judge("run", half).findings()} >= {("set.h5#11", "values-exponential-overflows")}
    late = Config(DataConfig(fields={"label": FieldConfig(nonzero=True)}))
    assert any(each.startswith("domain on label: not measured") for each in judge("run", late).summary["not_checked"])
    with pytest.raises(UsageError, match="does not hold"):
        scan("set.h5", config=Config(DataConfig(fields={"enrgy": FieldConfig(exp=True)})), out="other")


@pytest.mark.parametrize("text", ["range = [1, 0]", "range = 3", "exp = 1", "zeros = 2", "shape = [0]", 'dtype = "object"', "rnage = [0, 1]"])
def test_wrong_declarations(tmp_path: Path, text: str) -> None:
    """What is no declaration is refused, with what is expected."""
    (tmp_path / "c.toml").write_text(f"[data.fields.x]\n{text}\n")
    with pytest.raises(UsageError, match=r"data\.fields\.x"):
        load(tmp_path / "c.toml")
