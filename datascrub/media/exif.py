"""EXIF, as far as a trainer meets it: the orientation, and whether the block is whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

_ORIENTATION = 0x0112
_ORDERS: Mapping[bytes, Literal["little", "big"]] = {b"II*\x00": "little", b"MM\x00*": "big"}
_SIZES = (0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4)
"""bytes of one value by TIFF's type number (13 is IFD)"""


@dataclass(frozen=True, slots=True)
class Exif:
    """orientation: 1 to 8, 1 where it says nothing. damage: what is wrong with the block, "" where nothing is."""

    orientation: int = 1
    damage: str = ""


NOTHING = Exif()


def examine(block: bytes) -> Exif:
    """The first directory of an EXIF block, from its TIFF header on. Entries that point outside are damage; later directories are not followed."""
    if block.startswith(b"Exif\x00\x00"):
        return Exif(examine(block[6:]).orientation, "the EXIF header stands twice")
    order = _ORDERS.get(block[:4])
    if order is None:
        return Exif(1, "the EXIF block has no TIFF header")

    def read(at: int, size: int) -> int:
        return int.from_bytes(block[at : at + size], order)

    start = read(4, 4)
    count = read(start, 2)
    if start < 8 or start + 2 + 12 * count > len(block):
        return Exif(1, "the EXIF directory stands outside its block")
    orientation, damage = 1, ""
    for at in range(start + 2, start + 2 + 12 * count, 12):
        tag, kind, number = read(at, 2), read(at + 2, 2), read(at + 4, 4)
        size = number * (_SIZES[kind] if kind < len(_SIZES) else 0)
        if size > 4 and read(at + 8, 4) + size > len(block):
            damage = "an EXIF entry points outside its block"
        if tag == _ORIENTATION:
            value = read(at + 8, 2) if kind == 3 else read(at + 8, 4)
            if 1 <= value <= 8:
                orientation = value
            elif value:
                damage = damage or f"EXIF orientation {value}"
    return Exif(orientation, damage)
