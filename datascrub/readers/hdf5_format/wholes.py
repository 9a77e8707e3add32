"""HDF5 whose samples are no rows: each file is one sample, or each group that holds datasets; its datasets are the fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from datascrub.config import DataConfig
from datascrub.errors import CopyError, SourceError, UsageError
from datascrub.media.sniff import sniff
from datascrub.model import Batch, Column, Field, Kind, Limits, Part, Problem, Role, Shard
from datascrub.plan import Plan
from datascrub.readers.base import CopyOptions, CopyReport, Survey
from datascrub.readers.hdf5_format.axis import field_name
from datascrub.readers.hdf5_format.copy import Account, copy_beside, named
from datascrub.readers.hdf5_format.dataset import Form, Stored, as_bytes, as_text
from datascrub.readers.hdf5_format.files import HDF5File, files, is_list, path_of
from datascrub.readers.hdf5_format.open import FAILURES, reason_of
from datascrub.readers.hdf5_format.roles import REQUIRED, declared_role, number_role, task_of, text_role, words_of
from datascrub.readers.hdf5_format.rows import read_rows
from datascrub.readers.hdf5_format.table import Table, open_table
from datascrub.readers.hdf5_format.write_groups import copy_group
from datascrub.readers.placing import Placer

FILE, GROUP = "file", "group"
_PROBED_FILES, _PROBED_SAMPLES = 64, 256
_SHARD_SAMPLES, _SHARD_BYTES = 256, 32 << 20
_BATCH_BYTES = 32 << 20
_FEW = 0.01
"""datasets that stand in a smaller share of the probed samples are no fields"""
_PROBLEMS = {"part-truncated": "record-truncated", "part-unreadable": "record-unreadable", "part-unsupported": "record-unsupported"}
"""what a file that can't be opened is, where it is a sample; all else is record-unparsable"""


def groups_of(datasets: Mapping[str, Stored]) -> dict[str, dict[str, Stored]]:
    """group -> field -> dataset, in order of names: the outermost groups that hold a dataset themselves; what stands in the root belongs to none."""
    holders = {name.rpartition("/")[0] for name in datasets} - {""}
    made: dict[str, dict[str, Stored]] = {}
    for name, stored in datasets.items():
        steps = name.split("/")
        group = next((prefix for depth in range(1, len(steps)) if (prefix := "/".join(steps[:depth])) in holders), None)
        if group is not None:
            made.setdefault(group, {})[field_name(name[len(group) + 1 :])] = stored
    return {group: made[group] for group in sorted(made)}


def kind_of_whole(stored: Stored) -> Kind | None:
    """How the value of a whole dataset is held; None where it can't be."""
    if stored.form is Form.TEXT:
        return None if stored.shape else Kind.TEXT
    if stored.form is Form.PICTURES:
        return Kind.ENCODED if stored.is_scalar or stored.length == 1 else None
    if not stored.is_dense or (stored.is_scalar and stored.form is Form.BFLOAT16):
        return None
    if stored.dtype == np.uint8 and not stored.shape and stored.length > 16:
        with suppress(*FAILURES):
            return Kind.ENCODED if sniff(as_bytes(stored.dataset[:64])).is_image else Kind.ARRAY
    return Kind.ARRAY


@dataclass(frozen=True)
class _Opened:
    """The samples of an open file. table: None where the file can't be opened, which is told by a part."""

    file: HDF5File
    table: Table | None
    part: Part | None
    samples: Mapping[str, Mapping[str, Stored]]


