"""HDF5: real files, whole and damaged, read and copied."""

from __future__ import annotations

import csv
import os
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import xxhash

from datascrub.config import DataConfig
from datascrub.errors import SourceError
from datascrub.model import Batch, Part, Role
from datascrub.plan import Plan
from datascrub.readers.base import CopyOptions
from datascrub.readers.hdf5 import HDF5
from datascrub.validators.record_integrity import _PARTS


def plan_of(source: Path) -> Plan:
    with HDF5(source) as reader:
        survey = reader.survey(DataConfig())
    return Plan(str(source), "hdf5", None, survey.fields, survey.settings)


def scan(source: Path, **how):
    plan, parts, batches = plan_of(source), [], []
    with HDF5(source) as reader:
        for shard in list(reader.shards(plan)):
            for each in [shard] if isinstance(shard, Part) else reader.read(plan, shard, **how):
                (batches if isinstance(each, Batch) else parts).append(each)
    return batches, parts


def problems_of(batches):
    return {batch.keys[row]: problem.code for batch in batches for row, problem in batch.problems.items()}


def write(path: Path, rows: int = 100, **how) -> np.ndarray:
    data = np.random.default_rng(0).normal(0, 1, (rows, 8)).astype(np.float32)
    with h5py.File(path, "w") as file:
        file.create_dataset("label", data=np.arange(rows) % 3)
        file.create_dataset("data", data=data, **how)
        file.create_dataset("name", data=[f"n{row}" for row in range(rows)], dtype=h5py.string_dtype())
    return data


def test_rows_come_dense_and_whole(tmp_path):
    """Every row comes once, in order, as blocks equal to the file, under keys of file and row."""
    data = write(tmp_path / "a.h5")
    batches, parts = scan(tmp_path / "a.h5", batch_size=30)
    assert not parts and not problems_of(batches)
    assert [key for batch in batches for key in batch.keys] == [f"a.h5#{row}" for row in range(100)]
    assert np.array_equal(np.concatenate([batch.columns["data"].values for batch in batches]), data)
    assert {field.name: field.role for field in plan_of(tmp_path / "a.h5").fields} == {"data": Role.ARRAY, "label": Role.LABEL, "name": Role.ID}


def test_rows_and_untouched(tmp_path):
    """rows selects; an untouched row is named and holds nothing."""
    write(tmp_path / "a.h5")
    batches, _ = scan(tmp_path / "a.h5", rows=frozenset({3, 4, 9}), untouched=frozenset({4}))
    assert [key for batch in batches for key in batch.keys] == ["a.h5#3", "a.h5#4", "a.h5#9"]
    assert batches[1].columns["data"].values == [None]


@pytest.mark.parametrize(("how", "code"), [({"compression": "gzip"}, "record-unparsable"), ({"fletcher32": True}, "record-checksum-mismatch")])
def test_damaged_chunk_costs_its_rows_alone(tmp_path, how, code):
    """A damaged chunk names exactly its rows, and once the place in the file."""
    path = tmp_path / "a.h5"
    write(path, chunks=(25, 8), **how)
    with h5py.File(path) as file:
        info = file["data"].id.get_chunk_info(1)
    with path.open("r+b") as file:
        file.seek(info.byte_offset + 20)
        file.write(b"\xff" * 100)
    batches, parts = scan(path)
    assert problems_of(batches) == dict.fromkeys((f"a.h5#{row}" for row in range(25, 50)), code)
    assert [(part.code, part.key, part.offset) for part in parts] == [("part-damaged", "a.h5:data", info.byte_offset)]


@pytest.mark.parametrize("how", [{}, {"chunks": (25, 8)}, {"chunks": (25, 8), "compression": "gzip"}])
def test_truncated_file_is_salvaged(tmp_path, how):
    """Of a file cut short the rows before the cut are right, and the others named."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        data = np.random.default_rng(0).normal(0, 1, (1000, 8)).astype(np.float32)
        file.create_dataset("data", data=data, **how)
    os.truncate(path, int(path.stat().st_size * 0.6))
    batches, parts = scan(path)
    lost = problems_of(batches)
    assert [part.code for part in parts] == ["part-truncated"] and set(lost.values()) == {"record-truncated"}
    assert 300 < len(lost) < 700
    for batch in batches:
        for key, value in zip(batch.keys, batch.columns["data"].values, strict=True):
            assert key in lost if value is None else np.array_equal(value, data[int(key.split("#")[1])])


def test_stub_alone_is_a_source_error(tmp_path):
    """A single file of which nothing is left can't be scanned, and the message says truncated."""
    write(tmp_path / "a.h5")
    os.truncate(tmp_path / "a.h5", 96)
    with pytest.raises(SourceError, match="truncated"):
        plan_of(tmp_path / "a.h5")


