"""tf.Example and SequenceExample: fields, roles, columns, and records that do not fit the set."""

from __future__ import annotations

import io
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from datascrub.config import DataConfig
from datascrub.layouts.base import Layout, Record
from datascrub.layouts.choose import choose
from datascrub.layouts.example import Example
from datascrub.layouts.sequence_example import SequenceExample
from datascrub.model import Column, Field, Kind, Limits, Problem, Role
from tests.readers.tfrecord_bytes import example, feature, field, sequence, varint

LIMITS = Limits()


def picture(format_name: str, seed: int = 0) -> bytes:
    held = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (8, 6, 3), np.uint8)).save(held, format_name)
    return held.getvalue()


def decode(values: list[bytes | None], probed: list[bytes] | None = None) -> tuple[dict[str, Column], dict[int, Problem], dict[str, Field]]:
    layout, fit = choose([Record(b"", value) for value in (values if probed is None else probed) if value is not None], DataConfig())
    assert isinstance(layout, Example | SequenceExample)
    columns, problems = layout.decode([(Record(b"", value),) for value in values], fit.fields, LIMITS)
    return columns, dict(problems), {each.name: each for each in fit.fields}


def codes(problems: dict[int, Problem]) -> dict[int, str]:
    return {row: problem.code for row, problem in problems.items()}


def test_lists_of_one_length_are_a_dense_block() -> None:
    """Equal lists of numbers are one array of (N, L), float32 or int64; a label is (N,); long and short lists alike."""
    columns, problems, fields = decode([example(label=[row], x=[row + 0.5] * 3, long=[float(row)] * 300, n=[row, -row]) for row in range(5)])
    assert not problems
    assert fields["label"] == Field("label", Role.LABEL, Kind.ARRAY, "int64", (), ("required",))
    assert np.array_equal(columns["label"].values, np.arange(5)) and columns["label"].values.dtype == np.int64
    assert columns["x"].values.shape == (5, 3) and columns["x"].values.dtype == np.float32
    assert columns["long"].values.shape == (5, 300) and columns["long"].values[4, 299] == 4
    assert columns["n"].values[3].tolist() == [3, -3]


def test_lists_of_many_lengths_are_arrays() -> None:
    """Lists of differing lengths are a list of arrays; an empty one is an empty array, and healthy."""
    columns, problems, fields = decode([example(x=[1.0] * count) if count else example_with_empty("x", 2) for count in (3, 1, 0, 2)])
    assert not problems and fields["x"].shape is None
    assert [value.tolist() for value in columns["x"].values] == [[1.0] * 3, [1.0], [], [1.0] * 2]


def example_with_empty(name: str, kind: int, more: bytes = b"") -> bytes:
    """A feature whose list of this kind (1 bytes, 2 float, 3 int64) is there and empty."""
    return field(1, more + field(1, field(1, name.encode()) + field(2, field(kind, b""))))


def test_images_by_their_bytes_and_what_is_declared_of_them() -> None:
    """Encoded images are found by content; format, width and height beside them are what the source declares."""
    values = [
        example(image__encoded=[picture("JPEG", row)], image__format=[b"JPG"], image__width=[6], image__height=[8], image__class__label=[row])
        for row in range(4)
    ]
    columns, problems, fields = decode(values)
    image = fields["image/encoded"]
    assert not problems and (image.role, image.kind) == (Role.IMAGE, Kind.ENCODED) and fields["image/class/label"].role is Role.LABEL
    assert columns["image/encoded"].declared == {"format": ["jpeg"] * 4, "width": [6] * 4, "height": [8] * 4}
    assert set(columns) == {"image/encoded", "image/class/label"}


@pytest.mark.parametrize("name", ["image_raw", "img"])
def test_bare_siblings_count_beside_one_image(name: str) -> None:
    """height and width without a folder belong to the only image of the set."""
    columns, _, _ = decode([example(**{name: [picture("PNG", row)], "height": [8], "width": [6]}) for row in range(4)])
    assert columns[name].declared == {"width": [6] * 4, "height": [8] * 4}


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("image/object/bbox/xmin", [0.5], Role.BOXES),
        ("bbox", [1, 2, 3, 4], Role.BOXES),
        ("image/object/class/label", [3], Role.ARRAY),
        ("image_class", [3], Role.LABEL),
        ("class_id", [3], Role.LABEL),
        ("y", [0.25], Role.LABEL),
        ("target", [b"cat"], Role.LABEL),
        ("sample_weight", [0.5], Role.WEIGHT),
        ("image/filename", [b"a.jpg"], Role.ID),
        ("id", [17], Role.ID),
        ("caption", [b"a cat"], Role.TEXT),
        ("raw", [bytes(range(256))], Role.IGNORE),
        ("flower", [3], Role.ARRAY),
    ],
)
def test_roles_by_name_and_content(name: str, values: list, role: Role) -> None:
    """The names that training code uses tell what a feature is."""
    fit = Example().fit([Record(b"", example(**{name: values}))] * 4)
    assert fit is not None and fit.fields[0].role is role


