"""The demo of the README, in the environment that runs the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_demo(root: Path, tmp_path: Path) -> None:
    """In each container every spoilt sample is found, nothing healthy is accused, and the cleaned copy is clean."""
    environment = os.environ | {"DATASCRUB_VENV": sys.prefix}
    command = [sys.executable, root / "scripts" / "demo", tmp_path / "demo"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
