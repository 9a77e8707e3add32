"""The benchmark works; what it measures is no test."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
TINY = ("--scale", "0.0002", "--rounds", "1")


def bench(folder: Path, *words: str) -> list[dict[str, Any]]:
    """What scripts/bench prints as JSON; the first line is of the machine."""
    command = [sys.executable, ROOT / "scripts" / "bench", *TINY, "--data", folder, "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    machine, *lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert machine["cores"] >= 1 and machine["versions"]["numpy"]
    return lines


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the data of all tests lie."""
    return tmp_path_factory.mktemp("bench")


@pytest.mark.parametrize(
    ("row", "lines"),
    [("lmdb", 1), ("again", 2), ("judge", 2), ("copy", 1), ("start", 2)],
)
def test_a_row_tells_its_value_and_its_target(data: Path, row: str, lines: int) -> None:
    """Data are made, the others and the scan take their turns, and each line holds a value with its spread."""
    told = bench(data, "--only", row)
    assert [line["row"] for line in told] == [row] * lines
    assert all(line["low"] <= line["value"] <= line["high"] and line["times"] for line in told)


@pytest.mark.parametrize(
    ("maker", "peer", "package"),
    [
        ("pictures.make_jpegs", "pillow", "PIL"),
        ("pictures.make_jpegs", "floor", "simplejpeg"),
        ("pictures.make_pngs", "pillow", "PIL"),
        ("containers.make_leveldb", "leveldb", "plyvel"),
        ("containers.make_hdf5", "hdf5", "h5py"),
        ("containers.make_tfrecord_small", "tfdata_small", "tensorflow"),
    ],
)
def test_a_peer_goes_over_all_samples(tmp_path: Path, maker: str, peer: str, package: str) -> None:
    """Each loop sees every sample of the data that are made for it, shared between two processes."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    module, _, name = maker.partition(".")
    imports = f"from pathlib import Path; from benchmarks import {module}, peers"
    code = f"{imports}; {module}.{name}(Path('data'), 20); print(peers.run('{peer}', Path('data'), 2))"
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'scripts'}", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "'samples': 20" in done.stdout, done.stdout + done.stderr


def test_stages_add_up_to_the_whole(data: Path) -> None:
    """Reading, decoding, measuring, the network, writing and judging are told apart, and nothing is counted twice."""
    (told,) = bench(data, "--stages", "--only", "lmdb")
    assert {"start", "read", "decode: layout", "network", "write", "judge", "compact"} <= set(told["stages"])
    assert sum(stage["share"] for stage in told["stages"].values()) == pytest.approx(1, abs=0.02)
