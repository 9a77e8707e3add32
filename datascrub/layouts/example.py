"""TensorFlow's Example: named features, each a list of bytes, of float32 or of int64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from datascrub.config import FieldConfig
from datascrub.layouts.base import Fit, Layout, Record
from datascrub.layouts.encoded_image import no_bytes
from datascrub.layouts.example_block import block_columns
from datascrub.layouts.example_boxes import boxes_of, compare_counts, is_joined, joined
from datascrub.layouts.example_columns import is_wanted, numbers_or_none, values_of
from datascrub.layouts.example_message import message, name_of, raw_name
from datascrub.layouts.example_raw import declared_fields, is_raw, raw_fields, raw_values
from datascrub.layouts.example_roles import SIBLINGS, Seen, fields_of, is_unknown, labels_of, siblings_of
from datascrub.media.sniff import format_of_suffix
from datascrub.model import Column, Field, Kind, Limits, Problem

_MOST_FIELDS = 1024


class Example(Layout):
    """One tf.Example per record."""

    name: ClassVar[str] = "tf-example"
    title: ClassVar[str] = "tf.Example"
    specificity: ClassVar[int] = 5

    def fit(self, records: Sequence[Record]) -> Fit | None:
        probed = [record.value for record in records if record.value is not None]
        seen: dict[str, Seen] = {}
        records_seen: list[dict[bytes, Any]] = []
        count = 0
        for value in probed:
            features = _features(value)
            if not features or holds_sequences(value):
                continue
            count += 1
            records_seen.append(features)
            for raw, feature in features.items():
                kind = feature.WhichOneof("kind")
                seen.setdefault(name_of(raw), Seen()).add(kind, getattr(feature, kind).value if kind else ())
        if not count:
            return None
        kept, notes = _often(seen, count)
        fields = raw_fields(fields_of(kept, count), kept, records_seen)
        labels, task = labels_of(fields, kept)
        notes += tuple(
            f'{each.name}: bytes that are neither text nor an encoded image; not looked at ([data.fields."{each.name}"] shape and dtype say what)'
            for each in fields
            if is_unknown(kept[each.name]) and not is_raw(each)
        )
        return Fit(count / len(probed), joined(fields), labels, task, notes)

    def decode(self, samples: Sequence[Sequence[Record]], fields: Sequence[Field], limits: Limits) -> tuple[dict[str, Column], Mapping[int, Problem]]:
        problems: dict[int, Problem] = {}
        held = [sample[0].value for sample in samples]
        blocks = block_columns(held, fields)
        if blocks is not None:
            return {field.name: Column(field, blocks[field.name], {}, limits) for field in fields if field.name in blocks}, problems
        records, parsed = _parse(held, problems)
        columns: dict[str, Column] = {}
        declaring = _declaring(fields)
        siblings: dict[str, Any] = {}
        for field in fields:
            if not is_wanted(field) and field.name not in declaring:
                continue
            if is_joined(field):
                columns[field.name] = Column(field, boxes_of(field, records, parsed, problems), {}, limits)
                continue
            if is_raw(field):
                values = raw_values(field, [each.name for each in fields], records, parsed, problems, limits)
                columns[field.name] = Column(field, values, {}, limits)
                continue
            raw = raw_name(field.name)
            values = values_of(field, [features.get(raw) for features in records], parsed, problems)
            if field.name in declaring:
                siblings[field.name] = values
            if is_wanted(field):
                columns[field.name] = Column(field, values, {}, limits)
        for field in fields:
            if field.kind is Kind.ENCODED and is_wanted(field):
                columns[field.name].declared = _declared(field, fields, siblings)
        compare_counts(fields, columns, problems)
        return columns, problems

    def declared(self, fields: Sequence[Field], its: Mapping[str, FieldConfig]) -> tuple[Field, ...]:
        return declared_fields(fields, its)


def _features(value: bytes) -> dict[bytes, Any] | None:
    """The features of a record by name, the last one where a name stands twice; None where it does not parse."""
    from google.protobuf.message import DecodeError

    try:
        return {entry.key: entry.value for entry in message("Example").FromString(value).features.feature}
    except DecodeError:
        return None


def holds_sequences(value: bytes) -> bool:
    """Whether the record has feature lists, which an Example does not know."""
    from google.protobuf.message import DecodeError

    try:
        return len(message("SequenceExample").FromString(value).feature_lists.feature_list) > 0
    except DecodeError:
        return False


def _often(seen: dict[str, Seen], count: int) -> tuple[dict[str, Seen], tuple[str, ...]]:
    """The features that are worth a column: not those that stand on fewer than one of a hundred probed records."""
    kept = {name: its for name, its in seen.items() if its.kinds.total() * 100 >= count or not its.kinds}
    most = sorted(kept, key=lambda name: (-kept[name].kinds.total(), name))[:_MOST_FIELDS]
    left = len(seen) - len(most)
    return {name: kept[name] for name in most}, (f"{left} features that few records have are not looked at",) if left else ()


def _parse(values: Sequence[bytes | None], problems: dict[int, Problem]) -> tuple[list[dict[bytes, Any]], list[bool]]:
    """The features of each record, and whether it could be read."""
    from google.protobuf.message import DecodeError

    parse = message("Example").FromString
    records: list[dict[bytes, Any]] = []
    parsed: list[bool] = []
    for row, value in enumerate(values):
        features: dict[bytes, Any] = {}
        if value:
            try:
                features = {entry.key: entry.value for entry in parse(value).features.feature}
                parsed.append(True)
            except DecodeError:
                problems[row] = Problem("record-unparsable", f"{len(value):,} bytes that do not parse as tf.Example")
                parsed.append(False)
        else:
            if value is not None:
                problems[row] = no_bytes()
            parsed.append(False)
        records.append(features)
    return records, parsed


def _images(fields: Sequence[Field]) -> list[Field]:
    return [field for field in fields if field.kind is Kind.ENCODED]


def _siblings(image: Field, fields: Sequence[Field]) -> dict[str, str]:
    found = siblings_of(image.name, [field.name for field in fields], is_only=len(_images(fields)) == 1)
    return {sibling: name for sibling, name in found.items() if sibling in image.declared}


def _declaring(fields: Sequence[Field]) -> frozenset[str]:
    """Names of the fields that declare something of an image."""
    return frozenset(name for image in _images(fields) for name in _siblings(image, fields).values())


def _declared(image: Field, fields: Sequence[Field], siblings: Mapping[str, Any]) -> dict[str, list[Any]]:
    made: dict[str, list[Any]] = {}
    for sibling, name in _siblings(image, fields).items():
        values = siblings[name]
        if sibling == SIBLINGS[0]:
            made[sibling] = [format_of_suffix(value) if isinstance(value, str) else None for value in values]
        else:
            made[sibling] = list(numbers_or_none(values))
    return made
