"""Where temporary things lie, and that a kill leaves none of them for long."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from datascrub.engines.isolated import call
from datascrub.engines.scratch import scratch_in
from datascrub.errors import ChildDiedError, UsageError
from tests.engines import faulty


def test_scratch_goes_with_its_call(tmp_path: Path) -> None:
    """Whatever lies there is gone when the call ends, also where it ends with an error."""
    with contextlib.suppress(KeyError), scratch_in(str(tmp_path)) as folder:
        (Path(folder) / "shadow").mkdir()
        raise KeyError
    assert not Path(folder).exists()


def test_scratch_of_a_killed_call_goes_with_the_next(tmp_path: Path) -> None:
    """What a killed process left is swept; what a live one uses, and what is not ours, stays."""
    (tmp_path / "datascrub-notes").mkdir()
    left: list[str] = []
    with pytest.raises(ChildDiedError):
        call(faulty.scratch_and_wait, str(tmp_path), hear=left.append, silence_s=1.0)  # ended by SIGKILL
    assert (Path(left[0]) / "shadow").is_dir()
    with scratch_in(str(tmp_path)) as live:
        assert not Path(left[0]).exists()
        with scratch_in(str(tmp_path)):
            assert Path(live).is_dir()
    assert (tmp_path / "datascrub-notes").is_dir()


def test_place_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    """A --tmp that is no folder is a wrong use, said before any work."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="scratch") as caught, scratch_in(str(tmp_path / "file")):
        pass
    assert "--tmp" in caught.value.fix
