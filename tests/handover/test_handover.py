"""What a training is handed: the kept samples, all of them, in order, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import datascrub
from datascrub.errors import UsageError
from datascrub.handover import CleanDataset, CleanSampler, drop_quarantined, kept_of, write_list
from tests.handover.conftest import BAD

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402  # after the question whether torch is here

Arrays = tuple[np.ndarray, datascrub.Run]
Pictures = tuple[Path, datascrub.Run]


class Listed:
    """A data set shaped like torchvision's ImageFolder, in an order of its own."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.samples = [(str(path), 0) for path in sorted(root.rglob("*.png"), key=lambda path: path.name, reverse=True)]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, position: int) -> str:
        return Path(self.samples[position][0]).name


def test_kept(arrays: Arrays) -> None:
    """All but the quarantined; a line that a person takes out of quarantine.csv comes back."""
    _, run = arrays
    kept = kept_of(run)
    assert np.flatnonzero(~kept.mask).tolist() == list(BAD)
    lines = (run.path / "quarantine.csv").read_text().splitlines(keepends=True)
    (run.path / "quarantine.csv").write_text("".join(lines[:2]))
    assert np.flatnonzero(~kept_of(run.path).mask).tolist() == [BAD[0]]


def test_a_partial_run_is_refused(arrays: Arrays, tmp_path: Path) -> None:
    """Samples that were not measured are not known to be good."""
    run = datascrub.scan(tmp_path / "set.h5", out=tmp_path / "part", limit=10, workers=1)
    with pytest.raises(UsageError, match="not complete"):
        kept_of(run)


@pytest.mark.parametrize("workers", [0, 2])
def test_clean_dataset_in_a_loader(arrays: Arrays, workers: int) -> None:
    """A DataLoader, with and without worker processes, sees every kept row once, in order, and no other."""
    data, run = arrays
    dataset = CleanDataset(TensorDataset(torch.from_numpy(data)), run)
    assert len(dataset) == 57
    seen = torch.cat([batch for (batch,) in DataLoader(dataset, batch_size=8, num_workers=workers)])
    np.testing.assert_array_equal(seen.numpy(), np.delete(data, BAD, axis=0))


@pytest.mark.parametrize("workers", [0, 2])
def test_clean_sampler_in_a_loader(arrays: Arrays, workers: int) -> None:
    """Shuffled, each kept row comes once in each epoch, in another order each time, the same for the same seed and epoch."""
    data, run = arrays
    dataset = TensorDataset(torch.from_numpy(data), torch.arange(60))
    sampler = CleanSampler(dataset, run, shuffle=True, seed=5)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler, num_workers=workers)
    first, second = ([int(number) for _, numbers in loader for number in numbers] for _ in range(2))
    assert sorted(first) == sorted(second) == sorted(set(range(60)) - set(BAD))
    assert first != second
    sampler.set_epoch(0)
    assert list(sampler) == first


def test_an_image_folder_in_another_order(folder: Pictures) -> None:
    """A data set that knows its files is matched by key, whatever its order."""
    place, run = folder
    names = [CleanDataset(Listed(place), run)[position] for position in range(11)]
    assert names == sorted((f"{number:02d}.png" for number in range(12) if number != 5), reverse=True)


def test_sets_that_do_not_fit(arrays: Arrays) -> None:
    """Another number of samples, or keys of another kind, are refused instead of dropping the wrong ones."""
    data, run = arrays
    with pytest.raises(UsageError, match="60"):
        CleanDataset(TensorDataset(torch.from_numpy(data[:50])), run)
    with pytest.raises(UsageError, match="none of the 3"):
        CleanDataset(TensorDataset(torch.from_numpy(data)), run, keys=[str(number) for number in range(60)])