class Wholes:
    """The samples of a source that are files or groups. per: FILE or GROUP. The file opened last stays open: shards of one file follow each other."""

    def __init__(self, source: Path, limits: Limits, per: str) -> None:
        self.source, self.limits, self.per = source, limits, per
        self._last: _Opened | None = None

    def close(self) -> None:
        if self._last is not None and self._last.table is not None:
            self._last.table.close()
        self._last = None

    def open(self, file: HDF5File) -> _Opened:
        """The samples of a file, by the name of their group; "" is the file itself. What was opened before is closed."""
        if self._last is None or self._last.file != file:
            self.close()
            self._last = self._opened(file)
        return self._last

    def _opened(self, file: HDF5File) -> _Opened:
        table = open_table(file, (), self.limits, self.source)
        if isinstance(table, Part):
            return _Opened(file, None, table, {"": {}} if self.per == FILE else {})
        if self.per == FILE:
            return _Opened(file, table, None, {"": {field_name(name): stored for name, stored in table.found.datasets.items()}})
        return _Opened(file, table, None, groups_of(table.found.datasets))

    def key(self, file: HDF5File, group: str) -> str:
        return f"{file.key}:{group}" if self.per == GROUP else file.key

    def survey(self, data: DataConfig) -> Survey:
        members = [each for each in files(self.source) if isinstance(each, HDF5File)]
        step = max(1, -(-len(members) // _PROBED_FILES))
        probe, count, opened = _Probe(), 0, 0
        for file in members[::step]:
            its = self.open(file)
            if its.table is None:
                continue
            opened, count = opened + 1, count + len(its.samples)
            names = list(its.samples)
            for name in names[:: max(1, -(-len(names) * min(len(members), _PROBED_FILES) // _PROBED_SAMPLES))]:
                probe.add(its.samples[name])
        if not opened or not probe.samples:
            what = f"no {self.per} with datasets can be read"
            raise SourceError(f"{self.source.name} holds no sample: {what}", fix="see [data] sample: row, group or file")
        fields = probe.fields(data)
        labels, task = probe.labels(fields)
        exact = step == 1 or self.per == FILE
        total = len(members) if self.per == FILE else count * len(members) // opened
        return Survey(None, fields, total, sum(file.size for file in members), is_count_exact=exact, task=task, labels=labels)

    def shards(self) -> Iterator[Shard | Part]:
        number, first, waiting, size = 0, 0, list[str](), 0
        for each in files(self.source):
            if isinstance(each, Part):
                yield each
            elif self.per == FILE:
                if waiting and (len(waiting) >= _SHARD_SAMPLES or size + each.size > _SHARD_BYTES):
                    yield Shard(number, {"file": waiting[0], "files": waiting}, len(waiting), first)
                    number, first, waiting, size = number + 1, first + len(waiting), [], 0
                waiting, size = [*waiting, each.key], size + each.size
            else:
                its = self.open(each)
                if its.table is None:
                    assert its.part is not None
                    yield its.part
                    continue
                yield from its.table.found.parts
                count, weight = len(its.samples), sum(stored.logical_bytes for fields in its.samples.values() for stored in fields.values())
                step = max(1, min(_SHARD_SAMPLES, _SHARD_BYTES * count // max(weight, 1)))
                for start in range(0, count, step):
                    stop = min(start + step, count)
                    yield Shard(number, {"file": each.key, "first": start, "stop": stop}, stop - start, first)
                    number, first = number + 1, first + stop - start
        if waiting:
            yield Shard(number, {"file": waiting[0], "files": waiting}, len(waiting), first)

    def read(self, plan: Plan, shard: Shard, batch_size: int, rows: frozenset[int] | None, untouched: frozenset[int]) -> Iterator[Batch | Part]:
        gathered, row = _Gathered(plan, self.limits), 0
        for file, start, stop in self._places(shard):
            if rows is not None and not any(each in rows for each in range(row, row + (1 if stop is None else stop - start))):
                row += 1 if stop is None else stop - start
                continue
            its = self.open(file)
            if self.per == FILE and its.table is not None:
                yield from its.table.found.parts
            for group in list(its.samples)[start:stop]:
                if rows is None or row in rows:
                    gathered.add(self.key(file, group), row, file, its, group, is_touched=row not in untouched)
                    if gathered.count >= batch_size or gathered.size_bytes >= _BATCH_BYTES:
                        yield gathered.batch()
                        gathered = _Gathered(plan, self.limits)
                row += 1
        if gathered.count:
            yield gathered.batch()

    def _places(self, shard: Shard) -> Iterator[tuple[HDF5File, int, int | None]]:
        """(file, first sample, behind the last one) of a shard."""
        where = shard.where
        for key in where.get("files", [where["file"]]):
            path = path_of(self.source, key)
            size = 0
            with suppress(OSError):
                size = path.stat().st_size
            yield HDF5File(key, path, size), where.get("first", 0), where.get("stop")

    def fetch(self, plan: Plan, key: str) -> tuple[Batch, bytes]:
        file_key, mark, group = key.rpartition(":") if self.per == GROUP else (key, "", "")
        path = path_of(self.source, file_key)
        if not path.is_file() or (self.per == GROUP and not mark):
            raise UsageError(f"{self.source} holds no sample {key}", fix=f"a key is the name of a {self.per}, as `datascrub findings` prints it")
        file = HDF5File(file_key, path, path.stat().st_size)
        its = self.open(file)
        if group not in its.samples:
            raise UsageError(f"{self.source} holds no sample {key}", fix=f"a key is the name of a {self.per}")
        gathered = _Gathered(plan, self.limits)
        gathered.add(key, 0, file, its, group, is_touched=True)
        raw = b""
        with suppress(*FAILURES):
            raw = b"".join(_raw(stored) for stored in its.samples[group].values())
        return gathered.batch(), raw

    def digests(self) -> Iterator[tuple[str, bytes]]:
        for each in files(self.source):
            if isinstance(each, HDF5File):
                its = self.open(each)
                if its.table is not None:
                    yield from ((self.key(each, group), found) for group, found in self._digests(its))

    def _digests(self, its: _Opened) -> Iterator[tuple[str, bytes]]:
        """(group, digest) of each sample of which every dataset can be read."""
        for group, fields in its.samples.items():
            digest = xxhash.xxh3_128()
            try:
                for name, stored in fields.items():
                    digest.update(f"{name}\0".encode("utf-8", "surrogateescape"))
                    digest.update(_raw(stored))
            except FAILURES:
                continue
            yield group, digest.digest()

    def copy(self, destination: Path, drop: frozenset[str], options: CopyOptions, progress: Callable[[int], None]) -> CopyReport:
        """Write the copy. Raises CopyError where a file can't be read or written."""
        account, placer, is_one = Account(), Placer(options.link), self.source.is_file() and not is_list(self.source)
        try:
            for name, each in named(self.source, account, options):
                target = destination if is_one else destination / name
                its = self.open(each)
                if its.table is None:
                    account.dropped += self.per == FILE
                    continue
                self._copy_file(its, target, drop, options, placer, account, progress)
            if not is_one:
                destination.mkdir(parents=True, exist_ok=True)
                copy_beside(self.source, destination, account, options, placer)
        except OSError as error:
            raise CopyError(f"the copy could not be made: {error.strerror or error}", fix="check room and permissions, and run it again") from error
        account.notes += placer.notes()
        if options.only_changed and account.unchanged:
            account.notes.append(f"{account.unchanged} unchanged files are not in the copy")
        return account.report(f"{self.per}s")

    def _copy_file(
        self,
        its: _Opened,
        target: Path,
        drop: frozenset[str],
        options: CopyOptions,
        placer: Placer,
        account: Account,
        progress: Callable[[int], None],
    ) -> None:
        readable = dict(self._digests(its))
        kept = [group for group in its.samples if self.key(its.file, group) not in drop and group in readable]
        gone = [group for group in its.samples if group not in kept]
        account.dropped += len(gone)
        account.lost += sum(self.key(its.file, group) not in drop for group in gone)
        account.unchanged += not gone
        if (self.per == FILE and gone) or (not gone and options.only_changed):
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        if not gone:
            placer.place(its.file.path, target)
        else:
            assert its.table is not None
            try:
                copy_group(its.table.opened.handle, target, frozenset(gone))
            except FAILURES as error:
                raise CopyError(f"{its.file.key} could not be written without its dropped groups: {error}", fix="leave the file out") from error
        account.kept += len(kept)
        for group in kept:
            account.digest.update(readable[group])
        account.written.append(its.file.key)
        progress(len(kept))


class _Probe:
    """What some samples hold: kinds, shapes and types of each field, and values of what may be a label."""

    def __init__(self) -> None:
        self.samples = 0
        self.kinds: dict[str, Counter[Kind | None]] = {}
        self.shapes: dict[str, Counter[tuple[int, ...]]] = {}
        self.dtypes: dict[str, Counter[str]] = {}
        self.values: dict[str, list[Any]] = {}

    def add(self, fields: Mapping[str, Stored]) -> None:
        self.samples += 1
        for name, stored in fields.items():
            kind = kind_of_whole(stored)
            self.kinds.setdefault(name, Counter())[kind] += 1
            if kind is Kind.ARRAY and stored.dtype is not None:
                self.shapes.setdefault(name, Counter())[_shape(stored)] += 1
                self.dtypes.setdefault(name, Counter())[stored.dtype.name] += 1
            if stored.logical_bytes <= 1024 and kind in (Kind.ARRAY, Kind.TEXT):
                with suppress(*FAILURES):
                    self.values.setdefault(name, []).append(_whole(stored))

    def fields(self, data: DataConfig) -> tuple[Field, ...]:
        names = sorted(name for name, kinds in self.kinds.items() if kinds.total() >= _FEW * self.samples)
        unknown = sorted(set(data.roles) - set(names))
        if unknown:
            raise UsageError(f"data.roles names {unknown[0]}, which the samples don't hold", fix=f"fields: {', '.join(names)}")
        return tuple(declared_role(self._field(name), data.roles.get(name)) for name in names)

    def _field(self, name: str) -> Field:
        kinds, words = self.kinds[name], words_of(name)
        kind = kinds.most_common(1)[0][0]
        required = (REQUIRED,) if 2 * kinds.total() > self.samples else ()
        if kind is None:
            return Field(name, Role.IGNORE, Kind.ARRAY, declared=required)
        is_mask = any("mask" in word or word.startswith("segment") for word in words)
        if kind is not Kind.ARRAY:
            role = text_role(words) if kind is Kind.TEXT else Role.MASK if is_mask else Role.IMAGE
            return Field(name, role, kind, declared=required)
        shape, dtype = _agreed(self.shapes[name]), _agreed(self.dtypes[name])
        role = number_role(words, shape, None if dtype is None else np.dtype(dtype), is_mask=is_mask)
        if role in (Role.LABEL, Role.WEIGHT, Role.ID) and shape == (1,):
            shape = ()
        return Field(name, role, Kind.ARRAY, dtype, shape, required)

    def labels(self, fields: Sequence[Field]) -> tuple[tuple[Any, ...], str | None]:
        for field in fields:
            values = self.values.get(field.name, [])
            if field.role is Role.LABEL and values:
                same = [value for value in values if field.kind is Kind.TEXT or np.shape(value) == np.shape(values[0])]
                return task_of(field, same if field.kind is Kind.TEXT else np.stack(same).reshape(len(same), *(field.shape or ())))
        return (), None


def _agreed(counts: Counter[Any]) -> Any:
    first, count = counts.most_common(1)[0]
    return first if count * 100 >= counts.total() * 99 else None


def _shape(stored: Stored) -> tuple[int, ...]:
    return stored.shape if stored.is_scalar else (stored.length, *stored.shape)


class _Gathered:
    """Samples on their way into a batch."""

    def __init__(self, plan: Plan, limits: Limits) -> None:
        self.fields, self.limits = [field for field in plan.fields if field.role is not Role.IGNORE], limits
        self.keys: list[str] = []
        self.rows: list[int] = []
        self.files: list[str | None] = []
        self.sizes: list[int] = []
        self.values: dict[str, list[Any]] = {field.name: [] for field in self.fields}
        self.problems: dict[int, Problem] = {}

    @property
    def count(self) -> int:
        return len(self.keys)

    @property
    def size_bytes(self) -> int:
        return sum(self.sizes)

    def add(self, key: str, row: int, file: HDF5File, its: _Opened, group: str, *, is_touched: bool) -> None:
        fields = its.samples[group]
        place = self.count
        self.keys.append(key)
        self.rows.append(row)
        self.files.append(file.key)
        self.sizes.append(sum(stored.logical_bytes for stored in fields.values()))
        if its.part is not None:
            self.problems[place] = Problem(_PROBLEMS.get(its.part.code, "record-unparsable"), its.part.says)
        for field in self.fields:
            value: Any = None
            if is_touched and its.table is not None:
                value = self._value(field, fields.get(field.name), its.table)
            if isinstance(value, Problem):
                self.problems.setdefault(place, value)
                value = None
            self.values[field.name].append(value)

    def _value(self, field: Field, stored: Stored | None, table: Table) -> Any:
        problem = self._misfit(field, stored)
        if problem is not None or stored is None:
            return problem
        value: Any
        if stored.is_scalar:
            try:
                value = _whole(stored)
            except FAILURES as error:
                return Problem("record-unparsable", f"corrupt: {field.name} can't be read ({reason_of(error)})")
        else:
            found, problems = read_rows(table, stored, 0, stored.length)
            if problems:
                return next(iter(problems.values()))
            value = _joined(stored, found)
        if field.kind is Kind.ENCODED:
            return as_bytes(value)
        return value.reshape(()) if field.shape == () and isinstance(value, np.ndarray) and value.size == 1 else value

    def _misfit(self, field: Field, stored: Stored | None) -> Problem | None:
        """Why a dataset is no value of the field."""
        if stored is None:
            return Problem("record-field-missing", f"it holds no dataset {field.name}, which the set has") if REQUIRED in field.declared else None
        if stored.logical_bytes > self.limits.max_record_bytes:
            most = self.limits.max_record_bytes
            return Problem("record-too-large", f"{field.name} claims {stored.logical_bytes:,} bytes, over the limit of {most:,}")
        if kind_of_whole(stored) is not field.kind and not (field.kind is Kind.ENCODED and stored.dtype == np.uint8):
            return Problem("record-field-kind", f"{field.name} holds {stored.form.value} here, and not what the set holds ({field.kind.value})")
        return None

    def batch(self) -> Batch:
        columns = {field.name: Column(field, _dense(self.values[field.name]), limits=self.limits) for field in self.fields}
        return Batch(self.keys, np.array(self.rows, np.int64), columns, np.array(self.sizes, np.int64), self.problems, self.files)


def _dense(values: list[Any]) -> np.ndarray | list[Any]:
    if values and all(isinstance(value, np.ndarray) for value in values) and len({(value.shape, value.dtype) for value in values}) == 1:
        return np.stack(values)
    return values


def _whole(stored: Stored) -> Any:
    """The value of a whole dataset. Raises what h5py raises."""
    if not stored.is_scalar:
        return _joined(stored, stored.rows(0, stored.length))
    value = stored.dataset[()]
    if stored.form is Form.TEXT:
        return as_text(value)
    if stored.form is Form.PICTURES:
        return as_bytes(value)
    array = np.asarray(value)
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], axis=-1)
    return array.astype(stored.dtype, copy=False)


def _joined(stored: Stored, values: Any) -> Any:
    """Several texts of one sample are lines of one text; the only picture of a dataset is the picture."""
    if stored.form is Form.TEXT:
        parts = [value if isinstance(value, str) else value.decode("utf-8", "surrogateescape") for value in values]
        return as_text("\n".join(parts).encode("utf-8", "surrogateescape"))
    return values[0] if stored.form is Form.PICTURES and len(values) == 1 else values


def _raw(stored: Stored) -> bytes:
    """A dataset's values as bytes, shape first; those of variable length one after the other. Raises what h5py raises."""
    values = np.asarray(stored.dataset[()])
    head = f"{values.shape}{values.dtype.str if not values.dtype.hasobject else 'object'}\0".encode()
    if not values.dtype.hasobject:
        return head + values.tobytes()
    parts = [as_bytes(item) if not isinstance(item, str) else item.encode("utf-8", "surrogateescape") for item in values.flat]
    return head + b"".join(len(part).to_bytes(8, "little") + part for part in parts)
