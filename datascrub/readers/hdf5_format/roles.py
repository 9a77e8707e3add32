"""What the datasets of a set are to a training: guessed once for the set, from names, types and shapes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from datascrub.config import DataConfig
from datascrub.errors import UsageError
from datascrub.model import Field, Kind, Role
from datascrub.readers.hdf5_format.axis import base_name, field_name, is_carried
from datascrub.readers.hdf5_format.contents import LABEL_NAMES
from datascrub.readers.hdf5_format.dataset import Form, Stored

REQUIRED = "required"
"""in Field.declared: most files of the set have it, so that the rows of a file without it are a finding"""
_LABELS = LABEL_NAMES | {"class", "classes", "category", "lbl", "cls"}
_WEIGHTS = frozenset({"weight", "weights"})
_IDS = frozenset({"id", "ids", "key", "keys", "uuid", "filename", "filenames", "name", "names", "path", "paths", "index", "indices"})
_SPLITS = frozenset({"train", "training", "test", "val", "valid", "validation", "dev"})
_LEAST_SIDE = 8
"""pixels: a uint8 block with a smaller side is a table, not a picture"""
_HELD_LABELS = 32
_ONE_HOT_SHARE = 0.5
"""rows with a single 1: over it, rows of numbers are classes and the others are faults"""
_WHOLE_SHARE = 0.75
"""whole numbers among floats: over it, they are classes and the others are faults"""


def fields_of(files: Sequence[Sequence[Stored]], data: DataConfig) -> tuple[Field, ...]:
    """The fields of a set, from the datasets on the axis of each probed file, in order of names; a role that `data` declares wins."""
    seen: dict[str, list[Stored]] = {}
    for file in files:
        for stored in file:
            seen.setdefault(field_name(stored.name), []).append(stored)
    unknown = sorted(set(data.roles) - set(seen))
    if unknown and seen:
        raise UsageError(f"data.roles names {unknown[0]}, which is no dataset along the samples' axis", fix=f"fields: {', '.join(sorted(seen))}")
    holders = sum(bool(file) for file in files)
    fields = (_field(name, seen[name], holders) for name in sorted(seen))
    return tuple(declared_role(field, data.roles.get(field.name)) for field in fields)


def _field(name: str, held: Sequence[Stored], files: int) -> Field:
    form = Counter(stored.form for stored in held).most_common(1)[0][0]
    same = [stored for stored in held if stored.form is form]
    shape, dtype = _agreed([stored.shape for stored in same]), _agreed([stored.dtype for stored in same])
    required = (REQUIRED,) if len(held) * 2 > files else ()
    if is_carried(same[0]):
        return Field(name, Role.IGNORE, Kind.ARRAY, declared=required)
    words = words_of(name)
    if form is Form.TEXT:
        return Field(name, text_role(words), Kind.TEXT, declared=required)
    is_mask = any("mask" in word or word.startswith("segment") for word in words)
    if form is Form.PICTURES:
        return Field(name, Role.MASK if is_mask else Role.IMAGE, Kind.ENCODED, declared=required)
    role = number_role(words, shape, dtype, is_mask=is_mask)
    if form is Form.RAGGED:
        shape, dtype = None, _agreed([stored.ragged for stored in same])
    elif shape is not None and role in (Role.LABEL, Role.WEIGHT, Role.ID) and math.prod(shape) == 1:
        shape = ()  # Caffe writes labels as (N, 1, 1, 1)
    return Field(name, role, Kind.ARRAY, None if dtype is None else dtype.name, shape, required)


def _agreed(values: Sequence[Any]) -> Any:
    first, count = Counter(values).most_common(1)[0]
    return first if count * 100 >= len(values) * 99 else None


def words_of(name: str) -> list[str]:
    words = [word for word in re.split(r"[_\-. ]+", base_name(name)) if word]
    while len(words) > 1 and words[-1] in _SPLITS:
        words.pop()
    return words


def text_role(words: Sequence[str]) -> Role:
    return Role.LABEL if _LABELS & set(words[-1:]) else Role.ID if _IDS & set(words[-1:]) else Role.TEXT


def number_role(words: Sequence[str], shape: tuple[int, ...] | None, dtype: np.dtype[Any] | None, *, is_mask: bool) -> Role:
    last = set(words[-1:])
    is_single = shape is not None and math.prod(shape) == 1
    is_whole = dtype is not None and dtype.kind in "iub"
    if {"box", "boxes", "bbox", "bboxes"} & set(words):
        return Role.BOXES
    if is_mask:
        return Role.MASK
    if (last & _LABELS or (words[-1:] == ["id"] and words[:-1] and words[-2] in _LABELS)) and shape is not None:
        return Role.LABEL if is_single or len(shape) == 1 else Role.MASK if is_whole else Role.ARRAY
    if last & _WEIGHTS and is_single:
        return Role.WEIGHT
    if last & _IDS and is_single and is_whole:
        return Role.ID
    return Role.IMAGE if _is_picture(shape, dtype) else Role.ARRAY


def _is_picture(shape: tuple[int, ...] | None, dtype: np.dtype[Any] | None) -> bool:
    """uint8 blocks of (H, W), (H, W, C) or (C, H, W)."""
    if shape is None or dtype != np.uint8:
        return False
    if len(shape) == 3:
        sides = shape[:2] if shape[2] in (1, 3, 4) else shape[1:] if shape[0] in (1, 3, 4) else ()
    else:
        sides = shape if len(shape) == 2 else ()
    return len(sides) == 2 and min(sides) >= _LEAST_SIDE


def declared_role(field: Field, role: Role | None) -> Field:
    """The field under the role that its owner gives it; bytes that are called images are encoded images."""
    if role is None:
        return field
    is_encoded = role in (Role.IMAGE, Role.MASK) and field.kind is Kind.ARRAY and field.dtype == "uint8" and field.shape is None
    return replace(field, role=role, kind=Kind.ENCODED if is_encoded else field.kind)


def task_of(field: Field, values: np.ndarray | Sequence[Any]) -> tuple[tuple[Any, ...], str | None]:
    """(label values met, the task that they suggest). values: labels of some rows."""
    if not len(values):
        return (), None
    if field.kind is Kind.TEXT:
        words = [value if isinstance(value, str) else value.decode("utf-8", "backslashreplace") for value in values]
        return tuple(sorted(set(words))[:_HELD_LABELS]), "classification" if _repeats(words) else None
    block = np.asarray(values)
    finite = block[np.isfinite(block)]
    held = tuple(np.unique(finite)[:_HELD_LABELS].tolist())
    if field.shape:
        rows = block.reshape(len(block), -1)
        one_hot = ((rows == 1).sum(1) == 1) & ((rows == 0).sum(1) == rows.shape[1] - 1)
        if one_hot.mean() > _ONE_HOT_SHARE:
            return held, "classification"
        return held, "multilabel" if np.isin(finite, (0, 1)).all() else "regression" if block.dtype.kind == "f" else None
    if block.dtype.kind == "f" and (not finite.size or (finite == np.floor(finite)).mean() < _WHOLE_SHARE):
        return held, "regression" if finite.size else None
    return held, "classification" if _repeats(finite.tolist()) else None


def _repeats(values: Sequence[Any]) -> bool:
    """Whether values come again as classes do; a few rows don't tell."""
    return 0 < len(values) < 20 or len(set(values)) * 2 <= len(values)


def squeezed(field: Field, values: np.ndarray) -> np.ndarray:
    """A block of single numbers without the axes that Caffe adds."""
    if field.shape == () and values.ndim > 1 and values.size == len(values):
        return values.reshape(len(values))
    return values
