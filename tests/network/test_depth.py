"""The network in depth: gradient, magnitude, half precision; the same in all backends, and blind to nothing."""

from __future__ import annotations

import os

import numpy as np
import pytest

from datascrub.network import numpy as reference
from datascrub.network.depth import Depth, measure_depth
from datascrub.network.design import HALVES, arrange, head, kernels
from tests.network.test_network import BAD, FLOATS, batch, places

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
SHAPES = [(), (5,), (257,), (3, 32, 32), (31, 33, 3), (4, 16, 16, 16)]
"""a scalar, vectors, images in both orders of axes, a volume"""


@pytest.fixture(params=["numpy", "torch", "tensorflow"])
def backend(request: pytest.FixtureRequest) -> str:
    if request.param != "numpy":
        pytest.importorskip(request.param)
    return request.param


def finite(depth: Depth) -> list[list[bool]]:
    """Which samples are finite: loss, gradient, float16, bfloat16."""
    assert depth.gradient is not None
    its = [np.isfinite(depth.loss), np.isfinite(depth.gradient), *([layer is None for layer in depth.layers[name]] for name in HALVES)]
    return [list(map(bool, each)) for each in its]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_backends_agree(shape: tuple[int, ...], backend: str) -> None:
    """Losses are those of the network alone; gradient, magnitude and the layers where half precision ends are those of the reference, within 1e-4."""
    block = batch(shape, count=30) * np.logspace(0, 18, 30, dtype=np.float32).reshape(-1, *[1] * len(shape))
    expected, found = measure_depth(block), measure_depth(block, backend)
    np.testing.assert_allclose(found.loss, reference.losses(block), rtol=1e-4)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-4)
    np.testing.assert_allclose(found.peak, expected.peak, rtol=1e-4)
    assert not np.isfinite(found.gradient).all() and np.isfinite(found.loss).sum() > np.isfinite(found.gradient).sum()
    for name in HALVES:
        assert found.layers[name].tolist() == expected.layers[name].tolist()
    assert found.layers["float16"][0] is None and found.layers["float16"][-1] == "cast"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_bad_value_passes(shape: tuple[int, ...], dtype: str, backend: str) -> None:
    """A NaN, +Inf or -Inf at each kind of place makes exactly its own sample's loss, gradient and both half precisions non-finite."""
    healthy = batch(shape, dtype)
    assert all(all(each) for each in finite(measure_depth(healthy, backend)))
    for place in places(shape):
        block = healthy.copy()
        for row, bad in zip((0, 2, 4), BAD, strict=True):
            block[(row, *place)] = bad
        assert finite(measure_depth(block, backend)) == [[False, True, False, True, False]] * 4


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_depth_does_not_depend_on_the_batch(shape: tuple[int, ...]) -> None:
    """Alone and in a batch of 300, a sample has the same loss, gradient and magnitude to the last bit, and the loss of the shallow network."""
    block = batch(shape, count=300)
    whole = measure_depth(block)
    assert whole.loss.tobytes() == reference.losses(block).tobytes()
    for row in (0, 150, 299):
        alone = measure_depth(block[row : row + 1].copy())
        for name in ("loss", "gradient", "peak"):
            assert getattr(alone, name).tobytes() == getattr(whole, name)[row : row + 1].tobytes()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradient_is_that_of_autograd(shape: tuple[int, ...]) -> None:
    """The norm of the gradient is what torch's autograd finds for the same network."""
    torch = pytest.importorskip("torch")
    block, plan = batch(shape), arrange(shape)
    found = measure_depth(block, halves=())
    w, h = (torch.tensor(make(size, 0), requires_grad=True) for make, size in ((kernels, plan.width), (head, plan.rows)))
    for row, x in enumerate(reference.laid_out(block)):
        hidden = torch.from_numpy(x) @ w
        loss = (torch.maximum(hidden, hidden / 8).reshape(1, -1) @ h).square().mean()
        gradients = torch.autograd.grad(loss, (w, h))
        assert found.loss[row] == pytest.approx(loss.item(), rel=1e-4)
        assert found.gradient is not None
        assert found.gradient[row] == pytest.approx(torch.cat([each.flatten() for each in gradients]).norm().item(), rel=1e-4)


@pytest.mark.parametrize("precision", HALVES)
def test_rounding(precision: str) -> None:
    """Rounding to half precision is IEEE's, ties to even, infinity beyond the largest, NaN kept: equal to torch's to the last bit."""
    torch = pytest.importorskip("torch")
    bits = np.random.default_rng(5).integers(0, 1 << 32, 200_000, dtype=np.uint64).astype(np.uint32)
    special = np.array([0, -0.0, np.nan, np.inf, -np.inf, 65504, 65519.99, 65520, 3.3895e38, 3.3962e38, 1.00390625, 1.01171875, 1e-45], np.float32)
    values = np.concatenate([bits.view(np.float32), special])
    with np.errstate(all="ignore"):
        found = reference.ops().rounded(values, precision)
    expected = torch.from_numpy(values).to(getattr(torch, precision)).to(torch.float32).numpy()
    np.testing.assert_array_equal(found, expected)


def test_weights_are_exact_in_half_precision() -> None:
    """No weight changes by rounding, so that a layer in half precision differs by its sums alone."""
    for made in (kernels(16, 0), kernels(4096, 0), head(1, 0), head(5000, 0)):
        for precision in HALVES:
            assert reference.ops().rounded(made, precision).tobytes() == made.tobytes()


def test_a_step_that_swallows_is_why_there_is_none() -> None:
    """What the page says of ordinary layers: ReLU makes 0 of -Inf, max-pooling and clamps lose infinities; here none does."""
    torch = pytest.importorskip("torch")
    low, high = torch.tensor([[1.0, -torch.inf]]), torch.tensor([[1.0, torch.inf]])
    assert torch.relu(low).isfinite().all()
    assert torch.nn.functional.max_pool1d(low, 2).isfinite().all()
    assert low.clamp(-5, 5).isfinite().all() and high.clamp(-5, 5).isfinite().all()
    assert torch.nn.functional.conv1d(high, torch.ones(1, 1, 1), stride=2).isfinite().all()
    assert not np.isfinite(reference.losses(np.stack([low.numpy(), high.numpy()]))).any()
