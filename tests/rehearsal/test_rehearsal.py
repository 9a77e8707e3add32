"""Every sample through a real model: what is found, where it began, and whether the sample alone does it."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")

from datascrub.api import survey  # noqa: E402  # likewise
from datascrub.cli import main  # noqa: E402  # after the question whether torch is here
from datascrub.config import from_table  # noqa: E402  # likewise
from datascrub.errors import UsageError  # noqa: E402  # likewise
from datascrub.rehearsal import Cast, Rehearsed  # noqa: E402  # likewise
from datascrub.rehearsal.over_source import run  # noqa: E402  # likewise
from tests.rehearsal import models  # noqa: E402  # likewise

AT = "tests.rehearsal.models"


def write(place: Path, **fields: np.ndarray) -> Path:
    with h5py.File(place / "set.h5", "w") as file:
        for name, values in fields.items():
            file[name] = values
    return place / "set.h5"


def rows(count: int = 40, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, 6)).astype(np.float32)


def labels(count: int = 40) -> np.ndarray:
    return np.arange(count) % 3


def ran(source: Path, model: str, loss: str | None = "cross_entropy", config: dict | None = None, **options: object) -> Rehearsed:
    """What rehearse() gives, in this process: importing torch takes a second each time."""
    cast, its = Cast(f"{AT}:{model}", f"{AT}:{loss}" if loss else None, **{"batch_size": 8, **options}), from_table(config or {})
    *troubles, account = run(survey(source, its).plan, cast, its.preprocess, None)
    return Rehearsed(tuple(troubles), *account)


def test_a_sound_set(tmp_path: Path) -> None:
    """Nothing is found in a sound set, also where the last batch is a smaller one; every sample was run."""
    done = ran(write(tmp_path, data=rows(42), label=labels(42)), "rows")
    assert done == Rehearsed((), 42, 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_value_is_the_samples_own(bad: float, tmp_path: Path) -> None:
    """NaN and infinities are found in both modes, at the input, counted by kind, and the sample alone does it; also in the first batch."""
    data = rows()
    data[2, 4] = data[21, 0] = bad
    done = ran(write(tmp_path, data=data, label=labels()), "rows")
    assert [each.keys for each in done.troubles] == [("set.h5#2",), ("set.h5#21",)]
    for trouble in done.troubles:
        assert (trouble.kind, trouble.modes, trouble.is_alone) == ("sample", ("evaluation", "training"), True)
        where = trouble.where
        assert where is not None and where.way == "input" and where.size == 6
        assert (where.nan, where.positive_inf, where.negative_inf) == (bad != bad, bad == np.inf, bad == -np.inf)
        assert "1 NaN" in trouble.says or "Inf among 6 float32 values (16.67%)" in trouble.says


def test_the_module_where_it_began(tmp_path: Path) -> None:
    """A negative number is sound, its logarithm is not: the module is named with what it gave, not those that follow."""
    data = np.abs(rows()) + 0.1
    data[17, 3] = -1
    (trouble,) = ran(write(tmp_path, data=data, label=labels()), "logarithm").troubles
    assert trouble.keys == ("set.h5#17",) and trouble.where is not None
    assert (trouble.where.module, trouble.where.kind, trouble.where.nan, trouble.where.size) == ("0", "Step", 1, 6)
    assert "its inputs and parameters were sound: it began here" in trouble.says


def test_a_class_that_is_absent(tmp_path: Path) -> None:
    """A loss divided by the count of each class of the batch: the batch without class 2 is named, and what cures it; no sample is accused."""
    wanted = np.tile([0, 1, 2, 0, 1, 2, 0, 1], 5)
    wanted[16:24] = [0, 1, 0, 1, 0, 1, 0, 1]
    (trouble,) = ran(write(tmp_path, data=rows(), label=wanted), "rows", "balanced").troubles
    assert trouble.kind == "lack" and trouble.keys == tuple(f"set.h5#{row}" for row in range(16, 24))
    assert "class 2 is absent from this batch of 8: it is sound once set.h5#" in trouble.says
    assert trouble.stage == "loss"


def test_two_that_fail_together(tmp_path: Path) -> None:
    """Two equal samples in one batch, whose distance is 0: each is sound, together their gradient is NaN; the two are named."""
    data = rows()
    data[29] = data[25]
    (trouble,) = ran(write(tmp_path, data=data, label=labels()), "plain_rows", "pairs").troubles
    assert (trouble.kind, trouble.keys, trouble.modes, trouble.stage) == ("company", ("set.h5#25", "set.h5#29"), ("training",), "gradient")
    assert "no sample alone does it, these 2 together do" in trouble.says


def test_a_label_that_the_loss_refuses(tmp_path: Path) -> None:
    """A label out of range makes the loss raise: the sample is named with what was raised."""
    wanted = labels()
    wanted[11] = 7
    (trouble,) = ran(write(tmp_path, data=rows(), label=wanted), "rows").troubles
    assert trouble.keys == ("set.h5#11",) and trouble.stage == "raises" and "Target 7 is out of bounds" in trouble.says


def test_a_batch_of_one_is_said_to_be_one(tmp_path: Path) -> None:
    """Batch normalisation raises on the single sample that is left at the end: the batch lacks company, the sample is not accused."""
    (trouble,) = ran(write(tmp_path, data=rows(41), label=labels(41)), "rows").troubles
    assert (trouble.kind, trouble.keys, trouble.modes, trouble.stage) == ("lack", ("set.h5#40",), ("training",), "raises")
    assert "a statistic of this batch of 1: it is sound once set.h5#" in trouble.says


def test_a_model_at_fault(tmp_path: Path) -> None:
    """Weights that are NaN fail with every sample: that is said once a batch, and the rehearsal stops."""
    done = ran(write(tmp_path, data=rows(400), label=labels(400)), "poisoned")
    assert {trouble.kind for trouble in done.troubles} == {"all"}
    assert len(done.troubles) == 4 and done.samples < 400 and "not the samples" in done.stopped
    assert "its own weight is not finite" in done.troubles[0].says


def test_a_model_is_left_as_it_was(tmp_path: Path) -> None:
    """Training passes change neither weights nor averages: the same batch gives the same answer, whatever was tried before."""
    from datascrub.rehearsal.samples import Sample
    from datascrub.rehearsal.stage import Stage

    stage = Stage(Cast(f"{AT}:rows", f"{AT}:cross_entropy"))
    before = {name: values.clone() for name, values in stage._model.state_dict().items()}
    samples = [Sample(str(row), (values,), (np.array(row % 3),)) for row, values in enumerate(rows(8))]
    assert stage.run(samples, "training") is None
    assert all(torch.equal(values, before[name]) for name, values in stage._model.state_dict().items())


def test_weights(tmp_path: Path) -> None:
    """Weights come from safetensors or a state dict; what does not fit, and a pickle that would run code, are refused."""
    safetensors = pytest.importorskip("safetensors.torch")
    source = write(tmp_path, data=rows(8), label=labels(8))
    spoiled = models.poisoned().state_dict()
    safetensors.save_file(spoiled, tmp_path / "w.safetensors")
    torch.save({"state_dict": spoiled}, tmp_path / "w.pt")
    torch.save(models.poisoned(), tmp_path / "whole.pt")
    torch.save({"weight": torch.zeros(2)}, tmp_path / "other.pt")
    for name in ("w.safetensors", "w.pt"):
        assert ran(source, "rows", weights=str(tmp_path / name)).troubles[0].kind == "all"
    for name, said in (("whole.pt", "can't load whole.pt"), ("other.pt", "do not fit the model"), ("none.pt", "can't load none.pt")):
        with pytest.raises(UsageError, match=said):
            ran(source, "rows", weights=str(tmp_path / name))


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        ("nothing", {}, "can't be had"),
        ("broken", {}, "no such checkpoint"),
        ("halve", {}, "raised TypeError"),
        ("rows", {"inputs": ("pixels",)}, "--inputs names pixels"),
        ("rows", {"loss": "no_tensor"}, "the loss gave float"),
        ("rows", {"device": "cuda:77"}, "finds no device cuda:77"),
    ],
)
def test_wrong_use(model: str, options: dict, said: str, tmp_path: Path) -> None:
    """What can't be had, and what is no model, loss, field or device, is an error that says so."""
    with pytest.raises(UsageError, match=said):
        ran(write(tmp_path, data=rows(8), label=labels(8)), model, **options)


