"""Other formats, foreign bytes, and the real files of the corpus."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from datascrub.media.outcome import STATUSES
from datascrub.media.picture import examine, pictures
from datascrub.model import Column, Field, Kind, Role
from tests.media.drawn import encoded, jpeg, picture, png

BAD = {"empty", "truncated", "damaged", "not-an-image", "too-large"}
SEEDS = [jpeg(1, 40, 30), png(2, 40, 30), *(encoded(picture(3, 40, 30), name) for name in ("GIF", "WEBP", "BMP", "PPM", "JPEG2000", "ICO"))]


@pytest.mark.parametrize("name", ["GIF", "WEBP", "TIFF", "BMP", "PPM", "ICO", "TGA", "PCX", "SGI", "JPEG2000", "AVIF"])
def test_by_pillow(name: str) -> None:
    """What Pillow writes is whole, and has small gray pixels."""
    found = examine(encoded(picture(4, 64, 64), name))
    assert (found.status, found.width, found.height) == ("ok", 64, 64)
    assert found.pixels is not None
    assert found.pixels.dtype == np.uint8


def test_later_frame() -> None:
    """A cut in a later frame of a GIF is found though the first is whole."""
    frames = [picture(seed, 60, 40) for seed in range(4)]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert examine(data).frames == 4
    assert examine(data[: len(data) * 2 // 3]).status in BAD


@pytest.mark.parametrize("data", [b"<html>moved</html>", b'{"error": 404}', bytes(99), b"\x91\x02\x7f\x00\x13\xfe" * 9])
def test_no_picture(data: bytes) -> None:
    """What is no picture says so, and what it is."""
    found = examine(data)
    assert found.status == "not-an-image"
    assert found.detail


def test_postscript_is_never_run() -> None:
    """Neither plain PostScript nor its DOS form reaches Pillow's EPS reader, which starts Ghostscript on it."""
    plain = encoded(picture(6, 20, 20), "EPS")
    dos = b"\xc5\xd0\xd3\xc6" + (30).to_bytes(4, "little") + len(plain).to_bytes(4, "little") + bytes(16) + b"\xff\xff" + plain
    assert [examine(data).status for data in (plain, dos)] == ["not-an-image", "not-an-image"]


def test_empty() -> None:
    """No bytes are empty, not truncated."""
    assert examine(b"").status == "empty"


def test_impossible_bmp_and_rare_one() -> None:
    """30,000 bits a pixel are damage; 2 bits are only rare."""
    data = encoded(Image.new("L", (8, 8)), "BMP")
    for bits, status in ((30_000, "damaged"), (2, "unsupported")):
        assert examine(data[:28] + bits.to_bytes(2, "little") + data[30:]).status == status


@given(st.sampled_from(SEEDS), st.data())
def test_never_raises(seed: bytes, data: st.DataObject) -> None:
    """Whatever bytes hold, the answer is a picture with a known status, and a sentence where it is not ok."""
    made = bytearray(seed[: data.draw(st.integers(0, len(seed)))])
    for place in data.draw(st.lists(st.integers(0, max(0, len(made) - 1)), max_size=6)):
        if made:
            made[place] = data.draw(st.integers(0, 255))
    found = examine(bytes(made))
    assert found.status in STATUSES
    assert found.is_ok == (not found.detail)


def test_decoded_once() -> None:
    """A batch decodes a picture once, whoever asks; a missing value has none."""
    column = Column(Field("image", Role.IMAGE, Kind.ENCODED), [jpeg(5), None])
    assert pictures(column) is pictures(column)
    assert pictures(column)[1] is None


@pytest.mark.corpus
def test_real_files(corpus: Path) -> None:
    """Of the corpus's pictures no healthy one is called bad, and every corrupt or hazardous one is."""
    with (corpus / "MANIFEST.csv").open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["kind"] in ("image", "image-folder")]
    bad = {row["path"]: row["expected"] for row in rows if row["expected"].startswith("corrupt") or row["expected"] == "hazard"}
    healthy = [row["path"] for row in rows if row["expected"] in ("healthy", "format-sample")]
    missed = [path for path in bad if examine((corpus / path).read_bytes()).status not in BAD]
    accused = [path for path in healthy if examine((corpus / path).read_bytes()).status != "ok"]
    assert (missed, accused) == ([], [])
