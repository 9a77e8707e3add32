"""The network in TensorFlow gives what the reference gives."""

from __future__ import annotations

import os

import numpy as np
import pytest

from datascrub.network import numpy as reference
from tests.network.test_network import BAD, FLOATS, SHAPES, batch, places

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
tf = pytest.importorskip("tensorflow")
from datascrub.network import tensorflow as backend  # noqa: E402  # after the question whether tensorflow is here


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_agrees_with_the_reference(shape: tuple[int, ...]) -> None:
    """Losses of float, half, double and integer samples agree within 1e-4."""
    for dtype in (*FLOATS, "uint8", "int64", ">f4"):
        block = np.abs(batch(shape, count=20) * 40).astype(batch((), dtype).dtype)
        np.testing.assert_allclose(backend.losses(block), reference.losses(block), rtol=1e-4)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_bad_value_passes(shape: tuple[int, ...], dtype: str) -> None:
    """NaN, +Inf and -Inf at each kind of place make exactly that sample's loss non-finite; its neighbours' stay within 1e-4."""
    healthy = batch(shape, dtype)
    expected = backend.losses(healthy)
    for bad in BAD:
        for place in places(shape):
            for row in (0, 2, 4):
                block = healthy.copy()
                block[(row, *place)] = bad
                found = backend.losses(block)
                assert np.isfinite(found).tolist() == [each != row for each in range(5)]
                np.testing.assert_allclose(np.delete(found, row), np.delete(expected, row), rtol=1e-4)


@pytest.mark.gpu
@pytest.mark.skipif(not tf.config.list_physical_devices("GPU"), reason="needs a GPU")
def test_gpu_is_taken() -> None:
    """Where there is a GPU, TensorFlow computes there, and agrees."""
    assert backend.device() == "GPU"
    block = batch((3, 224, 224), count=64)
    np.testing.assert_allclose(backend.losses(block), reference.losses(block), rtol=1e-4)
