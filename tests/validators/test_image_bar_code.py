"""image_bar_code: codes that dominate, codes in a photo, and no code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import zxingcpp
from PIL import Image

from datascrub import scan
from datascrub.config import from_table
from datascrub.validators import ImageBarCode
from tests.media.drawn import encoded, jpeg, picture
from tests.validators.picture_sets import arrays, row_findings

SAYS = {
    "EAN13": "4006381333931", "EAN8": "96385074", "UPCA": "036000291452", "Code128": "SHOP-12345", "Code93": "SHOP123", "ITF14": "12345678901231",
    "DataMatrix": "https://shop.example", "Aztec": "https://shop.example", "PDF417": "https://shop.example",
}  # fmt: skip


def code(name: str, scale: int = 4) -> Image.Image:
    made = zxingcpp.create_barcode(SAYS[name], getattr(zxingcpp.BarcodeFormat, name))
    return Image.fromarray(np.array(zxingcpp.write_barcode_to_image(made, scale=scale)))


def page(image: Image.Image, width: int = 480, height: int = 360) -> Image.Image:
    made = Image.new("L", (width, height), 255)
    made.paste(image, ((width - image.width) // 2, (height - image.height) // 2))
    return made


def found(image: Image.Image, *, everywhere: bool = False) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity.value) for finding in ImageBarCode(bar_codes=everywhere).check(encoded(image.convert("RGB"), "JPEG"))]


@pytest.mark.parametrize("name", SAYS)
def test_dominates(name: str) -> None:
    """A code that fills the picture, or stands on a blank page, is an error: upright, turned by a quarter, square ones also light on dark."""
    is_square = name in ("DataMatrix", "Aztec")
    its = code(name, 3).resize((400, 400)) if is_square else code(name, 3)
    for image in (its, page(its.resize((480, its.height * 480 // its.width)), 640, 500), its.rotate(90, expand=True)):
        assert found(image) == [("image-bar-code", "error")]
    assert not is_square or found(Image.eval(its, lambda level: 255 - level)) == [("image-bar-code", "error")]
    (finding,) = ImageBarCode().check(encoded(its.convert("RGB"), "PNG"))
    assert SAYS[name].removeprefix("0") in str(finding.evidence["bar_text"])


def test_small_code_in_a_photo() -> None:
    """A small code in a photo is a part of it, and looked for where that is asked for alone."""
    photo = picture(1, 500, 400)
    photo.paste(code("DataMatrix", 6).resize((110, 110)), (20, 20))
    assert found(photo) == []
    assert found(photo, everywhere=True) == [("image-contains-bar-code", "info")]


def fence() -> Image.Image:
    """Stripes of even width, and letters."""
    rows = np.tile(np.repeat(np.array([0, 255], np.uint8), 6), 30)
    return Image.fromarray(np.tile(rows, (200, 1)))


@pytest.mark.parametrize("data", [jpeg(2), encoded(Image.new("RGB", (300, 300)), "PNG"), encoded(Image.new("L", (1, 1), 9), "PNG"), b"<html>", b""])
@pytest.mark.parametrize("everywhere", [False, True])
def test_no_code(data: bytes, everywhere: bool) -> None:
    """Photos, black pictures, single pixels and what is no picture hold none."""
    assert ImageBarCode(bar_codes=everywhere).check(data) == []


def test_stripes_are_no_code() -> None:
    """Even stripes, and a chess board, are none, though they are black on white."""
    squares = Image.fromarray(np.kron(np.indices((16, 16)).sum(0) % 2 * 255, np.ones((20, 20))).astype(np.uint8))
    for image in (fence(), squares):
        assert found(image) == found(image, everywhere=True) == []


def test_arrays() -> None:
    """uint8 arrays in two tones are searched; smaller ones, and photos, are not: NULL, not 0."""
    its = np.asarray(page(code("EAN13", 3).resize((300, 160)), 320, 320))
    values = np.stack([np.asarray(picture(3, 320, 320)), np.stack([its] * 3, axis=-1)])
    assert row_findings(ImageBarCode(), arrays(values)) == [("1", "image-bar-code", "error")]
    assert np.ma.getmaskarray(ImageBarCode().measure(arrays(values))["bar_code_count"]).tolist() == [True, False]
    assert np.ma.getmaskarray(ImageBarCode().measure(arrays(np.zeros((2, 28, 28), np.uint8)))["bar_code_count"]).all()


def test_in_a_scan(tmp_path: Path) -> None:
    """The switch of [data] reaches the measuring; most of a set is said once."""
    for number in range(6):
        (tmp_path / "set").mkdir(exist_ok=True)
        (tmp_path / "set" / f"{number}.jpg").write_bytes(jpeg(number, 320, 240))
    photo = picture(1, 500, 400)
    photo.paste(code("DataMatrix", 6).resize((110, 110)), (20, 20))
    (tmp_path / "set" / "9.jpg").write_bytes(encoded(photo, "JPEG"))
    for everywhere, keys in ((False, []), (True, ["9.jpg"])):
        config = from_table({"data": {"bar_codes": everywhere}})
        run = scan(str(tmp_path / "set"), out=tmp_path / "run", config=config, workers=1, backend="numpy")
        assert [finding.key for finding in run.findings("image-contains-bar-code")] == keys
