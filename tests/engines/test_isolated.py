"""One call in a child: its results come back, its errors are raised, its death is told."""

import os
import time

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


def test_child_tells_how_it_goes_on() -> None:
    """What a call tells meanwhile is heard in order, and its result comes back; it may take longer than the silence that is borne."""
    heard: list[int] = []
    assert call(faulty.mumble, 10, 0.15, hear=heard.append, silence_s=1.0) == "done"
    assert heard == list(range(10))


@pytest.mark.parametrize("silence_s", [0.2])
def test_silent_child_is_ended(silence_s: float) -> None:
    """A child that gives no sign of life, at once or after a while, is ended: calls, calls that tell, and streams."""
    heard: list[int] = []
    for attempt in (
        lambda: call(faulty.mumble, 2, 600.0, hear=heard.append, silence_s=silence_s),
        lambda: call(time.sleep, 600.0, silence_s=silence_s),
        lambda: heard.extend(stream(faulty.dawdle, 2, 600.0, silence_s=silence_s)),
    ):
        with pytest.raises(ChildDiedError) as caught:
            attempt()
        assert caught.value.cause == "timeout"
    assert set(heard) <= {0}


def test_reader_of_a_stream_may_take_its_time() -> None:
    """Silence counts only while the next item is waited for: a slow consumer ends no child."""
    for _ in stream(faulty.dawdle, 2, 0.0, silence_s=1.0):
        time.sleep(1.2)