def test_masks_and_labels_by_most_of_the_set() -> None:
    """input_mask is a mask; one fraction and one NaN among float labels make no regression of a classification."""
    records = [Record(b"", example(input_mask=[1, 1, 0], label=[float(row % 3)])) for row in range(30)]
    records += [Record(b"", example(input_mask=[1, 0, 0], label=[value])) for value in (1.5, math.nan)]
    fit = Example().fit(records)
    assert fit is not None
    assert {field.name: field.role for field in fit.fields} == {"input_mask": Role.MASK, "label": Role.LABEL}
    assert fit.task == "classification"


def test_missing_feature_of_the_set() -> None:
    """A feature that nearly all records have is missing from one: that record is named, and its value is None."""
    columns, problems, _ = decode([example(label=[row], x=[1.0]) if row != 2 else example(x=[1.0]) for row in range(6)])
    assert codes(problems) == {2: "record-field-missing"} and columns["label"].values[2] is None and columns["label"].values[3] == 3


def test_optional_features_are_nobodys_fault() -> None:
    """A feature that is often absent, or has no kind set, is optional."""
    _, problems, fields = decode([example(label=[1], tip=[0.5] if row % 3 else [], **({"note": [b"x"]} if row % 4 else {})) for row in range(20)])
    assert not problems and not fields["tip"].declared and not fields["note"].declared


def test_feature_without_a_kind_is_never_accused() -> None:
    """A feature that stands there with no list at all is an absent value, even where all others have one."""
    columns, problems, _ = decode([example(label=[1], x=[] if row == 7 else [1.0]) for row in range(300)])
    assert not problems and columns["x"].values[7] is None


@pytest.mark.parametrize("odd", [example(label=[1.0], x=[1.0]), example_with_empty("label", 2, field(1, field(1, b"x") + field(2, feature([1.0]))))])
def test_feature_of_another_kind(odd: bytes) -> None:
    """A list of another kind than the set's is record-field-kind, also where it is empty: TensorFlow refuses it."""
    columns, problems, _ = decode([*[example(label=[row], x=[1.0]) for row in range(5)], odd])
    assert codes(problems) == {5: "record-field-kind"} and columns["label"].values[5] is None
    assert "float" in problems[5].detail and columns["x"].values[5].tolist() == [1.0]


def test_labels_of_another_kind_do_not_end_the_survey() -> None:
    """Whole numbers on most records and bytes on a few: the labels met are the numbers."""
    fit = Example().fit([Record(b"", example(label=[row])) for row in range(8)] + [Record(b"", example(label=[b"eight"]))])
    assert fit is not None and fit.labels == tuple(range(8))


def test_empty_list_of_another_kind_among_empty_ones() -> None:
    """In a batch of empty lists the one of another kind is still seen."""
    right = [example_with_empty("x", 2, field(1, field(1, b"n") + field(2, feature([1])))) for _ in range(5)]
    wrong = example_with_empty("x", 3, field(1, field(1, b"n") + field(2, feature([1]))))
    assert codes(decode([*right, wrong])[1]) == {5: "record-field-kind"}


def test_legal_forms_of_the_wire() -> None:
    """Unpacked lists, another order, unknown fields are healthy; of a name that stands twice the last one counts."""

    def entry(name: bytes, body: bytes) -> bytes:
        return field(1, field(1, name) + field(2, body))

    unpacked = field(2, b"".join(varint(1 << 3 | 5) + struct.pack("<f", value) for value in (0.5, 0.25)))
    label = field(3, varint(1 << 3) + varint(7))
    odd = field(1, entry(b"x", unpacked) + entry(b"label", feature([1])) + entry(b"label", label)) + field(15, b"more")
    columns, problems, _ = decode([example(label=[1], x=[1.0, 2.0]), odd, example(x=[1.0, 2.0], label=[2])])
    assert not problems and columns["label"].values.tolist() == [1, 7, 2] and columns["x"].values[1].tolist() == [0.5, 0.25]


