"""What the features of a set are to a training: guessed once for the set, from their names and what the probed records hold."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from datascrub.layouts.example_message import BYTES, FLOAT, INT64
from datascrub.layouts.plain import is_text
from datascrub.media.sniff import sniff
from datascrub.model import OBJECTS, Field, Kind, Role

REQUIRED = "required"
"""in Field.declared: the set has this feature on every record, so that one without it is a finding"""
SIBLINGS = ("format", "width", "height", "channels")
_DTYPES = {INT64: "int64", FLOAT: "float32"}
_LABELS = frozenset({"label", "labels", "class", "target", "targets", "category", "lbl", "cls"})
_LABEL_PAIRS = frozenset({("class", "id"), ("label", "id"), ("category", "id"), ("class", "index"), ("label", "index")})
_IDS = frozenset({"id", "key", "uuid", "filename", "sha256", "md5", "path", "name"})
_HELD_VALUES = 64
_LEAST_SIDE = 8
"""pixels: a block of bytes with a smaller side is a table, not a picture"""


@dataclass
class Seen:
    """What the probed records hold of one feature.

    kinds: how often each kind of list. lengths: how often each number of values, by kind. rows: some of its first values.
    pictures, texts: of the bytes, how many are encoded images, and how many text.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    lengths: dict[str, Counter[int]] = field(default_factory=dict)
    rows: list[Any] = field(default_factory=list)
    pictures: int = 0
    texts: int = 0

    def add(self, kind: str | None, values: Sequence[Any]) -> None:
        if kind is None:
            return
        self.kinds[kind] += 1
        self.lengths.setdefault(kind, Counter())[len(values)] += 1
        if kind == BYTES and len(values):
            self.pictures += len(values) == 1 and sniff(values[0]).is_image
            self.texts += is_text(values[0])
        if len(self.rows) < 4 * _HELD_VALUES:
            self.rows.append(list(values[:_HELD_VALUES]) if kind != BYTES else [value[:_HELD_VALUES] for value in values[:8]])

    @property
    def kind(self) -> str | None:
        """The kind that most records have; None where none has one. Of equally many the first name, so that two runs agree."""
        return min(self.kinds, key=lambda kind: (-self.kinds[kind], kind)) if self.kinds else None

    @property
    def length(self) -> int | None:
        """The number of values that nearly all records have."""
        if self.kind is None:
            return None
        lengths = self.lengths[self.kind]
        length, count = max(lengths.items(), key=lambda item: (item[1], -item[0]))
        return length if nearly_all(count, lengths.total()) else None


def nearly_all(count: int, total: int) -> bool:
    """Whether `count` of `total` is the rule and the others the exception: 99 %, or all but one of four and more."""
    return count * 100 >= total * 99 or (count == total - 1 and count >= 3)


def fields_of(seen: Mapping[str, Seen], total: int) -> tuple[Field, ...]:
    """The fields of features, in the order of their names. total: probed records that parse."""
    images = [name for name, its in seen.items() if _is_picture(its)]
    siblings = {sibling for image in images for sibling in siblings_of(image, seen, is_only=len(images) == 1).values()}
    return tuple(_field(name, seen[name], total, siblings, seen, images) for name in sorted(seen))


def _field(name: str, its: Seen, total: int, siblings: set[str], seen: Mapping[str, Seen], images: list[str]) -> Field:
    kind, length = its.kind, its.length
    is_required = nearly_all(its.kinds.total(), total) and kind is not None
    declared: tuple[str, ...] = (REQUIRED,) if is_required else ()
    if kind is None:
        return Field(name, Role.IGNORE, Kind.TEXT)
    if kind == BYTES:
        if _is_picture(its):
            told = tuple(siblings_of(name, seen, is_only=len(images) == 1))
            is_mask = re.search(r"mask|segment|annotation", name.lower()) is not None
            return Field(name, Role.MASK if is_mask else Role.IMAGE, Kind.ENCODED, declared=told + declared)
        return Field(name, Role.IGNORE if name in siblings else _text_role(name, its), Kind.TEXT, declared=declared)
    role = Role.IGNORE if name in siblings else _number_role(name, length)
    if role is Role.BOXES or {"object", "objects"} & set(_words(name)):
        length = None  # as many as there are objects, even where nearly all probed records have one
    if role is Role.ARRAY and kind == INT64 and is_object_label(name):
        declared += (OBJECTS,)
    is_scalar = length == 1 and role in (Role.LABEL, Role.WEIGHT, Role.ID)
    shape = None if length is None else () if is_scalar else (length,)
    return Field(name, role, Kind.ARRAY, _DTYPES[kind], shape, declared)


