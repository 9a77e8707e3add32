"""Every sample through the dummy network."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from datascrub.model import Kind, Role
from datascrub.validators import DummyNetwork
from tests.validators.court import column, judged, of

BACKENDS = ("numpy", "torch")


@pytest.mark.parametrize("backend", BACKENDS)
def test_facts(backend: str) -> None:
    """A loss for what is finite, a layer for what is not, NULL for what is missing, empty or no number."""
    if backend == "torch":
        pytest.importorskip("torch")
    values = [
        np.ones((3, 8)),
        np.array([1.0, np.nan]),
        None,
        np.zeros((0, 4)),
        np.array(["x"]),
        np.array([1e30]),
        np.array(np.inf),
        np.array([1e300]),
        np.array([1 + 1j, complex(0, np.nan)]),
    ]
    facts = DummyNetwork(backend=backend).measure(column("array", values))
    assert facts["network_finite"].tolist() == [True, False, None, None, None, False, False, False, False]
    assert facts["network_layer"].tolist() == [None, "input", None, None, None, "loss", "input", "cast", "input"]
    assert [loss is None for loss in facts["network_loss"].tolist()] == [False] + [True] * 8


def test_findings(tmp_path: Path) -> None:
    """NaN is an error that names the input; a finite value that overflows is a warning that names the layer; the others are silent."""
    block = np.random.default_rng(9).normal(size=(12, 3, 8, 8)).astype(np.float32)
    block[4, 2, 7, 7], block[9, 0, 0, 0] = np.nan, 1e25
    result = judged(tmp_path, column("data", block, Role.ARRAY))
    assert of(result, "network-loss-not-finite") == [(4, "error", "the loss is not finite, from the input on")]
    assert of(result, "network-overflows") == [(9, "warning", "the values are finite, but float32 overflows: first in layer loss")]


def test_encoded_images_take_part() -> None:
    """A decoded picture has a loss, broken and missing ones have none; equal pixels have equal losses."""
    picture = io.BytesIO()
    Image.fromarray(np.random.default_rng(9).integers(0, 255, (40, 50, 3), np.uint8)).save(picture, "PNG")
    facts = DummyNetwork().measure(column("image", [picture.getvalue(), b"<html>", None, picture.getvalue()], kind=Kind.ENCODED))
    losses = facts["network_loss"].tolist()
    assert losses[0] == losses[3] > 0
    assert facts["network_finite"].tolist() == [True, None, None, True]
