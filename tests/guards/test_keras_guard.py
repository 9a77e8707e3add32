"""The guard of Keras models: what it names inside the compiled step, and what a skipped batch leaves behind."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

from datascrub.guards import KerasFiniteGuard, NotFiniteError, NotFiniteWarning  # noqa: E402  # after the question whether keras is here

BAD = (np.nan, np.inf, -np.inf)


def small() -> object:
    keras.utils.set_random_seed(11)
    layers = [
        keras.layers.Input((6,)),
        keras.layers.Dense(5, name="first"),
        keras.layers.BatchNormalization(name="norm"),
        keras.layers.Dense(1, name="last"),
    ]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    return model


def data(count: int = 16) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(3)
    return generator.normal(size=(count, 6)).astype("float32"), generator.normal(size=(count, 1)).astype("float32")


def fit(model, guard, x: np.ndarray, y: np.ndarray) -> None:
    model.fit(x, y, batch_size=4, shuffle=False, verbose=0, callbacks=[guard])


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_sample_is_named_by_its_row(bad: float) -> None:
    """NaN, +Inf and -Inf in one sample: the step, the row and the count, and the training ends there."""
    x, y = data()
    x[6, 2] = bad
    guard = KerasFiniteGuard()
    with pytest.raises(NotFiniteError):
        fit(small(), guard, x, y)
    (seen,) = guard.sightings
    assert (seen.step, seen.way, seen.rows, seen.bad, seen.size) == (1, "input", (2,), 1, 24)


def test_a_bad_sample_is_named_by_its_key() -> None:
    """Where the order of the data is known, the sample is named by its key."""
    x, y = data()
    x[6, 2] = np.nan
    guard = KerasFiniteGuard(action="record", keys=lambda batch: [f"row {row}" for row in range(4 * batch, 4 * batch + 4)])
    fit(small(), guard, x, y)
    assert guard.sightings[0].keys == ("row 6",)
    assert "samples row 6" in str(guard.sightings[0])


def test_a_sound_training_is_left_alone() -> None:
    """Nothing is seen, the weights are those of a training without a guard, and the layers have their own call again."""
    x, y = data()
    plain, guarded, guard = small(), small(), KerasFiniteGuard()
    plain.fit(x, y, batch_size=4, shuffle=False, verbose=0)
    fit(guarded, guard, x, y)
    assert guard.sightings == []
    for left, right in zip(plain.get_weights(), guarded.get_weights(), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-7)
    assert not any("call" in vars(layer) for layer in guarded.layers)


def test_the_layer_where_it_began_is_named() -> None:
    """A layer that takes the logarithm of negative numbers, and not the one after it."""
    model = keras.Sequential([keras.layers.Input((6,)), keras.layers.Lambda(lambda x: keras.ops.log(x - 100), name="logs"), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    guard = KerasFiniteGuard(action="warn")
    with pytest.warns(NotFiniteWarning, match="logs"):
        fit(model, guard, *data(4))
    assert (guard.sightings[0].way, guard.sightings[0].nan) == ("forward", 24)


def test_square_root_of_zero_is_seen_in_the_gradient() -> None:
    """The loss is finite and its gradient is not: way backward, at the output before it, for its row."""
    model = keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(2, use_bias=False, name="features")])
    model.compile("sgd", lambda y, z: keras.ops.sqrt(keras.ops.sum(z * z, axis=1)))
    x, y = data(4)
    x[1] = 0
    guard = KerasFiniteGuard(action="record")
    fit(model, guard, x, y)
    assert (guard.sightings[0].way, guard.sightings[0].module, guard.sightings[0].rows) == ("backward", "features", (1,))


def test_a_skipped_batch_leaves_no_trace() -> None:
    """With skip, a training with one bad batch ends where one without that batch ends: weights, momentum, averages."""
    x, y = data(12)
    without = small()
    without.fit(np.delete(x, slice(4, 8), axis=0), np.delete(y, slice(4, 8), axis=0), batch_size=4, shuffle=False, verbose=0)
    x[5, 0] = np.inf
    model, guard = small(), KerasFiniteGuard(action="skip")
    fit(model, guard, x, y)
    assert [seen.step for seen in guard.sightings] == [1]
    for left, right in zip(model.get_weights(), without.get_weights(), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-7)


def test_wrong_use() -> None:
    """An unknown action is an error at once."""
    with pytest.raises(ValueError, match="action is one of"):
        KerasFiniteGuard(action="explode")
