"""Every sample through the dummy network."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from datascrub.model import Kind, Role
from datascrub.validators import DummyNetwork
from tests.validators.court import column, judged, of

BACKENDS = ("numpy", "torch", "tensorflow")


@pytest.mark.parametrize("backend", BACKENDS)
def test_facts(backend: str) -> None:
    """A loss for what is finite, a layer for what is not, NULL for what is missing, empty or no number."""
    if backend != "numpy":
        pytest.importorskip(backend)
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
    """NaN is an error that names the input; a finite value that overflows is one that names the layer; the others are silent."""
    block = np.random.default_rng(9).normal(size=(12, 3, 8, 8)).astype(np.float32)
    block[4, 2, 7, 7], block[9, 0, 0, 0] = np.nan, 1e25
    result = judged(tmp_path, column("data", block, Role.ARRAY))
    assert of(result, "network-loss-not-finite") == [(4, "error", "the loss is not finite, from the input on")]
    assert of(result, "network-overflows") == [(9, "error", "the values are finite, but float32 overflows: first in layer loss")]


def test_encoded_images_take_part() -> None:
    """A decoded picture has a loss, broken and missing ones have none; equal pixels have equal losses."""
    picture = io.BytesIO()
    Image.fromarray(np.random.default_rng(9).integers(0, 255, (40, 50, 3), np.uint8)).save(picture, "PNG")
    facts = DummyNetwork().measure(column("image", [picture.getvalue(), b"<html>", None, picture.getvalue()], kind=Kind.ENCODED))
    losses = facts["network_loss"].tolist()
    assert losses[0] == losses[3] > 0
    assert facts["network_finite"].tolist() == [True, None, None, True]


def photo(seed: int) -> bytes:
    """A JPEG with soft colours, a few edges and the noise of a camera."""
    random = np.random.default_rng(seed)
    soft = np.asarray(Image.fromarray(random.integers(30, 226, (7, 9, 3), np.uint8)).resize((160, 120), Image.Resampling.BICUBIC), np.float32).copy()
    soft[20:60, 30 : 30 + 10 * (seed % 9)] += 40
    made = io.BytesIO()
    Image.fromarray((soft + random.normal(0, 7, soft.shape)).clip(0, 255).astype(np.uint8)).save(made, "JPEG", quality=90)
    return made.getvalue()


def test_facts_do_not_depend_on_the_batch() -> None:
    """Alone and among others, a large picture has the same facts to the last bit, its steps too."""
    values = [photo(seed) for seed in range(5)]
    validator = DummyNetwork(backward=True, precisions=("float16", "bfloat16"))
    together = validator.measure(column("image", values, kind=Kind.ENCODED))
    for row, value in enumerate(values):
        alone = validator.measure(column("image", [value], kind=Kind.ENCODED))
        assert {name: column[0] for name, column in alone.items()} == {name: column[row] for name, column in together.items()}


def test_depth_is_asked_for(tmp_path: Path) -> None:
    """Gradient, magnitude and half precision are measured where asked for, else NULL; a gradient that ends before the loss does is an error."""
    block = np.random.default_rng(9).normal(size=(12, 3, 8, 8)).astype(np.float32)
    block[4, 2, 7, 7], block[9, 0, 0, 0] = np.nan, 1e12
    deep = ("network_gradient", "network_gradient_finite", "network_peak", "network_compared", "preprocess_status")
    shallow = DummyNetwork().measure(column("data", block, Role.ARRAY))
    assert [shallow[name].tolist() for name in deep] == [[None] * 12] * 5
    assert [row for row, half in enumerate(shallow["network_half"].tolist()) if half is not None] == [9]
    findings = [
        (finding.code, finding.severity.value)
        for row in (3, 4, 9)
        for finding in DummyNetwork(backward=True, precisions=("float16", "bfloat16")).check(block[row])
    ]
    assert findings == [("network-loss-not-finite", "error"), ("network-gradient-not-finite", "error"), ("network-overflows-half", "warning")]
    (gradient, half) = DummyNetwork(backward=True, precisions=("float16", "bfloat16")).check(block[9])
    assert re.fullmatch(r"the loss \S+e\+2\d is finite, its gradient is not \(largest number on the way: \S+\)", gradient.message)
    assert half.message.endswith("not in half precision: float16 (cast), bfloat16 (gradient)")


def test_a_qr_code_among_photos_stands_out(tmp_path: Path) -> None:
    """One QR code among 119 photos is the only outlier, more than twice as far out as the threshold asks."""
    import segno

    drawn = io.BytesIO()
    segno.make("https://example.org/a/b/c", error="m").save(drawn, kind="png", scale=6)
    made = io.BytesIO()
    Image.open(drawn).convert("RGB").resize((160, 120), Image.Resampling.NEAREST).save(made, "JPEG", quality=90)
    pictures = [photo(seed) for seed in range(119)]
    pictures.insert(57, made.getvalue())
    found = [(number, each) for number, each in judged(tmp_path, column("image", pictures, kind=Kind.ENCODED)) if each.code == "network-loss-outlier"]
    assert [number for number, _ in found] == [57]
    assert found[0][1].evidence["deviations"] > 20


def test_a_sentinel_among_normal_rows_stands_out(tmp_path: Path) -> None:
    """-9999 in one of 200 rows is an outlier of the loss; normal rows of any seed are none, and a mixed set accuses nobody."""
    block = np.random.default_rng(3).normal(size=(200, 40)).astype(np.float32)
    assert of(judged(tmp_path / "sound", column("data", block, Role.ARRAY)), "network-loss-outlier") == []
    block[150, 7] = -9999
    assert [number for number, *_ in of(judged(tmp_path / "one", column("data", block, Role.ARRAY)), "network-loss-outlier")] == [150]
    block[::10, 7] = -9999
    assert of(judged(tmp_path / "many", column("data", block, Role.ARRAY)), "network-loss-outlier") == []


def test_pixels_overflow_half(tmp_path: Path) -> None:
    """Values of 0..2,040 overflow where float16 is declared. In float32 and bfloat16, and scaled to 0..1, nothing is said."""
    block = np.random.default_rng(3).integers(0, 256, (20, 3, 32, 32)).astype(np.float32) * 8
    assert of(judged(tmp_path / "half", column("data", block, Role.ARRAY), precision="float16"), "network-overflows-half")
    for name, values in (("float32", block), ("bfloat16", block), ("float16", block / 2040)):
        assert of(judged(tmp_path / f"{name}{values.max():.0f}", column("data", values, Role.ARRAY), precision=name), "network-overflows-half") == []
