"""Plain numbers or text as values: "7", "a word", a line of JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from datascrub.layouts.base import Fit, Layout, Record
from datascrub.model import Column, Field, Kind, Limits, Problem, Role

_PROBED_BYTES = 4096


def as_text(value: bytes) -> str | bytes:
    """The UTF-8 text of these bytes, or the bytes where they are none."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value


def is_text(value: bytes) -> bool:
    """Whether bytes read as UTF-8 text; of a long value the beginning is looked at."""
    try:
        text = value[:_PROBED_BYTES].decode("utf-8")
    except UnicodeDecodeError as error:
        if len(value) <= _PROBED_BYTES or error.start < _PROBED_BYTES - 3:
            return False
        text = value[: error.start].decode("utf-8")
    return all(character.isprintable() or character in "\t\n\r\f" for character in text)


class Plain(Layout):
    """A text per record; an empty one is a text too."""

    name: ClassVar[str] = "text"
    title: ClassVar[str] = "plain numbers or text"
    specificity: ClassVar[int] = 0

    def fit(self, records: Sequence[Record]) -> Fit | None:
        values = [record.value for record in records if record.value is not None]
        count = sum(map(is_text, values))
        return Fit(count / len(values), (Field("text", Role.TEXT, Kind.TEXT),)) if count and any(values) else None

    def decode(self, samples: Sequence[Sequence[Record]], fields: Sequence[Field], limits: Limits) -> tuple[dict[str, Column], Mapping[int, Problem]]:
        values: list[Any] = [None if records[0].value is None else as_text(records[0].value) for records in samples]
        problems = {
            row: Problem("record-unparsable", f"{len(value):,} bytes that are no UTF-8 text")
            for row, value in enumerate(values)
            if isinstance(value, bytes)
        }
        return {field.name: Column(field, values, {}, limits) for field in fields if field.role is not Role.IGNORE}, problems