def test_unequal_axes_are_named(tmp_path):
    """data and label of unequal length are part-axis-mismatch; a train and a test group of other lengths are not."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["data"], file["label"] = np.ones((10, 2)), np.arange(8)
    with h5py.File(tmp_path / "b.h5", "w") as file:
        for name, rows in (("train", 10), ("test", 4)):
            file[f"{name}/data"], file[f"{name}/label"] = np.ones((rows, 2)), np.arange(rows)
    assert [part.code for part in scan(tmp_path / "a.h5")[1]] == ["part-axis-mismatch"]
    assert not scan(tmp_path / "b.h5")[1]


def test_numbers_beside_the_samples_are_seen(tmp_path):
    """NaN in a dataset off the axis is part-not-finite, with its counts."""
    write(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["mean"] = np.array([1.0, np.nan, np.inf])
    (part,) = scan(tmp_path / "a.h5")[1]
    assert part.code == "part-not-finite" and part.evidence["nan_count"] == 1 and part.evidence["inf_count"] == 1


def test_copy_without_rows(tmp_path):
    """The copy holds every kept row byte for byte, filters and attributes too; the source may stand in a folder that can't be written."""
    folder = tmp_path / "in"
    folder.mkdir()
    source, made = folder / "a.h5", tmp_path / "b.h5"
    data = write(source, chunks=(32, 8), compression="gzip", shuffle=True, fletcher32=True, maxshape=(None, 8))
    with h5py.File(source, "a") as file:
        file["data"].attrs["unit"] = "m"
        file["mean"] = np.zeros(8)
        file["link"] = h5py.SoftLink("/data")
    before = source.read_bytes()
    folder.chmod(0o555)
    plan = plan_of(source)
    with HDF5(source) as reader:
        report = reader.copy_clean(plan, made, frozenset({"a.h5#3", "a.h5#99"}), CopyOptions(), lambda _: None)
    folder.chmod(0o755)
    assert (report.kept, report.dropped) == (98, 2) and source.read_bytes() == before
    with h5py.File(made) as file:
        assert np.array_equal(file["data"][:], np.delete(data, [3, 99], 0))
        its = file["data"]
        assert (its.chunks, its.compression, its.shuffle, its.fletcher32, its.maxshape[0]) == ((32, 8), "gzip", True, True, None)
        assert its.attrs["unit"] == "m" and len(file["name"]) == 98 and file["mean"].shape == (8,)
        assert file.get("link", getlink=True).path == "/data"
    rolling = xxhash.xxh3_128()
    with HDF5(made) as reader:
        for _, digest in reader.digests(replace(plan, source=str(made))):
            rolling.update(digest)
    assert rolling.hexdigest() == report.digest


@pytest.mark.corpus
@pytest.mark.skipif("DATASCRUB_CORPUS" not in os.environ, reason="no corpus")
def test_healthy_corpus_files_have_no_error():
    """No healthy file of the corpus is accused."""
    corpus = Path(os.environ["DATASCRUB_CORPUS"])
    with (corpus / "MANIFEST.csv").open(newline="") as table:
        healthy = [row["path"] for row in csv.DictReader(table) if row["kind"] == "hdf5" and row["expected"] == "healthy"]
    for path in healthy:
        batches, parts = scan(corpus / path)
        assert not problems_of(batches), path
        assert not [part for part in parts if _PARTS[part.code][0] == "error"], path


def test_texts_of_a_cut_file_do_not_hang(tmp_path):
    """Texts whose heap stands behind the cut are named and not read: HDF5 would never come back from a heap of zeros."""
    path = tmp_path / "a.h5"
    write(path, rows=2000)
    os.truncate(path, int(path.stat().st_size * 0.7))
    batches, parts = scan(path)
    assert parts[0].code == "part-truncated" and "record-truncated" in problems_of(batches).values()
