"""Columns of many small Examples at once are the columns that parsing each of them gives."""

from __future__ import annotations

import struct
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from datascrub.layouts import example
from datascrub.layouts.base import Record
from datascrub.layouts.example import Example
from datascrub.layouts.example_block import block_columns
from datascrub.model import Field, Limits
from tests.readers.tfrecord_bytes import example as example_of
from tests.readers.tfrecord_bytes import field, varint

SIGNALLING = struct.unpack("<f", b"\x01\x00\x80\x7f")[0]


def fields_of(values: list[bytes]) -> tuple[Field, ...]:
    fit = Example().fit([Record(b"", value) for value in values])
    assert fit is not None
    return fit.fields


def told(values: list[bytes], fields: tuple[Field, ...]) -> tuple[dict[str, Any], dict[int, str]]:
    """What decode gives, comparable to the last bit."""
    columns, problems = Example().decode([(Record(b"", value),) for value in values], fields, Limits())
    made = {
        name: (column.values.dtype.str, column.values.shape, column.values.tobytes())
        if isinstance(column.values, np.ndarray)
        else [(value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value for value in column.values]
        for name, column in columns.items()
    }
    return made, {row: problem.code for row, problem in problems.items()}


def assert_alike(values: list[bytes], fields: tuple[Field, ...]) -> None:
    with mock.patch.object(example, "block_columns", lambda *_: None):
        parsed = told(values, fields)
    assert told(values, fields) == parsed


def test_records_that_differ_in_their_values_are_one_block() -> None:
    """Numbers, negative ones and texts come out as parsed; labels of one and two bytes and features in another order are a few patterns."""
    values = [example_of(label=[row * 7], x=[row / 3, -1.5], n=[-row, 3], name=[b"row %02d" % row]) for row in range(40)]
    values[10:20] = [example_of(name=[b"row %02d" % row], x=[0.5, SIGNALLING], label=[row], n=[-row, 3]) for row in range(10, 20)]
    fields = fields_of(values)
    assert block_columns(values, fields) is not None
    assert_alike(values, fields)


def test_what_does_not_fit_is_left_to_the_parser() -> None:
    """A record of another kind of list, without a feature, with a name twice, cut, empty or missing: the whole batch is parsed."""
    values = [example_of(label=[row], x=[row / 3]) for row in range(32)]
    fields = fields_of(values)
    twice = example_of(label=[1], x=[0.5])
    for odd in (
        example_of(label=[0.5], x=[0.5]),
        example_of(x=[0.5]),
        example_of(label=[1], x=[]),
        twice[:-1],
        field(1, twice[2:] + field(1, field(1, b"x") + field(2, field(2, field(1, b"\0\0\0\0"))))),
        b"",
        None,
    ):
        assert block_columns([*values, odd], fields) is None
    assert block_columns(values[:4], fields) is None


def test_a_number_of_more_than_ten_bytes_is_left_to_the_parser() -> None:
    """It is no number of 64 bits; the parser says what is to be said of such a record."""
    endless = field(1, field(1, field(1, b"label") + field(2, field(3, field(1, b"\x80" * 10 + b"\x01")))))
    values = [example_of(label=[1])] * 12
    assert block_columns([endless] * 12, fields_of(values)) is None
    assert_alike([*values, *[endless] * 12], fields_of(values))


names = st.sampled_from(["label", "x", "long name", "t"])
lists = st.one_of(
    st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=3),
    st.lists(st.floats(width=32), min_size=1, max_size=3),
    st.lists(st.binary(max_size=4), min_size=1, max_size=3),
)


@given(st.lists(st.tuples(st.dictionaries(names, lists, min_size=1), st.integers(8, 12)), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_any_records_are_as_parsed(kinds: list[tuple[dict[str, list], int]], random: Any) -> None:
    """A few kinds of records, each many times, in any order."""
    values = [example_of(**its) for its, count in kinds for _ in range(count)]
    random.shuffle(values)
    assert_alike(values, fields_of(values))


@given(st.integers(0, 80), st.integers(0, 255), st.integers(0, 80), st.integers(0, 255))
def test_changed_bytes_are_as_parsed(one: int, its: int, two: int, other: int) -> None:
    """Whichever bytes of the records are changed, all alike or one alone."""
    values = [bytearray(example_of(label=[300 + row], x=[row / 3], name=[b"name"])) for row in range(12)]
    fields = fields_of([bytes(value) for value in values])
    for value in values:
        value[one % len(value)] = its
    values[5][two % len(values[5])] = other
    assert_alike([bytes(value) for value in values], fields)


def test_long_lengths_are_as_parsed() -> None:
    """A length spelt out in more bytes than it needs is legal, and parsed."""
    inner = example_of(label=[1])[2:]
    values = [b"\x0a" + varint(len(inner))[:-1] + bytes([len(inner) | 0x80, 0]) + inner] * 12
    assert_alike(values, fields_of(values))
