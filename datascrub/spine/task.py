"""A shard on its way through the workers: what is asked of it, and what became of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from datascrub.model import Shard
from datascrub.run.folder import RunFolder
from datascrub.run.plan_file import Choice
from datascrub.spine.note import read_note

OPENING_S = 600.0
"""what a worker may take before it has its first sample in hand"""


@dataclass(frozen=True)
class ShardTask:
    """A shard to measure, and how carefully.

    careful: rows from start to stop are taken one by one, since a worker died among them. condemned: row -> how it killed; such a row is named
    and not touched. suspect: the row that the last death was blamed on. deaths: how often it was begun in vain. stop_at, given_up: the row from
    which on nothing is read any more, since every way to it ended the worker, and how. since: an earlier run, whose facts of unchanged samples are
    taken over.
    """

    run: str
    shard: Shard
    batch_size: int = 1024
    careful: tuple[int, int] | None = None
    condemned: Mapping[int, str] = field(default_factory=dict)
    suspect: int = -1
    deaths: int = 0
    stop_at: int | None = None
    given_up: str = ""
    rows: frozenset[int] | None = None
    tmp: str | None = None
    sample_s: float = 60.0
    since: str | None = None

    def is_stuck(self, began: float) -> bool:
        """Whether what is in hand has been in hand for longer than its samples may take; or opening the source, since `began`, for far too long."""
        hand = read_note(RunFolder(Path(self.run)).note_file(self.shard.number))
        if hand is None:
            return time.monotonic() - began > self.sample_s + OPENING_S
        # A batch may take the limit of one sample, and a second more for each of its samples.
        return time.monotonic() - hand.since > self.sample_s + (hand.stop - hand.start if not hand.careful else 0)


@dataclass
class ShardAccount:
    """What became of a shard: rows read, by verdict; the parts met. expected: rows that the listing promised, None where it could not know.

    taken: rows whose facts come from an earlier run; errors are not counted among them. first: the place of its first row among all of the source,
    where all its rows are asked for and the listing knew it.
    """

    shard: int
    expected: int | None = None
    first: int | None = None
    records: int = 0
    errors: int = 0
    unreadable: int = 0
    size_bytes: int = 0
    taken: int = 0
    parts: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def chosen_rows(choice: Choice, shard: Shard, total: int | None) -> frozenset[int] | None:
    """The rows of a shard that a partial scan measures: seeded, spread over the source, the same in every run; None for all."""
    if choice.is_everything or shard.count is None:
        return None
    if choice.limit is not None and total and shard.first is not None:
        picked = np.sort(np.random.default_rng(choice.seed).choice(total, min(choice.limit, total), replace=False))
        inside = picked[(picked >= shard.first) & (picked < shard.first + shard.count)] - shard.first
        return frozenset(inside.tolist())
    share = choice.share if choice.share is not None else min(1.0, (choice.limit or 0) / max(total or 1, 1))
    lots = np.random.default_rng([choice.seed, shard.number]).random(shard.count)
    return frozenset(np.flatnonzero(lots < share).tolist())
