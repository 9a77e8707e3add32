"""Caffe's Datum: a picture as raw bytes (channels x height x width), as float_data, or as an encoded image, with an integer label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from datascrub.layouts.base import Fit, Layout, Record
from datascrub.layouts.datum_block import RawBlock, raw_block
from datascrub.layouts.encoded_image import names_in, no_bytes
from datascrub.layouts.pickled import is_pickle
from datascrub.layouts.protobuf import message
from datascrub.media.sniff import sniff
from datascrub.model import Column, Field, Kind, Limits, Problem, Role

_AGREE = 0.9
"""share of the probed records that must have one shape for the plan to expect it"""
_DIMENSIONS = ("channels", "height", "width")
_KINDS = {"encoded": "encoded pictures", "uint8": "raw bytes", "float32": "float_data"}


class _Held:
    """What the Datums of a batch hold, row by row."""

    def __init__(self, count: int) -> None:
        self.data: list[Any] = [None] * count
        self.labels: list[Any] = [None] * count
        self.shapes: list[tuple[int, int, int] | None] = [None] * count
        self.problems: dict[int, Problem] = {}
        self.left: Sequence[int] = range(count)
        self._block: RawBlock | None = None

    def take_block(self, values: Sequence[bytes | None], shape: tuple[int, ...]) -> None:
        """Take at once what raw Datums of one shape allow; `left` are the rows that remain."""
        channels, height, width = shape
        self._block = raw_block(values, (channels, height, width))
        self.left = np.flatnonzero(~self._block.is_taken).tolist()
        if self.left:
            # A batch with an odd record goes by lists; its common ones still need no parsing.
            for row in np.flatnonzero(self._block.is_taken).tolist():
                self.data[row], self.shapes[row] = self._block.data[row], (channels, height, width)
                self.labels[row] = int(self._block.labels[row]) if self._block.has_label[row] else None

    def label_values(self) -> np.ndarray | list[Any]:
        if self._block is None or self.left:
            return numbers(self.labels, np.int32)
        if self._block.has_label.all():
            return self._block.labels
        return [label if is_there else None for label, is_there in zip(self._block.labels, self._block.has_label, strict=True)]

    def data_column(self, field: Field, keys: Sequence[bytes], limits: Limits) -> Column:
        if field.kind is Kind.ENCODED:
            return Column(field, self.data, self._declared(keys), limits)
        if self._block is not None and not self.left:
            assert field.shape is not None
            return Column(field, self._block.data.reshape(-1, *field.shape), {"channels": np.full(len(keys), field.shape[0])}, limits)
        dtype = np.dtype(field.dtype)
        values: list[Any] = [
            None if value is None else np.frombuffer(value, dtype).reshape(shape) for value, shape in zip(self.data, self.shapes, strict=True)
        ]
        declared = {"channels": [shape[0] if shape else None for shape in self.shapes]}
        if values and len(set(self.shapes)) == 1 and all(value is not None for value in values):
            return Column(field, np.stack(values), declared, limits)
        return Column(field, values, declared, limits)

    def _declared(self, keys: Sequence[bytes]) -> dict[str, list[Any]]:
        declared = names_in(keys)
        if any(shape and any(shape) for shape in self.shapes):
            for place, name in enumerate(_DIMENSIONS):
                # Left out or 0 is Caffe's "see the picture itself"; a negative number says nothing either.
                declared[name] = [shape[place] if shape and shape[place] > 0 else None for shape in self.shapes]
        return declared


class Datum(Layout):
    """One caffe.Datum per record."""

    name: ClassVar[str] = "caffe-datum"
    title: ClassVar[str] = "Caffe Datum"
    specificity: ClassVar[int] = 4
    message_name: ClassVar[str] = "caffe.Datum"

    def fit(self, records: Sequence[Record]) -> Fit | None:
        kinds: Counter[str] = Counter()
        shapes: Counter[tuple[int, ...]] = Counter()
        labels: list[int] = []
        probed = 0
        for record in records:
            if record.value is None:
                continue
            probed += 1
            datum = self._strictly(record.value)
            kind = _kind(datum) if datum is not None else None
            if datum is None or kind is None:
                continue
            kinds[kind] += 1
            shapes[shape_of(datum)] += 1
            if datum.HasField("label"):
                labels.append(datum.label)
        if not kinds:
            return None
        kind = kinds.most_common(1)[0][0]
        fields: tuple[Field, ...] = (_data_field(kind, shapes, names_in([record.key for record in records])),)
        if labels:
            fields += (Field("label", Role.LABEL, Kind.ARRAY, "int32", ()),)
        return Fit(kinds.total() / probed, fields, tuple(sorted(set(labels))[:32]), guess_task(labels))

    def decode(self, samples: Sequence[Sequence[Record]], fields: Sequence[Field], limits: Limits) -> tuple[dict[str, Column], Mapping[int, Problem]]:
        by_name = {field.name: field for field in fields}
        data_field = by_name.get("data")
        held = _Held(len(samples))
        if self.message_name == "caffe.Datum" and data_field is not None and data_field.dtype == "uint8" and data_field.shape is not None:
            held.take_block([records[0].value for records in samples], data_field.shape)
        for row in held.left:
            value = samples[row][0].value
            if value is not None:
                self._decode_one(held, row, value, data_field)
        made: dict[str, Column] = {}
        for field in fields:
            if field.role is not Role.IGNORE and field.name == "data":
                made["data"] = held.data_column(field, [records[0].key for records in samples], limits)
            elif field.role is not Role.IGNORE and field.name == "label":
                made["label"] = Column(field, held.label_values(), {}, limits)
        made.update(self._further(samples, fields, limits))
        return made, held.problems

    def _decode_one(self, held: _Held, row: int, value: bytes, field: Field | None) -> None:
        datum = self._parsed(value) if value else None
        if datum is None:
            held.problems[row] = _unparsable(value, self.title) if value else no_bytes()
            return
        held.shapes[row] = shape_of(datum)
        if datum.HasField("label"):
            held.labels[row] = datum.label
        found = _content(datum, shape_of(datum), field)
        if isinstance(found, Problem):
            held.problems[row] = found
        else:
            held.data[row] = found

    def _parsed(self, value: bytes) -> Any:
        """The Datum of a record, or None where the bytes are none."""
        from google.protobuf.message import DecodeError

        try:
            return message(self.message_name).FromString(value)
        except DecodeError:
            return None

    def _strictly(self, value: bytes) -> Any:
        """The Datum, or None where the bytes hold what a Datum does not know: foreign messages parse too.

        Forks of Caffe added fields of their own; where shape and data fit each other, it is a Datum all the same.
        """
        from google.protobuf.unknown_fields import UnknownFieldSet

        datum = self._parsed(value)
        if datum is None or not len(UnknownFieldSet(datum)):
            return datum
        size = datum.channels * datum.height * datum.width
        is_whole = bool(datum.data) and (size == len(datum.data) or sniff(datum.data).is_image)
        return datum if is_whole else None

    def _further(self, samples: Sequence[Sequence[Record]], fields: Sequence[Field], limits: Limits) -> dict[str, Column]:
        return {}


def shape_of(datum: Any) -> tuple[int, int, int]:
    return (datum.channels, datum.height, datum.width)


def guess_task(labels: Sequence[int]) -> str | None:
    """Classification where labels repeat as classes do; None where nothing tells."""
    few = 20
    return "classification" if labels and (len(labels) < few or len(set(labels)) <= len(labels) // 2) else None


def numbers(values: list[Any], dtype: Any) -> np.ndarray | list[Any]:
    """One number a sample: dense, or a list where one is missing."""
    if None not in values:
        return np.array(values, dtype)
    return [None if value is None else np.array(value, dtype) for value in values]


def _kind(datum: Any) -> str | None:
    """encoded, raw or float; None where the message holds no picture that makes sense."""
    size = datum.channels * datum.height * datum.width
    if datum.data:
        if datum.encoded or (size != len(datum.data) and sniff(datum.data).is_image):
            return "encoded"
        return "raw" if min(shape_of(datum)) > 0 else None
    return "float" if datum.float_data and min(shape_of(datum)) > 0 else None


def _data_field(kind: str, shapes: Counter[tuple[int, ...]], named: Mapping[str, Any]) -> Field:
    if kind == "encoded":
        return Field("data", Role.IMAGE, Kind.ENCODED, declared=(*_DIMENSIONS, *named))
    shape, count = shapes.most_common(1)[0]
    # Height and width of 1 is how Caffe stores a vector of features.
    role = Role.ARRAY if kind == "float" or shape[1:] == (1, 1) else Role.IMAGE
    return Field("data", role, Kind.ARRAY, "float32" if kind == "float" else "uint8", shape if count >= _AGREE * shapes.total() else None)


def _unparsable(value: bytes, title: str) -> Problem:
    if is_pickle(value):
        return Problem("record-pickled", "a Python pickle in the place of a record; it is never loaded")
    return Problem("record-unparsable", f"{len(value):,} bytes that are no {title}: {sniff(value).says}")


def _content(datum: Any, shape: tuple[int, int, int], field: Field | None) -> Any:  # noqa: PLR0911  # one return for each way to fail
    """The picture of a Datum as the plan expects it: bytes (encoded, raw) or a flat array (float); a Problem where it is not that."""
    data, size = datum.data, shape[0] * shape[1] * shape[2]
    if not data and not datum.float_data:
        if size or min(shape) < 0:
            return Problem("record-size-mismatch", f"declares {_text(shape)}, holds no data")
        return Problem("record-empty", f"an empty Datum: {_text(shape)} without data")
    if field is None:
        return None
    is_encoded = bool(data) and (datum.encoded or (size != len(data) and sniff(data).is_image))
    held = "encoded" if is_encoded else "uint8" if data else "float32"
    expected = "encoded" if field.kind is Kind.ENCODED else str(field.dtype)
    if expected == "encoded" and data and (size == 0 or sniff(data).is_image):
        return data
    if held != expected:
        return Problem("record-field-kind", f"holds {_KINDS[held]} ({_text(shape)}) where the set holds {_KINDS[expected]}")
    count = len(data) or len(datum.float_data)
    if not is_encoded and (min(shape) < 0 or count != size):
        unit = "bytes" if data else "values"
        return Problem("record-size-mismatch", f"declares {_text(shape)} = {size:,} {unit}, holds {count:,}")
    return data or np.array(datum.float_data, np.float32)


def _text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))
