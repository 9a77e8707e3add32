"""A source through a model of the user's own, batch by batch in the order of the source, in a child process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from datascrub.api import survey
from datascrub.config import Config, PreprocessConfig
from datascrub.engines.isolated import stream
from datascrub.errors import UsageError
from datascrub.network.choose import has_package
from datascrub.plan import Plan
from datascrub.rehearsal.samples import Account, Sample, Samples, opened
from datascrub.rehearsal.trouble import Cast, Trouble, merged

_WAITING = 4
"""batches of one shape that wait for sound company; after as many the model itself is at fault"""


@dataclass(frozen=True)
class Rehearsed:
    """What a rehearsal found. samples: of the source; not_run: those whose values can't be had (the scan names them). stopped: why it ended early."""

    troubles: tuple[Trouble, ...]
    samples: int
    not_run: int
    stopped: str = ""


def rehearse(
    source: str | os.PathLike[str],
    cast: Cast,
    config: Config | None = None,
    *,
    tmp: str | None = None,
    on_trouble: Callable[[Trouble], None] | None = None,
) -> Rehearsed:
    """Every sample through the model, in evaluation and in training.

    config: [preprocess] is what the model's inputs get; [data] says what the set is. on_trouble hears of each as it is found.
    Raises UsageError where the model, the loss or the weights can't be had, SourceError where the source can't be read.
    """
    if not has_package("torch"):
        raise UsageError("a rehearsal needs the package torch", fix="pip install torch")
    config = config or Config()
    plan = survey(source, config, tmp).plan
    troubles: list[Trouble] = []
    for item in stream(run, plan, cast, config.preprocess, tmp):
        if isinstance(item, Trouble):
            troubles.append(item)
            if on_trouble is not None:
                on_trouble(item)
        else:
            return Rehearsed(tuple(troubles), *item)
    raise AssertionError("a stream ends with its account")


def run(plan: Plan, cast: Cast, preprocess: PreprocessConfig | None, tmp: str | None) -> Iterator[Trouble | tuple[int, int, str]]:
    """The troubles, then (samples, not run, why it stopped); meant for a child process."""
    from datascrub.rehearsal.stage import Stage

    samples = Samples(plan, cast, preprocess)
    batches, stopped = _Run(Stage(cast)), ""
    with opened(plan, tmp) as reader:
        for batch in _batches(samples.read(reader), cast.batch_size):
            yield from batches.take(batch)
            yield from _said(samples.account)
            if batches.is_hopeless:
                stopped = f"every part of the first {_WAITING} batches fails: the model, its weights or its loss, not the samples"
                break
    yield from _said(samples.account)
    yield from batches.rest()
    yield samples.account.samples, samples.account.not_run, stopped


def _said(account: Account) -> Iterator[Trouble]:
    troubles, account.troubles = account.troubles, []
    yield from troubles


def _batches(samples: Iterator[Sample], size: int) -> Iterator[list[Sample]]:
    """Samples of one shape together, in their order; what is left at the end in smaller batches."""
    held: dict[tuple[object, ...], list[Sample]] = {}
    for sample in samples:
        alike = held.setdefault(sample.shapes, [])
        alike.append(sample)
        if len(alike) == size:
            yield held.pop(sample.shapes)
    yield from held.values()


class _Run:
    """Batches through the stage. A batch that fails before any sound one of its shape was met waits for it."""

    def __init__(self, stage: object) -> None:
        from datascrub.rehearsal.stage import MODES, Stage

        assert isinstance(stage, Stage)
        self._stage, self._modes = stage, MODES
        self._company: dict[tuple[object, ...], list[Sample]] = {}
        self._waiting: list[list[Sample]] = []
        self._sound, self._failed_whole = 0, 0

    @property
    def is_hopeless(self) -> bool:
        return self._failed_whole >= _WAITING and not self._sound

    def take(self, batch: list[Sample]) -> Iterator[Trouble]:
        """The troubles of a batch, and of those that waited for company."""
        bad = [mode for mode in self._modes if self._stage.run(batch, mode)]
        if not bad:
            self._sound += 1
            self._company.setdefault(batch[0].shapes, batch)
            yield from self.rest(batch[0].shapes)
        elif batch[0].shapes in self._company:
            yield from self._examine(batch)
        else:
            self._waiting.append(batch)
            if sum(each[0].shapes == batch[0].shapes for each in self._waiting) >= _WAITING:
                yield from self.rest(batch[0].shapes)

    def rest(self, shapes: tuple[object, ...] | None = None) -> Iterator[Trouble]:
        """The troubles of batches that wait: of one shape, or at the end of all."""
        ready = [batch for batch in self._waiting if shapes is None or batch[0].shapes == shapes]
        self._waiting = [batch for batch in self._waiting if shapes is not None and batch[0].shapes != shapes]
        for batch in ready:
            yield from self._examine(batch)

    def _examine(self, batch: list[Sample]) -> Iterator[Trouble]:
        found = {mode: self._in_mode(batch, mode) for mode in self._modes if self._stage.run(batch, mode)}
        self._failed_whole += any(trouble.kind == "all" for its in found.values() for trouble in its)
        yield from merged(found)

    def _in_mode(self, batch: list[Sample], mode: str) -> list[Trouble]:
        from datascrub.rehearsal.diagnose import Doctor

        def fails(rows: object) -> tuple[str, str] | None:
            symptom = self._stage.run(list(rows), mode)  # type: ignore[call-overload]  # a sequence of samples
            return None if symptom is None else (symptom.stage, symptom.detail)

        doctor = Doctor(fails, lambda rows: self._stage.where(rows, mode), mode)
        return doctor.examine(batch, self._company.get(batch[0].shapes, ()))
