"""What the places of a TFRecord stream mean: a sample, a sample with a problem, or a part."""

from __future__ import annotations

from collections.abc import Iterator

from datascrub.model import Limits, Part, Problem
from datascrub.readers.tfrecord_format.framing import BROKEN, CUT, DAMAGED, ENDLESS, LARGE, OVERRUN, RECORD, ZEROS, Frame
from datascrub.readers.tfrecord_format.streams import PlainBytes, Stream

_SAMPLES = frozenset({RECORD, LARGE, CUT, BROKEN, DAMAGED})


def is_sample(frame: Frame) -> bool:
    """Whether a place counts as a sample: a record, or what is left of one."""
    return frame.kind in _SAMPLES


def problem_of(frame: Frame, most: int) -> Problem:
    """What is wrong with a sample that is no whole record. most: bytes that one record may have."""
    if frame.kind == CUT:
        return Problem(
            "record-truncated", f"the file ends inside the record at byte {frame.start:,}: truncated, {frame.length:,} bytes of it are there"
        )
    if frame.kind == BROKEN:
        says = f"the record at byte {frame.start:,} is truncated: another begins {frame.length:,} bytes on, and the file ends before its declared end"
        return Problem("record-truncated", says)
    if frame.kind == LARGE:
        return Problem("record-too-large", f"the record at byte {frame.start:,} has {frame.length:,} bytes, and the limit is {most:,}")
    rest = "its payload is whole" if frame.is_single else f"the next record is found {frame.length:,} bytes on"
    return Problem(
        "record-checksum-mismatch", f"the length in the header at byte {frame.start:,} does not fit its CRC: the header is corrupt; {rest}"
    )


def mismatch(start: int, length: int) -> Problem:
    """What is wrong with a record whose payload is not what was written."""
    return Problem("record-checksum-mismatch", f"the CRC of its {length:,} bytes at byte {start:,} does not fit: the payload is corrupt")


def part_of(key: str, frame: Frame, number: int, limits: Limits) -> Part | None:
    """What is to be said of a place beside its sample. number: of the sample that is there, or would be."""
    place = f"{key}@{frame.start}-{frame.stop}"
    if frame.kind == DAMAGED:
        if frame.is_single:
            return Part(
                "part-damaged", place, f"one record whose length is corrupt: {frame.length:,} bytes skipped", {}, key, frame.start, frame.length, 0
            )
        says = f"{frame.length:,} bytes skipped from a corrupt length on; numbers after #{number} count the records that were found"
        return Part("part-damaged", place, says, {"skipped_bytes": frame.length}, key, frame.start, frame.length, None)
    if frame.kind == OVERRUN:
        says = f"the record #{number - 1} is cut and written over: records begin again at byte {frame.stop:,}, inside its length"
        return Part("part-damaged", place, says, {}, key, frame.start, frame.length, 0)
    if frame.kind == ZEROS:
        says = f"{frame.length:,} trailing zero bytes behind the last record, which TensorFlow calls corrupt"
        return Part("part-trailing-bytes", place, says, {"trailing_bytes": frame.length}, key, frame.start)
    if frame.kind == ENDLESS:
        says = f"inflates to more than {limits.max_inflated_bytes:,} bytes without a record: not read on"
        return Part("part-too-large", place, says, {}, key, frame.start, None, None)
    return None


def parts_behind(key: str, stream: Stream, count: int) -> Iterator[Part]:
    """What is to be said of a compressed stream at its end. count: samples that it held."""
    if isinstance(stream, PlainBytes):
        return
    if stream.fault:
        lost = stream.compressed_size - stream.fault_offset
        code = "part-truncated" if "cut" in stream.fault else "part-damaged"
        says = f"{stream.fault} at byte {stream.fault_offset:,} of {stream.compressed_size:,}: records behind #{count} are lost"
        yield Part(code, key, says, {"read_records": count}, key, stream.fault_offset, lost, None)
    elif stream.trailing:
        yield Part("part-trailing-bytes", key, f"{stream.trailing:,} bytes behind the end of the compressed stream", {}, key)
    elif count == 0:
        yield Part("part-empty", key, "compressed, and holds no record", file=key)
