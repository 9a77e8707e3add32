"""All other formats, by Pillow: every frame is decoded."""

from __future__ import annotations

import functools
import io
import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from datascrub.media import outcome, tint
from datascrub.media.picture import Picture
from datascrub.model import Limits

_BY_PILLOW = {"jpeg2000": "jp2", "ppm": "ppm", "cur": "ico", "mpo": "jpeg", "sun": "ras"}
_CHANNELS = {"1": 1, "L": 1, "P": 1, "LA": 2, "PA": 2, "La": 2, "RGB": 3, "YCbCr": 3, "LAB": 3, "HSV": 3, "RGBA": 4, "RGBa": 4, "RGBX": 4, "CMYK": 4}
_BITS = {"1": 1, "I;16": 16, "I;16B": 16, "I;16L": 16, "I": 32, "F": 32}
_NOT_HERE = re.compile(
    r"unsupported|not supported|unimplemented|not implemented|unknown (pixel format|compression|data)|can.t handle|cannot handle|needs? ",
    re.IGNORECASE,
)
# Pillow hands EPS to Ghostscript, which runs it as the program that it is; the others are stubs without a decoder.
_NEVER = frozenset(("EPS", "WMF", "BUFR", "GRIB", "HDF5", "MPEG"))
_PICTURES_UP_TO = 16
"""all frames together may hold this many times limits.max_pixels"""


