"""The network in torch gives what the reference gives."""

from __future__ import annotations

import numpy as np
import pytest

from datascrub.network import numpy as reference
from tests.network.test_network import BAD, FLOATS, SHAPES, batch, places

torch = pytest.importorskip("torch")
from datascrub.network import torch as backend  # noqa: E402  # after the question whether torch is here


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_agrees_with_the_reference(shape: tuple[int, ...]) -> None:
    """Losses of float, half, double and integer samples agree within 1e-4."""
    for dtype in (*FLOATS, "uint8", "int64", ">f4"):
        block = np.abs(batch(shape, count=20) * 40).astype(batch((), dtype).dtype)
        np.testing.assert_allclose(backend.losses(block), reference.losses(block), rtol=1e-4)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_bad_value_passes(shape: tuple[int, ...], dtype: str) -> None:
    """NaN, +Inf and -Inf at each kind of place make exactly that sample's loss non-finite."""
    healthy = batch(shape, dtype)
    for bad in BAD:
        for place in places(shape):
            for row in (0, 2, 4):
                block = healthy.copy()
                block[(row, *place)] = bad
                assert np.isfinite(backend.losses(block)).tolist() == [each != row for each in range(5)]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_gpu_is_taken() -> None:
    """Where there is a GPU, torch computes there, in full float32."""
    assert backend.device() == "cuda"
    block = batch((3, 224, 224), count=64)
    np.testing.assert_allclose(backend.losses(block), reference.losses(block), rtol=1e-4)


def test_no_memory_left_means_the_cpu(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Where the device has no memory left, the CPU computes, and the log says so."""
    block, forward = batch((3, 8, 8)), backend._forward

    def full(piece: np.ndarray, seed: int, place: str) -> np.ndarray:
        if place != "cpu":
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(piece, seed, place)

    monkeypatch.setattr(backend, "_forward", full)
    monkeypatch.setattr(backend, "device", lambda on: "cuda")
    np.testing.assert_allclose(backend.losses(block), reference.losses(block), rtol=1e-4)
    assert "no memory left" in caplog.text
