"""What a reader of a container is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from datascrub.config import DataConfig
from datascrub.model import Batch, Field, Limits, Part, Shard
from datascrub.plan import Plan
from datascrub.readers.stamps import Stamps


@dataclass(frozen=True)
class Survey:
    """What a reader recognised by a look at a few hundred records spread over the source.

    count: samples in the source, exact or not; None where only a full pass tells. size_bytes: of the whole source.
    settings: plain JSON values for the plan, the reader's own words. task: guessed from the probed labels; None where nothing tells.
    labels: up to a few dozen label values that the probe met, sorted, for a person to look at.
    notes: sentences for the person who starts the scan (what was guessed, what was left aside and why).
    """

    layout: str | None
    fields: tuple[Field, ...]
    count: int | None
    size_bytes: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    is_count_exact: bool = True
    task: str | None = None
    labels: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CopyOptions:
    """How a cleaned copy is written.

    link: how files without a quarantined record reach the copy: "copy", "hard", "sym", "reflink".
    only_changed: leave them out altogether, and list them.
    drop_unreadable: leave out samples whose bytes could not be had (permission, I/O) instead of refusing.
    """

    link: str = "copy"
    only_changed: bool = False
    drop_unreadable: bool = False


@dataclass(frozen=True)
class CopyReport:
    """What a cleaned copy holds.

    digest: of the digests of all kept samples, in order, as read from the source (see Reader.digests); reading the copy back must give it again.
    stale: files beside the records that name or count samples and could not be corrected, each with the reason.
    """

    kept: int
    dropped: int
    digest: str
    files: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Reader(ABC):
    """One container format.

    A reader is made in a child process and used for many shards there. It opens the source for reading only and changes nothing in or beside it.
    Errors of the request or machine are SourceError; what is wrong with bytes becomes a Problem of a sample or a Part, and reading goes on.
    """

    name: ClassVar[str]
    """the container in the plan and on the command line: lmdb, leveldb, hdf5, tfrecord, image-folder"""
    title: ClassVar[str]
    """the container for people: LMDB, LevelDB, HDF5, TFRecord, image folder"""
    stamps_in_batches: ClassVar[bool] = False
    """whether batches bring the same stamps that `stamps` gives, so that nobody need ask for them to write them down"""

    def __init__(self, source: Path, *, limits: Limits = Limits(), tmp: Path | None = None) -> None:
        self.source, self.limits, self.tmp = source, limits, tmp

    @classmethod
    @abstractmethod
    def recognises(cls, source: Path) -> bool:
        """Whether the source is of this container, by content. Reads a few KB, never raises for what the source holds."""

    @abstractmethod
    def survey(self, data: DataConfig) -> Survey:
        """Recognise layout, fields and roles by a look at records spread over the source; what `data` declares wins.

        Raises SourceError where nothing can be scanned (damaged beyond opening, locked, empty, unknown), with what to do.
        """

    @abstractmethod
    def fingerprint(self) -> Mapping[str, Any]:
        """The outside of the source as plain JSON (sizes, times in ns, the container's own change numbers): equal means unchanged."""

    @abstractmethod
    def shards(self, plan: Plan) -> Iterator[Shard | Part]:
        """The shards in plan order, lazily, and parts that the listing itself found. The same source and plan give the same shards.

        A shard holds about a thousand samples or some tens of MB; together they are disjoint and complete.
        """

    @abstractmethod
    def read(
        self,
        plan: Plan,
        shard: Shard,
        *,
        batch_size: int = 1024,
        rows: frozenset[int] | None = None,
        untouched: frozenset[int] = frozenset(),
    ) -> Iterator[Batch | Part]:
        """The samples of a shard in order, in batches of at most batch_size samples and about 32 MB, and the parts met on the way.

        rows: only these rows of the shard (all where None); what is left out is not read where the container allows.
        untouched: rows that are named (key, size where known) and whose bytes are not touched: they killed a process before.
        """

    @abstractmethod
    def fetch(self, plan: Plan, key: str) -> tuple[Batch, bytes]:
        """One sample by its key, as a batch of one, and its record as stored (the records of a sample one after the other).

        Raises UsageError where the source has no such key.
        """

    @abstractmethod
    def copy_clean(self, plan: Plan, destination: Path, drop: frozenset[str], options: CopyOptions, progress: Callable[[int], None]) -> CopyReport:
        """Write the samples whose keys are not in `drop` to `destination`, byte for byte, in the same container and settings.

        destination does not exist yet.

        What no reader can read (lost parts) is not in the copy. progress(n) is called as n more samples are done.
        """

    @abstractmethod
    def digests(self, plan: Plan) -> Iterator[tuple[str, bytes]]:
        """(key, xxh3-128 digest of the stored record) for every readable sample in order, read anew from the source; keys are no part of a digest."""

    def stamps(self, plan: Plan, shard: Shard, *, by_content: bool = False) -> Stamps | None:
        """By what the samples of a shard are known again in a later run; None where this reader can't tell.

        by_content: the bytes are read and hashed, where sizes and times are trusted else.
        """
        return None

    def close(self) -> None:  # noqa: B027  most readers hold nothing open
        """Let go of files, environments and scratch."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
