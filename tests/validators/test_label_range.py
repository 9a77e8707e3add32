"""Labels: one by one, and against the set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datascrub.model import Kind
from datascrub.validators import LabelRange
from tests.validators.court import codes, column, judged, of


def labels(folder: Path, values: Any, **data: Any) -> set[tuple[int | None, str]]:
    return codes(judged(folder, column("label", values), **data))


def found(validator: LabelRange, value: Any) -> list[str]:
    return [finding.code for finding in validator.check(value)]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "float16", "float32", "float64", "bool"])
def test_whole_numbers_of_any_type_are_labels(dtype: str) -> None:
    """0 and 1 are healthy labels in every number type, as scalars and as arrays of one."""
    for value in (np.array(1, dtype), np.array([0], dtype), np.array([[1]], dtype)):
        assert found(LabelRange(classes=2), value) == []


def test_single_values() -> None:
    """The last class is in range, the number of classes is not; -1 is, once ignored; NaN, Inf, fractions and None are no labels."""
    ten = LabelRange(classes=10)
    assert found(ten, 9) == []
    assert found(ten, 10) == ["label-out-of-range"]
    assert found(ten, -1) == ["label-out-of-range", "label-negative"]
    assert found(LabelRange(classes=10, ignore_labels=(-1, 255)), -1) == []
    assert found(LabelRange(classes=10, ignore_labels=(-1, 255)), 255.0) == []
    assert found(ten, float("nan")) == ["label-not-finite"]
    assert found(ten, float("-inf")) == ["label-not-finite"]
    assert found(ten, 1.5) == ["label-not-integral"]
    assert found(ten, None) == ["label-missing"]
    assert found(ten, np.uint64(2**64 - 1)) == ["label-out-of-range"]
    assert found(LabelRange(), -1) == ["label-negative"]
    assert found(LabelRange(), 10**6) == []


def test_vectors_must_be_finite_only() -> None:
    """One-hot, multilabel and empty vectors are no single labels: only a NaN among them is a fault."""
    assert found(LabelRange(classes=3), np.array([0.0, 5.5, -1.0])) == []
    assert found(LabelRange(classes=3), np.array([])) == []
    assert found(LabelRange(classes=3), np.array([0.0, np.nan])) == ["label-not-finite"]


def test_facts_of_mixed_columns() -> None:
    """A list of scalars, vectors and None gives one row each, with NULL where a fact does not apply."""
    made = LabelRange().measure(column("label", [np.array(3), None, np.array([1.0, 2.0]), np.array(2.5, np.float32), np.array(1e300)]))
    assert made["kind"].tolist() == ["integer", "missing", "vector", "float", "float"]
    assert made["value"].tolist() == [3, None, None, None, None]
    assert made["number"].tolist() == [3, None, None, 2.5, 1e300]
    assert made["is_integral"].tolist() == [True, None, None, False, True]
    assert made["size"].tolist() == [1, None, 2, 1, 1]


def test_float_labels(tmp_path: Path) -> None:
    """Float labels that are whole numbers are healthy, as Caffe wants them; 1.5 and NaN are named, and only these."""
    values = (np.arange(10) % 2).astype(np.float32)
    values[5], values[7] = 1.5, np.nan
    assert labels(tmp_path, values) == {(5, "label-not-integral"), (7, "label-not-finite")}


def test_regression_targets_are_no_classes(tmp_path: Path) -> None:
    """Real, negative and repeated targets of a regression are healthy."""
    values = np.random.default_rng(0).normal(size=100).round(1) * 10
    assert labels(tmp_path, values, task="regression") == set()


def test_mostly_real_numbers_are_said_once(tmp_path: Path) -> None:
    """A set of real targets that passes for a classification is one finding of the set."""
    values = np.random.default_rng(0).normal(size=50)
    assert labels(tmp_path, values) == {(None, "label-not-integral")}


def test_negative_and_beyond(tmp_path: Path) -> None:
    """Of 0, 1, -1, 1, 0, 7 with two classes, -1 and 7 are named as errors."""
    found_here = judged(tmp_path, column("label", np.array([0, 1, -1, 1, 0, 7])), classes=2)
    assert [(number, severity) for number, severity, _ in of(found_here, "label-out-of-range")] == [(2, "error"), (5, "error")]
    assert codes(found_here) == {(2, "label-out-of-range"), (5, "label-out-of-range"), (2, "label-negative")}


def test_ignored_labels_are_healthy(tmp_path: Path) -> None:
    """-1 and 255, once declared, are neither out of range, nor negative, nor far from the others."""
    values = np.array([0, 1, 2] * 20 + [-1, 255])
    assert labels(tmp_path, values, classes=3, ignore_labels=(-1, 255)) == set()


def test_plus_and_minus_one(tmp_path: Path) -> None:
    """Labels 1 and -1 of a support vector machine are warnings at most."""
    assert {f.severity.value for _, f in judged(tmp_path, column("label", np.array([1, -1] * 20)))} == {"warning"}


def test_one_based(tmp_path: Path) -> None:
    """Labels 1..3 with three declared classes are one-based, an error of the set, which explains the samples of class 3: none goes to quarantine."""
    found_here = judged(tmp_path, column("label", np.arange(12) % 3 + 1), classes=3)
    assert of(found_here, "label-one-based")[0][:2] == (None, "error")
    assert codes(found_here) == {(None, "label-one-based")}


@pytest.mark.parametrize(
    ("values", "is_one_based"),
    [
        ([1, 2, 3] * 4, True),  # undeclared: a warning
        ([0, 1, 2] * 4, False),
        ([1] * 12, False),  # one class alone
        (list(range(1, 13)), False),  # numbers of samples
        ([1, 3, 5] * 4, False),
        ([2, 3, 4] * 4, False),
    ],
)
def test_one_based_undeclared(tmp_path: Path, values: list[int], is_one_based: bool) -> None:
    """Without declared classes, labels 1..k that repeat are a warning; one class alone, ids and gaps are not."""
    found_here = judged(tmp_path, column("label", np.array(values)))
    assert [severity for _, severity, _ in of(found_here, "label-one-based")] == (["warning"] if is_one_based else [])


def test_class_absent(tmp_path: Path) -> None:
    """Labels 0, 1, 3 of four classes: class 2 is absent, and nothing else is wrong."""
    found_here = judged(tmp_path, column("label", np.array([0, 1, 3] * 4)), classes=4)
    assert of(found_here, "label-class-absent") == [(None, "warning", "without a sample: 1 of 4 classes (2)")]
    assert codes(found_here) == {(None, "label-class-absent")}


@pytest.mark.parametrize(
    ("values", "classes", "is_absent"),
    [
        ([0, 1, 3] * 4, None, True),
        ([0, 1, 2, 3] * 4, 4, False),
        ([0, 5, 9], 1000, False),  # too few samples to expect every class
        ([0, 255] * 50, None, False),  # a mask, no gap of 254 classes
        ([17, 23, 40] * 30, None, False),
        (list(np.random.default_rng(0).integers(0, 10**6, 300)), None, False),
    ],
)
def test_class_absent_only_where_expected(tmp_path: Path, values: list[int], classes: int | None, is_absent: bool) -> None:
    """A class is absent where three samples of each were to be expected, or the range has a rare hole; never in ids or small sets."""
    assert ((None, "label-class-absent") in labels(tmp_path, np.array(values), classes=classes)) == is_absent


def test_declared_name_without_a_sample(tmp_path: Path) -> None:
    """Of three declared names one never stands on a sample: said once; where all have samples, nothing is said."""
    text = column("label", ["cat", "dog"] * 6, kind=Kind.TEXT)
    result = judged(tmp_path / "a", text, classes=("cat", "cow", "dog"))
    assert of(result, "label-class-absent") == [(None, "warning", "without a sample: 1 of 3 classes (cow)")]
    assert codes(judged(tmp_path / "b", text, classes=("cat", "dog"))) == set()


@pytest.mark.parametrize("stray", [1000, -1, 0])
def test_one_wrong_label_among_one_based_ones(tmp_path: Path, stray: int) -> None:
    """20 classes counted from 1: the one label that is wrong whatever the base is blamed, and no sample of class 20."""
    values = np.arange(400) % 20 + 1
    values[57] = stray
    said = labels(tmp_path, values, classes=20)
    assert (None, "label-one-based") in said
    assert {number for number, code in said if code == "label-out-of-range"} == ({57} if stray else set())


def test_zero_based_labels_with_a_stray(tmp_path: Path) -> None:
    """Labels from 0 with one that is the number of classes are zero-based, and that one is out of range."""
    values = np.arange(400) % 20
    values[57] = 20
    assert labels(tmp_path, values, classes=20) == {(57, "label-out-of-range")}


def test_rare_class(tmp_path: Path) -> None:
    """3 samples of 500 in a third class are rare: an info about the set; 50 are not."""
    values = np.arange(500) % 2
    values[[100, 200, 300]] = 2
    assert [severity for _, severity, _ in of(judged(tmp_path, column("label", values), classes=3), "label-class-rare")] == ["info"]
    values[:50] = 2
    assert of(judged(tmp_path / "more", column("label", values), classes=3), "label-class-rare") == []


def test_outside_evident_range(tmp_path: Path) -> None:
    """One 999 among labels 0 to 9 is named; a class that is common, a short gap, ids and regression targets are not."""
    digits = np.arange(200) % 10
    odd = digits.copy()
    odd[57] = 999
    assert labels(tmp_path / "a", odd) == {(57, "label-outside-evident-range")}
    odd[57] = 11
    assert (57, "label-outside-evident-range") not in labels(tmp_path / "b", odd)
    odd[50:80] = 255
    assert labels(tmp_path / "c", odd) == set()
    ids = np.random.default_rng(1).permutation(10**6)[:200]
    assert labels(tmp_path / "d", ids) == set()


def test_mostly_out_of_range_is_said_once(tmp_path: Path) -> None:
    """Where most labels are beyond the declared classes, the declaration is wrong: one finding, nothing to quarantine."""
    found_here = labels(tmp_path, np.arange(100) % 10, classes=2)
    assert (None, "label-out-of-range") in found_here
    assert all(number is None for number, _ in found_here)


def test_missing(tmp_path: Path) -> None:
    """A sample without a label is an error among labelled ones; where most have none, it is said once."""
    some = [np.array(row % 2) for row in range(10)]
    assert labels(tmp_path / "a", [*some[:4], None, *some[5:]]) == {(4, "label-missing")}
    assert (None, "label-missing") in labels(tmp_path / "b", [None] * 8 + some[:2])


def test_a_zero_that_was_not_written(tmp_path: Path) -> None:
    """Half the set without a label and the other half labelled 1: a writer left the zeros out; it is said once, and blames nobody."""
    values = [np.array(row % 2) if row % 2 else None for row in range(40)]
    said = labels(tmp_path / "a", values)
    assert (None, "label-zero-unwritten") in said
    assert not [number for number, _ in said if number is not None]
    values[0] = np.array(0)
    assert (None, "label-zero-unwritten") not in labels(tmp_path / "b", values)


def test_text_labels(tmp_path: Path) -> None:
    """Undeclared names are never judged; among declared ones, an unknown name is an error, unless most are unknown."""
    names = ["cat", "dog"] * 5
    text = column("label", [*names, "cow", b"\xff"], kind=Kind.TEXT)
    assert codes(judged(tmp_path / "a", text)) == set()
    assert codes(judged(tmp_path / "b", text, classes=("cat", "dog"))) == {(10, "label-unknown-class"), (11, "label-unknown-class")}
    assert codes(judged(tmp_path / "c", text, classes=("n01", "n02"))) == {(None, "label-unknown-class")}
