"""The boxes of TensorFlow's detection sets: four features, one for each corner's coordinate, joined to one field of (n, 4)."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from datascrub.layouts.example_columns import values_of
from datascrub.layouts.example_message import raw_name
from datascrub.layouts.example_roles import REQUIRED
from datascrub.model import CORNERS, OBJECTS, Column, Field, Kind, Problem, Role

_ORDER = ("xmin", "ymin", "xmax", "ymax")


def joined(fields: Sequence[Field]) -> tuple[Field, ...]:
    """The fields, with each image/object/bbox/{xmin, ymin, xmax, ymax} as one field image/object/bbox, in the place of the first of them."""
    named = {field.name: field for field in fields}
    made: list[Field] = []
    for field in fields:
        name = _parent(field, named)
        if name is None:
            made.append(field)
        elif all(each.name != name for each in made):
            four = [named[f"{name}/{corner}"] for corner in _ORDER]
            is_required = all(REQUIRED in each.declared for each in four)
            declared = (CORNERS, REQUIRED) if is_required else (CORNERS,)
            made.append(Field(name, Role.BOXES, Kind.ARRAY, four[0].dtype, None, declared))
    return tuple(made)


def _parent(field: Field, named: dict[str, Field]) -> str | None:
    """What the four features of boxes share, where this field is one of four of one type."""
    name, _, corner = field.name.rpartition("/")
    if not name or corner not in _ORDER or name in named:
        return None
    four = [named.get(f"{name}/{each}") for each in _ORDER]
    types = {each.dtype if each is not None and each.role is Role.BOXES and each.kind is Kind.ARRAY else None for each in four}
    return name if len(types) == 1 and None not in types else None


def is_joined(field: Field) -> bool:
    return CORNERS in field.declared


def boxes_of(
    field: Field, records: Sequence[dict[bytes, Any]], parsed: Sequence[bool], problems: MutableMapping[int, Problem]
) -> np.ndarray | list[Any]:
    """The boxes of each record, (n, 4); a record whose four lists differ in length has a problem and no boxes."""
    corners: list[np.ndarray | list[Any]] = []
    for corner in _ORDER:
        its = replace(field, name=f"{field.name}/{corner}", declared=tuple(name for name in field.declared if name == REQUIRED))
        corners.append(values_of(its, [features.get(raw_name(its.name)) for features in records], parsed, problems))
    if all(isinstance(each, np.ndarray) for each in corners) and len({np.shape(each) for each in corners}) == 1:
        return np.stack(corners, axis=-1)
    made: list[Any] = [None] * len(records)
    for row in range(len(records)):
        four = [each[row] for each in corners]
        lengths = [0 if each is None else len(each) for each in four]
        if len(set(lengths)) > 1:
            told = ", ".join(f"{corner} {length}" for corner, length in zip(_ORDER, lengths, strict=True))
            problems.setdefault(row, Problem("record-size-mismatch", f"the boxes of {field.name} have unequally many values: {told}"))
        elif any(each is not None for each in four):
            made[row] = np.stack(four, axis=-1)
    return made


def compare_counts(fields: Sequence[Field], columns: Mapping[str, Column], problems: MutableMapping[int, Problem]) -> None:
    """Give a record a problem whose objects have another number of classes than of boxes."""
    for boxes in fields:
        parent = boxes.name.rpartition("/")[0]
        for labels in fields:
            if is_joined(boxes) and OBJECTS in labels.declared and parent and labels.name.startswith(parent + "/") and labels.name in columns:
                for row, (some, others) in enumerate(zip(columns[boxes.name].values, columns[labels.name].values, strict=True)):
                    if some is not None and others is not None and len(some) != len(others):
                        told = f"{labels.name} has {len(others)} values, {boxes.name} has {len(some)} boxes"
                        problems.setdefault(row, Problem("record-size-mismatch", told))
