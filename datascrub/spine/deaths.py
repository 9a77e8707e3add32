"""What to do next when a worker died: come closer to the guilty sample, name it, and go on without it."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from datascrub.errors import IncompleteError
from datascrub.run.folder import RunFolder
from datascrub.spine.note import InHand, read_note
from datascrub.spine.task import ShardTask

STRAY_DEATHS = 4
"""deaths of one shard beyond the two that each guilty sample costs: then no sample is to blame, and the rest of the shard is given up"""
AT_THE_END = "the end of the whole run, twice"


def closer(task: ShardTask, cause: str) -> ShardTask:
    """The task to run in its place.

    Dead inside a batch: the same shard again, that batch one sample at a time. Dead at a single sample: that sample is condemned. Dead at a sample
    that was not even touched, or again and again: the shard is given up from there on, and what lies before is kept.
    Raises IncompleteError where not even that is left.
    """
    place = RunFolder(Path(task.run)).note_file(task.shard.number)
    hand = read_note(place)
    place.unlink(missing_ok=True)
    if hand is None:  # it died before it took anything in hand: the machine's doing, or its first record's
        hand = InHand(0, task.batch_size, 0, 0.0)
    deaths = task.deaths + 1
    if hand.start in task.condemned or deaths - 2 * len(task.condemned) > STRAY_DEATHS:
        return _given_up(task, hand.start, cause)
    if not hand.careful:
        return replace(task, careful=(hand.start, hand.stop), deaths=deaths)
    stop = task.careful[1] if task.careful else hand.stop
    condemned = {**task.condemned, hand.start: cause}
    return replace(task, careful=(hand.start + 1, max(stop, hand.start + 1)), condemned=condemned, deaths=deaths)


def _given_up(task: ShardTask, row: int, cause: str) -> ShardTask:
    if task.stop_at is not None:
        if task.stop_at == 0:
            says = f"shard {task.shard.number} can't be measured: its worker was ended each time ({cause})"
            raise IncompleteError(says, fix="look at what DATASCRUB_DEBUG=1 prints")
        row = min(row, task.stop_at - 1)
    return replace(task, stop_at=row, given_up=cause, careful=None)


def resumed(task: ShardTask) -> ShardTask:
    """A task of a run that was killed as a whole, from the note that it left.

    Nobody saw what killed it, and it may have been a person: a sample is condemned only when it was in hand alone at two deaths. Who is condemned
    so stays it in later runs: a set may hold several samples that end everything.
    """
    folder = RunFolder(Path(task.run))
    place, list_of_condemned = folder.note_file(task.shard.number), folder.condemned_file(task.shard.number)
    hand = read_note(place)
    condemned = set[int]()
    with suppress(FileNotFoundError, ValueError):
        condemned = set(json.loads(list_of_condemned.read_text())["rows"])
    is_sure = hand is not None and bool(hand.careful) and hand.suspect == hand.start
    if is_sure and hand is not None:
        condemned.add(hand.start)
        folder.write_json(list_of_condemned, {"rows": sorted(condemned)})
    place.unlink(missing_ok=True)
    task = replace(task, condemned=dict.fromkeys(sorted(condemned), AT_THE_END))
    if hand is None:
        return task
    if not hand.careful:
        return replace(task, careful=(hand.start, hand.stop))
    if is_sure:
        return replace(task, careful=(hand.start + 1, hand.start + 2))
    return replace(task, careful=(hand.start, hand.stop), suspect=hand.start)
