"""image_encoder: quantisation tables and comments of JPEG pictures, as evidence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from datascrub.model import Column, Field, Kind, Role
from datascrub.validators.image_encoder import ImageEncoder
from tests.media.drawn import encoded, jpeg, picture, png
from tests.validators.picture_court import judged, of


def measured(*values: bytes | None) -> dict[str, np.ndarray]:
    return dict(ImageEncoder().measure(Column(Field("image", Role.IMAGE, Kind.ENCODED), list(values))))


def test_fingerprint() -> None:
    """Equal quality gives equal tables whatever the picture; a comment is read; other formats have neither."""
    made = measured(jpeg(1, quality=80), jpeg(2, quality=80), jpeg(1, quality=60), png(1), None, jpeg(3, comment=b"CREATOR: gd-jpeg v1.0\n"))
    tables = made["quantisation"].tolist()
    assert tables[0] == tables[1] != tables[2] and tables[3] is None and tables[4] is None
    assert made["encoder_comment"].tolist() == [None] * 5 + ["CREATOR: gd-jpeg v1.0"]


def exif(software: str) -> Image.Exif:
    made = Image.Exif()
    made[0x010F], made[0x0131] = "Maker of cameras", software
    return made


def text(software: str, kind: str = "") -> PngInfo:
    made = PngInfo()
    made.add_text("Title", "a picture")
    if kind == "iTXt":
        made.add_itxt("Software", software, zip=True)
    else:
        made.add_text("Software", software, zip=kind == "zTXt")
    return made


@pytest.mark.parametrize(
    "data",
    [
        jpeg(1, exif=exif("A program")),
        png(1, exif=exif("A program")),
        png(1, pnginfo=text("A program")),
        png(1, pnginfo=text("A program", "zTXt")),
        png(1, pnginfo=text("A program", "iTXt")),
        encoded(picture(1), "WEBP", exif=exif("A program")),
        encoded(picture(1), "TIFF", software="A program"),
    ],
)
def test_software(data: bytes) -> None:
    """The program that wrote a picture is read from EXIF and from a PNG's texts; a header that is cut anywhere gives what was read of it."""
    assert measured(data)["software"].tolist() == ["A program"]
    for length in (*range(0, 120, 3), len(data) // 2):
        assert "A program".startswith(measured(data[:length])["software"][0] or "")
    assert measured(jpeg(1, exif=exif("a\x1b[31m")))["software"].tolist() == ["a\\x1b[31m"]
    assert measured(jpeg(1, exif=exif("abc")), jpeg(1, exif=exif("x" * 300)))["software"].tolist() == ["abc", "x" * 80]


@pytest.mark.parametrize("length", [2, 3, 4, 20, 200])
def test_cut_headers(length: int) -> None:
    """A header that ends anywhere gives what was read of it."""
    assert measured(jpeg(1)[:length])["encoder_comment"].tolist() == [None]


def test_odd_one(tmp_path: Path) -> None:
    """One picture of another quality among sixty of one is told of; where qualities vary, none is."""
    files = {f"{n}.jpg": jpeg(n, 32, 32, quality=85) for n in range(60)}
    found = judged(tmp_path / "a", {**files, "odd.jpg": jpeg(99, 32, 32, quality=40)})
    assert of(found, "image-encoder-odd") == [("odd.jpg", "image-encoder-odd", "info")]
    varied = {f"{n}.jpg": jpeg(n, 32, 32, quality=60 + n % 9) for n in range(60)}
    assert of(judged(tmp_path / "b", varied), "image-encoder-odd") == []


def told(folder: Path, files: dict[str, bytes], odd: dict[str, bytes]) -> list[tuple[str | None, str]]:
    return [(finding.key, finding.message) for finding in judged(folder, {**files, **odd}) if finding.code == "image-encoder-odd"]


def test_odd_program(tmp_path: Path) -> None:
    """One picture that names a program where no other does, another one, or none where the others do, is told of; each by its own is none."""
    bare = {f"{n}.jpg": jpeg(n, 32, 32) for n in range(60)}
    named = {f"{n}.jpg": jpeg(n, 32, 32, exif=exif("Camera 1.0")) for n in range(60)}
    many = {f"{n}.jpg": jpeg(n, 32, 32, exif=exif(f"Camera {n % 9}.0")) for n in range(60)}
    shop = {"odd.jpg": jpeg(99, 32, 32, comment=b"CREATOR: gd-jpeg v1.0\n")}
    by = "CREATOR: gd-jpeg v1.0"
    assert told(tmp_path / "a", bare, shop) == [("odd.jpg", f"written by {by}, where 60 of 61 name no program")]
    assert told(tmp_path / "b", named, shop) == [("odd.jpg", f"written by {by}, 60 of 61 by Camera 1.0")]
    assert told(tmp_path / "c", named, {"odd.jpg": jpeg(99, 32, 32)}) == [("odd.jpg", "names no program, as 60 of 61 do (Camera 1.0)")]
    assert told(tmp_path / "d", many, shop) == told(tmp_path / "e", bare, {**shop, "two.jpg": jpeg(98, 32, 32, exif=exif("x"))}) == []


def test_odd_format_and_size(tmp_path: Path) -> None:
    """The only picture in another format, rightly named, is told of with its size; the size alone is none of this."""
    bare = {f"{n}.jpg": jpeg(n, 32, 32) for n in range(60)}
    ((key, message),) = told(tmp_path / "a", bare, {"odd.png": png(1, 40, 30)})
    assert (key, message) == ("odd.png", "png among 60 of 61 in jpeg; 40 x 30 pixels, 60 of 61 have 32 x 32")
    assert told(tmp_path / "b", bare, {"odd.jpg": jpeg(1, 40, 30)}) == []
