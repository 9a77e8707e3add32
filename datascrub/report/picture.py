"""The picture of one sample as a PNG file."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from datascrub.errors import UsageError


def write_png(place: Path, picture: np.ndarray | None, encoded: bytes | None) -> None:
    """Write an array (H, W[, 3]) uint8, or encoded bytes as far as they decode. Raises UsageError where there is no picture to write."""
    from PIL import Image, ImageFile

    if picture is not None:
        Image.fromarray(picture).save(place, "PNG")
        return
    if encoded is None:
        raise UsageError("the sample holds no picture")
    tolerant = ImageFile.LOAD_TRUNCATED_IMAGES
    ImageFile.LOAD_TRUNCATED_IMAGES = True  # a person wants to see what is there of a damaged picture
    try:
        with Image.open(io.BytesIO(encoded)) as image:
            image.convert("RGB").save(place, "PNG")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise UsageError(f"the picture can't be decoded: {type(error).__name__}", fix="write its bytes with --bytes") from error
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = tolerant
