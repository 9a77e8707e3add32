"""SIGKILL at random moments, then the same command again."""

import subprocess
import sys
from pathlib import Path


def test_killed_runs_and_copies_come_out_equal(root: Path, tmp_path: Path) -> None:
    """Runs and copies killed at seeded moments end as undisturbed ones do, and no destination is ever half there."""
    words = [sys.executable, root / "scripts" / "kill_test", "--moments", "2", "--seed", "7", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 with another outcome" in done.stdout
