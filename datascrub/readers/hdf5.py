"""HDF5: a file, a folder of files, or a list of them (Caffe's source); a sample is a row of all datasets that share the first axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import xxhash

from datascrub.config import DataConfig
from datascrub.errors import SourceError, UsageError
from datascrub.keys import numbered, split_number
from datascrub.model import Batch, Field, Part, Role, Shard
from datascrub.plan import Plan
from datascrub.readers.base import CopyOptions, CopyReport, Reader, Survey
from datascrub.readers.hdf5_format.axis import dataset_name, is_carried, on_axis
from datascrub.readers.hdf5_format.beside import beside_parts, is_looked_at
from datascrub.readers.hdf5_format.copy import copy_files
from datascrub.readers.hdf5_format.dataset import Stored, spread
from datascrub.readers.hdf5_format.digest import digest_rows, digests_of, row_bytes_of
from datascrub.readers.hdf5_format.files import HDF5File, files, is_source, path_of
from datascrub.readers.hdf5_format.open import FAILURES
from datascrub.readers.hdf5_format.roles import fields_of, squeezed, task_of
from datascrub.readers.hdf5_format.rows import batches
from datascrub.readers.hdf5_format.table import Table, open_table
from datascrub.readers.hdf5_format.wholes import FILE, GROUP, Wholes
from datascrub.readers.stamps import Stamps, file_stamp

_PROBED_FILES = 64
_PROBED_PIECES, _PROBED_ROWS = 4, 128  # labels are looked at in so many places, so many rows in each


class HDF5(Reader):
    """A shard is a range of rows of one file, in whole chunks; the datasets beside a file's samples are a shard of their own, without samples."""

    name: ClassVar[str] = "hdf5"
    title: ClassVar[str] = "HDF5"

    _table: Table | None = None
    _held: Wholes | None = None

    @classmethod
    def recognises(cls, source: Path) -> bool:
        return is_source(source)

    def survey(self, data: DataConfig) -> Survey:
        if (wholes := self._wholes(data)) is not None:
            return wholes.survey(data)
        found = list(files(self.source))
        members = [each for each in found if isinstance(each, HDF5File)]
        axes: list[list[Stored]] = []
        failures = [each for each in found if isinstance(each, Part)]
        probed = _spread(members, _PROBED_FILES)
        count, opened = 0, 0
        labels: list[tuple[Stored, Any]] = []
        for file in probed:
            table = open_table(file, (), self.limits, self.source)
            if isinstance(table, Part):
                failures.append(table)
                continue
            try:
                axis = on_axis(table.found.datasets)
                axes.append(axis)
                opened += 1
                count += max((stored.length for stored in axis), default=0)
                named = {field.name for field in fields_of([axis], DataConfig()) if field.role is Role.LABEL}
                named |= {name for name, role in data.roles.items() if role is Role.LABEL}
                labels += [(stored, _some_rows(stored)) for stored in axis if stored.name in named]
            finally:
                table.close()
        if not opened:
            raise SourceError(_why_not(self.source, failures), fix="fetch or write the file again; there is nothing here that can be scanned")
        fields = fields_of(axes, data)
        is_exact = len(probed) == len(members)
        task, values = _task(fields, labels)
        notes = _notes(fields)
        total = count if is_exact else count * len(members) // max(len(probed), 1)
        size = sum(file.size for file in members)
        return Survey(None, fields, total, size, is_count_exact=is_exact, task=task, labels=values, notes=notes)

    def fingerprint(self) -> Mapping[str, Any]:
        """Number, bytes and a digest of names, sizes and times of all files."""
        digest, count, size = xxhash.xxh3_128(), 0, 0
        for each in files(self.source):
            if isinstance(each, HDF5File):
                try:
                    changed = each.path.stat().st_mtime_ns
                except OSError:
                    changed = 0  # gone since it was listed: another fingerprint than before
                digest.update(f"{each.key}\0{each.size}\0{changed}\0".encode())
                count, size = count + 1, size + each.size
            else:
                digest.update(f"{each.code}\0{each.key}\0{each.says}\0".encode())
        return {"files": count, "size_bytes": size, "digest": digest.hexdigest()}

    def shards(self, plan: Plan) -> Iterator[Shard | Part]:
        if (wholes := self._wholes(plan.data)) is not None:
            yield from wholes.shards()
            return
        number, first = 0, 0
        for each in files(self.source):
            if isinstance(each, Part):
                yield each
                continue
            table = self._open(each, plan)
            if isinstance(table, Part):
                yield table
                continue
            yield from table.parts()
            if not table.length:
                yield _no_rows(table)
            step = table.shard_rows()
            for start in range(0, table.length, step):
                stop = min(start + step, table.length)
                yield Shard(number, {"file": each.key, "start": start, "stop": stop}, stop - start, first)
                number, first = number + 1, first + stop - start
            if any(is_looked_at(stored) for stored in table.beside()):
                yield Shard(number, {"file": each.key, "beside": True}, 0, first)
                number += 1

    def read(
        self,
        plan: Plan,
        shard: Shard,
        *,
        batch_size: int = 1024,
        rows: frozenset[int] | None = None,
        untouched: frozenset[int] = frozenset(),
    ) -> Iterator[Batch | Part]:
        if (wholes := self._wholes(plan.data)) is not None:
            yield from wholes.read(plan, shard, batch_size, rows, untouched)
            return
        where = shard.where
        table = self._named(plan, where["file"])
        if isinstance(table, Part):
            yield table
        elif where.get("beside"):
            yield from beside_parts(table)
        else:
            table.damage.clear()
            yield from batches(table, where["start"], min(where["stop"], table.length), batch_size, self.limits, rows, untouched)
            # A chunk that begins in the shard before is named there.
            yield from (part for (_, first), part in sorted(table.damage.items()) if first >= where["start"])

    def stamps(self, plan: Plan, shard: Shard, *, by_content: bool = False) -> Stamps | None:
        if self._wholes(plan.data) is not None:
            return None
        where = shard.where
        table = self._named(plan, where["file"])
        if isinstance(table, Part) or "start" not in where:
            return None
        if by_content:
            held = dict(digests_of(table, where["start"], where["stop"]))
            rows = range(where["start"], where["stop"])
            return Stamps([numbered(table.file.key, row) for row in rows], [held[row].hex() if row in held else None for row in rows])
        if any(stored.is_linked or stored.dataset.is_virtual for stored in table.columns.values()):
            return None  # its bytes stand in another file
        stamp = file_stamp(table.file.path)
        return None if stamp is None else Stamps(whole=f"{stamp} {where['start']}-{where['stop']}")

    def fetch(self, plan: Plan, key: str) -> tuple[Batch, bytes]:
        if (wholes := self._wholes(plan.data)) is not None:
            return wholes.fetch(plan, key)
        try:
            file_key, row = split_number(key)
            path = path_of(self.source, file_key)
            is_there = path.is_file()
        except (ValueError, OSError):
            is_there = False
        if not is_there:
            raise UsageError(f"{self.source} holds no sample {key}", fix="keys are the file's name, # and a row number from 0")
        table = self._named(plan, file_key)
        if isinstance(table, Part):
            raise SourceError(f"{file_key}: {table.says}")
        if row >= table.length:
            raise UsageError(f"{self.source} holds no sample {key}", fix=f"{file_key} has {table.length:,} rows")
        batch = next(batches(table, row, row + 1, 1, self.limits, None, frozenset()))
        return batch, row_bytes_of(table, row)

    def copy_clean(self, plan: Plan, destination: Path, drop: frozenset[str], options: CopyOptions, progress: Callable[[int], None]) -> CopyReport:
        if (wholes := self._wholes(plan.data)) is not None:
            return wholes.copy(destination, drop, options, progress)
        return copy_files(self.source, destination, plan, drop, options, self.limits, progress)

    def digests(self, plan: Plan) -> Iterator[tuple[str, bytes]]:
        if (wholes := self._wholes(plan.data)) is not None:
            yield from wholes.digests()
            return
        for each in files(self.source):
            if isinstance(each, Part):
                continue
            table = self._open(each, plan)
            if isinstance(table, Part):
                continue
            for row, digest in digest_rows(table):
                yield numbered(each.key, row), digest

    def _wholes(self, data: DataConfig) -> Wholes | None:
        """The samples as files or groups, where the owner says that they are."""
        if data.sample not in (FILE, GROUP):
            return None
        if self._held is None or self._held.per != data.sample:
            self._held = Wholes(self.source, self.limits, data.sample)
        return self._held

    def _named(self, plan: Plan, key: str) -> Table | Part:
        path = path_of(self.source, key)
        try:
            size = path.stat().st_size
        except OSError as error:
            return Part("part-unreadable", key, f"can't be read: {error.strerror}", file=key, lost_bytes=None, lost_records=None)
        return self._open(HDF5File(key, path, size), plan)

    def _open(self, file: HDF5File, plan: Plan) -> Table | Part:
        """The file under the plan; the one opened last stays open, for the shards of a file follow each other."""
        if self._table is not None and self._table.file == file and self._table.fields == plan.fields:
            return self._table
        self.close()
        table = open_table(file, plan.fields, self.limits, self.source)
        self._table = table if isinstance(table, Table) else None
        return table

    def close(self) -> None:
        if self._held is not None:
            self._held.close()
        if self._table is not None:
            self._table.close()
            self._table = None


