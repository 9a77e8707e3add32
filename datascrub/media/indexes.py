"""The numbers that a mask picture holds, pixel for pixel: class indexes, not colours."""

from __future__ import annotations

import io

import numpy as np

_MOST_PIXELS = 1 << 26
"""of a picture whose colours are counted"""


def indexes(data: bytes) -> np.ndarray | None:
    """(h, w) integers of a picture that was found whole: palette indexes, gray values, or the one value of equal colour channels.

    None where its pixels are colours, or no integers. data: at most as many pixels as the limits allow, which media.picture has seen to.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.mode in ("1", "L", "P", "I", "I;16", "I;16B", "I;16L", "LA", "PA"):
                return _first_channel(np.asarray(image))
            if image.mode in ("RGB", "RGBA"):
                pixels = np.asarray(image)
                is_gray = np.array_equal(pixels[..., 0], pixels[..., 1]) and np.array_equal(pixels[..., 0], pixels[..., 2])
                return pixels[..., 0] if is_gray else None
    except Exception:  # noqa: BLE001  a decoder may raise anything on foreign bytes; whether the picture is whole is said elsewhere
        return None
    return None


def has_few_colours(data: bytes, most: int) -> bool:
    """Whether a picture is drawn in at most so many colours (of a palette: indexes), as masks are and photos are not."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > _MOST_PIXELS:
                return False
            return image.mode == "P" or len(np.unique(_packed(np.asarray(image)))) <= most
    except Exception:  # noqa: BLE001  likewise
        return False


def _packed(pixels: np.ndarray) -> np.ndarray:
    """One number for each pixel."""
    return pixels if pixels.ndim == 2 else pixels[..., :3].astype(np.int32) @ np.array([1, 256, 65536][: min(pixels.shape[2], 3)], np.int32)


def _first_channel(pixels: np.ndarray) -> np.ndarray:
    plane = pixels[..., 0] if pixels.ndim == 3 else pixels
    return plane.astype(np.uint8) if plane.dtype == bool else plane
