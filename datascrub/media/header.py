"""What the first bytes of a picture say of it, without a pixel being decoded."""

from __future__ import annotations

import io
from typing import NamedTuple

HEAD_BYTES = 1 << 16
"""of a file; a header that begins later (behind a large EXIF block) tells nothing"""


class Header(NamedTuple):
    """format and mode in Pillow's words; width and height in pixels as stored."""

    format: str
    mode: str
    width: int
    height: int


def header_of(head: bytes) -> Header | None:
    """What the first HEAD_BYTES of a file say; None where they tell nothing."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(head)) as image:
            return Header(image.format or "", image.mode, *image.size)
    except Exception:  # noqa: BLE001  foreign bytes meet Pillow's parsers; nothing is what they say
        return None
