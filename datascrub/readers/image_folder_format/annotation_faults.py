"""Faults of annotation files, each named by its file and line or element; of many, the first are named and the others counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from datascrub.model import Part

_NAMED_A_FILE = 20
_NAMED = 1000


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one line or element. code: of a rule of the annotation validator. where: "line 3", "annotation 17"."""

    code: str
    where: str
    says: str


@dataclass(frozen=True, slots=True)
class Box:
    """Corners in the unit that `width` and `height` of the picture have; those are 0 where unknown, 1 for parts of the picture."""

    xmin: float
    ymin: float
    xmax: float
    ymax: float
    width: float = 0.0
    height: float = 0.0


def box_fault(box: Box, tolerance: float) -> tuple[str, str] | None:
    """(code, what is wrong) of a box; None where it is healthy. tolerance: how far it may reach out of its picture."""
    corners = (box.xmin, box.ymin, box.xmax, box.ymax)
    told = ", ".join(f"{value:.7g}" for value in corners)
    if not all(map(math.isfinite, corners)):
        return "annotation-not-finite", f"a coordinate of the box is not finite ({told})"
    if box.xmax < box.xmin or box.ymax < box.ymin:
        return "annotation-box-inverted", f"the box {told} has its second corner before the first"
    if box.xmax == box.xmin or box.ymax == box.ymin:
        return "annotation-box-zero-area", f"the box {told} has no area"
    if min(box.xmin, box.ymin) < -tolerance or _beyond(box.xmax, box.width, tolerance) or _beyond(box.ymax, box.height, tolerance):
        size = f" of {box.width:g} x {box.height:g}" if box.width > 1 else ""
        return "annotation-box-outside", f"the box {told} reaches outside the range of its picture{size}"
    return None


def _beyond(edge: float, side: float, tolerance: float) -> bool:
    return side > 0 and edge > side + tolerance


class Repeats:
    """Boxes of one picture that were met before."""

    def __init__(self) -> None:
        self._first: dict[tuple[object, ...], str] = {}

    def fault(self, where: str, *box: object) -> Fault | None:
        first = self._first.setdefault(box, where)
        return None if first == where else Fault("annotation-box-repeated", where, f"a duplicate of {first}")


class Sorter:
    """Faults -> parts."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._named: Counter[str] = Counter()
        self._left: Counter[str] = Counter()

    def parts(self, key: str, faults: list[Fault]) -> Iterator[Part]:
        """The faults of one file."""
        here: Counter[str] = Counter()
        for fault in faults:
            here[fault.code] += 1
            if here[fault.code] > _NAMED_A_FILE or self._named[fault.code] >= _NAMED:
                self._left[fault.code] += 1
                continue
            self._named[fault.code] += 1
            says = f"{fault.where}: {fault.says}" if fault.where else fault.says
            yield Part(fault.code, key, says, {"where": fault.where}, file=key)

    def rest(self) -> Iterator[Part]:
        """What was counted and not named."""
        for code, count in sorted(self._left.items()):
            yield Part(code, self._folder, f"{count:,} more of this kind", {"count": count})
