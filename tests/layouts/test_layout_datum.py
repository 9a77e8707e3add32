"""Caffe's Datum and AnnotatedDatum."""

from __future__ import annotations

import numpy as np
import pytest

from datascrub.config import DataConfig
from datascrub.layouts import Layout, Record
from datascrub.layouts.annotated_datum import AnnotatedDatum
from datascrub.layouts.choose import choose
from datascrub.layouts.datum import Datum
from datascrub.layouts.protobuf import message
from datascrub.model import Kind, Limits, Role

JPEG = b"\xff\xd8\xff\xe0" + bytes(range(200))


def datum(**members) -> bytes:
    return message("caffe.Datum")(**members).SerializeToString()


def raw(seed: int, label: int | None = 0, channels: int = 3, height: int = 4, width: int = 5) -> bytes:
    data = np.random.default_rng(seed).bytes(channels * height * width)
    members = {} if label is None else {"label": label}
    return datum(channels=channels, height=height, width=width, data=data, **members)


def records(values: list[bytes], name: bytes = b"%08d") -> list[Record]:
    return [Record(name % place, value) for place, value in enumerate(values)]


def decode(layout: Layout, values: list[bytes | None], like: list[bytes], name: bytes = b"%08d"):
    fit = layout.fit(records(like, name))
    assert fit is not None
    return layout.decode([(record,) for record in records(values, name)], fit.fields, Limits())  # type: ignore[arg-type]


def test_raw_datums_of_one_shape_are_one_dense_block_of_uint8() -> None:
    """Raw Datums of one shape become (N, C, H, W) uint8 and (N,) labels, each what its bytes say, whatever the width of the label."""
    values = [raw(seed, label) for seed, label in enumerate([*range(20), *range(120, 140), 70_000, 2_000_000] * 2)]
    columns, problems = decode(Datum(), values, values)
    assert not problems
    assert columns["data"].is_dense and columns["data"].values.shape == (84, 3, 4, 5)
    parsed = [message("caffe.Datum").FromString(value) for value in values]
    assert columns["data"].values.tobytes() == b"".join(each.data for each in parsed)
    assert columns["label"].values.tolist() == [each.label for each in parsed]
    assert columns["data"].field.role is Role.IMAGE


def test_an_absent_label_is_told_from_0() -> None:
    """A Datum without a label gives None, one with label 0 gives 0; a negative label is read."""
    values = [raw(seed, 0) for seed in range(10)] + [raw(seed, None) for seed in range(10)] + [raw(0, -1)]
    columns, problems = decode(Datum(), values, values)
    labels = columns["label"].values
    assert not problems and [labels[0], labels[10], labels[20]] == [0, None, -1]


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (datum(channels=0, height=0, width=0, data=b"", label=1), "record-empty"),
        (b"", "record-empty"),
        (datum(channels=3, height=4, width=5, data=bytes(50)), "record-size-mismatch"),
        (datum(channels=3, height=4, width=5), "record-size-mismatch"),
        (datum(channels=-3, height=-4, width=5, data=bytes(60)), "record-size-mismatch"),
        (datum(data=JPEG, encoded=True), "record-field-kind"),
        (datum(channels=3, height=4, width=5, float_data=[0.5] * 60), "record-field-kind"),
        (b"<html>no such page</html>", "record-unparsable"),
        (b"\x80\x02K\x01.", "record-pickled"),
    ],
)
def test_a_record_that_does_not_fit_is_named_and_no_other(bad: bytes, code: str) -> None:
    """What is no raw Datum of its declared size is a problem of that record alone, and its neighbours keep their values."""
    good = [raw(seed, seed % 2) for seed in range(12)]
    columns, problems = decode(Datum(), [*good[:5], bad, *good[5:]], good)
    assert {row: problem.code for row, problem in problems.items()} == {5: code}
    assert columns["data"].values[5] is None and columns["data"].values[6].tobytes() == message("caffe.Datum").FromString(good[5]).data


def test_float_data_is_float32_packed_or_not() -> None:
    """float_data gives (N, C, H, W) float32 with NaN in its place, in both wire forms."""
    numbers = np.linspace(-1, 1, 48).astype(np.float32)
    numbers[7] = np.nan
    unpacked = datum(channels=3, height=4, width=4, float_data=numbers.tolist(), label=1)
    packed = datum(channels=3, height=4, width=4, label=1) + b"\x32\xc0\x01" + numbers.tobytes()
    columns, problems = decode(Datum(), [unpacked, packed], [unpacked, packed])
    assert not problems and columns["data"].field.role is Role.ARRAY
    assert np.array_equal(columns["data"].values, np.stack([numbers, numbers]).reshape(2, 3, 4, 4), equal_nan=True)


def test_encoded_datums_declare_only_what_is_not_zero() -> None:
    """Encoded Datums without dimensions are healthy and declare none; names in keys declare a format."""
    values = [datum(channels=3, height=40, width=48, data=JPEG, encoded=True, label=1), datum(data=JPEG, encoded=True, label=1)]
    columns, problems = decode(Datum(), values, values, b"%08d_cat.JPEG")
    assert not problems and columns["data"].field.kind is Kind.ENCODED
    declared = columns["data"].declared
    assert list(declared["width"]) == [48, None] and list(declared["format"]) == ["jpeg", "jpeg"] and declared["extension"][0] == ".JPEG"


def test_a_datum_inside_an_annotated_datum_is_not_called_empty() -> None:
    """SSD's records parse as empty Datums; they are recognised for what they are, with their boxes."""
    kind = message("caffe.AnnotatedDatum")
    whole = kind(datum=message("caffe.Datum")(data=JPEG, encoded=True, label=-1), type=0)
    group = whole.annotation_group.add(group_label=7)
    group.annotation.add(instance_id=0).bbox.MergeFrom(message("caffe.NormalizedBBox")(xmin=0.25, ymin=0.5, xmax=0.75, ymax=1.0))
    plain = kind(datum=whole.datum)
    layout, fit = choose(records([whole.SerializeToString(), plain.SerializeToString()]), DataConfig())
    assert isinstance(layout, AnnotatedDatum) and fit.share == 1.0
    columns, problems = decode(layout, [whole.SerializeToString(), plain.SerializeToString()], [whole.SerializeToString()])
    assert not problems and columns["boxes"].values[0].tolist() == [[0.25, 0.5, 0.75, 1.0]] and columns["boxes"].values[1].shape == (0, 4)


def test_a_record_that_is_not_touched_is_none_without_a_problem() -> None:
    """A value of None gives None in each column and no problem."""
    good = [raw(seed) for seed in range(3)]
    columns, problems = decode(Datum(), [good[0], None, good[2]], good)
    assert not problems and columns["data"].values[1] is None and columns["label"].values[1] is None


def test_a_fork_with_further_fields_is_a_datum() -> None:
    """Fields that a fork of Caffe added do not hide a Datum whose shape and data fit."""
    further = b"\x52\x04name\x58\x07"  # 10: a text, 11: a number
    layout, fit = choose(records([raw(seed, seed % 3) + further for seed in range(20)]), DataConfig())
    assert (layout.name, fit.share) == (Datum.name, 1.0)
