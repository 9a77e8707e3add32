"""What an image folder and a list file have in common: samples that are files, found by a listing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from datascrub.config import DataConfig
from datascrub.model import Column, Field, Part, Problem, Shard
from datascrub.plan import Plan
from datascrub.readers.base import Survey

SHARD_SAMPLES, SHARD_BYTES = 1000, 64 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A sample as the listing knows it.

    path: where to open its file. name: its file as the source names it. mask: its mask's file, relative to the source. label: of a list file.
    problem: what the listing found wrong.
    """

    key: str
    path: bytes
    name: bytes
    mask: bytes | None = None
    label: int | None = None
    problem: Problem | None = None


class Listing(ABC):
    """One way in which pictures lie about."""

    @abstractmethod
    def survey(self, data: DataConfig) -> Survey:
        """As Reader.survey."""

    @abstractmethod
    def fingerprint(self) -> Mapping[str, Any]:
        """As Reader.fingerprint."""

    @abstractmethod
    def shards(self, plan: Plan) -> Iterator[Shard | Part]:
        """As Reader.shards."""

    @abstractmethod
    def entries(self, plan: Plan, where: Mapping[str, Any]) -> Sequence[Entry]:
        """The samples of a shard, in order."""

    @abstractmethod
    def find(self, plan: Plan, key: str) -> Entry:
        """The sample of a key. Raises UsageError."""

    @abstractmethod
    def column(self, plan: Plan, field: Field, entries: Sequence[Entry]) -> Column:
        """What the listing itself knows of samples, a label or a text; None where it knows nothing."""

    def every(self, plan: Plan) -> Iterator[Entry]:
        """All samples in order."""
        for shard in self.shards(plan):
            if isinstance(shard, Shard):
                yield from self.entries(plan, shard.where)

    def strays(self, plan: Plan) -> Iterator[bytes]:
        """Files beside the samples that belong to none, relative to the source: a cleaned copy leaves them out."""
        yield from ()


def in_shards(sized: Iterable[tuple[Any, int] | Part]) -> Iterator[list[Any] | Part]:
    """(item, size) in order -> lists of items, each a shard; parts pass through."""
    held: list[Any] = []
    size = 0
    for each in sized:
        if isinstance(each, Part):
            yield each
            continue
        held.append(each[0])
        size += each[1]
        if len(held) >= SHARD_SAMPLES or size >= SHARD_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held
