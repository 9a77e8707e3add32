"""Bytes of a tf.Example that are raw pixels, raw numbers or serialised tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from datascrub.config import DataConfig, FieldConfig
from datascrub.layouts.base import Record
from datascrub.layouts.choose import choose
from datascrub.layouts.example import Example
from datascrub.layouts.example_raw import tensor_of
from datascrub.model import Column, Field, Kind, Limits, Problem, Role
from tests.layouts.test_example import example

RANDOM = np.random.default_rng(8)


def tensor(values: np.ndarray, code: int, sides: tuple[int, ...] | None = None) -> bytes:
    """A TensorProto as tf.io.serialize_tensor writes it, by hand."""
    dims = b"".join(b"\x12" + bytes([2]) + b"\x08" + bytes([side]) for side in sides or values.shape)
    content = values.tobytes()
    length = len(content)
    size = b""
    while True:
        size += bytes([length & 127 | (128 if length > 127 else 0)])
        length >>= 7
        if not length:
            break
    return b"\x08" + bytes([code]) + b"\x12" + bytes([len(dims)]) + dims + b"\x22" + size + content


def decoded(records: list[bytes], **fields: FieldConfig) -> tuple[dict[str, Column], dict[int, Problem], dict[str, Field]]:
    """Columns, problems and fields of a set, as a reader chooses its layout."""
    layout, fit = choose([Record(b"", value) for value in records], DataConfig(fields=fields))
    assert isinstance(layout, Example)
    columns, problems = layout.decode([[Record(b"", value)] for value in records], fit.fields, Limits())
    return columns, dict(problems), {each.name: each for each in fit.fields}


def pixels(*shape: int) -> np.ndarray:
    return RANDOM.integers(0, 256, shape, dtype=np.uint8)


def test_pixels_with_their_sides_beside_them() -> None:
    """height, width and depth make arrays of raw bytes: one block, of role image; the sides themselves are nothing to look at."""
    block = pixels(12, 28, 20, 3)
    records = [example(image_raw=[each.tobytes()], height=[28], width=[20], depth=[3], label=[n % 3]) for n, each in enumerate(block)]
    columns, problems, fields = decoded(records)
    assert not problems and np.array_equal(columns["image_raw"].values, block)
    assert (fields["image_raw"].role, fields["image_raw"].kind, fields["image_raw"].shape) == (Role.IMAGE, Kind.ARRAY, (28, 20, 3))
    assert set(columns) == {"image_raw", "label"}


def test_sides_that_differ() -> None:
    """Each record says its own shape; bytes that are fewer than it says are that record's problem, and only that one's."""
    shapes = [(8 + n, 10, 1) for n in range(12)]
    values = [pixels(*shape) for shape in shapes]
    records = [example(image_raw=[v.tobytes()], height=[s[0]], width=[s[1]], depth=[s[2]]) for v, s in zip(values, shapes, strict=True)]
    records[5] = example(image_raw=[values[5].tobytes()[:-3]], height=[13], width=[10], depth=[1])
    columns, problems, _ = decoded(records)
    assert {row: problem.code for row, problem in problems.items()} == {5: "record-size-mismatch"}
    assert "127 bytes, and 13 x 10 x 1 of uint8 are 130" in problems[5].detail
    assert columns["image_raw"].values[5] is None and np.array_equal(columns["image_raw"].values[6], values[6])


def test_sides_and_wider_numbers() -> None:
    """Four bytes a value beside height and width alone are float32."""
    block = RANDOM.normal(size=(6, 9, 8)).astype(np.float32)
    columns, problems, fields = decoded([example(depth_map=[each.tobytes()], depth_map_height=[9], depth_map_width=[8]) for each in block])
    assert not problems and np.array_equal(columns["depth_map"].values, block) and fields["depth_map"].role is Role.ARRAY


def test_declared_shape() -> None:
    """Where nothing beside them says how the bytes lie, the configuration does; without it they are left aside, with a note."""
    block = pixels(6, 16, 16)
    records = [example(raw=[each.tobytes()], label=[0]) for each in block]
    columns, problems, fields = decoded(records, raw=FieldConfig(shape=(16, 16)))
    assert not problems and np.array_equal(columns["raw"].values, block) and fields["raw"].role is Role.IMAGE
    short = [*records, example(raw=[block[0].tobytes()[:-1]], label=[0])]
    assert {row: each.code for row, each in decoded(short, raw=FieldConfig(shape=(16, 16)))[1].items()} == {6: "record-size-mismatch"}
    half = RANDOM.normal(size=(6, 40)).astype(np.float16)
    columns, _, _ = decoded([example(raw=[each.tobytes()]) for each in half], raw=FieldConfig(dtype="float16"))
    assert np.array_equal(columns["raw"].values, half)
    fit = Example().fit([Record(b"", record) for record in records])
    assert fit is not None and fit.fields[1].role is Role.IGNORE and any("[data.fields" in note for note in fit.notes)


@pytest.mark.parametrize(("code", "dtype"), [(1, "float32"), (2, "float64"), (4, "uint8"), (9, "int64"), (10, "bool"), (19, "float16")])
def test_serialised_tensors(code: int, dtype: str) -> None:
    """TensorProtos are arrays; a cut one is a problem of its record."""
    block = RANDOM.uniform(0, 100, (8, 3, 5)).astype(dtype)
    records = [example(x=[tensor(each, code)], label=[1]) for each in block]
    columns, problems, fields = decoded(records)
    assert not problems and np.array_equal(columns["x"].values, block) and fields["x"].dtype == dtype
    records[3] = example(x=[tensor(block[3], code)[:-2]], label=[1])
    assert {row: each.code for row, each in decoded(records)[1].items()} == {3: "record-unparsable"}


def test_tensors_of_bfloat16() -> None:
    """bfloat16 is held as float32, whatever its values."""
    values = np.array([[1.0, -2.5], [0.0, 3.0e38]], np.float32)
    words = (values.view(np.uint32) >> 16).astype("<u2")
    found = tensor_of(tensor(words, 14))
    assert not isinstance(found, str)
    assert np.allclose(found.values(), values, rtol=1e-2)


@pytest.mark.parametrize("value", [b"", b"\x08\x01", b"\xff" * 40, b"\x08\x07\x12\x00", tensor(np.zeros(3, np.float32), 1, (127, 127))])
def test_bytes_that_are_no_tensor(value: bytes) -> None:
    """Whatever does not hold as many bytes as it claims is no tensor, and says why."""
    assert isinstance(tensor_of(value), str)


def test_what_tensorflow_writes() -> None:
    """tf.io.serialize_tensor's own bytes are read."""
    tf: Any = pytest.importorskip("tensorflow")
    values = RANDOM.normal(size=(2, 3)).astype(np.float32)
    found = tensor_of(tf.io.serialize_tensor(values).numpy())
    assert not isinstance(found, str)
    assert np.array_equal(found.values(), values)
