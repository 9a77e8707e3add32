"""Label vectors, spellings, unwritten tails, outliers and texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from datascrub.model import Kind, Role
from datascrub.validators import Text
from tests.validators.court import codes, column, judged, of

RANDOM = np.random.default_rng(5)


def test_one_hot(tmp_path: Path) -> None:
    """All zero, two ones and 0.9 are no distribution; regression targets, multilabel sets and soft labels are left alone."""
    values = np.eye(3, dtype=np.float32)[np.arange(12) % 3]
    values[2], values[6], values[9] = 0, [1, 1, 0], [0.9, 0, 0]
    assert [number for number, _, _ in of(judged(tmp_path / "a", column("label", values)), "label-not-a-distribution")] == [2, 6, 9]
    soft = RANDOM.dirichlet([1, 1, 1], 50).astype(np.float16)
    several = (RANDOM.random((200, 5)) < 0.3).astype(np.int64)
    for name, label, task in (
        ("b", soft, "classification"),
        ("c", several, "classification"),
        ("d", values, "multilabel"),
        ("e", values, "regression"),
    ):
        assert not {code for _, code in codes(judged(tmp_path / name, column("label", label), task=task)) if "distribution" in code}


def test_one_hot_or_several(tmp_path: Path) -> None:
    """Four vectors of five are one-hot, and all hold 0 and 1: that is asked once, and no sample is accused."""
    values = np.eye(4, dtype=np.int64)[np.arange(100) % 4]
    values[::5, 0] = values[::5, 1] = 1
    found = codes(judged(tmp_path, column("label", values)))
    assert (None, "label-vectors-unclear") in found and not {code for _, code in found if code == "label-not-a-distribution"}


def test_spelling(tmp_path: Path) -> None:
    """Case, spaces and Unicode form are one class; single letters may differ by case."""
    names = ["Cat", "cat", "dog", "dog ", "caf\u00e9", "cafe\u0301", "owl", "a", "A"]
    found = of(judged(tmp_path, column("label", names, kind=Kind.TEXT)), "label-spelling-varies")
    assert [(number, severity) for number, severity, _ in found] == [(None, "warning")] * 3


@pytest.mark.parametrize(("written", "is_said"), [(70, True), (96, False), (0, False), (100, False)])
def test_unwritten_tail(tmp_path: Path, written: int, is_said: bool) -> None:
    """Thirty empty rows at the end are said once with their range; four are not, nor a set of nothing else."""
    values = RANDOM.normal(size=(100, 4)).astype(np.float32)
    values[written:] = 0
    found = of(judged(tmp_path, column("data", values, Role.ARRAY)), "array-unwritten-tail")
    assert [number for number, _, _ in found] == [None] * is_said
    assert all("#70 to #99" in message for _, _, message in found)


def test_outlier(tmp_path: Path) -> None:
    """A sentinel in one row of a table is named; heavy tails, small sets and constant ones are not."""
    values = RANDOM.normal(size=(40, 4))
    values[4, 3] = -9999
    assert [number for number, _, _ in of(judged(tmp_path / "a", column("data", values, Role.ARRAY)), "values-outlier")] == [4]
    healthy = [RANDOM.normal(size=(500, 4)), RANDOM.lognormal(0, 1.5, (500, 4)), np.zeros((50, 4)), RANDOM.integers(0, 256, (50, 9)), values[:10]]
    for number, block in enumerate(healthy):
        assert not of(judged(tmp_path / f"h{number}", column("data", np.asarray(block), Role.ARRAY)), "values-outlier")


def test_texts(tmp_path: Path) -> None:
    """One empty, blank or undecodable text among many is an error; where a third is empty, the field is optional."""
    values = ["word", "two words", "\u00fc"] * 40
    assert not codes(judged(tmp_path / "a", column("text", values, kind=Kind.TEXT)))
    bad = [*values, "", " \n", b"\xff\xfe"]
    found = judged(tmp_path / "b", column("text", bad, kind=Kind.TEXT))
    assert {(n, f.code, f.severity.value) for n, f in found} == {
        (120, "text-empty", "error"),
        (121, "text-blank", "error"),
        (122, "text-not-utf8", "error"),
    }
    optional = of(judged(tmp_path / "c", column("text", ["", "a", "b"] * 40, kind=Kind.TEXT)), "text-empty")
    assert {severity for _, severity, _ in optional} == {"warning"}
    assert Text().check("") and not Text().check("a")
