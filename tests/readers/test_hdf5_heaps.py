"""Values of variable length in HDF5: a heap that would hold the library up for ever costs its own rows and no time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from datascrub.config import DataConfig
from datascrub.engines.isolated import call
from datascrub.model import Batch, Limits, Shard
from datascrub.plan import Plan
from datascrub.readers.hdf5 import HDF5

ROWS = 60
STORED: list[dict[str, Any]] = [
    {},
    {"chunks": (25,)},
    {"chunks": (25,), "maxshape": (None,)},
    {"chunks": (25,), "compression": "gzip", "shuffle": True},
]


def write(path: Path, kind: np.dtype, values: list[Any], **how: Any) -> None:
    with h5py.File(path, "w") as file:
        stored = file.create_dataset("values", (ROWS,), dtype=kind, **how)
        for row, value in enumerate(values):
            stored[row] = value
        file["label"] = np.arange(ROWS) % 2


def heaps_of(path: Path) -> list[int]:
    data, found = path.read_bytes(), [-1]
    while (at := data.find(b"GCOL", found[-1] + 1)) >= 0:
        found.append(at)
    return found[1:]


def read(path: str) -> tuple[list[str], dict[str, str]]:
    """(keys, codes of problems by key); meant for a child, for what it reads may hold it up."""
    with HDF5(Path(path)) as reader:
        survey = reader.survey(DataConfig())
        plan = Plan(path, "hdf5", survey.layout, survey.fields, survey.settings, reader.fingerprint(), limits=Limits())
        pieces = [piece for shard in reader.shards(plan) if isinstance(shard, Shard) for piece in reader.read(plan, shard)]
    batches = [piece for piece in pieces if isinstance(piece, Batch)]
    return [key for each in batches for key in each.keys], {each.keys[row]: what.code for each in batches for row, what in each.problems.items()}


@pytest.mark.parametrize("how", STORED)
@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_heap_of_zeros_costs_its_rows(tmp_path: Path, how: dict[str, Any], kind: str) -> None:
    """A hole of zeros in one heap: its rows have a problem, those of the other heaps are read, and all of it within seconds."""
    path = tmp_path / "a.h5"
    if kind == "text":
        write(path, h5py.string_dtype(), [f"a sentence of its own for row {row} " * 150 for row in range(ROWS)], **how)
    else:
        write(path, h5py.vlen_dtype(np.float32), [np.arange(row % 7 + 1500, dtype=np.float32) for row in range(ROWS)], **how)
    assert call(read, str(path), silence_s=30.0)[1] == {}
    heaps = heaps_of(path)
    assert len(heaps) > 3
    data = bytearray(path.read_bytes())
    data[heaps[2] + 16 : heaps[2] + 1500] = bytes(1484)
    path.write_bytes(data)
    keys, problems = call(read, str(path), silence_s=30.0)
    assert len(keys) == ROWS
    assert 0 < len(problems) < ROWS / 5
