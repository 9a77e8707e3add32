"""Pictures from a seed: soft colours, edges, camera noise. The same count gives the same files on every machine of one Pillow."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

SEED = 4
_CLASSES = 10


def photo(number: int) -> np.ndarray:
    """(400, 500, 3) uint8 of one number."""
    from PIL import Image

    random = np.random.default_rng([SEED, number])
    soft = Image.fromarray(random.integers(30, 226, (9, 11, 3), np.uint8)).resize((500, 400), Image.Resampling.BICUBIC)
    pixels = np.asarray(soft, np.float32).copy()
    for _ in range(12):
        top, left, high, wide = (int(value) for value in random.integers(10, 200, 4))
        pixels[top : top + high, left : left + wide] += random.integers(-50, 50, 3)
    pixels += random.normal(0, 7, pixels.shape)
    return pixels.clip(0, 255).astype(np.uint8)


def encoded(pixels: np.ndarray, form: str) -> bytes:
    from PIL import Image

    held = io.BytesIO()
    Image.fromarray(pixels).save(held, form, **({"quality": 90} if form == "JPEG" else {}))
    return held.getvalue()


def jpegs(count: int) -> Iterator[bytes]:
    """JPEGs of 500x400 and about 110 KB."""
    return (encoded(photo(number), "JPEG") for number in range(count))


def make_jpegs(place: Path, count: int) -> None:
    _write(place, jpegs(count), "jpg")


def make_pngs(place: Path, count: int) -> None:
    """PNGs of 250x200 and about 110 KB: noise does not deflate."""
    _write(place, (encoded(photo(number)[::2, ::2], "PNG") for number in range(count)), "png")


def make_small_jpegs(place: Path, count: int) -> None:
    """JPEGs of 32x32 and about 1 KB, cut from one picture after the other."""

    corners = [(top, left) for top in range(0, 384, 32) for left in range(0, 480, 32)]
    wholes = (photo(number) for number in itertools.count())
    cuts = (encoded(whole[top : top + 32, left : left + 32], "JPEG") for whole in wholes for top, left in corners)
    _write(place, itertools.islice(cuts, count), "jpg")


def _write(place: Path, files: Iterator[bytes], suffix: str) -> None:
    for number, held in enumerate(files):
        file = place / f"class{number % _CLASSES}" / f"{number:06d}.{suffix}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(held)
