"""YOLO's text files: a line for each object, class x y width height, as parts of the picture."""

from __future__ import annotations

import math
import re

from datascrub.readers.image_folder_format.annotation_faults import Box, Fault, Repeats, box_fault

_TOLERANCE = 0.01
"""how far an edge may lie outside: centre and size are rounded apart"""
_CENTRE_TOLERANCE = 0.001
_PIXELS = 2.0
"""a coordinate over it is no part of a picture, however rounded"""


def begins(head: bytes) -> bool:
    """Whether a text begins with a line of a class and coordinates, right or wrong: at least half of its words, and two, are numbers."""
    words = next((line.split() for line in head.decode("utf-8", "replace").splitlines() if line.strip()), [])
    return sum(_number(word) is not None for word in words) >= max(2, len(words) / 2)


def classes_of_yaml(text: str) -> int | None:
    """How many classes the description of a set declares: nc, or the entries of names. Read line by line, for no YAML of strangers is loaded."""
    told = re.search(r"^nc\s*:\s*(\d+)\s*(?:#.*)?$", text, re.MULTILINE)
    if told:
        return int(told[1]) or None
    block = re.search(r"^names\s*:\s*\n((?:[ \t]*(?:-|\d+\s*:)[ \t].*\n?)+)", text, re.MULTILINE)
    return len(block[1].splitlines()) if block else None


def faults_of(text: str, class_count: int | None) -> tuple[list[Fault], int]:
    """(what is wrong, number of objects) of a file."""
    found: list[Fault] = []
    repeats, objects = Repeats(), 0
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        objects += 1
        where = f"line {number}"
        fault = _fault(where, words, class_count) or repeats.fault(where, *words)
        if fault is not None:
            found.append(fault)
    return found, objects


def _fault(where: str, words: list[str], class_count: int | None) -> Fault | None:
    if len(words) < 5 or len(words) == 6:
        return Fault("annotation-unparsable", where, f"{len(words)} fields (columns), where a box has 5: class x y width height")
    label, *values = map(_number, words)
    if label is None or (math.isfinite(label) and label != math.trunc(label)):
        return Fault("annotation-class-unknown", where, f"the class {words[0][:40]!r} is no integer")
    numbers = [value for value in values if value is not None]
    if len(numbers) < len(values):
        return Fault("annotation-unparsable", where, f"can't parse the field {words[1 + values.index(None)][:40]!r} as a number")
    if not all(map(math.isfinite, [label, *numbers])):
        return Fault("annotation-not-finite", where, f"nan or inf among {' '.join(words)[:80]}: not finite")
    if label < 0 or (class_count is not None and label >= class_count):
        return Fault("annotation-class-unknown", where, f"class {label:.0f} is out of range" + (f" of {class_count} classes" if class_count else ""))
    return _place(where, numbers)


def _place(where: str, numbers: list[float]) -> Fault | None:
    """Where the object stands: a box, or points of an outline, of which only the unit is asked."""
    if max(map(abs, numbers)) > _PIXELS:
        says = f"{max(numbers):g} is no part of a picture: pixel coordinates, which must be normalised to 0..1"
        return Fault("annotation-not-normalised", where, says)
    return _box(where, *numbers) if len(numbers) == 4 else None


def _box(where: str, x: float, y: float, width: float, height: float) -> Fault | None:
    if width < 0 or height < 0:
        return Fault("annotation-box-inverted", where, f"width {width:g}, height {height:g}: negative")
    if not all(-_CENTRE_TOLERANCE <= value <= 1 + _CENTRE_TOLERANCE for value in (x, y, width, height)):
        return Fault("annotation-box-outside", where, f"{x:g} {y:g} {width:g} {height:g} is outside the range 0 to 1 of normalised coordinates")
    if width == 0 or height == 0:
        return Fault("annotation-box-zero-area", where, f"width {width:g}, height {height:g}: no area")
    fault = box_fault(Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2, 1.0, 1.0), _TOLERANCE)
    return None if fault is None else Fault(fault[0], where, fault[1])


def _number(word: str) -> float | None:
    try:
        return float(word) if "_" not in word else None
    except ValueError:
        return None
