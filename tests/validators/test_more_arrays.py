"""Channels, scale, features, denormals, wrapped integers, empty and repeated arrays: one that is bad, and healthy ones beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from datascrub.model import Role
from datascrub.validators import ArrayChannels, ArrayEmpty, Denormal
from tests.validators.court import column, judged, of

RANDOM = np.random.default_rng(9)


def named(folder: Path, values: object, code: str, role: Role = Role.ARRAY) -> list[int | None]:
    """The samples that a rule names."""
    return [number for number, _, _ in of(judged(folder, column("data", values, role)), code)]


def pictures(count: int, *shape: int) -> np.ndarray:
    return RANDOM.uniform(0.01, 1.0, (count, *shape)).astype(np.float32)


@pytest.mark.parametrize("is_last", [False, True])
def test_constant_channel(tmp_path: Path, is_last: bool) -> None:
    """One empty channel of three is named, and so is a plain colour; gray pictures, masks of bytes and constant alpha are healthy."""
    values = pictures(20, 3, 12, 10)
    values[4, 1], values[7] = 0.5, np.array([0.1, 0.2, 0.3], np.float32)[:, None, None]
    values[9], values[11, 2, 3, 3] = 0.0, np.nan
    values[13, 0, :, :] = np.linspace(0, 1, 10, dtype=np.float32)
    found = judged(tmp_path, column("image", np.moveaxis(values, 1, -1).copy() if is_last else values))
    assert [(number, message) for number, _, message in of(found, "array-channel-constant")] == [
        (4, "1 of 3 channels hold one value: channel 1 is 0.5"),
        (7, "3 of 3 channels hold one value: channel 0 is 0.1"),
    ]
    with_alpha = np.concatenate([pictures(1, 3, 12, 10), np.ones((1, 1, 12, 10), np.float32)], axis=1)[0]
    assert not ArrayChannels().check(with_alpha) and not ArrayChannels().check(pictures(1, 5, 8)[0])


def test_constant_channel_all_over(tmp_path: Path) -> None:
    """A band that is empty in the whole set is said once."""
    values = pictures(20, 3, 8, 8)
    values[:, 2] = 0
    assert named(tmp_path, values, "array-channel-constant", Role.IMAGE) == [None]


def test_one_not_normalised(tmp_path: Path) -> None:
    """One sample on the scale of bytes among normalised ones is named; a set of bytes is only told of, and mixed or standardised ones are healthy."""
    values = pictures(30, 1, 8, 8)
    values[6] *= 255
    assert named(tmp_path / "a", values, "array-not-normalised") == [6]
    whole = (pictures(30, 1, 8, 8) * 255).astype(np.float32)
    found = judged(tmp_path / "b", column("image", whole))
    assert not of(found, "array-not-normalised") and [severity for _, severity, _ in of(found, "arrays-in-byte-range")] == ["info"]
    mean, deviation = whole.mean(), whole.std()
    assert f"mean {mean:.4g}, deviation {deviation:.4g}" in of(found, "arrays-in-byte-range")[0][2]
    for name, healthy in (("c", RANDOM.normal(size=(30, 1, 8, 8))), ("d", pictures(30, 40)), ("e", RANDOM.integers(0, 256, (30, 8, 8)))):
        both = judged(tmp_path / name, column("data", np.asarray(healthy), Role.ARRAY))
        assert not of(both, "array-not-normalised") and not of(both, "arrays-in-byte-range")


def test_constant_feature(tmp_path: Path) -> None:
    """A column of one value is said once with its place; sparse columns, small sets and vectors of differing length are healthy."""
    values = RANDOM.normal(size=(300, 30))
    values[:, 12] = 7.5
    found = of(judged(tmp_path / "a", column("data", values, Role.ARRAY)), "array-feature-constant")
    assert [(number, message) for number, _, message in found] == [(None, "1 of 30 features have one value in all 300 samples: 12")]
    sparse = np.zeros((300, 8), np.int64)
    sparse[np.arange(300), np.arange(300) % 8] = 1
    lists = [RANDOM.normal(size=3 + n % 4) for n in range(300)]
    for name, healthy in (("b", sparse), ("c", values[:100]), ("d", lists), ("e", RANDOM.integers(0, 2, (300, 64)))):
        assert named(tmp_path / name, healthy, "array-feature-constant") == []


def test_denormals() -> None:
    """Numbers below 1.2e-38 that are not 0 are told of; zeros, the smallest normal number and integers are healthy."""
    values = np.zeros((40, 40), np.float32)
    values[::2] = 1e-40
    assert [f.severity.value for f in Denormal().check(values)] == ["info"]
    for healthy in (np.zeros(300, np.float32), np.full(8, 1.1754944e-38, np.float32), np.arange(9), np.array([np.nan, 1e-30])):
        assert not Denormal().check(healthy)


def test_wrapped(tmp_path: Path) -> None:
    """65,534 among small numbers is a wrapped -2; a set that uses its range, and pictures that saturate, are healthy."""
    values = RANDOM.integers(0, 900, (60, 5)).astype(np.uint16)
    values[17, 2] = 65534
    found = of(judged(tmp_path / "a", column("data", values, Role.ARRAY)), "values-wrapped")
    assert [number for number, _, _ in found] == [17] and "-2, wrapped around" in found[0][2]
    assert named(tmp_path / "b", RANDOM.integers(0, 65536, (60, 5)).astype(np.uint16), "values-wrapped") == []
    assert named(tmp_path / "c", values[:, None].repeat(3, 1), "values-wrapped", Role.IMAGE) == []
    assert named(tmp_path / "d", values.astype(np.int64), "values-wrapped") == []


def test_empty() -> None:
    """An array of length zero is told of, and no other."""
    assert [f.code for f in ArrayEmpty().check(np.zeros((0, 4)))] == ["array-empty"]
    assert not ArrayEmpty().check(np.zeros((1, 4)))


def test_one_sample_all_over(tmp_path: Path) -> None:
    """Thirty copies of one row are one finding of the set; pairs of copies, and rows that repeat as tables of few values do, are not."""
    values = RANDOM.normal(size=(400, 8))
    values[::13] = values[0]
    found = of(judged(tmp_path / "a", column("data", values, Role.ARRAY)), "array-repeated")
    assert [number for number, _, _ in found] == [None] and "31 of 400 samples, #0 to #390" in found[0][2]
    values = RANDOM.normal(size=(400, 8))
    values[1::2] = values[::2]
    assert named(tmp_path / "b", values, "array-repeated") == []
    assert named(tmp_path / "c", RANDOM.integers(0, 2, (400, 3)), "array-repeated") == []
