"""The stories that people tell of NaN in training, each to its end: the sample, or the batch, and the cause are named."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from datascrub import scan
from datascrub.api import Run
from datascrub.cli import main
from datascrub.config import from_table

AT = "tests.rehearsal.models"


def write(place: Path, **fields: np.ndarray) -> str:
    with h5py.File(place / "set.h5", "w") as file:
        for name, values in fields.items():
            file[name] = values
    return str(place / "set.h5")


def scanned(source: str, place: Path, config: dict | None = None) -> Run:
    return scan(source, out=place / "run", config=from_table(config or {}), workers=1, backend="numpy")


def told(run: Run, code: str) -> list[tuple[str | None, str]]:
    return [(finding.key, finding.message) for finding in run.findings(code)]


def rows(count: int = 40) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(count, 6)).astype(np.float32)


def test_a_nan_cell_in_a_row(tmp_path: Path) -> None:
    """One cell of one row of an HDF5 file is NaN: the scan names the row, what is in it, and where the network's loss ends."""
    data = rows()
    data[23, 2] = np.nan
    run = scanned(write(tmp_path, data=data, label=np.arange(40) % 3), tmp_path)
    assert told(run, "values-not-finite") == [("set.h5#23", "1 NaN and 0 Inf among 6 values")]
    assert told(run, "network-loss-not-finite") == [("set.h5#23", "the loss is not finite, from the input on")]
    assert run.exit_code == 1


def pictures() -> np.ndarray:
    """Pictures of 0..1, and one, number 10, of 0..255: three of four such pictures end at the gradient of the dummy network in float16."""
    data = np.random.default_rng(3).random((20, 3, 32, 32)).astype(np.float32)
    data[10] *= 255
    return data


def test_an_image_of_0_to_255_into_a_half_precision_net(tmp_path: Path) -> None:
    """One picture was not divided by 255: the dummy network in float16 names it and the layer, float32 and bfloat16 hold it; scaled it is sound."""
    source = write(tmp_path, data=pictures(), label=np.arange(20) % 2)
    deep = {"network": {"precisions": ["fp32", "fp16", "bf16"], "backward": True}}
    ((key, message),) = told(scanned(source, tmp_path, deep), "network-overflows-half")
    assert key == "set.h5#10"
    assert message.endswith("is finite in float32, not in half precision: float16 (gradient)")
    assert told(scanned(source, tmp_path, {**deep, "preprocess": {"scale": 1 / 255}}), "network-overflows-half") == []


def test_it_overflows_the_real_net_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A network in float16 overflows on that picture: it is named with the module, the count of infinities and the cause."""
    pytest.importorskip("torch")
    assert main(["rehearse", write(tmp_path, data=pictures(), label=np.arange(20) % 2), "--model", f"{AT}:half", "--batch-size", "4"]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("set.h5#10  the output is not finite in evaluation and training: forward: square (Step) holds ")
    assert "+Inf among" in first and "it overflows float16 (largest 65,504); the sample alone does it" in first


def test_a_batch_in_which_a_class_is_absent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A loss divided by class counts: the scan tells the chance of such a batch, the rehearsal names the batch and the class."""
    pytest.importorskip("torch")
    labels = np.tile([0, 1, 2, 0, 1, 2, 0, 1], 5)
    labels[16:24] = [0, 1, 0, 1, 0, 1, 0, 1]
    source = write(tmp_path, data=rows(), label=labels)
    ((key, message),) = told(scanned(source, tmp_path, {"data": {"batch_size": 8}}), "batch-lacks-class")
    assert key is None and message.startswith("class 2 (8 of 40 samples) is absent from a batch of 8 with a chance of 0.137")
    assert "1 in stored order" in message
    command = ["rehearse", source, "--model", f"{AT}:rows", "--loss", f"{AT}:balanced", "--batch-size", "8"]
    assert main(command) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("set.h5#16, set.h5#17, set.h5#18, set.h5#19, set.h5#20 and 3 more  the loss is not finite in evaluation and training")
    assert "class 2 is absent from this batch of 8" in first


def test_a_mask_of_zeros_with_a_large_masked_energy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """exp(energy) is infinite where the mask is 0: Inf * 0 is NaN; a mask that hides all makes 0 / 0: both samples, and the softmax, are named."""
    pytest.importorskip("torch")
    data, mask = rows(24), np.ones((24, 6), np.float32)
    data[5, 3], mask[5, 3] = 120.0, 0.0
    mask[18] = 0.0
    source = write(tmp_path, data=data, mask=mask)
    assert main(["rehearse", source, "--model", f"{AT}:attention", "--inputs", "data,mask", "--batch-size", "8"]) == 1
    first, second, _ = capsys.readouterr().out.splitlines()
    for key, line in (("set.h5#5", first), ("set.h5#18", second)):
        assert line.startswith(f"{key}  the output is not finite in evaluation and training: forward: softmax (Step) holds ")
        assert "its inputs and parameters were sound: it began here; the sample alone does it" in line
    run = scanned(source, tmp_path, {"data": {"fields": {"data": {"exp": True}}}})
    ((key, _),) = told(run, "attention-mask-hides-all")
    assert key == "set.h5#18"
    ((key, message),) = told(run, "masked-energies-too-large")
    assert key == "set.h5#5"
    assert message.startswith("the mask hides 120, and shows ") and message.endswith("taking off the maximum before the mask leaves 0/0 in float32")


def test_the_square_root_of_a_zero_distance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pair of equal samples: its distance is 0, its loss finite, and the gradient of the root infinite; the pair and the root are named."""
    pytest.importorskip("torch")
    one, two = rows(24), rows(24)[::-1].copy()
    two[13] = one[13]
    source = write(tmp_path, one=one, two=two, label=np.zeros(24, int))
    command = ["rehearse", source, "--model", f"{AT}:siamese", "--loss", f"{AT}:distances", "--inputs", "one,two", "--batch-size", "8"]
    assert main(command) == 1
    first, _ = capsys.readouterr().out.splitlines()
    assert first.startswith("set.h5#13  the gradient is not finite in training: backward: ")
    assert "the sample alone does it" in first
