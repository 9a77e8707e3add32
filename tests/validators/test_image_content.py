"""image_content: what a picture shows, judged by its own pixels."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFile

from datascrub.validators import ImageContent
from datascrub.validators.image_content import sharpness
from tests.media.drawn import encoded, jpeg, picture, png


def codes(data: bytes) -> list[str]:
    return [finding.code for finding in ImageContent().check(data)]


def gray(values: np.ndarray) -> bytes:
    return encoded(Image.fromarray(values.clip(0, 255).astype(np.uint8)), "PNG")


NOISE = np.random.default_rng(3).normal(0, 4, (90, 120))


@pytest.mark.parametrize("level", [0, 117, 255])
def test_blank(level: int) -> None:
    """One single level is blank, whatever it is, in JPEG and PNG; nothing else is said of it."""
    for format_name in ("PNG", "JPEG"):
        assert codes(encoded(Image.new("RGB", (90, 70), (level,) * 3), format_name)) == ["image-blank"]


def test_dark_and_bright() -> None:
    """Nearly black and nearly white pictures are named; a night sky with a few stars, and thin ink on white, are not."""
    assert codes(gray(12 + NOISE)) == ["image-too-dark"]
    assert codes(gray(243 + NOISE)) == ["image-too-bright"]
    stars, ink = np.full((90, 120), 4), np.full((90, 120), 255)
    stars[::11, ::13], ink[40:42, 10:110] = 230, 0
    assert codes(gray(stars)) == codes(gray(ink)) == []


def test_healthy_pictures_are_silent() -> None:
    """Photos, gray ones, two-tone and transparent drawings, and 16 bits that use little of their range have no finding."""
    icon = np.zeros((64, 64, 4), np.uint8)
    icon[16:48, 16:48, 3] = 255
    deep = Image.fromarray(np.arange(4096, dtype=np.uint16).reshape(64, 64))
    for data in (jpeg(1), png(2), encoded(picture(3).convert("1"), "PNG"), encoded(Image.fromarray(icon), "PNG"), encoded(deep, "PNG")):
        assert codes(data) == []


def test_truncated_and_saved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A JPEG cut in half, opened leniently and saved again is a flat band; a picture on gray with gray on top as well is none."""
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    whole = jpeg(5)
    with Image.open(io.BytesIO(whole[: len(whole) // 2])) as image:
        image.load()
        assert codes(encoded(image, "JPEG")) == ["image-flat-band"]
    framed = np.full((120, 160), 128)
    framed[30:90] = np.asarray(picture(4).convert("L"))[30:90]
    assert codes(gray(framed)) == []


def test_fully_transparent() -> None:
    """Alpha of 0 everywhere is named, in RGBA and in palettes; one opaque pixel is enough to be silent."""
    image = picture(6).convert("RGBA")
    image.putalpha(0)
    assert codes(encoded(image, "PNG")) == ["image-fully-transparent"]
    image.putpixel((3, 3), (9, 9, 9, 255))
    assert codes(encoded(image, "PNG")) == []
    palette = picture(6).quantize(16)
    assert codes(encoded(palette, "PNG", transparency=bytes(16))) == ["image-fully-transparent"]


def test_sharpness_does_not_depend_on_contrast() -> None:
    """A ramp has 1/16, noise 1, and half the contrast has the same; without change there is none."""
    ramp = np.arange(200, dtype=np.uint8)[None].repeat(100, 0)
    assert sharpness(ramp) == pytest.approx(1 / 16, rel=0.01)
    noise = np.random.default_rng(1).integers(0, 128, (100, 100), np.uint8)
    assert sharpness(noise) == pytest.approx(1, rel=0.05)
    assert sharpness(noise) == sharpness(noise * 2)
    assert sharpness(np.full((50, 50), 9, np.uint8)) is None


def test_colour_is_seen_by_content(tmp_path: Path) -> None:
    """Three channels that agree are gray, a single coloured corner is colour; of gray and CMYK nothing is told."""
    flat = picture(2).convert("L").convert("RGB")
    corner = flat.copy()
    corner.paste((200, 20, 20), (150, 110, 160, 120))
    told = []
    for image in (flat, corner, picture(2), flat.convert("L"), flat.convert("CMYK")):
        for name in ("JPEG", "PNG") if image.mode != "CMYK" else ("JPEG",):
            told.append(ImageContent().measure(_column(encoded(image, name)))["is_coloured"].tolist()[0])
    assert told == [False, False, True, True, True, True, None, None, None]


def _column(data: bytes):  # type: ignore[no-untyped-def]  # one encoded picture
    from datascrub.validators.base import as_column

    return as_column(data, ImageContent.roles, ImageContent.kinds)
