"""What all decoders share: the words for how it went, the reduced size, gray pixels, and what stands behind the end."""

from __future__ import annotations

import re

import numpy as np

OK = "ok"
EMPTY = "empty"
TRUNCATED = "truncated"
DAMAGED = "damaged"
NOT_AN_IMAGE = "not-an-image"
TOO_LARGE = "too-large"
UNSUPPORTED = "unsupported"
STATUSES = (OK, EMPTY, TRUNCATED, DAMAGED, NOT_AN_IMAGE, TOO_LARGE, UNSUPPORTED)

SIDE = 240
"""pixels that the longer side keeps: a 500 x 400 photo is decoded at 1/2, where a QR code that covers a quarter of it is still read"""


def shrink(height: int, width: int) -> int:
    """The power of two, at most 8 per step of libjpeg, by which a picture may shrink and keep SIDE pixels on its longer side."""
    factor = 1
    while max(height, width) // (2 * factor) >= SIDE:
        factor *= 2
    return factor


def least(height: int, width: int) -> tuple[int, int]:
    """(height, width) that a scaled decode must keep."""
    factor = min(shrink(height, width), 8)
    return -(-height // factor), -(-width // factor)


def gray_of_inks(inks: np.ndarray, *, inverted: bool) -> np.ndarray:
    """(h, w) uint8 gray of (h, w, 4) inks; inverted: 255 is no ink, as Adobe stores them."""
    light = inks.astype(np.uint16) if inverted else 255 - inks.astype(np.uint16)
    colour = (light[..., 0] * 77 + light[..., 1] * 150 + light[..., 2] * 29) >> 8  # ITU-R BT.601 in 256ths
    return (colour * light[..., 3] // 255).astype(np.uint8)


def what_trails(trailing: bytes) -> str:
    """What bytes behind the end of a picture are, in words; "" where there are none."""
    if not trailing:
        return ""
    if not trailing.strip(b"\x00"):
        return "zeros"
    if not trailing.strip(b"\r\n \t"):
        return "line ends"
    start = trailing.lstrip(b"\x00\r\n\xff") if trailing[:2] != b"\xff\xd8" else trailing
    if start[:2] == b"\xff\xd8" or trailing.find(b"\xff\xd8\xff", 0, 4096) >= 0:
        return "a second JPEG picture"
    return "a second PNG picture" if trailing[:4] == b"\x89PNG" else "other bytes"


def clean(words: str) -> str:
    """A decoder's message without what changes from run to run or machine to machine: addresses and objects."""
    words = re.sub(r"<[^<>]* object at 0x[0-9a-f]+>|<_io[^<>]*>", "the data", words)
    return re.sub(r"\s+", " ", words).strip()[:200]
