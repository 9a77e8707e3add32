"""A look at a few hundred records spread over the files, and a count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from datascrub.model import Limits
from datascrub.readers.tfrecord_format.files import RecordFile
from datascrub.readers.tfrecord_format.framing import RECORD, Run, find_record, frames, payload, places
from datascrub.readers.tfrecord_format.places import is_sample
from datascrub.readers.tfrecord_format.streams import PLAIN, PlainBytes, Stream, open_stream

_RECORDS, _FILES, _PLACES = 400, 16, 8
_PROBED_BYTES = 64 << 20
_COUNTED_BYTES = 64 << 20
_LOOKED_THROUGH = 8 << 20


def probe(files: Sequence[RecordFile], limits: Limits) -> list[bytes]:
    """Payloads whose CRC fits, spread over the files and, where these are plain, over each file."""
    step = max(1, len(files) // _FILES)
    chosen = files[::step][:_FILES] if len(files) > _FILES else files
    made: list[bytes] = []
    size = 0
    share = max(1, _RECORDS // max(1, len(chosen)))
    for file in chosen:
        try:
            for value in _of_file(file, share, limits):
                made.append(value)
                size += len(value)
                if size > _PROBED_BYTES:
                    return made
        except OSError:
            continue
    return made


def _of_file(file: RecordFile, count: int, limits: Limits) -> Iterator[bytes]:
    places = _PLACES if file.compression == PLAIN and file.size > 1 << 20 else 1
    with open_stream(file.path, file.compression) as stream:
        for place in range(places):
            start: int | None = file.size * place // places if file.compression == PLAIN else 0
            if start:
                start = find_record(stream, start, min(file.size, start + _LOOKED_THROUGH), limits)
            if start is not None:
                stop = file.size * (place + 1) // places if places > 1 else None
                yield from _from(stream, start, stop, max(1, count // places), limits)


def _from(stream: Stream, start: int, stop: int | None, count: int, limits: Limits) -> Iterator[bytes]:
    left = count
    for frame in frames(stream, start, stop, limits):
        if frame.kind == RECORD:
            value, is_right = payload(stream, frame)
            if is_right:
                yield value
        left -= 1
        if not left:
            return


def count_of(files: Sequence[RecordFile], limits: Limits) -> tuple[int | None, bool]:
    """(records, whether that is exact): counted in small sets, else by the mean length of the first records; None where they are compressed."""
    if any(file.compression != PLAIN for file in files):
        return None, False
    if sum(file.size for file in files) <= _COUNTED_BYTES:
        return sum(_count(file, limits)[0] for file in files), True
    largest = max(files, key=lambda file: file.size)
    count, size = _count(largest, limits, 4096)
    return sum(round(file.size * count / size) for file in files) if size else None, False


def _count(file: RecordFile, limits: Limits, most: int | None = None) -> tuple[int, int]:
    """(samples, bytes that they take) of a plain file, or of at least its first `most` samples."""
    count, stop = 0, 0
    try:
        with PlainBytes(file.path) as stream:
            for each in places(stream, 0, None, limits):
                count += len(each.starts) if isinstance(each, Run) else is_sample(each)
                stop = each.stop
                if most is not None and count >= most:
                    break
    except OSError:
        pass  # the shards name the file as unreadable
    return count, stop
