"""SSD's AnnotatedDatum: a Datum with groups of boxes, one group for each class.

Its bytes parse as an empty Datum, because the inner Datum stands where a Datum has its number of channels; only the unknown field tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from datascrub.layouts.base import Fit, Record
from datascrub.layouts.datum import Datum
from datascrub.layouts.protobuf import message
from datascrub.model import CORNERS, OBJECTS, Column, Field, Kind, Limits, Role


class AnnotatedDatum(Datum):
    """One caffe.AnnotatedDatum per record; boxes are (n, 4) float32: xmin, ymin, xmax, ymax as parts of width and height; classes are (n,) int32."""

    name: ClassVar[str] = "caffe-annotated-datum"
    title: ClassVar[str] = "SSD AnnotatedDatum"
    specificity: ClassVar[int] = 5

    def fit(self, records: Sequence[Record]) -> Fit | None:
        fit = super().fit(records)
        if fit is None:
            return None
        # The label of the inner Datum is a filler of SSD's converter (-1); the classes are those of the boxes.
        fields = tuple(field for field in fit.fields if field.name != "label")
        boxes = Field("boxes", Role.BOXES, Kind.ARRAY, "float32", declared=(CORNERS,))
        classes = Field("classes", Role.ARRAY, Kind.ARRAY, "int32", declared=(OBJECTS,))
        return replace(fit, fields=(*fields, boxes, classes), labels=(), task=None)

    def _parsed(self, value: bytes) -> Any:
        whole = _annotated(value)
        return whole.datum if whole is not None and whole.HasField("datum") else None

    def _strictly(self, value: bytes) -> Any:
        from google.protobuf.unknown_fields import UnknownFieldSet

        whole = _annotated(value)
        if whole is None or not whole.HasField("datum") or len(UnknownFieldSet(whole)) or len(UnknownFieldSet(whole.datum)):
            return None
        return whole.datum

    def _further(self, samples: Sequence[Sequence[Record]], fields: Sequence[Field], limits: Limits) -> dict[str, Column]:
        wanted = {field.name: field for field in fields if field.name in ("boxes", "classes") and field.role is not Role.IGNORE}
        found = [_boxes(records[0].value) for records in samples] if wanted else []
        return {name: Column(field, [both and both[name] for both in found], {}, limits) for name, field in wanted.items()}


def _annotated(value: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return message("caffe.AnnotatedDatum").FromString(value)
    except DecodeError:
        return None


def _boxes(value: bytes | None) -> dict[str, np.ndarray] | None:
    whole = None if value is None else _annotated(value)
    if whole is None:
        return None
    pairs = [(group.group_label, annotation.bbox) for group in whole.annotation_group for annotation in group.annotation]
    boxes = np.array([(box.xmin, box.ymin, box.xmax, box.ymax) for _, box in pairs], np.float32).reshape(len(pairs), 4)
    return {"boxes": boxes, "classes": np.array([label for label, _ in pairs], np.int32)}