def _is_picture(its: Seen) -> bool:
    return its.kind == BYTES and its.pictures * 2 > its.kinds[BYTES] - its.lengths[BYTES][0] > 0


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[/_\-. ]+", name.lower()) if word]


def is_label_name(name: str) -> bool:
    """label, image/class/label, y, target, class_id, …"""
    words = _words(name)
    if not words or {"object", "objects"} & set(words):
        return False
    return words[-1] in _LABELS or tuple(words[-2:]) in _LABEL_PAIRS or name.lower().rpartition("/")[2] == "y"


def is_object_label(name: str) -> bool:
    """image/object/class/label, objects/label, object/category_id, …"""
    words = _words(name)
    return bool({"object", "objects"} & set(words)) and (words[-1] in _LABELS or tuple(words[-2:]) in _LABEL_PAIRS)


def is_unknown(its: Seen) -> bool:
    """Whether the bytes are mostly neither text nor encoded images: raw pixels, a serialised tensor."""
    return its.kind == BYTES and not _is_picture(its) and its.texts * 2 < its.kinds[BYTES] - its.lengths[BYTES][0]


def _text_role(name: str, its: Seen) -> Role:
    words = _words(name)
    if is_unknown(its):
        return Role.IGNORE
    if is_label_name(name) and its.length == 1:
        return Role.LABEL
    return Role.ID if words and words[-1] in _IDS else Role.TEXT


def _number_role(name: str, length: int | None) -> Role:
    words = _words(name)
    if {"bbox", "bboxes", "box", "boxes"} & set(words):
        return Role.BOXES
    if length and is_label_name(name):
        return Role.LABEL
    if length != 1 and any("mask" in word for word in words):
        return Role.MASK
    if length == 1 and words and words[-1] in ("weight", "weights"):
        return Role.WEIGHT
    return Role.ID if length == 1 and words and words[-1] == "id" else Role.ARRAY


def role_of_array(name: str, dtype: str, shape: tuple[int, ...] | None, rank: int) -> Role:
    """What an array that stands as bytes is: a mask by its name, a picture by type and axes (height, width and, at most, channels), else numbers."""
    if re.search(r"mask|segment|annotation", name.lower()):
        return Role.MASK
    sides = shape[:2] if shape and len(shape) in (2, 3) else ()
    is_picture = dtype == "uint8" and rank in (2, 3) and (not sides or min(sides) >= _LEAST_SIDE)
    return Role.IMAGE if is_picture else Role.ARRAY


def siblings_of(image: str, names: Mapping[str, Any] | Sequence[str], *, is_only: bool, wanted: tuple[str, ...] = SIBLINGS) -> dict[str, str]:
    """Features that declare something of an encoded image: {"format": "image/format", …}. A bare "height" counts where there is one image alone."""
    folder = image[: image.rfind("/") + 1]
    word = re.sub(r"_(raw|encoded|bytes|data)$", "", image)
    prefixes = [folder] if folder else []
    prefixes += [f"{image}/", f"{image}_", f"{word}_", f"{word}/"] + ([""] if is_only else [])
    found: dict[str, str] = {}
    for sibling in wanted:
        for prefix in prefixes:
            if prefix + sibling in names and prefix + sibling != image:
                found[sibling] = prefix + sibling
                break
    return found


def labels_of(fields: Sequence[Field], seen: Mapping[str, Seen]) -> tuple[tuple[Any, ...], str | None]:
    """(label values met, the task that they suggest)."""
    for each in fields:
        if each.role is not Role.LABEL:
            continue
        rows = [row for row in seen[each.name].rows if row]
        values = [value for row in rows for value in row]
        if each.kind is Kind.ARRAY:
            values = [value for value in values if not isinstance(value, bytes)]  # a few records may hold a list of another kind
        else:
            values = [value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value) for value in values]
        held = {value for value in values if not (isinstance(value, float) and not math.isfinite(value))}
        return tuple(sorted(held)[:32]), _task(each, values)
    return (), None


def _task(label: Field, values: list[Any]) -> str | None:
    if not values:
        return None
    if label.shape and label.shape[0] > 1:
        return "multilabel" if set(values) <= {0, 1} else None
    fractions = sum(math.isfinite(value) and value != int(value) for value in values) if label.dtype == "float32" else 0
    if fractions * 4 > len(values):  # a few among whole numbers are what is wrong, and not what the labels are
        return "regression"
    return "classification" if len(values) < 20 or len(set(values)) <= len(values) // 2 else None
