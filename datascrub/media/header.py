"""What the first bytes of a picture say of its size, without a pixel being decoded."""

from __future__ import annotations

import io

HEAD_BYTES = 1 << 16
"""of a file; a header that begins later (behind a large EXIF block) tells nothing"""


def size_in_header(head: bytes) -> tuple[int, int] | None:
    """(width, height) in pixels as stored, from the first HEAD_BYTES of a file; None where they tell nothing."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(head)) as image:
            return image.size
    except Exception:  # noqa: BLE001  foreign bytes meet Pillow's parsers; nothing is what they say
        return None
