"""image_encoder: quantisation tables and comments of JPEG pictures, as evidence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from datascrub.model import Column, Field, Kind, Role
from datascrub.validators.image_encoder import ImageEncoder
from tests.media.drawn import jpeg, png
from tests.validators.picture_court import judged, of


def measured(*values: bytes | None) -> dict[str, np.ndarray]:
    return dict(ImageEncoder().measure(Column(Field("image", Role.IMAGE, Kind.ENCODED), list(values))))


def test_fingerprint() -> None:
    """Equal quality gives equal tables whatever the picture; a comment is read; other formats have neither."""
    made = measured(jpeg(1, quality=80), jpeg(2, quality=80), jpeg(1, quality=60), png(1), None, jpeg(3, comment=b"CREATOR: gd-jpeg v1.0\n"))
    tables = made["quantisation"].tolist()
    assert tables[0] == tables[1] != tables[2] and tables[3] is None and tables[4] is None
    assert made["encoder_comment"].tolist() == [None] * 5 + ["CREATOR: gd-jpeg v1.0"]


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
