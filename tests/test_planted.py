"""The script that plants faults: every planted error is named, and no healthy picture is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_every_kind_is_found(tmp_path: Path) -> None:
    """Of 800 pictures four carry each kind of fault; all are named by their rule, and no healthy one has an error."""
    command = [sys.executable, str(ROOT / "scripts" / "make_planted.py"), str(tmp_path / "set"), "--samples", "800", "--score"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    table = [line.split() for line in answer.split("kind  ")[-1].splitlines()[1:] if line.strip()]
    recalls = {" ".join(line[:-5]): float(line[-2]) for line in table[:-1]}
    assert recalls.pop("zeroed") >= 0.5  # some zeros are valid codes
    assert len(recalls) == 17
    assert {kind: recall for kind, recall in recalls.items() if recall < 1} == {}
    assert ": 0 with an error" in answer
