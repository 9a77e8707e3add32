"""Known-bad inputs before the real decoders, at the start of each scan."""

from pathlib import Path

import pytest

import datascrub
from datascrub.api import scanning
from datascrub.spine.selftest import misses, trials
from tests.spine.conftest import MakeSet


def test_every_known_input_is_judged_as_it_must_be() -> None:
    """Nothing bad is missed, and nothing healthy accused, with the decoders of this machine."""
    assert misses() == []
    assert {trial.expected is None for trial in trials()} == {True, False}


def test_decoder_that_misses_one_gives_no_clean_bill(make_set: MakeSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed self-test makes the run incomplete, whatever the data: exit 4, and the summary says what was missed."""
    monkeypatch.setattr(scanning, "selftest", lambda: ["the self-test failed: a JPEG with a hole is not seen as image-damaged"])
    run = datascrub.scan(make_set(), out=tmp_path / "run")
    assert run.exit_code == 4
    assert run.summary["complete"] is False
    assert "a JPEG with a hole" in run.summary["incomplete_because"][0]
