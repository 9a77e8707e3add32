"""The small data sets after public bug reports that DATASCRUB_CASES names, each with its right answer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.corpus
def test_cases(root: Path, cases: Path, tmp_path: Path) -> None:
    """Every case is right, but for those that later.txt leaves to rules still to come."""
    scorer = cases.parent / "tools" / "score_cases.py"
    command = [
        sys.executable,
        scorer,
        cases,
        "--datascrub",
        f"{sys.executable} -m datascrub",
        "--without",
        cases / "later.txt",
        "--work",
        tmp_path / "work",
    ]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(root)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
