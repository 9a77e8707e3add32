"""What to do next when a worker died: come closer to the guilty sample, name it, and go on without it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from datascrub.run.folder import RunFolder
from datascrub.spine.measure import ShardTask
from datascrub.spine.note import InHand, read_note


def closer(task: ShardTask, cause: str) -> ShardTask:
    """The task to run in its place.

    Dead inside a batch: the same shard again, that batch one sample at a time. Dead at a single sample: that sample is condemned.
    """
    place = RunFolder(Path(task.run)).note_file(task.shard.number)
    hand = read_note(place)
    place.unlink(missing_ok=True)
    if hand is None:  # it died before it took anything in hand: the machine's doing, or its first record's
        hand = InHand(0, task.batch_size, 0, 0.0)
    if not hand.careful:
        return replace(task, careful=(hand.start, hand.stop))
    stop = task.careful[1] if task.careful else hand.stop
    return replace(task, careful=(hand.start + 1, max(stop, hand.start + 1)), condemned={**task.condemned, hand.start: cause})


def resumed(task: ShardTask) -> ShardTask:
    """A task of a run that was killed as a whole, from the note that it left.

    Nobody saw what killed it, and it may have been a person: a sample is condemned only when it was in hand alone at two deaths.
    """
    place = RunFolder(Path(task.run)).note_file(task.shard.number)
    hand = read_note(place)
    place.unlink(missing_ok=True)
    if hand is None:
        return task
    if not hand.careful:
        return replace(task, careful=(hand.start, hand.stop))
    if hand.suspect == hand.start:
        return replace(task, careful=(hand.start + 1, hand.start + 2), condemned={hand.start: "the end of the whole run, twice"})
    return replace(task, careful=(hand.start, hand.stop), suspect=hand.start)
