"""image_shape: against what is declared, and against the rest of the set."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from datascrub.model import Column, Field, Kind, Role
from datascrub.validators import ImageShape
from tests.media.drawn import encoded, jpeg, picture, png
from tests.validators.picture_sets import arrays, pictures_named, row_findings, set_findings

IMAGE = Field("image", Role.IMAGE, Kind.ENCODED)


def test_declared_size() -> None:
    """A declared size that is not the picture's is a mismatch; 0 and None declare nothing."""
    declared = {"width": [48, 640, 0, None], "height": np.array([40, 480, 0, 40])}
    column = Column(IMAGE, [jpeg(seed, 48, 40) for seed in range(4)], declared)
    assert row_findings(ImageShape(), column) == [("1", "image-size-mismatch", "warning")]


def test_declared_channels() -> None:
    """A gray picture declared with three channels is a mismatch; a palette is read as colour."""
    values = [encoded(picture(0).convert(mode), "PNG") for mode in ("RGB", "L", "P")]
    assert row_findings(ImageShape(), Column(IMAGE, values, {"channels": [3, 3, 3]})) == [("1", "image-channels-mismatch", "warning")]


@pytest.mark.parametrize(("width", "height"), [(1, 1), (300, 1), (3, 90)])
def test_very_small(width: int, height: int) -> None:
    """A side of fewer than four pixels is very small."""
    assert [finding.code for finding in ImageShape().check(png(0, width, height))] == ["image-very-small"]


def test_orientation() -> None:
    """A picture that EXIF turns is an info."""
    block = Image.Exif()
    block[0x0112] = 6
    assert [(f.code, f.severity.value) for f in ImageShape().check(jpeg(1, exif=block))] == [("image-orientation", "info")]


@pytest.mark.parametrize(
    "odd", [encoded(picture(9).convert("CMYK"), "JPEG"), encoded(picture(9).convert("L"), "JPEG"), encoded(picture(9).convert("RGBA"), "PNG")]
)
def test_odd_mode(odd: bytes) -> None:
    """The single CMYK, gray or transparent picture among three RGB ones is odd."""
    column = pictures_named({"a": jpeg(1), "b": jpeg(2), "c": odd, "d": jpeg(3)})
    assert set_findings(ImageShape(), column) == [("2", "image-mode-odd", "warning")]


def test_odd_depth() -> None:
    """16 bits among 8 are odd; one bit among eight is not."""
    grays = [encoded(picture(seed).convert("L"), "PNG") for seed in range(3)]
    for mode, found in (("I;16", [("3", "image-mode-odd", "warning")]), ("1", [])):
        assert set_findings(ImageShape(), Column(IMAGE, [*grays, encoded(picture(4).convert(mode), "PNG")])) == found


def test_sets_of_one_kind_and_mixed_sets_are_silent() -> None:
    """All gray, all 16 bit, half and half, and three pictures have no odd one."""
    gray, colour, deep = (encoded(picture(5).convert(mode), "PNG") for mode in ("L", "RGB", "I;16"))
    for values in ([gray] * 4, [deep] * 4, [gray, gray, colour, colour], [gray, gray, colour]):
        assert set_findings(ImageShape(), Column(IMAGE, values)) == []


def test_swapped_axes() -> None:
    """A record that declares 24 channels over a last axis of 3 looks swapped; (h, w, c) that nothing declares is a custom."""
    values = np.zeros((2, 24, 32, 3), np.uint8)
    assert {code for _, code, _ in row_findings(ImageShape(), arrays(values, channels=[24, 24]))} >= {"image-shape-suspicious"}
    assert row_findings(ImageShape(), arrays(values)) == []
    assert row_findings(ImageShape(), arrays(np.zeros((2, 3, 24, 32), np.uint8), channels=[3, 3])) == []


def test_blocks_are_measured_at_once() -> None:
    """Width, height and channels of arrays follow the order of their axes; other shapes have none."""
    measured = ImageShape().measure(arrays([np.zeros((3, 20, 30)), np.zeros((20, 30, 3)), np.zeros((20, 30)), np.zeros(7), None]))
    told = [tuple(measured[name].tolist()[row] for name in ("width", "height", "channels")) for row in range(5)]
    assert told == [(30, 20, 3), (30, 20, 3), (30, 20, 1), (None, None, None), (None, None, None)]
