"""What a worker keeps from shard to shard: plan, reader, validators, compiled conditions, an earlier run."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datascrub.config import SWITCHES
from datascrub.model import RECORD, Role
from datascrub.plan import Plan
from datascrub.readers import Reader
from datascrub.registry import load, reader_named, validators
from datascrub.rules.rows import RowJudge
from datascrub.run.facts import Earlier, Schema
from datascrub.run.folder import RunFolder
from datascrub.spine.task import ShardTask
from datascrub.validators.base import Validator


def schema_of(plan: Plan) -> Schema:
    """The measurements of each field, in the order of the plan."""
    return {
        each.name: {name: what for kind in validators() if kind().applies(each) for name, what in kind.measures.items()}
        for each in (RECORD, *plan.fields)
        if each.role is not Role.IGNORE and any(kind().applies(each) for kind in validators())
    }


def measuring(plan: Plan, backend: str, network: Mapping[str, Any] | None = None) -> dict[str, list[Validator]]:
    """The validators of each field, with the parameters that measuring needs. network: those of the dummy network (RunPlan.network)."""
    made = [_made(kind, {"backend": backend, **(network or {})}, plan) for kind in validators()]
    return {each.name: [v for v in made if v.applies(each)] for each in (RECORD, *plan.fields) if each.role is not Role.IGNORE}


def _made(kind: type[Validator], network: Mapping[str, Any], plan: Plan) -> Validator:
    if switched := {name: getattr(plan.data, name) for name in SWITCHES if name in kind.__dataclass_fields__}:
        return kind(**switched)
    return kind(**{name: value for name, value in network.items() if name in kind.__dataclass_fields__ and "backend" in kind.__dataclass_fields__})


class Station:
    """What a worker keeps from shard to shard: plan, reader, validators, compiled conditions."""

    def __init__(self, run: str, tmp: str | None) -> None:
        run_plan = RunFolder(Path(run)).plan()
        load(run_plan.load)
        self.plan = run_plan.plan
        kind = reader_named(self.plan.container)
        self.reader: Reader = kind(Path(self.plan.source), limits=self.plan.limits, tmp=Path(tmp) if tmp else None)
        self.validators = measuring(self.plan, run_plan.backend, run_plan.network)
        self.schema = schema_of(self.plan)
        declared = self.plan.declared()
        self.judges = {
            name: RowJudge(
                [rule for v in its for rule in v.rules() if rule.severity == "error"],
                frozenset(m for v in its for m in v.measures),
                {**declared, **{k: p for v in its for k, p in v.parameters().items() if p is not None}},
            )
            for name, its in self.validators.items()
        }
        self.backend, self.device = run_plan.backend, run_plan.network.get("device", "auto")
        self.by_content = run_plan.choice.by_content
        self.said = _Said()
        logging.getLogger("datascrub").addHandler(self.said)

    def is_stamped(self, task: ShardTask) -> bool:
        """Whether to ask the reader for stamps: not after a death, which may have happened on the way; where batches bring them, only to look up."""
        return task.deaths == 0 and (task.since is not None or not self.reader.stamps_in_batches or self.by_content)

    def notes(self) -> list[str]:
        """What had to be done another way since the last call."""
        notes = sorted(self.said.take())
        if self.backend == "torch" and self.device == "auto" and _device() == "cpu":
            notes.append("the dummy network was computed on the CPU: torch found no GPU that it could use")
        return notes


class _Said(logging.Handler):
    """Keeps each warning of this process once, without its numbers, for the summary."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._texts = set[str]()

    def emit(self, record: logging.LogRecord) -> None:
        self._texts.add(re.sub(r"\s*%[ds]\b", "", str(record.msg)))

    def take(self) -> set[str]:
        taken, self._texts = self._texts, set()
        return taken


def _device() -> str:
    from datascrub.network.torch import device

    return device()


@functools.lru_cache(maxsize=2)
def station_of(run: str, stamp: int, tmp: str | None) -> Station:
    """The station of a run, once in each worker. stamp: changes when the plan is written anew."""
    return Station(run, tmp)


@functools.lru_cache(maxsize=1)
def earlier_of(run: str, stamp: int) -> Earlier | None:
    """The facts of an earlier run, once in each worker. stamp: changes when they are written anew."""
    return Earlier.of(RunFolder(Path(run)))
