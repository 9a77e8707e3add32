"""One call in a child: its results come back, its errors are raised, its death is told."""

import os

import pytest

from datascrub.engines.isolated import ChildFaultError, call, stream
from datascrub.errors import ChildDiedError, SourceError
from tests.engines import faulty


def test_result_comes_back_from_another_process() -> None:
    """A call runs in a process that is not ours."""
    assert call(os.getpid) != os.getpid()


def test_stream_keeps_order_and_ends() -> None:
    """All items of a generator arrive, in order."""
    assert list(stream(faulty.numbers, 1000)) == list(range(1000))


def test_left_stream_ends_its_child() -> None:
    """A stream that nobody reads on does not hang its reader."""
    assert next(stream(faulty.numbers, 10**9)) == 0


def test_error_on_purpose_keeps_its_words() -> None:
    """A DatascrubError of the child is raised with what and fix."""
    with pytest.raises(SourceError) as caught:
        call(faulty.refuse)
    assert (caught.value.what, caught.value.fix) == ("no such thing", "look elsewhere")


def test_fault_of_ours_is_told_apart() -> None:
    """Any other exception of the child is a fault of ours, with its traceback."""
    with pytest.raises(ChildFaultError, match="stumble"):
        call(faulty.stumble)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGBUS", "SIGKILL", "SIGABRT"])
def test_death_names_its_signal(name: str) -> None:
    """A child that is killed is an error that names the signal, not the end of us."""
    with pytest.raises(ChildDiedError) as caught:
        call(faulty.die, name)
    assert caught.value.cause == name