def _spread(members: list[HDF5File], most: int) -> list[HDF5File]:
    if len(members) <= most:
        return members
    return [members[index * (len(members) - 1) // (most - 1)] for index in range(most)]


def _some_rows(stored: Stored) -> Any:
    """Labels from several places; None where they can't be read, or are too many numbers to be labels."""
    if stored.row_bytes > 1 << 16:
        return None
    try:
        pieces = [stored.rows(*piece) for piece in spread(stored.length, _PROBED_PIECES, _PROBED_ROWS)]
    except FAILURES:
        return None
    if not pieces:
        return None
    return np.concatenate(pieces) if all(isinstance(piece, np.ndarray) for piece in pieces) else [value for piece in pieces for value in piece]


def _task(fields: tuple[Field, ...], held: list[tuple[Stored, Any]]) -> tuple[str | None, tuple[Any, ...]]:
    for field in fields:
        if field.role is not Role.LABEL:
            continue
        for stored, values in held:
            if stored.name == dataset_name(field.name) and values is not None:
                met, task = task_of(field, squeezed(field, values) if isinstance(values, np.ndarray) else values)
                return task, met
    return None, ()


def _notes(fields: tuple[Field, ...]) -> tuple[str, ...]:
    if not fields:
        return ("no dataset has rows: there are no samples",)
    tables = [field.name for field in fields if field.role is Role.IGNORE]
    return (f"rows of {', '.join(tables)} go with the samples and are not looked into",) if tables else ()


def _why_not(source: Path, failures: list[Part]) -> str:
    """One sentence: what is wrong with the first thing that should have been a file of the set."""
    for part in failures:
        if part.code not in ("part-hidden", "part-not-a-sample"):
            return f"{source.name} can't be scanned: {part.key} {part.says}"
    return f"{source.name} holds no HDF5 file"


def _no_rows(table: Table) -> Part:
    """Said of a file that gives no sample: nothing in it was judged as one."""
    carried = [stored.name for stored in table.found.datasets.values() if is_carried(stored) and stored.length]
    if carried:
        says = f"no sample: the rows of {', '.join(carried[:3])} are tables, which are not scanned; write their columns as datasets"
        return Part("part-unsupported", table.file.key, says, file=table.file.key)
    return Part("part-empty", table.file.key, "no sample: none of its datasets has rows", file=table.file.key)
