"""Whether a picture shows colour, by its pixels, and how transparent its pixels are: looked for where an answer is cheap first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from datascrub.media.jpeg import Structure

_LEAST = 16
"""by which channels differ in a coloured pixel: chroma that is subsampled, quantised and rounded moves gray by less"""
_ROWS, _BYTES = 16, 4096
"""the top of a JPEG that answers for most photos, in rows and in bytes of its data"""


def shows_colour(pixels: np.ndarray) -> bool:
    """Whether red, green and blue of (h, w, 3 or more) uint8 differ anywhere by more than gray's rounding."""
    red = pixels[..., 0].astype(np.int16)
    return any(bool((np.abs(red - pixels[..., channel]) >= _LEAST).any()) for channel in (1, 2))


def of_jpeg(data: bytes, structure: Structure) -> bool | None:
    """Whether a JPEG of three channels shows colour; None where nothing can be told.

    The first rows are decoded from the first bytes of the first scan; only where they are gray is the whole decoded, at an eighth.
    """
    import simplejpeg

    if len(structure.sampling) != 3:
        return None
    start, _ = structure.scans[0][1:]
    top = bytearray(data[: start + _BYTES])
    rows = min(_ROWS, structure.height)
    top[structure.sof_at + 5 : structure.sof_at + 7] = rows.to_bytes(2, "big")
    try:
        for some, height in ((bytes(top), rows), (data, structure.height)):
            size = {"min_height": -(-height // 8), "min_width": -(-structure.width // 8)}
            if shows_colour(simplejpeg.decode_jpeg(some, "RGB", min_factor=1, strict=False, **size)):
                return True
    except ValueError:
        return None
    return False


def of_image(image: Any) -> bool | None:
    """Whether a loaded Pillow image of red, green and blue shows colour; None for other modes."""
    if image.mode not in ("RGB", "RGBA", "RGBX"):
        return None
    width, height = image.size
    sample = image.resize((min(width, 32), min(height, 32)), 0)  # 0 takes the nearest pixels
    return shows_colour(np.asarray(sample)) or shows_colour(np.asarray(image))


def alpha(image: Any) -> tuple[int, int] | None:
    """The least and the most alpha of a loaded Pillow image, 0 to 255; None where it has none."""
    if "transparency" in image.info and image.mode in ("1", "L", "P", "RGB"):
        image = image.convert("RGBA")
    if image.mode not in ("LA", "PA", "RGBA"):
        return None
    least, most = image.getchannel("A").getextrema()
    return int(least), int(most)
