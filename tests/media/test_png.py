"""PNG: checksums, rows, filters and frames."""

from __future__ import annotations

import resource
import zlib

import pytest
from PIL import Image

from datascrub.media.picture import examine
from tests.media.drawn import chunk, encoded, picture, png, png_of


def animation() -> bytes:
    frames = [picture(seed, 40, 30) for seed in range(3)]
    return encoded(frames[0], "PNG", save_all=True, append_images=frames[1:], duration=50)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "I;16"])
def test_healthy(mode: str) -> None:
    """Every mode that Pillow writes is whole, with pixels."""
    image = picture(0, 50, 40).convert("I;16" if mode == "I;16" else mode)
    found = examine(encoded(image, "PNG"))
    assert (found.status, found.detail, found.width, found.height) == ("ok", "", 50, 40)
    assert found.pixels is not None


def test_flipped_bit() -> None:
    """A flipped bit anywhere in a chunk is found by its checksum."""
    data = bytearray(png(1))
    data[len(data) // 2] ^= 4
    assert examine(bytes(data)).status == "damaged"


@pytest.mark.parametrize("cut", [20, 60, 1000, -12, -1])
def test_cut(cut: int) -> None:
    """A file that ends before or inside its IEND chunk is truncated."""
    assert examine(png(2)[:cut]).status == "truncated"


def test_rows_missing() -> None:
    """Rows that are not there are found even where the data end with a whole row, which Pillow fills with black in silence."""
    rows = (b"\x00" + bytes(range(100, 116))) * 9
    assert examine(png_of(rows, 16, 9)).status == "ok"
    assert examine(png_of(rows[:-17], 16, 9)).status == "damaged"
    assert examine(png_of(rows[:-1], 16, 9)).status == "damaged"


def test_filter() -> None:
    """A row with a filter that does not exist is damage."""
    rows = (b"\x00" + bytes(16)) * 5 + b"\x07" + bytes(16)
    assert "filter 7" in examine(png_of(rows, 16, 6)).detail


def test_checksum_repaired() -> None:
    """A damaged stream under a checksum that fits does not inflate."""
    packed = bytearray(zlib.compress(bytes(1000) + bytes(range(250)) * 4))
    packed[len(packed) // 2] ^= 0x40
    whole = png_of(b"", 10, 10)
    damaged = whole.replace(chunk(b"IDAT", zlib.compress(b"", 9)), chunk(b"IDAT", bytes(packed)))
    assert examine(damaged).status == "damaged"


def test_interlaced() -> None:
    """The seven passes of an interlaced picture have rows of their own; one row less is damage."""
    header = b"\x00\x00\x00\x08\x00\x00\x00\x08\x08\x00\x00\x00\x01"
    strides = [(2, 1), (2, 1), (3, 1), (3, 2), (5, 2), (5, 4), (9, 4)]
    rows = b"".join((b"\x00" + bytes([200]) * (stride - 1)) * count for stride, count in strides)
    for held, status in ((rows, "ok"), (rows[:-9], "damaged")):
        data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(held)) + chunk(b"IEND", b"")
        assert examine(data).status == status


def test_bomb_is_refused_by_its_header() -> None:
    """A picture of 30,000 x 30,000 claimed by a header is too large, whatever its data."""
    assert examine(png_of(bytes(10), 30_000, 30_000)).status == "too-large"


def test_text_bomb() -> None:
    """A text of 1 KB that inflates to 8 MiB is a hazard."""
    text = chunk(b"zTXt", b"Comment\x00\x00" + zlib.compress(bytes(1 << 23)))
    assert examine(png_of(bytes(2), 1, 1, between=text)).status == "too-large"


def test_large_and_healthy() -> None:
    """12,000 x 9,000 pixels of one bit are checked to the last row in little memory."""
    rows = (b"\x00" + bytes(1500)) * 9000
    data = png_of(rows, 12_000, 9_000, bits=1)
    del rows
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert examine(data).status == "ok"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # KiB


def test_frames() -> None:
    """The frames of an animation are counted, and each is inflated."""
    data = animation()
    assert (examine(data).status, examine(data).frames) == ("ok", 3)


@pytest.mark.parametrize("fault", ["repeated", "missing", "empty"])
def test_bad_frames(fault: str) -> None:
    """A frame out of order, missing or empty is damage, though the first frame is whole."""
    data = animation()
    at = data.index(b"fdAT") - 4
    size = int.from_bytes(data[at : at + 4], "big") + 12
    frame = data[at : at + size]
    if fault == "repeated":
        broken = data[: at + size] + frame + data[at + size :]
    elif fault == "missing":
        broken = data[:at] + data[at + size :]
    else:
        broken = data.replace(frame, chunk(b"fdAT", frame[8:12]))
    assert examine(broken).status == "damaged"


def test_profile_damage_is_of_the_metadata() -> None:
    """A colour profile that does not inflate leaves the pixels whole; Pillow's refusal of it does not count."""
    found = examine(png_of((b"\x00" + bytes(4)) * 4, 4, 4, between=chunk(b"iCCP", b"icc\x00\x00" + b"garbage")))
    assert (found.status, bool(found.metadata_damage)) == ("ok", True)


def test_transparency() -> None:
    """A transparent colour counts as alpha."""
    assert examine(encoded(Image.new("P", (8, 8)), "PNG", transparency=0)).has_alpha
    assert not examine(encoded(Image.new("P", (8, 8)), "PNG")).has_alpha
