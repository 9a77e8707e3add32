"""JPEG: strict to the last code, and fair to what is whole."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from datascrub.media import entropy
from datascrub.media.jpeg import walk
from datascrub.media.picture import examine
from datascrub.model import Limits
from tests.media.drawn import encoded, jpeg, picture


def scan_of(data: bytes) -> tuple[int, int]:
    """(start, stop) of the first scan's data."""
    return walk(data).scans[0][1:]


def oddly_sampled(codes: bytes) -> bytes:
    """A 32 x 32 colour file sampled 1x1, 2x1, 1x2, which simplejpeg refuses: 4 units of 5 blocks; the code of a block without detail is 001010."""
    gray = encoded(Image.new("L", (32, 32)), "JPEG")
    structure = walk(gray)
    frame = b"\xff\xc0\x00\x11\x08\x00\x20\x00\x20\x03" + b"\x01\x11\x00" + b"\x02\x21\x00" + b"\x03\x12\x00"
    scan = b"\xff\xda\x00\x0c\x03\x01\x00\x02\x00\x03\x00\x00\x3f\x00"
    tables = gray[structure.sof_at + 13 : structure.scans[0][0]]
    return gray[: structure.sof_at] + frame + tables + scan + codes + b"\xff\xd9"


FLAT = int("001010" * 20, 2).to_bytes(15, "big")


@pytest.mark.parametrize(
    "data",
    [
        jpeg(1),
        jpeg(2, progressive=True),
        jpeg(3, subsampling=0),
        jpeg(4, restart_marker_blocks=5),
        jpeg(5, width=1, height=1),
        encoded(picture(6).convert("L"), "JPEG"),
        encoded(picture(7).convert("CMYK"), "JPEG"),
        jpeg(8) + b"\n",
    ],
)
def test_healthy(data: bytes) -> None:
    """Baseline, progressive, restart markers, gray, CMYK, one pixel, a line end behind the end: whole, with pixels."""
    found = examine(data)
    assert (found.status, found.detail, found.warning, found.metadata_damage) == ("ok", "", "", "")
    assert found.pixels is not None


def test_reduced_pixels() -> None:
    """The pixels are the picture's own gray at a power of two, and say by how much they were reduced."""
    image = picture(9, 1000, 800)
    found = examine(encoded(image, "JPEG", quality=95))
    assert found.pixels is not None
    assert (found.factor, found.pixels.shape) == (4.0, (200, 250))
    truth = np.asarray(image.convert("L").resize((250, 200), Image.Resampling.BOX)).astype(int)
    assert np.abs(found.pixels.astype(int) - truth).mean() < 2


def test_inks_look_as_printed() -> None:
    """Gray of a CMYK file is that of its picture, not its negative."""
    found = examine(encoded(Image.new("CMYK", (32, 32), (0, 0, 0, 230)), "JPEG"))
    assert found.pixels is not None
    assert (found.mode, found.channels) == ("CMYK", 4)
    assert found.pixels.mean() < 60


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.99])
def test_cut(share: float) -> None:
    """A file that ends too early is truncated, wherever it was cut."""
    data = jpeg(10)
    assert examine(data[: int(len(data) * share)]).status == "truncated"


def test_end_marker_missing() -> None:
    """Whole pixels without an end marker are a truncated file."""
    assert examine(jpeg(11)[:-2]).status == "truncated"


def test_hole_of_zeros() -> None:
    """A hole of zeros inside the data, which Pillow reads in silence, is damage."""
    data = bytearray(jpeg(6, 400, 300, quality=75))
    middle = sum(scan_of(bytes(data))) // 2
    data[middle : middle + 600] = bytes(600)
    assert examine(bytes(data)).status == "damaged"


def test_bad_code_behind_extraneous_bytes() -> None:
    """libjpeg tells its last warning only: bytes too many at the end of a scan do not hide the damage before them."""
    data = bytearray(jpeg(12, 400, 300, subsampling=0, optimize=True))
    start, stop = scan_of(bytes(data))
    third = start + (stop - start) // 3
    del data[third : third + 400]
    stop -= 400
    data[stop:stop] = bytes(range(1, 200))
    assert examine(bytes(data)).status == "damaged"


