"""image_qr_code: codes that dominate, codes in a photo, and no code."""

from __future__ import annotations

import io

import numpy as np
import pytest
import segno
from PIL import Image, ImageDraw

from datascrub.validators import ImageQrCode
from tests.media.drawn import encoded, jpeg, picture
from tests.validators.picture_sets import arrays, row_findings


def code(text: str = "https://shop.example/item/7", scale: int = 6, **options: object) -> Image.Image:
    made = io.BytesIO()
    segno.make(text).save(made, kind="png", scale=scale, **options)
    return Image.open(made).convert("RGB")


def photo_with(image: Image.Image, size: tuple[int, int] = (500, 400)) -> Image.Image:
    photo = picture(1, *size)
    photo.paste(image, (20, 20))
    return photo


@pytest.mark.parametrize(
    "image",
    [code(), code(dark="white", light="black"), code().rotate(90), code().rotate(20, expand=True, fillcolor="white"), code().resize((900, 900))],
)
@pytest.mark.parametrize("name", ["PNG", "JPEG"])
def test_dominates(image: Image.Image, name: str) -> None:
    """A code that fills the picture is an error: dark on light, light on dark, turned, large."""
    (finding,) = ImageQrCode().check(encoded(image, name))
    assert (finding.code, finding.severity.value) == ("image-qr-code", "error")
    assert finding.evidence["qr_text"] == "https://shop.example/item/7"


def test_a_quarter_of_a_photo() -> None:
    """A code over a quarter of a 500 x 400 photo dominates it."""
    assert [f.code for f in ImageQrCode().check(encoded(photo_with(code().resize((330, 330))), "JPEG"))] == ["image-qr-code"]


def test_small_code() -> None:
    """A small code in a photo is a part of the photo: info."""
    (finding,) = ImageQrCode().check(encoded(photo_with(code().resize((120, 120))), "JPEG", quality=90))
    assert (finding.code, finding.severity.value) == ("image-contains-qr-code", "info")


@pytest.mark.parametrize("data", [jpeg(2), encoded(Image.new("RGB", (300, 300)), "PNG"), encoded(Image.new("L", (1, 1), 9), "PNG"), b"<html>", b""])
def test_no_code(data: bytes) -> None:
    """Photos, black pictures, single pixels and what is no picture hold none."""
    assert ImageQrCode().check(data) == []


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1)])
def test_arrays(axes: tuple[int, int, int]) -> None:
    """uint8 arrays are searched in both orders of their axes."""
    values = np.stack([np.asarray(picture(3, 120, 120)), np.asarray(code(scale=4).resize((120, 120)))]).transpose(0, *(axis + 1 for axis in axes))
    assert row_findings(ImageQrCode(), arrays(values)) == [("1", "image-qr-code", "error")]


def test_small_or_other_arrays_are_not_searched() -> None:
    """Below 64 pixels a side and in other types no code is looked for: NULL, not 0."""
    for values in (np.zeros((2, 3, 32, 32), np.uint8), np.zeros((2, 3, 100, 100), np.float32), [np.zeros(5, np.uint8), None]):
        assert np.ma.getmaskarray(ImageQrCode().measure(arrays(values))["qr_codes"]).all()


def test_text_is_printable_and_bounded() -> None:
    """What a code says reaches no terminal as a control sequence, and not at any length."""
    (finding,) = ImageQrCode().check(encoded(code("a\x1b[31m\u202eb" + "x" * 300), "PNG"))
    assert finding.evidence["qr_text"].isprintable()
    assert len(finding.evidence["qr_text"]) < 210


def test_code_on_a_page() -> None:
    """A small code on a page that is blank but for a line of text is all that the picture shows."""
    page = Image.new("RGB", (480, 640), "white")
    page.paste(code().resize((150, 150)).convert("RGB"), (160, 300))
    ImageDraw.Draw(page).text((100, 60), "Scan to open the shop", fill="black")
    (finding,) = ImageQrCode().check(encoded(page, "JPEG", quality=90))
    assert (finding.code, finding.severity.value) == ("image-qr-code", "error")
