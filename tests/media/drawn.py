"""Pictures with texture, drawn from a seed, and the pieces that tests take them apart with."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
from PIL import Image


def picture(seed: int, width: int = 160, height: int = 120) -> Image.Image:
    """A smooth colour picture with noise."""
    random = np.random.default_rng(seed)
    coarse = Image.fromarray(random.integers(0, 256, (8, 10, 3), dtype=np.uint8)).resize((width, height), Image.Resampling.BICUBIC)
    noisy = np.asarray(coarse).astype(int) + random.normal(0, 8, (height, width, 3))
    return Image.fromarray(noisy.clip(0, 255).astype(np.uint8))


def encoded(image: Image.Image, name: str, **options: Any) -> bytes:
    made = io.BytesIO()
    image.save(made, name, **options)
    return made.getvalue()


def jpeg(seed: int = 0, width: int = 160, height: int = 120, **options: Any) -> bytes:
    return encoded(picture(seed, width, height), "JPEG", **({"quality": 90} | options))


def png(seed: int = 0, width: int = 96, height: int = 80, **options: Any) -> bytes:
    return encoded(picture(seed, width, height), "PNG", **options)


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_of(rows: bytes, width: int, height: int, *, bits: int = 8, colour: int = 0, between: bytes = b"") -> bytes:
    """A PNG of rows that already hold their filter bytes. between: chunks that stand before the data."""
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + between + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
