"""Image folders and list files: every picture is a file."""

# Paths are bytes here, for foreign names need not decode, and pathlib takes no bytes.
# ruff: noqa: PTH112, PTH118

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import xxhash

from datascrub.config import DataConfig
from datascrub.keys import printable, text_of
from datascrub.model import Batch, Column, Field, Kind, Limits, Part, Problem, Role, Shard
from datascrub.plan import Plan
from datascrub.readers.base import CopyOptions, CopyReport, Reader, Survey
from datascrub.readers.image_folder_format.copy import copy_list, copy_tree
from datascrub.readers.image_folder_format.entries import Entry, Listing
from datascrub.readers.image_folder_format.files import digest_into, read_file, size_of
from datascrub.readers.image_folder_format.list import ListFile, is_list
from datascrub.readers.image_folder_format.names import declared
from datascrub.readers.image_folder_format.recognise import holds_images
from datascrub.readers.image_folder_format.tree import FolderTree
from datascrub.readers.stamps import Stamps, file_stamp

_BATCH_BYTES = 32 << 20


class ImageFolder(Reader):
    """Pictures as files: class folders at any depth, flat folders, with metadata.csv or masks beside them; or a list file of Caffe."""

    name: ClassVar[str] = "image-folder"
    title: ClassVar[str] = "image folder"

    def __init__(self, source: Path, *, limits: Limits = Limits(), tmp: Path | None = None) -> None:
        super().__init__(source, limits=limits, tmp=tmp)
        self._listing: Listing = FolderTree(source) if source.is_dir() else ListFile(source)

    @classmethod
    def recognises(cls, source: Path) -> bool:
        path = os.fsencode(source)
        return holds_images(path) if os.path.isdir(path) else is_list(path)

    def survey(self, data: DataConfig) -> Survey:
        return self._listing.survey(data)

    def fingerprint(self) -> Mapping[str, Any]:
        return self._listing.fingerprint()

    def shards(self, plan: Plan) -> Iterator[Shard | Part]:
        return self._listing.shards(plan)

    def read(
        self,
        plan: Plan,
        shard: Shard,
        *,
        batch_size: int = 1024,
        rows: frozenset[int] | None = None,
        untouched: frozenset[int] = frozenset(),
    ) -> Iterator[Batch | Part]:
        held = _Pictures()
        for row, entry in enumerate(self._listing.entries(plan, shard.where)):
            if rows is not None and row not in rows:
                continue
            if row in untouched:
                held.add(row, entry, (None, size_of(entry.path), None), None)
            else:
                held.add(row, entry, read_file(entry.path, self.limits.max_record_bytes), self._mask(entry))
            if len(held.rows) >= batch_size or held.size_bytes >= _BATCH_BYTES:
                yield self._batch(plan, held)
                held = _Pictures()
        if held.rows:
            yield self._batch(plan, held)

    def stamps(self, plan: Plan, shard: Shard, *, by_content: bool = False) -> Stamps:
        entries = self._listing.entries(plan, shard.where)
        listed = [field for field in plan.fields if field.kind is not Kind.ENCODED and field.role is not Role.IGNORE]
        told = [self._listing.column(plan, field, entries).values for field in listed]
        made: list[str | None] = []
        for row, entry in enumerate(entries):
            places = [entry.path] if entry.mask is None else [entry.path, self._mask_path(entry.mask)]
            outside = [self._digest(place) if by_content else file_stamp(place) for place in places]
            beside = [str(values[row]) for values in told]
            made.append(None if None in outside else json.dumps([*outside, *beside, entry.problem and entry.problem.detail]))
        return Stamps([entry.key for entry in entries], made)

    def _digest(self, place: bytes) -> str | None:
        digest = xxhash.xxh3_128()
        return digest.hexdigest() if digest_into(digest, place) else None

    def _mask(self, entry: Entry) -> tuple[bytes | None, Problem | None] | None:
        if entry.mask is None:
            return None
        data, _, problem = read_file(self._mask_path(entry.mask), self.limits.max_record_bytes)
        if problem is not None:
            problem = Problem(problem.code, f"its mask {printable(text_of(entry.mask, is_path=True))}: {problem.detail}")
        return data, problem

    def _mask_path(self, mask: bytes) -> bytes:
        return os.path.join(os.fsencode(self.source), mask)

    def _batch(self, plan: Plan, held: _Pictures) -> Batch:
        columns = {field.name: self._column(plan, field, held) for field in plan.fields if field.role is not Role.IGNORE}
        return Batch(
            keys=[entry.key for entry in held.entries],
            rows=np.array(held.rows, np.int64),
            columns=columns,
            sizes=np.array(held.sizes, np.int64),
            problems=held.problems,
            files=[entry.key for entry in held.entries],
            offsets=[None] * len(held.entries),
        )

    def _column(self, plan: Plan, field: Field, held: _Pictures) -> Column:
        if field.kind is Kind.ENCODED and field.name == "mask":
            return self._encoded(field, held.masks, [entry.mask for entry in held.entries])
        if field.kind is Kind.ENCODED:
            return self._encoded(field, held.values, [entry.name for entry in held.entries])
        column = self._listing.column(plan, field, held.entries)
        column.limits = self.limits
        return column

    def _encoded(self, field: Field, values: list[Any], names: Sequence[bytes | None]) -> Column:
        says = [(None, None) if name is None else declared(name) for name in names]
        facts: dict[str, list[Any]] = {"extension": [each[0] for each in says], "format": [each[1] for each in says]}
        if field.name == "mask":
            facts["mask_key"] = [None if name is None else text_of(name, is_path=True) for name in names]
        return Column(field, values, facts, self.limits)

    def fetch(self, plan: Plan, key: str) -> tuple[Batch, bytes]:
        entry = self._listing.find(plan, key)
        held = _Pictures()
        held.add(0, entry, read_file(entry.path, self.limits.max_record_bytes), self._mask(entry))
        return self._batch(plan, held), b"".join(value for value in (held.values[0], held.masks[0]) if value is not None)

    def copy_clean(self, plan: Plan, destination: Path, drop: frozenset[str], options: CopyOptions, progress: Callable[[int], None]) -> CopyReport:
        if isinstance(self._listing, ListFile):
            return copy_list(self._listing, plan, destination, drop, options, progress)
        return copy_tree(self._listing, plan, self.source, destination, drop, options, progress)

    def digests(self, plan: Plan) -> Iterator[tuple[str, bytes]]:
        for entry in self._listing.every(plan):
            digest = xxhash.xxh3_128()
            places = [entry.path] if entry.mask is None else [entry.path, self._mask_path(entry.mask)]
            if all(digest_into(digest, place) for place in places):
                yield entry.key, digest.digest()


class _Pictures:
    """Samples that were read, on their way into a batch."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.rows: list[int] = []
        self.values: list[bytes | None] = []
        self.masks: list[bytes | None] = []
        self.sizes: list[int] = []
        self.problems: dict[int, Problem] = {}
        self.size_bytes = 0

    def add(self, row: int, entry: Entry, read: tuple[bytes | None, int, Problem | None], mask: tuple[bytes | None, Problem | None] | None) -> None:
        data, size, problem = read
        mask_data, mask_problem = mask if mask is not None else (None, None)
        problem = problem or mask_problem or entry.problem
        if problem is not None:
            self.problems[len(self.rows)] = problem
        self.rows.append(row)
        self.entries.append(entry)
        self.values.append(data)
        self.masks.append(mask_data)
        self.sizes.append(size)
        self.size_bytes += len(data or b"") + len(mask_data or b"")
