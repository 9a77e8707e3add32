"""Pascal VOC's XML files, read without ever expanding an entity."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from datascrub.readers.image_folder_format.annotation_faults import Box, Fault, Repeats, box_fault

_DEEPEST = 50
_TOLERANCE = 1.0
"""pixels: edges are counted from 0 or from 1"""
_SIDES = ("xmin", "ymin", "xmax", "ymax")


@dataclass
class _Object:
    line: int
    name: str = ""
    corners: dict[str, str] = field(default_factory=dict)


class _NotReadError(Exception):
    """The file is refused before anything of it is expanded."""


class _Reader:
    """Gathers objects and the picture's size while the parser passes."""

    def __init__(self) -> None:
        self.objects: list[_Object] = []
        self.size: dict[str, str] = {}
        self.root = ""
        self._path: list[str] = []
        self._text: list[str] = []
        self._parser = parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = self._start, self._end, self._text.append
        parser.EntityDeclHandler = self._entity

    def read(self, data: bytes) -> None:
        self._parser.Parse(data, True)

    def _entity(self, *_: object) -> None:
        raise _NotReadError("declares an XML entity, which is never expanded here")

    def _start(self, name: str, _: object) -> None:
        self._path.append(name)
        self.root = self.root or name
        if len(self._path) > _DEEPEST:
            raise _NotReadError(f"elements more than {_DEEPEST} deep")
        if name == "object" and len(self._path) == 2:
            self.objects.append(_Object(self._parser.CurrentLineNumber))
        self._text.clear()

    def _end(self, name: str) -> None:
        text, below = "".join(self._text).strip(), self._path[1:]
        if below == ["object", "name"]:
            self.objects[-1].name = text
        elif below[:2] == ["object", "bndbox"] and len(below) == 3:
            self.objects[-1].corners[name] = text
        elif below[:1] == ["size"] and len(below) == 2:
            self.size[name] = text
        self._path.pop()
        self._text.clear()


def begins(head: bytes) -> bool:
    """Whether a file begins as one of Pascal VOC's."""
    return b"<annotation" in head


def faults_of(data: bytes, class_names: tuple[str, ...] | None, real: tuple[int, int] | None = None) -> tuple[list[Fault], int]:
    """(what is wrong, number of objects) of a file. real: (width, height) of its picture, where known: they count, and not what <size> says."""
    reader = _Reader()
    try:
        reader.read(data)
    except expat.ExpatError as error:
        return [Fault("annotation-unparsable", f"line {error.lineno}", f"no XML: {expat.ErrorString(error.code)}")], 0
    except _NotReadError as error:
        return [Fault("annotation-unparsable", "", str(error))], 0
    if reader.root != "annotation":
        return [Fault("annotation-unparsable", "", f"the root element is {reader.root[:40]!r}, not 'annotation'")], 0
    width, height = (_number(reader.size.get(side, "")) or 0.0 for side in ("width", "height"))
    found: list[Fault] = []
    if real is not None and (width, height) not in (real, real[::-1]):  # turned by EXIF, width and height change places
        if reader.size:
            says = f"<size> says {width:g} x {height:g}, the picture has {real[0]} x {real[1]}"
            found.append(Fault("annotation-size-mismatch", "", says))
        width, height = real
    repeats = Repeats()
    for number, each in enumerate(reader.objects, 1):
        where = f"line {each.line}, object {number}"
        fault = _fault(where, each, class_names, width, height) or repeats.fault(where, each.name, *(each.corners.get(side) for side in _SIDES))
        if fault is not None:
            found.append(fault)
    return found, len(reader.objects)


def _fault(where: str, each: _Object, class_names: tuple[str, ...] | None, width: float, height: float) -> Fault | None:
    if not each.name or (class_names is not None and each.name not in class_names):
        return Fault("annotation-class-unknown", where, f"no class is called {each.name[:40]!r}" if each.name else "the object has no class name")
    corners = [_number(each.corners.get(side, "")) for side in _SIDES]
    numbers = [corner for corner in corners if corner is not None]
    if len(numbers) < 4:
        side = _SIDES[corners.index(None)]
        return Fault("annotation-unparsable", where, f"{side} is {each.corners.get(side, 'missing')[:40]!r}, no number")
    xmin, ymin, xmax, ymax = numbers
    fault = box_fault(Box(xmin, ymin, xmax, ymax, width, height), _TOLERANCE)
    return None if fault is None else Fault(fault[0], where, f"{each.name[:40]}: {fault[1]}")


def _number(text: str) -> float | None:
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None