def test_what_the_inputs_get(tmp_path: Path) -> None:
    """[preprocess] is applied before the model; a sample that it refuses is named, and no model sees it."""
    data = np.random.default_rng(3).integers(0, 255, (10, 8, 8, 3), np.uint8)
    data[6] = 9
    source = write(tmp_path, data=data, label=labels(10))
    config = {"preprocess": {"layout": "HWC->CHW", "mean": "sample", "std": "sample"}}
    (trouble,) = ran(source, "plain_pictures", config=config, batch_size=5).troubles
    assert trouble.kind == "input" and trouble.keys == ("set.h5#6",) and "zero-deviation" in trouble.says


def test_a_folder_of_pictures(tmp_path: Path) -> None:
    """Pictures are decoded in colour, class names become numbers; those that can't be decoded are counted and left to the scan."""
    for number in range(12):
        place = tmp_path / "set" / ("cat", "dog", "owl")[number % 3] / f"{number}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.default_rng(number).integers(0, 256, (8, 8), np.uint8)).save(place)
    place.write_bytes(place.read_bytes()[:60])
    config = {"data": {"classes": ["cat", "dog", "owl"]}}
    done = ran(tmp_path / "set", "plain_pictures", config=config, batch_size=5)
    assert (done.troubles, done.samples, done.not_run) == ((), 12, 1)
    with pytest.raises(UsageError, match=r"declare data\.classes"):
        ran(tmp_path / "set", "plain_pictures")
    (trouble,) = ran(tmp_path / "set", "plain_pictures", config={**config, "preprocess": {"crop": 9, "layout": "CHW"}}).troubles[:1]
    assert trouble.kind == "input" and "crop-too-large: a crop of 9 x 9 from 8 x 8 pixels" in trouble.says


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command tells each trouble in a line, or as JSON, and ends with 1; a sound set ends with 0; a fault of the request with 2."""
    data = rows()
    data[2, 4] = np.nan
    source = str(write(tmp_path, data=data, label=labels()))
    command = ["rehearse", source, "--model", f"{AT}:rows", "--loss", f"{AT}:cross_entropy", "--batch-size", "8"]
    assert main(command) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("set.h5#2  the output is not finite in evaluation and training: input: Sequential holds 1 NaN among 6 float32 values")
    assert told[-1] == "40 samples, 1 troubles"
    assert main([*command, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["keys"] == ["set.h5#2"]
    assert main(["rehearse", source, "--model", f"{AT}:nothing"]) == 2
