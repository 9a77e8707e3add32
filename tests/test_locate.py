"""From the iteration in a log to the records of that step."""

from __future__ import annotations

from pathlib import Path

import h5py
import lmdb
import numpy as np
import pytest

import datascrub
from datascrub.errors import UsageError
from datascrub.locate import Consumption, locate


def made(tmp_path: Path, bad: int = 37) -> Path:
    data = np.random.default_rng(1).normal(size=(50, 4)).astype(np.float32)
    data[bad, 1] = np.nan
    with h5py.File(tmp_path / "set.h5", "w") as file:
        file.create_dataset("data", data=data)
    return tmp_path / "set.h5"


def test_caffe_goes_round_without_a_break() -> None:
    """Iterations follow one another over the end of the source."""
    assert Consumption(0, 8).numbers(50) == list(range(8))
    assert Consumption(6, 8).numbers(50) == [48, 49, 0, 1, 2, 3, 4, 5]
    assert Consumption(2, 4, iter_size=2, gpus=2).numbers(50) == list(range(32, 48))
    assert Consumption(102, 8, resumed_at=100).numbers(50) == list(range(16, 24))
    assert Consumption(3, 80).numbers(50) == [number % 50 for number in range(40, 90)]


def test_an_epoch_begins_anew() -> None:
    """With epochs, the last batch is what is left, and there is none behind it."""
    assert Consumption(6, 8, epoch=3).numbers(50) == [48, 49]
    with pytest.raises(UsageError, match="no step 7"):
        Consumption(7, 8, epoch=0).numbers(50)


@pytest.mark.parametrize("wrong", [Consumption(0, 0), Consumption(0, 1, iter_size=0), Consumption(-1, 1), Consumption(4, 1, resumed_at=5)])
def test_wrong_numbers(wrong: Consumption) -> None:
    """Sizes below one and iterations before the first are errors of use."""
    with pytest.raises(UsageError):
        wrong.numbers(50)


def test_the_nan_of_the_log_is_found(tmp_path: Path) -> None:
    """Iteration 4 of batches of 8 holds row 37 with its finding; the other rows of the step have none."""
    source = made(tmp_path)
    datascrub.scan(source, out=tmp_path / "run", workers=1)
    step = locate(source, Consumption(4, 8), tmp_path / "run")
    assert [sample.key for sample in step.samples] == [f"set.h5#{number}" for number in range(32, 40)]
    guilty = [sample for sample in step.samples if sample.findings]
    assert [sample.number for sample in guilty] == [37]
    assert "values-not-finite" in {finding.code for finding in guilty[0].findings}


def test_devices_take_turns(tmp_path: Path) -> None:
    """With two devices every second record is of the second; with iter_size the passes of the step are told apart."""
    source = made(tmp_path)
    datascrub.scan(source, out=tmp_path / "run", workers=1)
    step = locate(source, Consumption(0, 2, iter_size=2, gpus=2), tmp_path / "run")
    assert [(sample.gpu, sample.turn) for sample in step.samples] == [(0, 0), (1, 0), (0, 0), (1, 0), (0, 1), (1, 1), (0, 1), (1, 1)]


def test_lmdb_in_the_order_of_keys(tmp_path: Path) -> None:
    """The records of an LMDB come in the order of their keys, as Caffe's cursor reads them, whatever the order of writing."""
    generator = np.random.default_rng(3)
    with lmdb.open(str(tmp_path / "db"), map_size=1 << 24) as environment, environment.begin(write=True) as transaction:
        for number in generator.permutation(30).tolist():
            transaction.put(f"{number:08d}".encode(), generator.integers(0, 255, 64, np.uint8).tobytes())
    datascrub.scan(tmp_path / "db", out=tmp_path / "run", workers=1)
    step = locate(tmp_path / "db", Consumption(2, 10), tmp_path / "run")
    assert [sample.key for sample in step.samples] == [f"{number:08d}" for number in range(20, 30)]


def test_no_run_or_an_old_one(tmp_path: Path) -> None:
    """Without a run, and after the source changed, the answer is what to do, never a wrong sample."""
    source = made(tmp_path)
    with pytest.raises(UsageError, match="no run"):
        locate(source, Consumption(0, 8), tmp_path / "run")
    datascrub.scan(source, out=tmp_path / "run", workers=1)
    with h5py.File(source, "r+") as file:
        file["data"][0, 0] = 5
        file.create_dataset("more", data=[1])
    with pytest.raises(UsageError, match="changed"):
        locate(source, Consumption(0, 8), tmp_path / "run")
