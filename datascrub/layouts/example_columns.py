"""Features of N records -> one column of N values: one numpy call where all agree, else row by row, with what is wrong named."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from datascrub.layouts.example_message import BYTES, FLOAT, INT64
from datascrub.layouts.example_roles import REQUIRED
from datascrub.layouts.plain import as_text
from datascrub.model import Field, Kind, Problem, Role

_LISTS = {"int64": INT64, "float32": FLOAT}
_FEW = 24  # up to as many values a list is gathered by iteration; longer ones by numpy, whose call costs 3 us
_WORDS = {BYTES: "bytes", FLOAT: "float", INT64: "int64"}


def list_of(field: Field) -> str:
    """The kind of list that a field's features have."""
    return _LISTS.get(field.dtype or "", BYTES) if field.kind is Kind.ARRAY else BYTES


def values_of(field: Field, features: Sequence[Any], parsed: Sequence[bool], problems: MutableMapping[int, Problem]) -> np.ndarray | list[Any]:
    """The column of a field. features: a Feature or None for each record; parsed: whether the record could be read at all."""
    kind = list_of(field)
    try:
        lists = [getattr(feature, kind).value for feature in features]
    except AttributeError:  # a record without this feature
        return _row_by_row(field, kind, features, parsed, problems)
    lengths = set(map(len, lists))
    if len(lengths) != 1 or 0 in lengths:  # an empty list may be one of another kind
        return _row_by_row(field, kind, features, parsed, problems)
    length = lengths.pop()
    if kind != BYTES:
        return _block(lists, length, np.dtype(field.dtype), is_scalar=field.shape == () and length == 1)
    return [bytes_value(field, values) for values in lists]


def _block(lists: list[Any], length: int, dtype: Any, *, is_scalar: bool) -> np.ndarray:
    if length <= _FEW:
        block = np.fromiter(chain.from_iterable(lists), dtype, len(lists) * length)
        return block if is_scalar else block.reshape(len(lists), length)
    made = np.empty((len(lists), length), dtype)
    for row, values in enumerate(lists):
        made[row] = values
    return made


def bytes_value(field: Field, values: Sequence[bytes]) -> Any:
    """The value that a list of bytes is: an encoded image, or text."""
    if field.kind is Kind.ENCODED:
        return values[0]
    # Several texts of one sample, as the class names of its boxes, are lines of one text.
    return as_text(values[0] if len(values) == 1 else b"\n".join(values))


def _row_by_row(field: Field, kind: str, features: Sequence[Any], parsed: Sequence[bool], problems: MutableMapping[int, Problem]) -> list[Any]:
    made: list[Any] = [None] * len(features)
    for row, feature in enumerate(features):
        if not parsed[row]:
            continue
        if feature is None:
            if REQUIRED in field.declared:
                problems.setdefault(row, missing(field))
            continue
        held = feature.WhichOneof("kind")
        if held is None:
            continue
        if held != kind:
            problems.setdefault(row, wrong_kind(field, held, kind))
            continue
        made[row] = _value(field, kind, getattr(feature, kind).value)
        if made[row] is None and REQUIRED in field.declared and field.kind is Kind.ENCODED:
            problems.setdefault(row, Problem("record-field-missing", f"the feature {field.name} holds no value, which the set has on every record"))
    return made


def _value(field: Field, kind: str, values: Sequence[Any]) -> Any:
    if kind == BYTES:
        return bytes_value(field, values) if len(values) else None
    if field.shape == () and len(values) <= 1:
        return np.asarray(values[0], field.dtype) if len(values) else None
    return np.asarray(values, field.dtype) if len(values) else np.empty(0, field.dtype)


def missing(field: Field) -> Problem:
    return Problem("record-field-missing", f"the feature {field.name} is missing, which the set has on every record")


def wrong_kind(field: Field, held: str, kind: str) -> Problem:
    return Problem("record-field-kind", f"the feature {field.name} is of type {_WORDS[held]}_list, where the set has {_WORDS[kind]}_list")


def numbers_or_none(values: np.ndarray | list[Any]) -> list[int | None]:
    """One number a record, for what is declared; None where there is none."""
    if isinstance(values, np.ndarray):
        return [int(value) for value in values.reshape(len(values), -1)[:, 0]]
    return [int(value.reshape(-1)[0]) if isinstance(value, np.ndarray) and value.size else None for value in values]


def is_wanted(field: Field) -> bool:
    return field.role is not Role.IGNORE
