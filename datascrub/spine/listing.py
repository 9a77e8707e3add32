"""The shards of a source, listed in a child process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from datascrub.model import Part, Shard
from datascrub.plan import Plan
from datascrub.registry import reader_named


def list_shards(plan: Plan, tmp: str | None) -> Iterator[Shard | Part]:
    """The shards and parts of a source, lazily; meant for a child process."""
    with reader_named(plan.container)(Path(plan.source), limits=plan.limits, tmp=Path(tmp) if tmp else None) as reader:
        yield from reader.shards(plan)
