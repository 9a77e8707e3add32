"""From the log to the sample: which records the step held that a training's log names, for readers that don't shuffle."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from datascrub.api import default_run_folder, survey
from datascrub.errors import UsageError
from datascrub.model import Finding
from datascrub.run.facts import open_facts
from datascrub.run.findings import read_findings
from datascrub.run.folder import RunFolder


@dataclass(frozen=True)
class Consumption:
    """How a training eats its source, in order.

    iteration: from 0, as Caffe's log counts. batch_size, iter_size, gpus: samples of one forward pass, passes of one step, and devices, which take
    turns record by record (Caffe's DataLayer::Skip). epoch: given where the data begin anew with each epoch (Keras, a DataLoader), iteration being
    counted in it and its last batch being what is left; None where they go round without a break (Caffe). resumed_at: the iteration of the snapshot
    that the training went on from: Caffe begins at the first record again.
    """

    iteration: int
    batch_size: int
    iter_size: int = 1
    gpus: int = 1
    epoch: int | None = None
    resumed_at: int = 0

    def numbers(self, count: int) -> list[int]:
        """The numbers of the samples of that step, of `count` in the source. Raises UsageError where there is no such step."""
        if min(self.batch_size, self.iter_size, self.gpus) < 1 or self.iteration < self.resumed_at or self.resumed_at < 0:
            raise UsageError("sizes are at least 1, and an iteration is not before the one resumed at")
        size = self.batch_size * self.iter_size * self.gpus
        start = (self.iteration - self.resumed_at) * size
        if self.epoch is None:
            return [number % count for number in range(start, start + min(size, count))]
        if start >= count:
            raise UsageError(f"an epoch of {count:,} samples has no step {self.iteration} of {size:,}", fix=f"its last is {-(-count // size) - 1}")
        return list(range(start, min(start + size, count)))


@dataclass(frozen=True)
class Located:
    """One sample of the step, with what the run says of it. gpu, turn: which device took it, and in which forward pass of the step."""

    number: int
    key: str
    gpu: int
    turn: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Step:
    """The samples of one step, in the order in which they were read. notes: what makes the answer less sure."""

    samples: tuple[Located, ...]
    of: int
    notes: tuple[str, ...] = ()


def locate(source: str | os.PathLike[str], consumption: Consumption, run: str | os.PathLike[str] | None = None) -> Step:
    """The samples of the step that a log names, from the finished run of the source.

    Raises UsageError where there is no finished run of the whole source, or the source changed since.
    """
    folder = RunFolder(Path(run) if run is not None else default_run_folder(Path(source)))
    fix = f"scan it first: datascrub scan {os.fspath(source)}"
    if not folder.plan_file.exists():
        raise UsageError(f"there is no run of {os.fspath(source)} in {folder.path}", fix=f"{fix}, or say --run")
    plan = folder.plan()
    if folder.measured() is None or not plan.choice.is_everything or not folder.findings.exists():
        raise UsageError(f"the run in {folder.path} is not complete", fix=fix)
    if dict(survey(source).plan.fingerprint) != dict(plan.plan.fingerprint):
        raise UsageError("the source changed since it was scanned", fix=fix)
    with open_facts(folder) as connection:
        count = connection.execute("SELECT count(*) FROM facts").fetchall()[0][0]
        numbers = consumption.numbers(count)
        some = ", ".join(map(str, set(numbers)))
        keys = dict(connection.execute(f"SELECT number, key FROM facts WHERE number IN ({some})").fetchall())
    findings: dict[str, list[Finding]] = {key: [] for key in keys.values()}
    for finding in read_findings(folder):
        if finding.key in findings:
            findings[finding.key].append(finding)
    per_turn = consumption.batch_size * consumption.gpus
    samples = tuple(
        Located(number, keys[number], place % consumption.gpus, place // per_turn, tuple(findings[keys[number]]))
        for place, number in enumerate(numbers)
    )
    return Step(samples, count, tuple(_notes(folder, consumption, count)))


def _notes(folder: RunFolder, consumption: Consumption, count: int) -> Iterator[str]:
    lost = [part for part in (folder.measured() or {}).get("parts", []) if part["lost_records"] != 0]
    if lost:
        yield f"{len(lost)} parts of the source could not be read: a training that read them is further on than this says"
    size = consumption.batch_size * consumption.iter_size * consumption.gpus
    if size > count:
        yield f"a step of {size:,} goes more than once round the {count:,} samples"
    yield "right only where the training reads the source in its order, from its first record on"
