"""A flood is a cause, not a quarantine: it is shown, and no copy is written of what is left."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import datascrub
from datascrub.errors import CopyError

PAGE = b"<!DOCTYPE html><html><body>This domain is for sale</body></html>"
NIGHT = 1_700_000_000


def hijacked(place: Path, *, of_one_folder: bool) -> Path:
    """Sixty pictures in three folders, twenty of them replaced by one page in one night: those of one folder, or one in three of each."""
    chance = np.random.default_rng(3)
    for number in range(60):
        folder = place / ("cat", "dog", "fox")[number % 3]
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{number:03d}.png"
        patches = chance.integers(0, 255, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(np.kron(patches, np.ones((5, 5, 1), np.uint8)).astype(np.uint8)).save(file)
        os.utime(file, (0, NIGHT - 86_400 + 61 * number))
        if number % 3 == 1 if of_one_folder else number % 9 in (0, 4, 8):
            file.write_bytes(PAGE)
            os.utime(file, (0, NIGHT + number % 3))
    return place


@pytest.mark.parametrize("of_one_folder", [True, False])
def test_common_cause_is_shown(tmp_path: Path, of_one_folder: bool) -> None:
    """The summary says first what the bad third has in common: the error, the bytes, the minute, and the folder where it is one."""
    run = datascrub.scan(hijacked(tmp_path / "set", of_one_folder=of_one_folder), out=tmp_path / "run")
    flood = run.summary["flood"]
    # One page under several labels is a conflict too, and both rules fire equally often.
    most = "image-not-an-image" if of_one_folder else "duplicate-label-conflict"
    assert flood.startswith(f"20 of 60 samples would be left out; most often {most} (20)")
    assert "20 of them hold the same bytes" in flood
    assert "the files of 20 of them were written in one minute, 2023-11-14 22:13 UTC" in flood
    assert ("lie in dog" in flood) == of_one_folder
    with pytest.raises(CopyError, match="same bytes") as caught:
        run.clean(tmp_path / "clean")
    assert (caught.value.exit_code, (tmp_path / "clean").exists()) == (5, False)


def test_what_the_whole_set_shares_is_no_cause(tmp_path: Path) -> None:
    """A flood in a flat folder whose files were all written in one minute, each bad in its own way, has no cause beyond its most common error."""
    (tmp_path / "set").mkdir()
    chance = np.random.default_rng(4)
    for number in range(40):
        file = tmp_path / "set" / f"{number:03d}.png"
        Image.fromarray(chance.integers(0, 255, (30, 30, 3), dtype=np.uint8)).save(file)
        if number % 4 == 0:
            file.write_bytes(file.read_bytes()[: 300 + number])
        os.utime(file, (0, NIGHT))
    flood = datascrub.scan(tmp_path / "set", out=tmp_path / "run").summary["flood"]
    assert flood.startswith("10 of 40 samples would be left out; most often image-truncated (10)")
    assert "of them" not in flood
