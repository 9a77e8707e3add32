"""near_duplicates: the same pixels in other bytes, and pictures that look alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance

from tests.media.drawn import encoded, jpeg, picture, png
from tests.validators.picture_court import judged, of

OURS = ("exact-duplicate", "pixel-duplicate", "pixel-duplicate-label-conflict", "near-duplicate", "duplicate-label-conflict")


def photos(count: int = 8) -> dict[str, bytes]:
    return {f"{seed}.jpg": jpeg(seed) for seed in range(count)}


def test_other_bytes_same_pixels(tmp_path: Path) -> None:
    """A PNG compressed anew is a pixel-duplicate and nothing else; an exact copy of it is an exact-duplicate and nothing else."""
    first, again = png(1), png(1, compress_level=1)
    assert first != again
    found = judged(tmp_path, {"a.png": first, "b.png": again, "c.png": again, "d.png": png(2), "e.png": png(3)})
    assert of(found, *OURS) == [("c.png", "exact-duplicate", "warning"), ("b.png", "pixel-duplicate", "warning")]


def test_other_bytes_other_label(tmp_path: Path) -> None:
    """Equal pixels under two labels are errors, all of them named; under one label they are not."""
    files = {"a": png(1), "b": png(1, compress_level=1), **{str(seed): png(seed) for seed in range(2, 8)}}
    found = judged(tmp_path / "a", files, ["cat", "dog", *["cat", "dog"] * 3])
    code = "pixel-duplicate-label-conflict"
    assert of(found, code) == [("a", code, "error"), ("b", code, "error")]
    assert of(judged(tmp_path / "b", files, ["cat", "cat", *["cat", "dog"] * 3]), code) == []


def test_copies_that_look_alike(tmp_path: Path) -> None:
    """Saved again, halved, brightened and gray copies are one group; each names an earlier one, and no other picture is named."""
    image = picture(3, 320, 240)
    copies = {
        "again": encoded(image, "JPEG", quality=40),
        "half": encoded(image.resize((160, 120)), "JPEG"),
        "bright": encoded(ImageEnhance.Brightness(image).enhance(1.05), "JPEG"),
        "gray": encoded(image.convert("L"), "JPEG"),
    }
    found = judged(tmp_path, {**photos(3), "first": encoded(image, "JPEG", quality=95), **copies, "other": jpeg(77)})
    assert of(found, *OURS) == [(key, "near-duplicate", "warning") for key in copies]
    assert {finding.evidence["copies"] for finding in found if finding.code == "near-duplicate"} == {5}


def test_blank_and_small_pictures_are_no_copies(tmp_path: Path) -> None:
    """All black, all white, digits of 28 pixels, and different objects on white don't look alike."""
    random, files = np.random.default_rng(2), {}
    for side in (80, 81, 82):
        for level in (0, 255):
            files[f"{level} {side}"] = encoded(Image.new("L", (side, side), level), "PNG")
    for number in range(12):
        digit = np.zeros((28, 28), np.uint8)
        digit[4:24, 10 + number % 4 : 13 + number % 4] = 200 + number
        files[f"digit {number}"] = encoded(Image.fromarray(digit), "PNG")
        thing = np.full((96, 96), 255, np.uint8)
        top, left, high, wide = random.integers(15, 45, 4)
        thing[top : top + high, left : left + wide] = random.integers(0, 120)
        files[f"thing {number}"] = encoded(Image.fromarray(thing), "PNG")
    assert of(judged(tmp_path, files), *OURS) == []


def test_icons_under_alpha_and_deep_pictures_are_no_copies(tmp_path: Path) -> None:
    """Black icons that differ in alpha alone, and 16-bit pictures that differ below the eighth bit, are not the same pixels."""
    files = {}
    for number in range(4):
        icon = np.zeros((80, 80, 4), np.uint8)
        icon[10 * number : 10 * number + 20, 20:60, 3] = 255
        icon[0, 0, :3] = 255
        files[f"icon {number}"] = encoded(Image.fromarray(icon), "PNG")
        deep = np.asarray(picture(1).convert("L")).astype(np.uint16) // 16 * 256 + number
        files[f"deep {number}"] = encoded(Image.fromarray(deep), "PNG")
    assert of(judged(tmp_path, files), "exact-duplicate", "pixel-duplicate") == []
