"""object_labels: the classes of objects in a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import datascrub
from datascrub.config import from_table
from datascrub.layouts.base import Record
from datascrub.layouts.example import Example
from datascrub.layouts.example_message import message
from datascrub.model import OBJECTS, Column, Field, Kind, Limits, Role
from tests.readers.tfrecord_bytes import frame
from tests.validators.court import judged, of


def objects(*labels: list[int]) -> Column:
    field = Field("image/object/class/label", Role.ARRAY, Kind.ARRAY, "int64", declared=(OBJECTS,))
    return Column(field, [np.array(each, np.int64) for each in labels])


HEALTHY = [[1 + at % 20, 1 + (3 * at) % 20] for at in range(59)]


@pytest.mark.parametrize(
    ("bad", "declared", "severity"),
    [
        ([3, 21], {"classes": 20}, "error"),
        ([-1, 3], {"classes": 20}, "error"),
        ([3, 999], {}, "warning"),
        ([-1], {}, "warning"),
        ([20], {"classes": 20}, None),
        ([-1], {"classes": 20, "ignore_labels": (-1,)}, None),
        ([], {"classes": 20}, None),
        ([21], {}, None),
    ],
)
def test_one_odd_class(tmp_path: Path, bad: list[int], declared: dict[str, Any], severity: str | None) -> None:
    """Beyond the declared classes is an error; undeclared, what is far from all others a warning; classes counted from 1 are healthy."""
    found = judged(tmp_path, objects(*HEALTHY[:30], bad, *HEALTHY[30:]), task="unlabelled", **declared)
    code = "object-label-out-of-range" if declared else "object-label-outside-evident-range"
    assert [(number, its) for number, its, _ in of(found, code)] == ([] if severity is None else [(30, severity)])
    assert {finding.code for _, finding in found} <= {code}


def test_zero_makes_the_number_of_classes_no_class(tmp_path: Path) -> None:
    """Counted from 0, class 20 of 20 is none."""
    found = judged(tmp_path, objects([0, 3], [20], *HEALTHY[:10]), task="unlabelled", classes=20)
    assert of(found, "object-label-out-of-range")[0] == (1, "error", "an object of class 20, with 20 classes")


def test_as_many_classes_as_boxes() -> None:
    """In a tf.Example the classes belong to the boxes: another number of them is a problem of the record."""
    values = []
    for labels in ([1], [1, 2], [2, 3, 4]):
        made = message("Example")()
        for corner in ("xmin", "xmax", "ymin", "ymax"):
            entry = made.features.feature.add(key=f"image/object/bbox/{corner}".encode())
            entry.value.float_list.value.extend([0.1, 0.2] if corner.endswith("min") else [0.5, 0.6])
        made.features.feature.add(key=b"image/object/class/label").value.int64_list.value.extend(labels)
        values.append(made.SerializeToString())
    records = [Record(b"%d" % at, value) for at, value in enumerate(values)]
    fit = Example().fit(records)
    assert fit is not None
    assert {field.name: field.declared[-1:] for field in fit.fields}["image/object/class/label"] == (OBJECTS,)
    _, problems = Example().decode([[record] for record in records], fit.fields, Limits())
    assert {row: problem.code for row, problem in problems.items()} == {0: "record-size-mismatch", 2: "record-size-mismatch"}


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ({"data": {"fields": {"image/object/class/label": {"range": [1, 15]}}}}, "values-out-of-range"),
        ({"data": {"roles": {"image/object/class/label": "label"}, "classes": 15}}, "label-out-of-range"),
    ],
)
def test_what_the_owner_declares_of_the_classes_counts(tmp_path: Path, table: dict[str, Any], code: str) -> None:
    """A declared range, and a declared role, are judged as those of any other field."""
    records = []
    for at in range(30):
        made = message("Example")()
        made.features.feature.add(key=b"image/object/class/label").value.int64_list.value.append(20 if at == 7 else 1 + at % 10)
        made.features.feature.add(key=b"x").value.float_list.value.extend([at / 7, 1.0])
        records.append(made.SerializeToString())
    (tmp_path / "set.tfrecord").write_bytes(b"".join(frame(record) for record in records))
    run = datascrub.scan(tmp_path / "set.tfrecord", out=tmp_path / "run", config=from_table(table))
    assert [(finding.key, finding.code) for finding in run.findings() if finding.severity == "error"] == [("set.tfrecord#7", code)]
