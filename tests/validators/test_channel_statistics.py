"""Channel statistics are those that numpy computes in float64 over all pixels, and nothing where they are not asked for."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from datascrub.model import Column, Field, Kind, Role
from datascrub.validators.channel_statistics import ChannelStatistics

EXACT = ChannelStatistics(exact_statistics=True)
RNG = np.random.default_rng(3)


def encoded(image: Image.Image, format_: str = "PNG") -> bytes:
    file = io.BytesIO()
    image.save(file, format_)
    return file.getvalue()


def measured(values: object, role: Role = Role.IMAGE, kind: Kind = Kind.ENCODED) -> dict[str, list[object]]:
    made = EXACT.measure(Column(Field("x", role, kind), values))  # type: ignore[arg-type]  # bytes, or an array
    return {name: column.tolist() for name, column in made.items()}


@pytest.mark.parametrize("format_", ["PNG", "JPEG"])
def test_pictures_at_full_size(format_: str) -> None:
    """Mean and deviation of red, green and blue over every pixel of a picture larger than its reduced size."""
    image = Image.fromarray(RNG.integers(0, 256, (600, 500, 3), np.uint8))
    data = encoded(image, format_)
    pixels = np.asarray(Image.open(io.BytesIO(data)), np.float64).reshape(-1, 3)
    made = measured([data])
    assert made["channel_size"] == [300_000]
    np.testing.assert_allclose(made["channel_mean"], [pixels.mean(0)], rtol=1e-13)
    np.testing.assert_allclose(made["channel_deviation"], [pixels.std(0)], rtol=1e-13)


@pytest.mark.parametrize(("mode", "channels"), [("L", 1), ("RGB", 3), ("RGBA", 3), ("LA", 1), ("P", 3), ("1", 1), ("I;16", 1)])
def test_modes_are_taken_as_a_loader_gives_them(mode: str, channels: int) -> None:
    """Alpha is dropped, palettes become colours, one channel stays one."""
    gray = Image.fromarray(RNG.integers(0, 256, (40, 40), np.uint8))
    image = Image.fromarray(np.asarray(gray, np.uint16) * 200) if mode == "I;16" else gray.convert(mode)
    made = measured([encoded(image)])
    assert [len(mean) for mean in made["channel_mean"]] == [channels]  # type: ignore[arg-type]  # a list
    if mode == "I;16":
        assert made["channel_mean"] == [[pytest.approx(np.asarray(image, np.float64).mean())]]


@pytest.mark.parametrize(
    ("shape", "role", "channels", "axes"),
    [
        ((5, 3, 8, 9), Role.IMAGE, 3, (2, 3)),
        ((5, 8, 9, 3), Role.IMAGE, 3, (1, 2)),
        ((5, 8, 9), Role.IMAGE, 1, (1, 2)),
        ((5, 13), Role.ARRAY, 13, ()),
        ((5, 700), Role.ARRAY, 1, (1,)),
        ((5, 6, 7), Role.ARRAY, 1, (1, 2)),
    ],
)
def test_arrays(shape: tuple[int, ...], role: Role, channels: int, axes: tuple[int, ...]) -> None:
    """The channels are the short outer axis of pictures, and the values of a short vector."""
    values = RNG.normal(3, 2, shape).astype(np.float32)
    made = measured(values, role, Kind.ARRAY)
    wide = values.astype(np.float64)
    np.testing.assert_allclose(made["channel_mean"], wide.mean(axes).reshape(5, channels) if axes else wide, rtol=1e-12)
    np.testing.assert_allclose(made["channel_deviation"], wide.std(axes).reshape(5, channels) if axes else wide * 0, rtol=1e-12)


def test_what_is_not_finite_or_damaged_is_left_out() -> None:
    """A NaN, and a picture that ends too early, have no statistics; their neighbours have."""
    values = np.ones((3, 2, 4, 4), np.float32)
    values[1, 0, 0, 0] = np.nan
    assert [each is None for each in measured(values, Role.ARRAY, Kind.ARRAY)["channel_mean"]] == [False, True, False]
    whole = encoded(Image.fromarray(RNG.integers(0, 256, (64, 64, 3), np.uint8)))
    assert [each is None for each in measured([whole, whole[: len(whole) // 2], None, b"<html>"])["channel_size"]] == [False, True, True, True]


def test_nothing_is_measured_unless_asked_for() -> None:
    """Without --exact-statistics all is NULL."""
    made = ChannelStatistics().measure(Column(Field("x", Role.ARRAY, Kind.ARRAY), np.ones((2, 3))))
    assert {name: column.tolist() for name, column in made.items()} == {name: [None, None] for name in ChannelStatistics.measures}
