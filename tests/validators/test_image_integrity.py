"""image_integrity: damage is an error, what leaves the pixels whole is not."""

from __future__ import annotations

import subprocess
import sys

import pytest
from PIL import Image

from datascrub.validators import ImageIntegrity
from tests.media.drawn import chunk, encoded, jpeg, picture, png, png_of
from tests.validators.picture_sets import pictures_named, row_findings


def hole(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes(600) + data[middle + 600 :]


@pytest.mark.parametrize(
    ("data", "code", "severity"),
    [
        (b"", "image-empty", "error"),
        (jpeg(1)[:2000], "image-truncated", "error"),
        (hole(jpeg(6, 400, 300, quality=75)), "image-damaged", "error"),
        (b"<!DOCTYPE html><html></html>", "image-not-an-image", "error"),
        (png_of(bytes(9), 30_000, 30_000), "image-too-large", "error"),
        (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "image-unsupported", "warning"),
        (jpeg(2)[:-2] + bytes(range(1, 13)) + b"\xff\xd9", "image-extraneous-bytes", "warning"),
        (jpeg(3, exif=b"Exif\x00\x00Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x00"), "image-metadata-damaged", "info"),
        (jpeg(4) + jpeg(5, 16, 16), "image-trailing-bytes", "info"),
    ],
)
def test_one_fault_one_code(data: bytes, code: str, severity: str) -> None:
    """Each fault is named by its code, and by that only."""
    assert [(finding.code, finding.severity.value) for finding in ImageIntegrity().check(data)] == [(code, severity)]


@pytest.mark.parametrize(
    "data",
    [
        jpeg(6),
        jpeg(7, progressive=True),
        encoded(picture(8).convert("CMYK"), "JPEG"),
        png(9),
        encoded(picture(10).convert("I;16"), "PNG"),
        encoded(picture(11), "WEBP"),
        encoded(picture(12), "TIFF"),
        encoded(Image.new("1", (3, 3)), "PNG"),
        png_of(bytes(2), 1, 1, between=chunk(b"prIv", b"anything")),
    ],
)
def test_healthy(data: bytes) -> None:
    """Progressive, CMYK, 16 bit, one bit and private chunks are no fault."""
    assert ImageIntegrity().check(data) == []


def test_missing_value() -> None:
    """A sample without the field is measured as nothing, and accused of nothing."""
    column = pictures_named({"a.jpg": jpeg(13)})
    column.values = [None]
    assert row_findings(ImageIntegrity(), column) == []


def test_says_what_it_is() -> None:
    """The sentence names what stands in the picture's place."""
    (finding,) = ImageIntegrity().check(b'{"message": "rate limit"}')
    assert finding.message == "not a picture: JSON text"


def test_imports_little() -> None:
    """Checking a JPEG loads neither torch nor duckdb nor Pillow."""
    program = (
        "import sys; from datascrub.validators import ImageIntegrity; from pathlib import Path; "
        "assert ImageIntegrity().check(sys.stdin.buffer.read()) == []; print(*{'torch', 'tensorflow', 'duckdb', 'PIL', 'h5py'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", program], input=jpeg(14), capture_output=True, check=True)
    assert ran.stdout.strip() == b""
