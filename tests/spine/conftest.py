"""Small data sets for tests of the spine."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

MakeSet = Callable[..., Path]


@pytest.fixture
def make_set(tmp_path: Path) -> MakeSet:
    """Writes rows of four N(0, 1) floats with labels 0 and 1; `values` replaces the first value of some rows."""

    def make(count: int = 300, values: dict[int, float] | None = None, name: str = "set.h5", chunk: int = 50) -> Path:
        data = np.random.default_rng(7).normal(0, 1, (count, 4)).astype(np.float32)
        for row, value in (values or {}).items():
            data[row, 0] = value
        with h5py.File(tmp_path / name, "w") as file:
            file.create_dataset("data", data=data, chunks=(chunk, 4), track_times=False)
            file.create_dataset("label", data=np.arange(count) % 2, chunks=(chunk,), track_times=False)
        return tmp_path / name

    return make
