"""TFRecord: files of framed records, plain, gzip or zlib; one file, a folder, or a pattern of names. TensorFlow is not needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import xxhash

from datascrub.config import DataConfig
from datascrub.errors import SourceError, UsageError
from datascrub.keys import numbered, split_number
from datascrub.layouts.base import Record
from datascrub.layouts.choose import choose, layout_named
from datascrub.model import Batch, Field, Kind, Part, Problem, Role, Shard
from datascrub.plan import Plan
from datascrub.readers.base import CopyOptions, CopyReport, Reader, Survey
from datascrub.readers.stamps import Stamps, file_digest, file_stamp
from datascrub.readers.tfrecord_format.copy import copy_files
from datascrub.readers.tfrecord_format.cutting import Cutter
from datascrub.readers.tfrecord_format.files import RecordFile, files, holds_records, path_of
from datascrub.readers.tfrecord_format.framing import HEADER, RECORD, Frame, Run, frames, payload, places
from datascrub.readers.tfrecord_format.places import is_sample, mismatch, part_of, parts_behind, problem_of
from datascrub.readers.tfrecord_format.probe import count_of, probe
from datascrub.readers.tfrecord_format.streams import PLAIN, open_stream
from datascrub.readers.tfrecord_format.waiting import Waiting

_UNKNOWN = ("unknown", "pickled")


class TFRecord(Reader):
    """Plain files are cut into shards by a pass over their headers; a compressed file is one shard."""

    name: ClassVar[str] = "tfrecord"
    title: ClassVar[str] = "TFRecord"

    @classmethod
    def recognises(cls, source: Path) -> bool:
        return holds_records(source)

    def survey(self, data: DataConfig) -> Survey:
        found = [each for each in files(self.source) if isinstance(each, RecordFile)]
        records = [Record(b"", value) for value in probe(found, self.limits)]
        size = sum(file.size for file in found)
        if not records:
            if data.layout is None:
                raise SourceError(f"{self.source} holds no whole record", fix="write the data set again; there is nothing to scan")
            return Survey(data.layout, (), 0, size)
        layout, fit = choose(records, data)
        count, is_exact = count_of(found, self.limits)
        notes = fit.notes
        stored = sorted({file.compression for file in found})
        return Survey(
            layout.name,
            tuple(_kind_of_role(field) for field in fit.fields),
            count,
            size,
            {"compression": stored[0] if len(stored) == 1 else stored},
            is_count_exact=is_exact,
            task=fit.task,
            labels=tuple(fit.labels),
            notes=notes,
        )

    def fingerprint(self) -> Mapping[str, Any]:
        """Number, bytes and a digest of names, sizes and times of all files that can be seen."""
        digest, count, size = xxhash.xxh3_128(), 0, 0
        for each in files(self.source):
            if isinstance(each, RecordFile):
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
        number, first = 0, 0
        is_first_known, is_any = True, False
        for each in files(self.source):
            if isinstance(each, Part):
                yield each
                continue
            if not is_any and plan.layout in _UNKNOWN:
                yield Part("part-layout-unknown", each.key, f"nobody here knows what the records mean ({plan.layout})", file=each.key)
            is_any = True
            if each.compression != PLAIN:
                yield Shard(number, {"file": each.key, "compression": each.compression, "start": 0, "stop": None, "number": 0})
                number, is_first_known = number + 1, False
                continue
            try:
                for start, stop, inside, count in self._ranges(each):
                    where = {"file": each.key, "compression": PLAIN, "start": start, "stop": stop, "number": inside}
                    yield Shard(number, where, count, first if is_first_known else None)
                    number, first = number + 1, first + count
            except OSError as error:
                yield _unreadable(each.key, error)

    def _ranges(self, file: RecordFile) -> Iterator[tuple[int, int, int, int]]:
        """(start, stop, number of the first record, samples) of each range of a plain file; it begins at a header that fits, or with the file."""
        cutter = Cutter()
        with open_stream(file.path, PLAIN) as stream:
            for each in places(stream, 0, None, self.limits):
                if isinstance(each, Run) and each.start >= cutter.reach:
                    yield from cutter.add_run(each)
                else:
                    for frame in each.frames() if isinstance(each, Run) else (each,):
                        yield from cutter.add(frame)
        yield from cutter.rest()

    def read(
        self,
        plan: Plan,
        shard: Shard,
        *,
        batch_size: int = 1024,
        rows: frozenset[int] | None = None,
        untouched: frozenset[int] = frozenset(),
    ) -> Iterator[Batch | Part]:
        where = shard.where
        key, first = where["file"], where["number"]
        waiting = Waiting(key, first)
        try:
            with open_stream(path_of(self.source, key), where["compression"]) as stream:
                row = 0
                is_all = rows is None and not untouched
                for each in (places if is_all else frames)(stream, where["start"], where["stop"], self.limits):
                    if isinstance(each, Run):
                        at, count = 0, len(each.starts)
                        while at < count:
                            at, before = min(count, at + batch_size - len(waiting.rows)), at
                            waiting.add_run(row + before, each, slice(before, at))
                            if waiting.is_full(batch_size):
                                yield self._batch(plan, waiting)
                        row += count
                        continue
                    if (part := part_of(key, each, first + row, self.limits)) is not None:
                        if waiting.rows:
                            yield self._batch(plan, waiting)
                        yield part
                    if not is_sample(each):
                        continue
                    if rows is None or row in rows:
                        waiting.add(row, each, *_value(stream, each, row in untouched, self.limits.max_record_bytes))
                        if waiting.is_full(batch_size):
                            yield self._batch(plan, waiting)
                    row += 1
                if waiting.rows:
                    yield self._batch(plan, waiting)
                yield from parts_behind(key, stream, row)
        except OSError as error:
            if waiting.rows:
                yield self._batch(plan, waiting)
            yield _unreadable(key, error)

    def stamps(self, plan: Plan, shard: Shard, *, by_content: bool = False) -> Stamps | None:
        where = shard.where
        path = path_of(self.source, where["file"])
        stamp = file_digest(path, where["start"], where["stop"]) if by_content else file_stamp(path)
        return None if stamp is None else Stamps(whole=f"{stamp} {where['start']}-{where['stop']}")

    def _batch(self, plan: Plan, waiting: Waiting) -> Batch:
        """What was waiting, decoded; nothing waits afterwards."""
        samples = [(Record(b"", value),) for value in waiting.values]
        columns, problems = layout_named(plan.layout or "unknown").decode(samples, plan.fields, self.limits)
        made = Batch(
            [numbered(waiting.key, waiting.first + row) for row in waiting.rows],
            np.array(waiting.rows, np.int64),
            columns,
            np.array(waiting.sizes, np.int64),
            {**problems, **waiting.problems},
            [waiting.key] * len(waiting.rows),
            list(waiting.offsets),
        )
        waiting.clear()
        return made

    def fetch(self, plan: Plan, key: str) -> tuple[Batch, bytes]:
        try:
            file_key, number = split_number(key)
            file = next(each for each in files(self.source) if isinstance(each, RecordFile) and each.key == file_key)
        except (ValueError, StopIteration):
            raise UsageError(f"{self.source} holds no sample {key}", fix="keys are the file's name, # and a number from 0") from None
        waiting = Waiting(file_key, 0)
        try:
            with open_stream(file.path, file.compression) as stream:
                samples = (frame for frame in frames(stream, 0, None, self.limits) if is_sample(frame))
                for row, frame in enumerate(samples):
                    if row < number:
                        continue
                    waiting.add(row, frame, *_value(stream, frame, False, self.limits.max_record_bytes))
                    start, length = (frame.start + HEADER, frame.length) if frame.kind == RECORD else (frame.start, frame.stop - frame.start)
                    raw = stream.view(start, min(length, self.limits.max_record_bytes))
                    return self._batch(plan, waiting), raw
        except OSError as error:
            raise SourceError(f"{file.path} can't be read: {error.strerror}", fix="check permissions and mounts") from error
        raise UsageError(f"{self.source} holds no sample {key}", fix=f"{file_key} has fewer records")

    def copy_clean(self, plan: Plan, destination: Path, drop: frozenset[str], options: CopyOptions, progress: Callable[[int], None]) -> CopyReport:
        return copy_files(self.source, destination, drop, options, self.limits, progress)

    def digests(self, plan: Plan) -> Iterator[tuple[str, bytes]]:
        for each in files(self.source):
            if not isinstance(each, RecordFile):
                continue
            try:
                with open_stream(each.path, each.compression) as stream:
                    samples = (frame for frame in frames(stream, 0, None, self.limits) if is_sample(frame))
                    for row, frame in enumerate(samples):
                        if frame.kind == RECORD:
                            yield numbered(each.key, row), xxhash.xxh3_128_digest(stream.view(frame.start + HEADER, frame.length))
            except OSError:
                continue


def _value(stream: Any, frame: Frame, is_untouched: bool, most: int) -> tuple[bytes | None, Problem | None]:
    """The payload of a sample, and what is wrong with it; a damaged one is not looked into."""
    if frame.kind != RECORD:
        return None, problem_of(frame, most)
    if is_untouched:
        return None, None
    value, is_right = payload(stream, frame)
    if is_right:
        return value, None
    return None, mismatch(frame.start, frame.length)


def _kind_of_role(field: Field) -> Field:
    """Bytes that the user calls images are encoded images."""
    is_encoded = field.role in (Role.IMAGE, Role.MASK) and field.kind is Kind.TEXT
    return replace(field, kind=Kind.ENCODED) if is_encoded else field


def _unreadable(key: str, error: OSError) -> Part:
    return Part("part-unreadable", key, f"can't be read: {error.strerror}", file=key, lost_bytes=None, lost_records=None)