def examine(data: bytes, limits: Limits, format_name: str) -> Picture:
    """The picture of any format that Pillow knows. format_name: what the bytes begin like, "" unknown."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Pillow warns of is judged from the header, by the scan's own limits
        try:
            with Image.open(io.BytesIO(data), formats=_formats()) as image:
                return _frames(image, data, limits, format_name)
        except Exception as error:  # noqa: BLE001 -- foreign bytes meet a foreign decoder: whatever it raises is what it says of them
            status, detail = _meaning(error, format_name, data)
            return Picture(format=format_name, status=status, detail=detail)


@functools.cache
def _formats() -> tuple[str, ...]:
    """The formats that Pillow may open: all but those whose reading starts a program, or needs one that is never here."""
    from PIL import Image

    Image.init()
    return tuple(name for name in Image.ID if name not in _NEVER)


def _frames(image: Any, data: bytes, limits: Limits, format_name: str) -> Picture:
    named = str(image.format or "").lower()
    facts: dict[str, Any] = {
        "format": format_name or _BY_PILLOW.get(named, named), "width": image.width, "height": image.height, "mode": image.mode,
        "channels": _CHANNELS.get(image.mode, 1), "bits": _BITS.get(image.mode, 8), "has_alpha": image.mode in ("LA", "PA", "RGBA", "RGBa", "La"),
    }  # fmt: skip
    if image.width * image.height > limits.max_pixels:
        return Picture(status=outcome.TOO_LARGE, detail=f"claims {image.width} x {image.height} pixels", **facts)
    pixels, number = None, 0
    try:
        image.load()
        pixels = small_gray(image)
        facts["is_coloured"], facts["alpha"] = tint.of_image(image), tint.alpha(image)
        facts["has_alpha"] = facts["has_alpha"] or "transparency" in image.info
        number, seen = 1, 0
        if facts["format"] == "psd":
            image.layers  # noqa: B018 -- reads the layers' headers; the layers are no frames: the picture is their sum
        while facts["format"] != "psd" and _next(image, number):
            seen += image.width * image.height
            if image.width * image.height > limits.max_pixels or seen > _PICTURES_UP_TO * limits.max_pixels:
                return Picture(status=outcome.TOO_LARGE, detail=f"frame {number}: all frames claim more than {seen:,} pixels", pixels=pixels, **facts)
            image.load()
            number += 1
    except Exception as error:  # noqa: BLE001 -- as above
        status, detail = _meaning(error, facts["format"], data)
        return Picture(status=status, detail=f"frame {number}: {detail}" if number else detail, frames=max(number, 1), pixels=pixels, **facts)
    return Picture(frames=number, orientation=_orientation(image), pixels=pixels, factor=facts["width"] / pixels.shape[1], **facts)


def _next(image: Any, number: int) -> bool:
    """Steps to frame `number`; False where there is none."""
    if not hasattr(image, "n_frames") and not getattr(image, "is_animated", False):
        return False
    try:
        image.seek(number)
    except EOFError:
        return False
    return True


def _orientation(image: Any) -> int:
    try:
        value = image.getexif().get(0x0112, 1)
    except Exception:  # noqa: BLE001 -- a bad EXIF block says nothing of the orientation
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


@dataclass(frozen=True, slots=True)
class First:
    """The first frame of a picture.

    pixels: small gray ones, None where Pillow fails. failure: what it says then, else "". ends_blank: whether the last row is all zeros.
    is_coloured, alpha: as of Picture.
    """

    pixels: np.ndarray | None = None
    failure: str = ""
    ends_blank: bool = False
    is_coloured: bool | None = None
    alpha: tuple[int, int] | None = None


def first_frame(data: bytes, formats: tuple[str, ...]) -> First:
    """The first frame of a picture in one of `formats` (Pillow's names), whose structure was walked before."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data), formats=formats) as image:
                image.load()
                last = np.asarray(image.crop((0, image.height - 1, image.width, image.height)))
                return First(small_gray(image), ends_blank=not last.any(), is_coloured=tint.of_image(image), alpha=tint.alpha(image))
    except Exception as error:  # noqa: BLE001 -- foreign bytes meet a foreign decoder
        return First(failure=outcome.clean(str(error)) or type(error).__name__)


def small_gray(image: Any) -> np.ndarray:
    """(h, w) uint8 gray of a loaded picture, reduced to outcome.SIDE. Wider numbers are spread over their own range."""
    factor = outcome.shrink(image.height, image.width)
    if image.mode in ("F", "I") or image.mode.startswith("I;16"):
        return _spread(np.asarray(image)[::factor, ::factor])
    if image.mode == "LAB":
        image = image.getchannel(0)
    elif image.mode in ("P", "1"):
        image = image.convert("L")
    if factor > 1:
        image = image.reduce(factor)
    return np.asarray(image if image.mode == "L" else image.convert("L"))


def _spread(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "u" or (values.size and 255 < values.max() <= 65535 and values.min() >= 0):
        return (values.astype(np.uint32) >> 8).astype(np.uint8)
    finite = np.nan_to_num(values.astype(np.float64), posinf=0.0, neginf=0.0)
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    return ((finite - low) * (255.0 / (high - low) if high > low else 0.0)).astype(np.uint8)


def bmp_is_impossible(data: bytes) -> bool:
    """Whether a BMP's header describes pixels that no decoder could read: no such depth, or colour masks with holes."""
    depth, compression = int.from_bytes(data[28:30], "little"), int.from_bytes(data[30:34], "little")
    if depth not in (0, 1, 2, 4, 8, 16, 24, 32, 64):
        return True
    if compression not in (3, 6):
        return False
    masks = [int.from_bytes(data[at : at + 4], "little") for at in (54, 58, 62)]
    return any(mask >> depth or ((mask | (mask - 1)) + 1) & mask for mask in masks if mask)


def _is_webp_tiff(data: bytes) -> bool:
    """Whether a TIFF's first directory names compression 50001, WebP, which Pillow's libtiff is built without."""
    little = (259).to_bytes(2, "little") + b"\x03\x00\x01\x00\x00\x00" + (50001).to_bytes(2, "little")
    big = (259).to_bytes(2, "big") + b"\x00\x03\x00\x00\x00\x01" + (50001).to_bytes(2, "big")
    return little in data or big in data


def _meaning(error: Exception, format_name: str, data: bytes) -> tuple[str, str]:
    """(status, detail) of what Pillow raised."""
    said = outcome.clean(str(error)) or type(error).__name__
    kind = type(error).__name__
    if kind == "DecompressionBombError" or isinstance(error, MemoryError):
        return outcome.TOO_LARGE, said.partition(", could")[0]
    if isinstance(error, NotImplementedError) or _NOT_HERE.search(said):
        return (outcome.DAMAGED if format_name == "bmp" and bmp_is_impossible(data) else outcome.UNSUPPORTED), said
    if kind == "UnidentifiedImageError":
        return (
            (outcome.DAMAGED, f"begins like {format_name}, and no decoder reads it")
            if format_name
            else (outcome.NOT_AN_IMAGE, "no picture format that is known here")
        )
    if format_name == "tiff" and "decoder error" in said and _is_webp_tiff(data):
        return outcome.UNSUPPORTED, "WebP compression inside a TIFF needs a decoder that is not here"
    truncated = "truncated" in said.lower() or "not enough image data" in said or isinstance(error, EOFError)
    return (outcome.TRUNCATED if truncated else outcome.DAMAGED), said
