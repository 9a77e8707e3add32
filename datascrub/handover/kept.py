"""Which samples of a run a training should see."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from datascrub.errors import UsageError
from datascrub.run.facts import open_facts
from datascrub.run.findings import quarantined_keys, read_findings
from datascrub.run.folder import RunFolder


class _HasPath(Protocol):
    path: Path


RunLike = str | os.PathLike[str] | _HasPath
"""a run folder, or the Run that a scan returned"""


@dataclass(frozen=True)
class Kept:
    """The samples that are kept. mask: (N,) bool over all samples in the order of the source; dropped: keys of those that are not."""

    mask: np.ndarray
    dropped: frozenset[str]

    @property
    def positions(self) -> np.ndarray:
        """(kept,) int64: their numbers in the order of the source, from 0."""
        return np.flatnonzero(self.mask)

    def positions_among(self, keys: Sequence[str]) -> np.ndarray:
        """Positions in `keys`, which may stand in any order, of samples that are kept.

        Raises UsageError where none of the dropped keys is among them, since the keys are of another kind then.
        """
        keep = np.fromiter((key not in self.dropped for key in keys), bool, len(keys))
        if self.dropped and keep.all():
            raise UsageError(
                f"none of the {len(self.dropped):,} quarantined keys is among the {len(keys):,} keys given (one is {min(self.dropped)!r})",
                fix="give the keys as the run writes them: for an image folder, the path relative to it",
            )
        return np.flatnonzero(keep)


def kept_of(run: RunLike) -> Kept:
    """What a run keeps: all but what quarantine.csv names (it may have been edited) and what could not be read.

    Raises UsageError where the run is not complete: samples that were not measured are not known to be good.
    """
    folder = RunFolder(Path(run.path if hasattr(run, "path") else run))
    plan, summary = folder.plan(), folder.summary()
    if summary is None or summary["incomplete_because"] or not plan.choice.is_everything or not folder.quarantine.exists():
        raise UsageError(f"the run in {folder.path} is not complete", fix="scan the whole source first")
    dropped = frozenset(quarantined_keys(folder.quarantine)) | {f.key for f in read_findings(folder, "record-unreadable") if f.key is not None}
    with open_facts(folder) as connection:
        count = connection.execute("SELECT count(*) FROM facts").fetchall()[0][0]
        mask = np.ones(count, bool)
        if dropped:
            connection.register("dropped", {"key": np.array(sorted(dropped), object)})
            bad = connection.execute("SELECT number FROM facts SEMI JOIN dropped USING (key)").fetchnumpy()["number"]
            mask[np.asarray(bad, np.int64)] = False
    return Kept(mask, dropped)


def same_length(kept: Kept, length: int) -> None:
    """Raises UsageError where a data set has another number of samples than the run: its positions would name others."""
    if length != len(kept.mask):
        raise UsageError(
            f"the data set has {length:,} samples, and the run measured {len(kept.mask):,}", fix="give keys=, or scan what the training reads"
        )
