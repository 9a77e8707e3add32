"""Plain numbers as values, one in each record: "7", "-1.5"; the labels or targets that stand beside the pictures of another database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from datascrub.layouts.base import Fit, Layout, Record
from datascrub.layouts.datum import guess_task, numbers
from datascrub.model import Column, Field, Kind, Limits, Problem, Role

_LONGEST = 64
"""bytes of the text of a number"""
_LARGEST = 1 << 63


class Numbers(Layout):
    """The text of a number a record: integers are labels, others values."""

    name: ClassVar[str] = "numbers"
    title: ClassVar[str] = "numbers as text"
    specificity: ClassVar[int] = 0

    def fit(self, records: Sequence[Record]) -> Fit | None:
        values = [record.value for record in records if record.value is not None]
        read = [number for number in map(number_of, values) if number is not None]
        if not read:
            return None
        # Every number is a text as well: where nine in ten are numbers, the others are what is wrong, and text is not the better fit.
        share = 1.0 if len(read) * 10 >= len(values) * 9 else len(read) / len(values) / 2
        whole = [int(number) for number in read if isinstance(number, int)]
        if len(whole) * 10 < len(read) * 9:
            return Fit(share, (Field("value", Role.ARRAY, Kind.ARRAY, "float64", ()),))
        return Fit(share, (Field("value", Role.LABEL, Kind.ARRAY, "int64", ()),), tuple(sorted(set(whole))[:36]), guess_task(whole))

    def decode(self, samples: Sequence[Sequence[Record]], fields: Sequence[Field], limits: Limits) -> tuple[dict[str, Column], Mapping[int, Problem]]:
        values: list[int | float | None] = []
        problems: dict[int, Problem] = {}
        for row, records in enumerate(samples):
            value = records[0].value
            number = None if value is None else number_of(value)
            values.append(number)
            if value is not None and number is None:
                says = f"{value[:32].decode('utf-8', 'backslashreplace')!r} is no number" if value else "no bytes"
                problems[row] = Problem("record-unparsable" if value else "record-empty", says)
        return {field.name: Column(field, _column(values, field), {}, limits) for field in fields if field.role is not Role.IGNORE}, problems


def number_of(value: bytes) -> int | float | None:
    """The number that a text is; None for other texts, and for what no 64 bits hold."""
    if len(value) > _LONGEST:
        return None
    try:
        text = value.decode("ascii").strip()
        if "_" in text:
            return None
        whole = int(text)
    except UnicodeDecodeError:
        return None
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return None
    return whole if -_LARGEST <= whole < _LARGEST else float(whole)


def _column(values: Sequence[int | float | None], field: Field) -> Any:
    if field.dtype == "int64" and any(isinstance(value, float) for value in values):
        return [None if value is None else np.asarray(value) for value in values]  # a fraction among integers stays what it is
    return numbers(list(values), np.dtype(field.dtype or "float64"))