def test_odd_names_are_fields() -> None:
    """Names that are no UTF-8, empty, or that of the record's own field, are fields and lead back to their features."""

    def named(name: bytes, value: int) -> bytes:
        return field(1, field(1, name) + field(2, feature([value])))

    columns, problems, fields = decode([field(1, named(b"\xff\x00", row) + named(b"", row) + named(b"record", row)) for row in range(4)])
    assert not problems and set(fields) == {"0xff00", "0x", "features/record"}
    assert all(column.values[3] == 3 for column in columns.values())


def test_records_that_are_none() -> None:
    """An empty record is record-empty, other bytes are record-unparsable, a record that may not be touched has no problem; all values are None."""
    columns, problems, _ = decode([*[example(label=[row]) for row in range(6)], b"", b"\xff\xd8\xff\xe0", None])
    assert codes(problems) == {6: "record-empty", 7: "record-unparsable"} and columns["label"].values[6:] == [None] * 3


def test_extremes_keep_their_bits() -> None:
    """int64's ends and floats that are not finite arrive as they are."""
    columns, problems, _ = decode([example(n=[-(1 << 63), (1 << 63) - 1], x=[float("nan"), float("-inf")])] * 3)
    assert not problems and columns["n"].values[0].tolist() == [-(1 << 63), (1 << 63) - 1]
    assert np.isnan(columns["x"].values[1, 0]) and columns["x"].values[2, 1] == -np.inf


def test_sequences() -> None:
    """Feature lists are arrays along their steps: (T,) for one number a step, (T, L) for L; the context beside them."""
    columns, problems, fields = decode(
        [
            sequence({"label": [row]}, {"t": [[float(step)] for step in range(row + 1)], "v": [[1, 2], [3, 4]], "w": [[b"a"], [b"b"]]})
            for row in range(4)
        ]
    )
    assert not problems and fields["context/label"].role is Role.LABEL
    assert [value.tolist() for value in columns["feature_lists/t"].values][2] == [0.0, 1.0, 2.0]
    assert columns["feature_lists/v"].values[0].tolist() == [[1, 2], [3, 4]] and columns["feature_lists/w"].values[0] == "a\nb"
    assert columns["context/label"].values.tolist() == [0, 1, 2, 3]


def test_sequence_and_example_are_told_apart() -> None:
    """Each parses as the other; what has feature lists is a SequenceExample, what has none is an Example."""
    sequences = [Record(b"", sequence({"a": [1]}, {"t": [[1.0]]}))] * 4
    examples = [Record(b"", example(a=[1]))] * 4
    assert isinstance(choose(sequences, DataConfig())[0], SequenceExample) and isinstance(choose(examples, DataConfig())[0], Example)


def test_sequence_problems() -> None:
    """A missing feature list and one of another kind are named; an empty list of steps is healthy."""
    values = [sequence({}, {"t": [[1.0]], "s": [[1]]}) for _ in range(6)]
    values += [sequence({}, {"s": [[1]]}), sequence({}, {"t": [[1.0], [2]], "s": []}), b"\x0a\xff"]
    columns, problems, _ = decode(values, values[:6])
    assert codes(problems) == {6: "record-field-missing", 7: "record-field-kind", 8: "record-unparsable"}
    assert columns["feature_lists/s"].values[7].shape == (0,)


@pytest.mark.parametrize("layout", [Example(), SequenceExample()], ids=["example", "sequence"])
@given(data=st.lists(st.binary(max_size=40), min_size=1, max_size=5), places=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 255)), max_size=4))
def test_no_bytes_raise(layout: Layout, data: list[bytes], places: list[tuple[int, int]]) -> None:
    """Any bytes, and damaged records, fit or do not, decode or are named: nothing raises."""
    whole = bytearray(
        sequence({"a": [1], "b": [b"x"]}, {"t": [[1.0], [2.0]], "u": [[1, 2]]}) if layout.name != "tf-example" else example(a=[1], b=[b"x"], t=[1.0])
    )
    fit = layout.fit([Record(b"", bytes(whole))] * 4)
    assert fit is not None
    for place, value in places:
        whole[place % len(whole)] = value
    records = [Record(b"", value) for value in (*data, bytes(whole))]
    layout.fit(records)
    columns, _ = layout.decode([(record,) for record in records], fit.fields, LIMITS)
    assert all(len(column) == len(records) for column in columns.values())
