"""A decoded picture, and how bytes become one: sniff, walk the structure, decode strictly at reduced size."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datascrub.media.outcome import EMPTY, NOT_AN_IMAGE, OK, TOO_LARGE, UNSUPPORTED
from datascrub.media.sniff import sniff
from datascrub.model import Column, Kind, Limits

_UNDECODED = frozenset(("svg", "heic", "jxl", "exr", "hdr"))
"""pictures for which no decoder is here"""


@dataclass(frozen=True)
class Picture:
    """What one encoded image holds.

    status: ok (all pixel data were decoded without a complaint), empty (no bytes), truncated (ends too early), damaged (the data contradict
        themselves: checksum, Huffman code, a frame), not-an-image (something else, or nothing known), too-large (claims more than the limits;
        nothing was allocated), unsupported (a coding that no decoder here reads; never called damaged).
    detail: a sentence that says why status is not ok; empty where it is.
    format: lower-case name of what the bytes are (jpeg, png, gif, webp, … also html, json, text, zip, …); "" unknown.
    width, height: as the header says, in pixels, not turned by orientation; 0 unknown. mode: 1, L, LA, P, RGB, RGBA, CMYK, YCCK, I;16, F, ….
    channels: samples a pixel as stored (a palette picture has 1). bits: of one sample. frames: pictures in the file.
    orientation: EXIF's, 1 where it says nothing.
    warning: damage that leaves the pixels whole ("extraneous bytes …"); metadata_damage: a bad ICC or EXIF block. Both empty where there is none.
    trailing_bytes: bytes behind the end; trailing: what they are (zeros, newline, a jpeg, other bytes).
    coding: for JPEG baseline, extended, progressive, lossless, arithmetic, …; for PNG interlaced; else "".
    pixels: (h, w) uint8 gray of the first frame, reduced by a power of two so that its longer side keeps 240 pixels or more (see outcome.SIDE);
        None where no pixels could be had, and for PNG beyond 33 million pixels. factor: width / width of pixels, 1.0 where not reduced.
    is_coloured: whether pixels of red, green and blue differ; None for other modes. alpha: its least and its most, 0 to 255; None without alpha.
    """

    format: str = ""
    status: str = OK
    detail: str = ""
    width: int = 0
    height: int = 0
    mode: str = ""
    channels: int = 0
    bits: int = 0
    frames: int = 1
    coding: str = ""
    orientation: int = 1
    has_alpha: bool = False
    warning: str = ""
    metadata_damage: str = ""
    trailing_bytes: int = 0
    trailing: str = ""
    pixels: np.ndarray | None = None
    factor: float = 1.0
    is_coloured: bool | None = None
    alpha: tuple[int, int] | None = None

    @property
    def is_ok(self) -> bool:
        return self.status == OK


def examine(data: bytes, limits: Limits | None = None) -> Picture:
    """The picture that these bytes hold, strictly checked. Never raises for what the bytes are."""
    limits = limits or Limits()
    if not data:
        return Picture(status=EMPTY, detail="no bytes")
    content = sniff(data)
    try:
        return _by_format(data, limits, content.name, content.is_image, content.says)
    except MemoryError:
        return Picture(format=content.name, status=TOO_LARGE, detail="needs more memory than there is")


def _by_format(data: bytes, limits: Limits, name: str, is_image: bool, says: str) -> Picture:
    from datascrub.media import jpeg, other, png

    if name == "jpeg":
        return jpeg.examine(data, limits)
    if name == "png":
        return png.examine(data, limits)
    if name in _UNDECODED:
        return Picture(format=name, status=UNSUPPORTED, detail=f"{says} needs a decoder that is not here")
    if is_image:
        return other.examine(data, limits, name)
    if name:
        return Picture(format=name, status=NOT_AN_IMAGE, detail=says)
    picture = other.examine(data, limits, "")
    return picture if picture.format else replace(picture, status=NOT_AN_IMAGE, detail=says)


def pictures(column: Column) -> list[Picture | None]:
    """The picture of each sample of an encoded column, decoded once for the batch whoever asks; None where the sample has no value."""
    return column.derive("pictures", _examined)


def _examined(column: Column) -> list[Picture | None]:
    assert column.field.kind is Kind.ENCODED
    return [None if value is None else examine(value, column.limits) for value in column.values]
