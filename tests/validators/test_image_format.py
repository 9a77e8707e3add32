"""image_format: the name, the record and the set against the bytes."""

from __future__ import annotations

import pytest

from datascrub.model import Column, Field, Kind, Role
from datascrub.validators import ImageFormat
from tests.media.drawn import encoded, jpeg, picture, png
from tests.validators.picture_sets import pictures_named, row_findings, set_findings


def test_png_named_jpg() -> None:
    """A PNG under a .jpg name is image-format-mismatch, and only that."""
    column = pictures_named({"a.jpg": jpeg(1), "b.JPEG": jpeg(2), "c.jpg": png(3)})
    assert row_findings(ImageFormat(), column) == [("2", "image-format-mismatch", "warning")]


def test_the_record_says() -> None:
    """A format that a record declares counts before the name's suffix, as text or as bytes, in any of its spellings."""
    field = Field("image", Role.IMAGE, Kind.ENCODED)
    column = Column(field, [png(1), jpeg(2), jpeg(3)], {"format": [b"JPEG", "jpg", None], "extension": [".png", ".png", ".webp"]})
    assert [key for key, _, _ in row_findings(ImageFormat(), column)] == ["0", "2"]


def test_no_picture_is_no_mismatch() -> None:
    """What is no picture at all is left to image-not-an-image; a name without a format declares none."""
    column = pictures_named({"a.jpg": b"<html></html>", "b": png(1), "c.dat": png(2)})
    assert row_findings(ImageFormat(), column) == []


@pytest.mark.parametrize(("loader", "codes"), [("tensorflow", ["image-format-unreadable"]), ("pillow", []), ("", []), ("opencv", [])])
def test_declared_loader(loader: str, codes: list[str]) -> None:
    """WebP is an error where TensorFlow is the declared loader, and no fault elsewhere."""
    column = pictures_named({"a.webp": encoded(picture(1), "WEBP"), "b.jpg": jpeg(2)})
    assert [code for _, code, _ in row_findings(ImageFormat(), column, loader=loader)] == codes


def test_odd_one_out() -> None:
    """Where no name says anything, the single PNG among eleven JPEGs is the odd one out, and an error."""
    column = pictures_named({str(number): png(1) if number == 4 else jpeg(2) for number in range(12)})
    assert set_findings(ImageFormat(), column) == [("4", "image-format-mismatch", "error")]


def test_a_mixed_set_is_no_oddity() -> None:
    """Two formats in comparable numbers, and sets of fewer than ten, have no odd one out."""
    mixed = pictures_named({str(number): png(1) if number % 3 else jpeg(2) for number in range(12)})
    few = pictures_named({str(number): png(1) if number == 4 else jpeg(2) for number in range(9)})
    assert set_findings(ImageFormat(), mixed) == set_findings(ImageFormat(), few) == []
