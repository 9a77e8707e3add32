"""The corpus of real files that DATASCRUB_CORPUS names, held against its own manifest by its own scorer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.corpus
def test_corpus(root: Path, corpus: Path, tmp_path: Path) -> None:
    """Of what the manifest calls corrupt, mismatched, hazardous or non-finite 98.5 % is found; no healthy file is accused; nothing crashes."""
    scorer = corpus.parent / "tools" / "score_corpus.py"
    command = [sys.executable, scorer, corpus, "--datascrub", f"{sys.executable} -m datascrub"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(root)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
