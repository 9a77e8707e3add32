"""What a sample is to the network after preprocessing, and what can go wrong on the way."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from datascrub.config import PreprocessConfig, from_table
from datascrub.errors import UsageError
from datascrub.model import Kind, Role
from datascrub.network.preprocess import PreprocessError, apply
from datascrub.validators import DummyNetwork
from tests.validators.court import column

PICTURE = np.random.default_rng(2).integers(0, 256, (40, 60, 3)).astype(np.uint8)
AT = "tests.rehearsal.models"


def png(values: np.ndarray) -> bytes:
    made = io.BytesIO()
    Image.fromarray(values).save(made, "PNG")
    return made.getvalue()


def test_the_usual_way() -> None:
    """Resize by the shorter side, crop the middle, scale, subtract, divide, channels first, as float16."""
    how = PreprocessConfig(resize=32, crop=24, scale=1 / 255, mean=(0.5, 0.4, 0.3), std=(0.2, 0.2, 0.1), layout="HWC->CHW", dtype="float16")
    made = apply(PICTURE, how)
    assert made.shape == (3, 24, 24) and made.dtype == np.float16 and made.flags.c_contiguous
    small = np.asarray(Image.fromarray(PICTURE).resize((48, 32), Image.Resampling.BILINEAR), np.float32)[4:28, 12:36] / 255
    expected = (small - np.array([0.5, 0.4, 0.3])) / np.array([0.2, 0.2, 0.1])
    np.testing.assert_allclose(made, expected.transpose(2, 0, 1), atol=0.05)


def test_of_the_sample_itself() -> None:
    """Mean and deviation of the sample, or of each of its channels, make it 0 and 1."""
    for which, axes in (("sample", None), ("channel", (0, 1))):
        made = apply(PICTURE, PreprocessConfig(mean=which, std=which, layout="HWC"))
        np.testing.assert_allclose(made.mean(axis=axes), 0, atol=1e-5)
        np.testing.assert_allclose(made.std(axis=axes), 1, atol=1e-5)


def test_any_numbers() -> None:
    """Vectors and scalars can be scaled and shifted; nothing makes a picture of them."""
    assert apply(np.array([1, 2, 3]), PreprocessConfig(scale=2, mean=1, std=0.5)).tolist() == [2, 6, 10]
    assert apply(np.array(3.0), PreprocessConfig(scale=2)).tolist() == 6


@pytest.mark.parametrize(
    ("value", "how", "status", "said"),
    [
        (PICTURE, PreprocessConfig(crop=48), "crop-too-large", "a crop of 48 x 48 from 60 x 40 pixels"),
        (PICTURE, PreprocessConfig(layout="CHW"), "layout-wrong", "40x60x3 read as CHW has 40 channels, not 1 to 4; it looks like HWC"),
        (PICTURE[:, :, :1], PreprocessConfig(mean=(1.0, 2.0, 3.0)), "layout-wrong", "has 1 channels, not 3"),
        (np.zeros(7), PreprocessConfig(resize=8), "layout-wrong", "7 is no picture"),
        (np.full((8, 8, 3), 0.1), PreprocessConfig(std="sample"), "zero-deviation", "its own deviation is 0"),
        (np.dstack([PICTURE[:, :, :2], np.full((40, 60), 7)]), PreprocessConfig(std="channel"), "zero-deviation", "deviation of channel 2 is 0"),
        (np.full((2, 2), 1e5), PreprocessConfig(dtype="float16"), "not-finite", "4 of 4 values are NaN or infinite"),
        (np.full(2, 3.3962e38), PreprocessConfig(dtype="bfloat16"), "not-finite", "2 of 2 values"),
        (PICTURE, PreprocessConfig(call=f"{AT}:of_its_own_size"), "fails", "of_its_own_size raised ValueError: cannot reshape"),
        (PICTURE, PreprocessConfig(call=f"{AT}:rows"), "fails", "rows raised TypeError"),
    ],
)
def test_what_goes_wrong(value: np.ndarray, how: PreprocessConfig, status: str, said: str) -> None:
    """Each fault of a sample is told by its word and a sentence with the numbers."""
    if how.call:
        pytest.importorskip("torch")
    with pytest.raises(PreprocessError) as caught:
        apply(value, how)
    assert caught.value.status == status and said in caught.value.detail


def test_a_nan_that_came_with_the_data_is_no_fault_of_preprocessing() -> None:
    """What was not finite before goes on to the network, which names it."""
    facts = DummyNetwork(preprocess=PreprocessConfig(scale=2.0)).measure(column("array", np.array([[1.0, np.nan], [1.0, 2.0]])))
    assert facts["preprocess_status"].tolist() == ["ok", "ok"]
    assert facts["network_layer"].tolist() == ["input", None]


def test_pictures_are_what_training_sees() -> None:
    """Encoded pictures are decoded in colour and preprocessed: a gray one has three channels, damaged and missing ones have no outcome."""
    broken = png(PICTURE)[:-400]
    values = [png(PICTURE), png(PICTURE[:, :, 0]), broken, None, png(PICTURE[:20])]
    how = PreprocessConfig(crop=24, scale=1 / 255, mean=(0.5, 0.5, 0.5), layout="CHW")
    facts = DummyNetwork(preprocess=how).measure(column("image", values, Role.IMAGE, Kind.ENCODED))
    assert facts["preprocess_status"].tolist() == ["ok", "ok", None, None, "crop-too-large"]
    assert facts["network_finite"].tolist() == [True, True, None, None, None]
    alone = apply(PICTURE, PreprocessConfig(crop=24, scale=1 / 255, mean=(0.5, 0.5, 0.5), layout="HWC->CHW"))
    expected = DummyNetwork().measure(column("array", alone[np.newaxis]))["network_loss"][0]
    assert facts["network_loss"][0] == expected


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"std": 0}, "preprocess.std is 0"),
        ({"std": [0.2, 0, 0.2]}, "preprocess.std is 0"),
        ({"crop": 0}, "preprocess.crop is a number of pixels"),
        ({"resize": [1, 2, 3]}, "preprocess.resize is a number of pixels"),
        ({"mean": "set"}, "preprocess.mean is a number"),
        ({"scale": float("inf")}, "finite number"),
        ({"layout": "NCHW"}, "preprocess.layout is one of"),
        ({"dtype": ["float16"]}, "preprocess.dtype is one of"),
        ({"call": "module"}, "preprocess.call is pkg.mod:fn"),
        ({"call": "a:b", "scale": 2}, "no other key"),
        ({"sclae": 2}, "did you mean scale"),
    ],
)
def test_wrong_configuration(table: dict, said: str) -> None:
    """What would fail on every sample is a fault of the configuration, and said before a sample is read."""
    with pytest.raises(UsageError) as caught:
        from_table({"preprocess": table})
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"device": "tpu"}, "network.device is auto"),
        ({"backward": 1}, "network.backward is true or false"),
        ({"precisions": ["fp8"]}, "network.precisions is one of"),
        ({"precisions": "fp16"}, "network.precisions is a list"),
    ],
)
def test_wrong_network(table: dict, said: str) -> None:
    """[network] names its keys and what they may be."""
    with pytest.raises(UsageError) as caught:
        from_table({"network": table})
    assert said in str(caught.value)
