"""What a person reads: where to look next, what was accepted, what is new."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import datascrub
from datascrub.cli import main
from datascrub.report import text
from tests.spine.conftest import MakeSet

WORDS = ("rate", "loss", "initialisation", "epsilon", "precision", "layers")


def test_a_clean_scan_says_where_to_look_next(make_set: MakeSet, tmp_path: Path) -> None:
    """The six places stand at the end of a clean scan in few lines, and not under errors."""
    clean = datascrub.scan(make_set(), out=tmp_path / "clean")
    said = text.summary(clean.summary)
    assert said.endswith(text.NEXT)
    assert all(word in text.NEXT for word in WORDS)
    assert len(text.NEXT.splitlines()) <= 6
    red = datascrub.scan(make_set(name="red.h5", values={3: np.nan}), out=tmp_path / "red")
    assert text.NEXT not in text.summary(red.summary)


def test_a_part_of_a_scan_is_not_called_clean(make_set: MakeSet, tmp_path: Path) -> None:
    """Where only a part was measured the data may still be it."""
    run = datascrub.scan(make_set(), out=tmp_path / "run", limit=40)
    assert text.NEXT not in text.summary(run.summary)


def test_each_page_ends_so(capsys: pytest.CaptureFixture[str]) -> None:
    """The page of a rule says where to look next, too."""
    assert main(["explain", "image-truncated"]) == 0
    assert capsys.readouterr().out.rstrip().endswith(text.NEXT)
