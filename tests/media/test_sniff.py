"""What bytes are, by their beginning."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import tarfile
import zipfile

import pytest

from datascrub.media.sniff import format_of_suffix, sniff
from tests.media.drawn import encoded, jpeg, picture, png


def archive() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as held:
        held.writestr("a.txt", "a")
    return made.getvalue()


def tape() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as held:
        held.addfile(tarfile.TarInfo("a.txt"), io.BytesIO())
    return made.getvalue()


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"", "empty"),
        (bytes(500), "zeros"),
        (b"\xff" * 64, "constant"),
        (b"<!DOCTYPE html>\n<html></html>", "html"),
        (b"\xef\xbb\xbf  <!-- moved -->\n<HTML><body>", "html"),
        (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "xml"),
        (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>', "svg"),
        (json.dumps({"error": 404}).encode(), "json"),
        ("Nicht gefunden: Übertragung".encode(), "text"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "lfs-pointer"),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "http-answer"),
        (b"%PDF-1.7\n", "pdf"),
        (archive(), "zip"),
        (gzip.compress(b"x", mtime=0), "gzip"),
        (tape(), "tar"),
        (b"\x7fELF\x02\x01", "elf"),
        (pickle.dumps([1, 2], 4), "pickle"),
        (b"\x00\x05\x16\x07\x00\x02\x00\x00", "appledouble"),
        (b"\x91\x02\x7f\x00\x13\xfe", ""),
    ],
)
def test_no_picture(data: bytes, name: str) -> None:
    """What stands in a picture's place is told by name, and is no picture (a drawing in SVG is one)."""
    assert (sniff(data).name, sniff(data).is_image) == (name, name == "svg")


@pytest.mark.parametrize("name", ["GIF", "WEBP", "TIFF", "BMP", "PPM", "ICO", "TGA", "PCX", "SGI", "DDS", "AVIF"])
def test_pictures(name: str) -> None:
    """The formats that Pillow writes are told by their bytes (of TGA those with the footer of its second version)."""
    content = sniff(encoded(picture(0, 64, 64), name))
    assert (content.name, content.is_image) == (name.lower(), True)


def test_jpeg_and_png() -> None:
    """JPEG by its first marker, PNG by its signature."""
    assert (sniff(jpeg()).name, sniff(png()).name) == ("jpeg", "png")


def test_suffixes() -> None:
    """A suffix, a declared format and a media type name the same format; a suffix that names none is None."""
    assert {format_of_suffix(text) for text in ("jpg", ".JPG", "jpeg", "JPEG", "image/jpeg", ".jfif")} == {"jpeg"}
    assert [format_of_suffix(text) for text in (".tif", ".pgm", ".txt", "")] == ["tiff", "ppm", None, None]
