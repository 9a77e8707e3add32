"""Numbers as text: integers are labels, others values; what is no number among them is named."""

from __future__ import annotations

import math

import pytest

from datascrub.config import DataConfig
from datascrub.layouts.base import Record
from datascrub.layouts.choose import choose
from datascrub.layouts.numbers import number_of
from datascrub.model import Limits, Role


@pytest.mark.parametrize(
    ("text", "number"),
    [(b"7", 7), (b" -3\n", -3), (b"1.5", 1.5), (b"1e3", 1000.0), (b"nan", math.nan), (b"n/a", None), (b"", None), (b"1_000", None), (b"\xff", None)],
)
def test_numbers(text: bytes, number: float | None) -> None:
    """What reads as a number is one, NaN too."""
    found = number_of(text)
    assert found == number or (found is not None and number is not None and math.isnan(found) and math.isnan(number))


def records(*values: bytes) -> list[Record]:
    return [Record(b"%d" % place, value) for place, value in enumerate(values)]


def test_labels_with_faults() -> None:
    """Integers are labels; a fraction and NaN among them stay what they are, a word is unparsable."""
    held = records(*[b"%d" % (place % 3) for place in range(30)], b"nan", b"n/a", b"1.5")
    layout, fit = choose(held, DataConfig())
    assert (layout.name, fit.fields[0].role, fit.task) == ("numbers", Role.LABEL, "classification")
    columns, problems = layout.decode([(record,) for record in held], fit.fields, Limits())
    assert {row: problem.code for row, problem in problems.items()} == {31: "record-unparsable"}
    assert math.isnan(columns["value"].values[30])
    assert columns["value"].values[32] == 1.5


def test_values_and_texts() -> None:
    """Fractions are values, and words are texts."""
    layout, fit = choose(records(*[b"%.3f" % (place / 7) for place in range(20)]), DataConfig())
    assert (layout.name, fit.fields[0].role) == ("numbers", Role.ARRAY)
    assert choose(records(*[b"word"] * 12, *[b"7"] * 8), DataConfig())[0].name == "text"
