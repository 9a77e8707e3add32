"""From a source to the samples that a model is given: decoded, preprocessed, in the order of the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from datascrub.config import PreprocessConfig
from datascrub.errors import UsageError
from datascrub.model import Batch, Column, Field, Kind, Part, Role
from datascrub.network.preprocess import PreprocessError, apply, decoded
from datascrub.plan import Plan
from datascrub.readers import Reader
from datascrub.rehearsal.trouble import Cast, Trouble

PICTURE = PreprocessConfig(scale=1 / 255, layout="CHW")
"""what an encoded picture gets where nothing is declared: RGB, channels first, 0..1, as most loaders of torch do"""


@dataclass(frozen=True)
class Sample:
    """One sample as the model gets it. label: its class, where a target tells it."""

    key: str
    inputs: tuple[np.ndarray, ...]
    targets: tuple[np.ndarray, ...]

    @property
    def shapes(self) -> tuple[Any, ...]:
        """Equal where samples can stand in one batch."""
        return tuple((each.shape, each.dtype.str) for each in (*self.inputs, *self.targets))

    @property
    def label(self) -> int | None:
        its = self.targets[0] if self.targets else None
        return int(its) if its is not None and its.ndim == 0 and its.dtype.kind in "iu" else None


@dataclass
class Account:
    """What became of the samples of a source. not_run: those whose values can't be had; the scan names them."""

    samples: int = 0
    not_run: int = 0
    troubles: list[Trouble] = field(default_factory=list)


class Samples:
    """Reads a source in its order."""

    def __init__(self, plan: Plan, cast: Cast, preprocess: PreprocessConfig | None) -> None:
        self._plan, self._preprocess = plan, preprocess
        self.inputs = _fields(plan, cast.inputs, (Role.IMAGE, Role.ARRAY), "inputs")
        self.targets = _fields(plan, cast.targets, (Role.LABEL,), "targets")
        if not self.inputs:
            raise UsageError("the set has no field of role image or array to give to the model", fix="name one with --inputs")
        self.account = Account()

    def read(self, reader: Reader) -> Iterator[Sample]:
        """Every sample that the model can be given; the others are counted, or are troubles of the account."""
        for shard in reader.shards(self._plan):
            if isinstance(shard, Part):
                continue
            for batch in reader.read(self._plan, shard):
                if isinstance(batch, Batch):
                    yield from self._of(batch)

    def _of(self, batch: Batch) -> Iterator[Sample]:
        for column in batch.columns.values():
            column.limits = self._plan.limits
        for row, key in enumerate(batch.keys):
            self.account.samples += 1
            try:
                inputs = [self._input(batch.columns[its.name], row) for its in self.inputs]
                targets = [self._target(batch.columns[its.name], row) for its in self.targets]
            except PreprocessError as error:
                self.account.troubles.append(Trouble((key,), "input", (), "input", f"{error.status}: {error.detail}"))
                continue
            if row in batch.problems or any(each is None for each in (*inputs, *targets)):
                self.account.not_run += 1
                continue
            yield Sample(key, tuple(each for each in inputs if each is not None), tuple(each for each in targets if each is not None))

    def _input(self, column: Column, row: int) -> np.ndarray | None:
        value = _value(column, row, self._preprocess.mode if self._preprocess else "RGB")
        if value is None or column.field.role not in (Role.IMAGE, Role.ARRAY):
            return value
        is_picture = column.field.kind is Kind.ENCODED
        return apply(value, self._preprocess or (PICTURE if is_picture else PreprocessConfig()), is_picture=is_picture)

    def _target(self, column: Column, row: int) -> np.ndarray | None:
        value = column.values[row]
        if isinstance(value, (str, bytes)) and column.field.kind is Kind.TEXT:
            return self._class_of(value, column.field)
        made = _value(column, row, "")
        if made is None or column.field.role is not Role.LABEL or self._plan.task != "classification":
            return made
        made = made.reshape(()) if made.size == 1 else made
        is_whole = made.ndim == 0 and np.isfinite(made) and made == np.floor(made)
        return made.astype(np.int64) if is_whole else made

    def _class_of(self, text: str | bytes, its: Field) -> np.ndarray | None:
        names = self._plan.data.classes
        if not isinstance(names, tuple):
            raise UsageError(f"the labels in {its.name} are texts, and a loss takes numbers", fix="declare data.classes as the list of their names")
        name = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        return np.array(names.index(name)) if name in names else None


def _value(column: Column, row: int, mode: str) -> np.ndarray | None:
    """Numbers of a sample; None where there are none, or a picture that the strict check refuses."""
    value = column.values[row]
    if value is None or column.field.kind is Kind.TEXT:
        return None
    if column.field.kind is not Kind.ENCODED:
        made = np.asarray(value)
        return made if made.dtype.kind in "biuf" or made.dtype.name == "bfloat16" else None
    from datascrub.media.picture import examine

    return decoded(value, mode) if examine(value, column.limits).is_ok else None


def _fields(plan: Plan, names: Sequence[str], roles: tuple[Role, ...], what: str) -> tuple[Field, ...]:
    """The fields of these names; without names all of these roles. Raises UsageError where one does not exist."""
    known = {its.name: its for its in plan.fields if its.role is not Role.IGNORE}
    for name in names:
        if name not in known:
            raise UsageError(f"--{what} names {name}, which the source does not hold", fix=f"its fields: {', '.join(known)}")
    return tuple(known[name] for name in names) if names else plan.fields_of(*roles)


def opened(plan: Plan, tmp: str | None) -> Reader:
    """The reader of a plan."""
    from datascrub.registry import reader_named

    return reader_named(plan.container)(Path(plan.source), limits=plan.limits, tmp=Path(tmp) if tmp else None)
