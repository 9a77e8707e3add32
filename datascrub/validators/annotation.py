"""Annotation files beside pictures whose lines or elements are wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, PartRule, Rule
from datascrub.validators.base import Validator

_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO
_PARTS: Mapping[str, tuple[Severity, str, str]] = {
    "annotation-unparsable": (_E, "a line, an element or a file that is not of its format", "write the line again; nothing of it can be used"),
    "annotation-not-finite": (_E, "a coordinate that is NaN or infinite", "compute the box again, or remove the line"),
    "annotation-class-unknown": (_E, "a class that is no number, no declared name, or out of range", "correct the class, or the declared classes"),
    "annotation-box-inverted": (_E, "a box whose second corner lies before the first", "swap the corners, or remove the box"),
    "annotation-box-zero-area": (_E, "a box without width or height", "remove the box: its logarithm is -Inf"),
    "annotation-box-outside": (_E, "a box that reaches out of its picture", "clip the box"),
    "annotation-not-normalised": (_E, "pixels in a format of normalised coordinates", "divide by width and height of the picture"),
    "annotation-box-repeated": (_I, "one box twice", "remove one, unless two objects share a box"),
    "annotation-size-mismatch": (_W, "the annotation gives its picture another size than it has", "write the size that the picture has"),
    "annotation-orphan": (_E, "an annotation whose picture is missing", "find the picture, or remove the annotation"),
    "annotation-empty": (_I, "annotation files without an object", "nothing, if pictures without objects are meant"),
    "annotation-missing": (_I, "pictures without an annotation file", "nothing, if pictures without objects are meant"),
}


@dataclass(frozen=True)
class Annotation(Validator):
    """A line or element of an annotation file that is wrong. The picture itself is not blamed.

    What it finds
        In YOLO text, Pascal VOC XML and COCO JSON beside an image folder: lines that do not parse, coordinates that are not finite, unknown classes,
        inverted boxes and boxes without area, boxes outside the picture, pixels where the format has parts of the picture, annotations without a
        picture (errors); a box twice, files without an object, pictures without a file (info). Each is a part named by file and line.
        Annotations are found in folders called labels, Annotations and the like, right beside the pictures, and in JSON files that name the pictures;
        elsewhere annotations and annotation_format in [data] say where.

    Why it breaks training
        A detector takes the logarithm of a box's width and divides by it; most loaders skip what they can't parse without a word, so that a picture
        full of objects trains as background.

    Example
        labels/y3.txt  annotation-not-normalised  line 1: 24 is no part of a picture: pixel coordinates, which must be normalised to 0..1

    What to do
        Correct the file. The cleaned copy leaves pictures and annotations as they are, for no sample is at fault.

    Parameters and facts
        No parameters, no facts: the lines are read when the source is listed. XML entities are never expanded.
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.RECORD})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.NOTE})
    measures: ClassVar[Mapping[str, Measurement]] = {}

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        return {}

    def rules(self) -> Sequence[Rule]:
        return tuple(PartRule(code, severity, says, (), fix) for code, (severity, says, fix) in _PARTS.items())
