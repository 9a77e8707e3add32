"""How records stand in a TFRecord stream, and how to find the way back behind a damaged length.

A record is its length (8 bytes, little endian), the masked CRC32C of these 8 bytes, the payload, and the masked CRC32C of the payload. No length is
believed before its CRC fits, and nothing is allocated by it before the stream is known to hold as much.
Source: tensorflow/core/lib/io/record_writer.h.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import google_crc32c
import numpy as np

from datascrub.model import Limits
from datascrub.readers.tfrecord_format.streams import PlainBytes, Stream

HEADER, FOOTER = 12, 4
_MASK_DELTA = 0xA282EAD8
_BLOCK = 1 << 20
_KEPT = 1 << 24  # bytes behind a damaged header that are held, to look at it again when the next record is found
_KNOWN_HEADERS = 4096  # lengths repeat: a header met before needs no second CRC

RECORD, LARGE, CUT, BROKEN, DAMAGED, OVERRUN, ZEROS, ENDLESS = "record", "large", "cut", "broken", "damaged", "overrun", "zeros", "endless"


class Frame(NamedTuple):
    """One place of the stream.

    kind: record (header right, payload there, its CRC not looked at), large (over the limit), cut (the stream ends inside it), damaged (its length
    does not fit its CRC; the search went on at stop), overrun (the record before it was cut and written over: records begin again at stop, inside its
    length), broken (the stream ends inside it, but another record begins at stop), zeros (nothing but zeros up to the end), endless (inflates beyond
    the limit without a record).
    start, stop: from the header to where the next one begins. length: of the payload; of all bytes of the place where it is no whole record.
    is_single: of a damaged place, whether it is certainly one record.
    """

    kind: str
    start: int
    length: int
    stop: int
    is_single: bool = False


class Run(NamedTuple):
    """Whole records (see Frame) one behind the other, which were read ahead together: what is asked of all of them costs little of each.

    held: some bytes of the stream; base: where these begin in it. starts, stops: of each record, counted in `held`.
    """

    held: bytes
    base: int
    starts: list[int]
    stops: list[int]

    @property
    def start(self) -> int:
        return self.base + self.starts[0]

    @property
    def stop(self) -> int:
        return self.base + self.stops[-1]

    def frames(self) -> Iterator[Frame]:
        """The same, one by one."""
        for start, stop in zip(self.starts, self.stops, strict=True):
            yield Frame(RECORD, self.base + start, stop - start - HEADER - FOOTER, self.base + stop)

    def payloads(self, places: slice) -> tuple[list[bytes], np.ndarray]:
        """The payloads of some of them, and (n,) bool whether the CRC of each fits."""
        starts, stops = self.starts[places], self.stops[places]
        made = [self.held[start + HEADER : stop - FOOTER] for start, stop in zip(starts, stops, strict=True)]
        crcs = np.fromiter(map(google_crc32c.value, made), np.uint32, len(made))
        masked = (crcs >> np.uint32(15) | crcs << np.uint32(17)) + np.uint32(_MASK_DELTA)
        footers = np.frombuffer(self.held, np.uint8)[np.array(stops)[:, np.newaxis] + np.arange(-FOOTER, 0)].view("<u4")[:, 0]
        fits: np.ndarray = masked == footers
        return made, fits


def masked_crc(data: bytes) -> int:
    """CRC32C of the bytes as TFRecord stores it: rotated right by 15 bits, plus a constant, so that a CRC of CRCs stays useful."""
    crc: int = google_crc32c.value(data)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


_EMPTY_LENGTH_CRC = masked_crc(bytes(8))


def payload_length(header: bytes) -> int | None:
    """The length that a header of 12 bytes declares; None where its CRC does not fit or it is short."""
    if len(header) < HEADER:
        return None
    length, crc = struct.unpack("<QI", header)
    return length if masked_crc(header[:8]) == crc else None


def payload(stream: Stream, frame: Frame) -> tuple[bytes, bool]:
    """The payload of a record, and whether its CRC fits."""
    begin = frame.start + HEADER
    # The footer is viewed after the payload, not sliced off it: a copy of a whole payload would cost as much as its CRC.
    held = stream.view(begin, frame.length)
    return held, int.from_bytes(stream.view(begin + frame.length, FOOTER), "little") == masked_crc(held)


def frames(stream: Stream, start: int, stop: int | None, limits: Limits) -> Iterator[Frame]:
    """The places of a stream from `start` on, in order, up to the first that begins at or behind `stop`. Only headers are read where all is right."""
    for each in places(stream, start, stop, limits):
        if isinstance(each, Run):
            yield from each.frames()
        else:
            yield each


def places(stream: Stream, start: int, stop: int | None, limits: Limits) -> Iterator[Frame | Run]:
    """What frames() gives, with whole records that are at hand together as runs."""
    known: dict[bytes, int] = {}
    at, before = start, None
    while stop is None or at < stop:
        stream.let_go(at if before is None else before.start)
        if isinstance(stream, PlainBytes) and (run := _run(stream, at, stop, known)) is not None:
            yield run
            at, before = run.stop, Frame(RECORD, run.base + run.starts[-1], run.stops[-1] - run.starts[-1] - HEADER - FOOTER, run.stop)
            continue
        header = stream.view(at, HEADER)
        if not header:
            return
        length = known.get(header)
        if length is None:
            length = payload_length(header)
            if length is None:
                frame = _behind_damage(stream, at, before, limits)
                yield frame
                if frame.kind in (ZEROS, ENDLESS):
                    return
                at, before = frame.stop, None
                continue
            if len(known) < _KNOWN_HEADERS and length <= limits.max_record_bytes:
                known[header] = length
        frame = _whole(stream, at, length, limits)
        yield frame
        if frame.kind == ENDLESS:
            return
        at, before = frame.stop, frame if frame.kind is RECORD else None


def _run(stream: PlainBytes, at: int, stop: int | None, known: Mapping[bytes, int]) -> Run | None:
    """The records from here on that were read ahead and whose headers were met before; None where not even the next one is so."""
    held, place = stream.at_hand(at, HEADER)
    base, starts, stops = at - place, list[int](), list[int]()
    border = len(held) if stop is None else stop - base
    while place < border:
        length = known.get(held[place : place + HEADER])
        if length is None or place + HEADER + length + FOOTER > len(held):
            break
        starts.append(place)
        place += HEADER + length + FOOTER
        stops.append(place)
    return Run(held, base, starts, stops) if starts else None


def _whole(stream: Stream, at: int, length: int, limits: Limits) -> Frame:
    stop = at + HEADER + length + FOOTER
    if length > limits.max_record_bytes and stream.is_compressed:
        return _walked_through(stream, at, length, limits)
    if not stream.reaches(stop):
        end = at + max(0, stream.bound(at))
        # A writer that began again appends to a record that it left unfinished.
        again = find_record(stream, at + 1, end, limits)
        return Frame(CUT, at, end - at, end) if again is None else Frame(BROKEN, at, again - at, again)
    return Frame(LARGE if length > limits.max_record_bytes else RECORD, at, length, stop)


def _walked_through(stream: Stream, at: int, length: int, limits: Limits) -> Frame:
    """A record over the limit in a compressed stream, which can only be inflated piece by piece to get behind it."""
    place, stop = at, at + HEADER + length + FOOTER
    while place < stop:
        if place - at > limits.max_inflated_bytes:
            return Frame(ENDLESS, at, place - at, place)
        place = min(stop, place + _BLOCK)
        if not stream.reaches(place):
            end = at + max(0, stream.bound(at))
            return Frame(CUT, at, end - at, end)
        stream.let_go(place)
    return Frame(LARGE, at, length, stop)


def _behind_damage(stream: Stream, at: int, before: Frame | None, limits: Limits) -> Frame:
    """The place between a header that does not fit and the next whole record."""
    if before is not None and not payload(stream, before)[1]:
        inside = find_record(stream, before.start + 1, at, limits)
        if inside is not None and inside < at:
            return Frame(OVERRUN, before.start, inside - before.start, inside)
    give_up = at + limits.max_inflated_bytes if stream.is_compressed else at + stream.bound(at) + 1
    zeros = _end_of_zeros(stream, at, give_up)
    if zeros < give_up and not stream.reaches(zeros + 1):
        return Frame(ZEROS, at, zeros - at, zeros)
    # Zeros are no header: length 0 has a CRC other than 0. One may begin in their last 11 bytes.
    found = find_record(stream, max(at + 1, zeros - HEADER + 1), give_up, limits)
    if found is None:
        end = min(give_up, at + max(0, stream.bound(at)))
        if end == give_up:
            return Frame(ENDLESS, at, end - at, end)
        return Frame(CUT if end - at < HEADER else DAMAGED, at, end - at, end)
    return Frame(DAMAGED, at, found - at, found, _is_one_record(stream, at, found))


def _is_one_record(stream: Stream, start: int, stop: int) -> bool:
    """Whether the bytes between are the payload of one record whose own CRC fits: its length alone is damaged."""
    if not HEADER + FOOTER <= stop - start <= _KEPT:
        return False
    body = stream.view(start + HEADER, stop - start - HEADER)
    return masked_crc(body[:-FOOTER]) == int.from_bytes(body[-FOOTER:], "little")


def _end_of_zeros(stream: Stream, start: int, give_up: int) -> int:
    """The first byte from `start` on that is not 0, or the end of the stream, or `give_up`."""
    at = start
    while at < give_up:
        block = stream.view(at, min(_BLOCK, give_up - at))
        rest = block.lstrip(b"\0")
        at += len(block) - len(rest)
        if rest or not block:
            return at
        if at - start > _KEPT:
            stream.let_go(at)
    return give_up


def find_record(stream: Stream, start: int, give_up: int, limits: Limits) -> int | None:
    """The first place in start <= place < give_up where a length and its CRC agree and the payload's CRC fits; None where there is none."""
    at = start
    while at < give_up:
        if at - start > _KEPT:
            stream.let_go(at)
        block = stream.view(at, _BLOCK + HEADER - 1)
        longest = min(limits.max_record_bytes, stream.bound(at) - HEADER - FOOTER)
        for offset in possible_headers(block, longest):
            length = payload_length(block[offset : offset + HEADER])
            if length is None or at + offset >= give_up or not stream.reaches(at + offset + HEADER + length + FOOTER):
                continue
            if payload(stream, Frame(RECORD, at + offset, length, 0))[1]:
                return at + offset
        if len(block) < _BLOCK + HEADER - 1:
            return None
        at += _BLOCK
    return None


def possible_headers(block: bytes, longest: int) -> list[int]:
    """Offsets of all places whose 8 bytes, as a length, are at most `longest`; of those with length 0, the ones whose CRC fits."""
    count = len(block) - HEADER + 1
    if count <= 0 or longest < 0:
        return []
    # Overlapping numbers at every byte: strides of 1.
    lengths = np.ndarray((count,), "<u8", block, 0, (1,))
    crcs = np.ndarray((count,), "<u4", block, 8, (1,))
    found: list[int] = np.flatnonzero((lengths <= np.uint64(longest)) & ((lengths > 0) | (crcs == np.uint32(_EMPTY_LENGTH_CRC)))).tolist()
    return found


def looks_like_records(head: bytes) -> bool:
    """Whether the beginning of a stream holds a record's header: at its very beginning, or behind damaged bytes."""
    if payload_length(head[:HEADER]) is not None:
        return True
    return any(
        payload_length(head[offset : offset + HEADER]) is not None
        for offset in possible_headers(head, 1 << 34)
        if head[offset : offset + 8].strip(b"\0")
    )