def test_extraneous_bytes() -> None:
    """Junk behind the last code leaves the pixels whole: a warning, no damage."""
    data = jpeg(13)
    found = examine(data[:-2] + bytes(range(1, 13)) + data[-2:])
    assert found.status == "ok"
    assert "extraneous bytes" in found.warning


@pytest.mark.parametrize(
    ("codes", "status", "detail"),
    [
        (FLAT, "ok", ""),
        (FLAT[:-4], "damaged", "premature end of data segment"),
        (FLAT[:6] + b"\xff\x00" * 9, "damaged", "bad Huffman code"),
    ],
)
def test_uncommon_sampling(codes: bytes, status: str, detail: str) -> None:
    """A sampling that simplejpeg refuses is read by Pillow, which keeps libjpeg's warnings to itself; every code of it is looked at here."""
    found = examine(oddly_sampled(codes))
    assert (found.status, found.detail) == (status, detail)


@pytest.mark.parametrize("options", [{"subsampling": 0}, {"subsampling": 2}, {"subsampling": 2, "restart_marker_blocks": 3}, {"optimize": True}])
def test_every_code_is_right(options: dict[str, int]) -> None:
    """The look at every code finds nothing in a healthy file."""
    data = jpeg(15, 61, 47, **options)
    assert entropy.fault(data, walk(data)) == ""


def test_a_wrong_code_is_found() -> None:
    """The look at every code finds a hole."""
    data = bytearray(jpeg(16, 200, 150))
    middle = sum(scan_of(bytes(data))) // 2
    data[middle : middle + 100] = b"\xff\x00" * 50
    assert entropy.fault(bytes(data), walk(bytes(data))) != ""


@pytest.mark.parametrize(("marker", "bits"), [(0xC3, 8), (0xC0, 12), (0xC5, 8), (0xCB, 8)])
def test_never_decoded(marker: int, bits: int) -> None:
    """Lossless, hierarchical and 12-bit files are unsupported, never damaged, and never reach a scaled decode, which they would kill."""
    data = bytearray(jpeg(17))
    at = walk(bytes(data)).sof_at
    data[at + 1], data[at + 4] = marker, bits
    found = examine(bytes(data))
    assert (found.status, found.pixels) == ("unsupported", None)


def test_too_large() -> None:
    """A header that claims more than the limits is refused before anything is allocated."""
    data = bytearray(jpeg(18))
    at = walk(bytes(data)).sof_at
    data[at + 5 : at + 9] = b"\xff\xff\xff\xff"
    assert examine(bytes(data)).status == "too-large"
    assert examine(jpeg(18), Limits(max_pixels=100)).status == "too-large"


def test_what_trails() -> None:
    """Bytes behind the end are told by kind, and are no damage."""
    kinds = {behind: examine(jpeg(19) + behind).trailing for behind in (b"", b"\n", bytes(64), jpeg(20), b"GARBAGE")}
    assert list(kinds.values()) == ["", "line ends", "zeros", "a second JPEG picture", "other bytes"]


def test_misplaced_profile() -> None:
    """An ICC profile with wrongly numbered pieces is damage of the metadata, the pixels are whole."""
    data = jpeg(21, icc_profile=b"\x00" * 200)
    found = examine(data.replace(b"ICC_PROFILE\x00\x01\x01", b"ICC_PROFILE\x00\x02\x01"))
    assert (found.status, bool(found.metadata_damage)) == ("ok", True)


def test_orientation() -> None:
    """EXIF's orientation is told; a block with the header twice is damaged metadata."""
    block = Image.Exif()
    block[0x0112] = 6
    assert examine(jpeg(22, exif=block)).orientation == 6
    assert examine(jpeg(22, exif=b"Exif\x00\x00" + block.tobytes())).metadata_damage == "the EXIF header stands twice"
