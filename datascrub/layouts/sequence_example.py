"""TensorFlow's SequenceExample: features of the whole (context), and lists of features along its steps."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, ClassVar

import numpy as np

from datascrub.layouts.base import Fit, Layout, Record
from datascrub.layouts.encoded_image import no_bytes
from datascrub.layouts.example_columns import is_wanted, list_of, missing, values_of, wrong_kind
from datascrub.layouts.example_message import BYTES, message, name_of, raw_name
from datascrub.layouts.example_roles import REQUIRED, Seen, fields_of, labels_of
from datascrub.layouts.plain import as_text
from datascrub.model import Column, Field, Kind, Limits, Problem, Role

CONTEXT, STEPS = "context/", "feature_lists/"
"""before the names of fields: the same name may stand in both"""


class SequenceExample(Layout):
    """One tf.SequenceExample per record. It parses as an Example too, which knows nothing of its steps."""

    name: ClassVar[str] = "tf-sequence-example"
    title: ClassVar[str] = "tf.SequenceExample"
    specificity: ClassVar[int] = 6

    def fit(self, records: Sequence[Record]) -> Fit | None:
        probed = [record.value for record in records if record.value is not None]
        seen: dict[str, Seen] = {}
        count = 0
        for value in probed:
            context, steps = _parts(value) or ({}, {})
            if not steps:
                continue
            count += 1
            for raw, feature in context.items():
                kind = feature.WhichOneof("kind")
                seen.setdefault(CONTEXT + name_of(raw), Seen()).add(kind, getattr(feature, kind).value if kind else ())
            for raw, features in steps.items():
                kind = next((kind for feature in features if (kind := feature.WhichOneof("kind"))), None)
                values = [value for feature in features if feature.WhichOneof("kind") == kind and kind for value in getattr(feature, kind).value]
                seen.setdefault(STEPS + name_of(raw), Seen()).add(kind, values)
        if not count:
            return None
        fields = tuple(_field(field) for field in fields_of(seen, count))
        labels, task = labels_of(fields, seen)
        return Fit(count / len(probed), fields, labels, task)

    def decode(self, samples: Sequence[Sequence[Record]], fields: Sequence[Field], limits: Limits) -> tuple[dict[str, Column], Mapping[int, Problem]]:
        problems: dict[int, Problem] = {}
        parts: list[tuple[dict[bytes, Any], dict[bytes, Any]] | None] = []
        for row, sample in enumerate(samples):
            value = sample[0].value
            parts.append(_parts(value) if value else None)
            if value is not None and parts[-1] is None:
                problems[row] = Problem("record-unparsable", f"{len(value):,} bytes that do not parse as {self.title}") if value else no_bytes()
        parsed = [part is not None for part in parts]
        columns: dict[str, Column] = {}
        for field in filter(is_wanted, fields):
            is_context = field.name.startswith(CONTEXT)
            raw = raw_name(field.name.removeprefix(CONTEXT if is_context else STEPS))
            held = [part[0 if is_context else 1].get(raw) if part else None for part in parts]
            values = values_of(field, held, parsed, problems) if is_context else _steps(field, held, parsed, problems)
            columns[field.name] = Column(field, values, {}, limits)
        return columns, problems


def _parts(value: bytes) -> tuple[dict[bytes, Any], dict[bytes, Any]] | None:
    """(context, feature lists) by name; None where the bytes do not parse."""
    from google.protobuf.message import DecodeError

    try:
        record = message("SequenceExample").FromString(value)
    except DecodeError:
        return None
    context = {entry.key: entry.value for entry in record.context.feature}
    return context, {entry.key: entry.value.feature for entry in record.feature_lists.feature_list}


def _field(field: Field) -> Field:
    """Along the steps nothing is a label or a picture of the whole, and lengths differ."""
    if field.name.startswith(CONTEXT):
        return field
    if field.kind is Kind.ENCODED:
        # A picture for each step: no column holds several pictures a sample.
        return Field(field.name, Role.IGNORE, Kind.TEXT, declared=field.declared)
    role = Role.ARRAY if field.kind is Kind.ARRAY and field.role is not Role.BOXES else field.role
    return Field(field.name, Role.TEXT if field.kind is Kind.TEXT else role, field.kind, field.dtype, None, field.declared)


def _steps(field: Field, lists: Sequence[Any], parsed: Sequence[bool], problems: MutableMapping[int, Problem]) -> list[Any]:
    kind = list_of(field)
    made: list[Any] = [None] * len(lists)
    for row, features in enumerate(lists):
        if not parsed[row]:
            continue
        if features is None:
            if REQUIRED in field.declared:
                problems.setdefault(row, missing(field))
            continue
        held = [feature.WhichOneof("kind") for feature in features]
        wrong = next((each for each in held if each not in (kind, None)), None)
        if wrong is not None:
            problems.setdefault(row, wrong_kind(field, wrong, kind))
            continue
        steps = [getattr(feature, kind).value for feature in features]
        made[row] = as_text(b"\n".join(value for step in steps for value in step)) if kind == BYTES else _array(steps, field.dtype)
    return made


def _array(steps: list[Any], dtype: str | None) -> np.ndarray:
    """(T,) where each step has one number, (T, L) where each has L, else all numbers one after the other."""
    lengths = {len(step) for step in steps}
    flat = np.array([value for step in steps for value in step], dtype)
    return flat.reshape(len(steps), -1) if len(lengths) == 1 and lengths.pop() > 1 else flat
