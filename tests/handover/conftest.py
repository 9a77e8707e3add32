"""Scanned sets to hand over."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

import datascrub

BAD = (3, 7, 41)


@pytest.fixture
def arrays(tmp_path: Path) -> tuple[np.ndarray, datascrub.Run]:
    """60 rows of HDF5, three of them with a value that is not finite, and their run."""
    data = np.random.default_rng(1).normal(size=(60, 5)).astype(np.float32)
    data[BAD, 2] = np.nan, np.inf, -np.inf
    with h5py.File(tmp_path / "set.h5", "w") as file:
        file.create_dataset("data", data=data)
        file.create_dataset("label", data=np.arange(60) % 2)
    return data, datascrub.scan(tmp_path / "set.h5", out=tmp_path / "run", workers=1)


@pytest.fixture
def folder(tmp_path: Path) -> tuple[Path, datascrub.Run]:
    """An image folder of two classes and 12 pictures, one of them cut short, and its run."""
    generator = np.random.default_rng(2)
    for number in range(12):
        place = tmp_path / "pictures" / ("cat" if number % 3 else "dog") / f"{number:02d}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(generator.integers(0, 255, (40, 40, 3), np.uint8)).save(place)
    broken = tmp_path / "pictures" / "cat" / "05.png"
    broken.write_bytes(broken.read_bytes()[:900])
    return tmp_path / "pictures", datascrub.scan(tmp_path / "pictures", out=tmp_path / "run", workers=1)