def test_drop_quarantined_by_position(arrays: Arrays) -> None:
    """A tf.data pipeline that counts its elements: batched after it, all kept rows in order."""
    tf = pytest.importorskip("tensorflow")
    data, run = arrays
    ds = drop_quarantined(tf.data.Dataset.from_tensor_slices((data, np.arange(60))), run)
    rows = np.concatenate([batch for batch, _ in ds.batch(8).as_numpy_iterator()])
    np.testing.assert_array_equal(rows, np.delete(data, BAD, axis=0))
    with pytest.raises(UsageError, match="60"):
        drop_quarantined(tf.data.Dataset.range(59), run)
    endless = drop_quarantined(tf.data.Dataset.range(60).repeat(2).filter(lambda _: True), run)  # keeps all, hides its length
    with pytest.raises(tf.errors.InvalidArgumentError, match="repeat and batch after"):
        list(endless.as_numpy_iterator())


def test_drop_quarantined_by_key(arrays: Arrays) -> None:
    """Elements that carry their key are filtered in any order, in parallel too."""
    tf = pytest.importorskip("tensorflow")
    data, run = arrays
    keys = [f"set.h5#{number}" for number in range(60)]
    ds = tf.data.Dataset.from_tensor_slices((keys, data)).shuffle(60, seed=1).map(lambda key, row: (key, row), num_parallel_calls=2)
    seen = {key.decode() for key, _ in drop_quarantined(ds, run, key=lambda key, _: key).as_numpy_iterator()}
    assert seen == {key for number, key in enumerate(keys) if number not in BAD}


def test_tfrecord_pipeline(tmp_path: Path) -> None:
    """TFRecord files read one after the other by TFRecordDataset: the records that the scan names are gone, the others are the same bytes."""
    tf = pytest.importorskip("tensorflow")
    written = []
    for shard in range(2):
        with tf.io.TFRecordWriter(str(tmp_path / f"train-{shard}.tfrecord")) as writer:
            for number in range(20):
                values = np.random.default_rng([shard, number]).normal(size=8).astype(np.float32)
                if (shard, number) in ((0, 4), (1, 9)):
                    values[3] = np.nan
                features = {"x": tf.train.Feature(float_list=tf.train.FloatList(value=values))}
                written.append(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
                writer.write(written[-1])
    (tmp_path / "set").mkdir()
    files = [file.rename(tmp_path / "set" / file.name) for file in sorted(tmp_path.glob("*.tfrecord"))]
    run = datascrub.scan(tmp_path / "set", out=tmp_path / "run", workers=1)
    kept = list(drop_quarantined(tf.data.TFRecordDataset([str(file) for file in files]), run).as_numpy_iterator())
    assert kept == [record for number, record in enumerate(written) if number not in (4, 29)]
    assert write_list(run, tmp_path / "index.json", "index") == 38
    index = json.loads((tmp_path / "index.json").read_text())
    assert index == {"train-0.tfrecord": [n for n in range(20) if n != 4], "train-1.tfrecord": [n for n in range(20) if n != 9]}


def test_lists(folder: Pictures, tmp_path: Path) -> None:
    """Positions for HDF5, keys and Caffe's list for an image folder; a format that does not fit is refused and leaves nothing."""
    place, run = folder
    assert write_list(run, tmp_path / "keys.txt") == 11
    keys = (tmp_path / "keys.txt").read_text().splitlines()
    assert sorted(keys) == sorted(p.relative_to(place).as_posix() for p in place.rglob("*.png") if p.name != "05.png")
    write_list(run, tmp_path / "train.txt", "caffe")
    assert (tmp_path / "train.txt").read_text().splitlines() == [f"{key} {0 if key.startswith('cat') else 1}" for key in keys]
    write_list(run, tmp_path / "kept.npy", "positions")
    assert np.load(tmp_path / "kept.npy").tolist() == kept_of(run).positions.tolist()
    with pytest.raises(UsageError, match="no numbered sample"):
        write_list(run, tmp_path / "index.json", "index")
    with pytest.raises(UsageError, match="no list is called"):
        write_list(run, tmp_path / "x", "xml")
    assert not (tmp_path / "index.json").exists()
