"""The benchmark works; what it measures is no test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_bench_runs_on_tiny_data(root: Path, tmp_path: Path) -> None:
    """Each work is made, looped over and scanned, and tells a ratio."""
    command = [sys.executable, root / "scripts" / "bench", "--scale", "0.0002", "--rounds", "1", "--data", tmp_path, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [work["work"] for work in told] == ["jpeg-folder", "lmdb-datum", "hdf5-float32"]
    assert all(work["ratio"] > 0 for work in told)
