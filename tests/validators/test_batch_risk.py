"""The chance that a class, or any box, is absent from a batch."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from datascrub.model import Kind, Role
from tests.validators.court import column, judged


def none_of(samples: int, total: int, batch: int) -> float:
    return math.comb(total - samples, batch) / math.comb(total, batch)


def found(folder: Path, labels: object, kind: Kind = Kind.ARRAY, code: str = "batch-lacks-class", **data: object) -> list:
    return [each for _, each in judged(folder, column("label", labels, kind=kind), **data) if each.code == code]


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_chance_is_exact(shuffled: bool, tmp_path: Path) -> None:
    """Of 600 samples with 6 of class 2, batches of 32: the chance, the classes, and the batches in stored order are those that counting gives."""
    labels = np.repeat([0, 1, 2], [300, 294, 6])
    if shuffled:
        labels = np.random.default_rng(0).permutation(labels)
    (one,) = found(tmp_path, labels, batch_size=32)
    assert one.key is None and one.scope == "set" and one.severity == "info"
    assert one.evidence["chance"] == pytest.approx(none_of(6, 600, 32), rel=1e-9)
    assert one.evidence["an_epoch"] == pytest.approx(19 * none_of(6, 600, 32), rel=1e-9)
    assert (one.evidence["label"], one.evidence["samples"], one.evidence["classes"], one.evidence["of_classes"]) == ("2", 6, 1, 3)
    assert one.evidence["in_order"] == sum(2 not in labels[start : start + 32] for start in range(0, 600, 32))
    assert "class 2 (6 of 600 samples) is absent from a batch of 32 with a chance of 0.719" in one.message


@pytest.mark.parametrize(
    ("labels", "data"),
    [
        (np.tile([0, 1], 300), {"batch_size": 64}),
        (np.repeat([0, 1], [300, 6]), {}),
        (np.repeat([0, 1], [300, 6]), {"batch_size": 400}),
        (np.repeat([0, -1], [300, 6]), {"batch_size": 8, "ignore_labels": (-1,)}),
        (np.zeros(300, int), {"batch_size": 8}),
    ],
    ids=["balanced", "no batch size", "one batch", "ignored", "one class"],
)
def test_silence(labels: np.ndarray, data: dict, tmp_path: Path) -> None:
    """Nothing is said where it will not happen, is not declared, or where there is no other class."""
    assert found(tmp_path, labels, **data) == []


def test_class_names_and_other_tasks(tmp_path: Path) -> None:
    """Labels of text have classes too; where the task is no classification there are none."""
    labels = ["cat"] * 90 + ["owl"] * 2
    (one,) = found(tmp_path / "text", labels, Kind.TEXT, batch_size=8)
    assert one.evidence["label"] == "owl"
    assert found(tmp_path / "regression", np.repeat([0, 1], [300, 6]), batch_size=8, task="regression") == []


def test_a_batch_without_any_box(tmp_path: Path) -> None:
    """Half of 200 pictures without a box, batches of 4: the exact chance; few such pictures, or none: silence."""

    def asked(empty: int, place: str, **data: object) -> list:
        boxes = [np.zeros((0, 4), np.float32) if row < empty else np.array([[1, 2, 30, 40]], np.float32) for row in range(200)]
        return [each for _, each in judged(tmp_path / place, column("boxes", boxes, Role.BOXES), **data) if each.code == "batch-without-box"]

    (one,) = asked(100, "half", batch_size=4)
    assert one.severity == "warning" and one.evidence["empty"] == 100 and one.evidence["in_order"] == 25
    assert one.evidence["chance"] == pytest.approx(none_of(100, 200, 4), rel=1e-9)
    assert asked(2, "few", batch_size=4) == asked(0, "none", batch_size=4) == asked(100, "undeclared") == []
