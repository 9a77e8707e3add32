"""The dummy network: what it lets pass (nothing), and how far its backends agree."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datascrub.network import numpy as reference
from datascrub.network.design import KERNELS, arrange, head, kernels

SHAPES = [
    (),
    (1,),
    (5,),
    (17,),
    (257,),
    (5000,),
    (3, 7),
    (28, 28),
    (3, 32, 32),
    (31, 33, 3),
    (1, 5, 7),
    (2, 3, 4, 5),
    (4099, 1),
    (50, 64),
    (4, 16, 16, 16),
    (2, 5, 6, 7, 8),
]
"""scalars, vectors, sequences, images in both orders of axes, volumes, films of volumes"""
FLOATS = ("float16", "float32", "float64", *(["bfloat16"] if importlib.util.find_spec("ml_dtypes") else []))
BAD = (np.nan, np.inf, -np.inf)
FIRST_ROW = [19.0, 75.0, -3.0, -51.0, 37.0, -53.0, 29.0, 115.0]
"""weights of seed 0 at width 16, times 512"""


def batch(shape: tuple[int, ...], dtype: str = "float32", count: int = 5) -> np.ndarray:
    if dtype == "bfloat16":
        import ml_dtypes  # noqa: F401  # makes numpy know the type by its name

    return np.random.default_rng(7).normal(size=(count, *shape)).astype(dtype)


def places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Corners, edges, the middle, and each channel."""
    first, last = tuple(0 for _ in shape), tuple(length - 1 for length in shape)
    middle = tuple(length // 2 for length in shape)
    mixed = [tuple(last[axis] if axis == each else middle[axis] for axis in range(len(shape))) for each in range(len(shape))]
    channels = [(channel, *middle[1:]) for channel in range(shape[0])] if len(shape) > 1 and shape[0] < 8 else []
    return sorted({first, last, middle, *mixed, *channels})


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_bad_value_passes(shape: tuple[int, ...], dtype: str) -> None:
    """NaN, +Inf and -Inf, at each kind of place of the first, a middle and the last sample, make exactly that sample's loss
    non-finite; the losses of its neighbours keep every bit."""
    healthy = batch(shape, dtype)
    expected = reference.losses(healthy)
    assert np.isfinite(expected).all()
    for bad in BAD:
        for place in places(shape):
            for row in (0, 2, 4):
                block = healthy.copy()
                block[(row, *place)] = bad
                found = reference.losses(block)
                assert not np.isfinite(found[row])
                assert np.delete(found, row).tobytes() == np.delete(expected, row).tobytes()
                assert reference.first_layer(block[row]) == "input"


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_loss_does_not_depend_on_its_batch(shape: tuple[int, ...]) -> None:
    """Alone, in a batch of 2, 7 or 300, a sample has the same loss to the last bit."""
    block = batch(shape, count=300)
    whole = reference.losses(block)
    for size in (1, 2, 7):
        for start in (0, 150, 290):
            assert reference.losses(block[start : start + size].copy()).tobytes() == whole[start : start + size].tobytes()


def test_many_bad_values_can_not_cancel() -> None:
    """+Inf and -Inf side by side, all NaN, all Inf: the loss is never finite."""
    for values in ([np.inf, -np.inf], [np.nan] * 2, [np.inf] * 2, [-np.inf, np.nan]):
        block = np.tile(np.array(values, np.float32), (1, 3, 8, 4))
        assert not np.isfinite(reference.losses(block)).any()


def test_where_it_began() -> None:
    """A finite value that overflows is told apart by its layer: the cast of a float64, or the square at the end."""
    block = batch((3, 8, 8), "float64", 1)[0]
    assert reference.first_layer(block) is None
    block[1, 2, 3] = 1e300
    assert reference.first_layer(block) == "cast"
    block[1, 2, 3] = 1e25
    assert reference.first_layer(block) == "loss"


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "bool", ">f4", ">i2"])
def test_other_types_are_cast(dtype: str) -> None:
    """Integers, booleans and foreign byte orders give the loss of the same numbers in float32."""
    block = (np.random.default_rng(8).random((4, 3, 8, 8)) * 200).astype(dtype)
    assert reference.losses(block).tobytes() == reference.losses(block.astype(np.float32)).tobytes()


@given(st.lists(st.integers(1, 300), max_size=4).map(tuple))
def test_arrangement_holds_every_value(shape: tuple[int, ...]) -> None:
    """Rows times width is the size and the padding, and the padding is less than a row."""
    plan = arrange(shape)
    assert plan.rows * plan.width == int(np.prod(shape, dtype=np.int64)) + plan.padding
    assert 0 <= plan.padding < plan.width <= 4096 or plan.width == plan.rows == 1


@pytest.mark.parametrize("seed", [0, 1, 2**31])
def test_weights(seed: int) -> None:
    """No weight is zero; they differ by seed, are centred, and the same in every run and on every machine."""
    for made in (kernels(224, seed), head(96, seed)):
        assert made.dtype == np.float32
        assert np.abs(made).min() > 0
        assert abs(made.mean()) < made.std() / 4
    assert head(96, seed).shape == (96 * KERNELS, 4)
    assert kernels(224, seed).tobytes() != kernels(224, seed + 1).tobytes()
    assert (kernels(16, 0)[0] * 512).tolist() == FIRST_ROW
