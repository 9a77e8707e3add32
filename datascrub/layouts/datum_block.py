"""Many raw Datums at once: their bytes as one block, without parsing each.

Caffe's converters write the members of a Datum in the order of their numbers, so that raw Datums of one shape begin with the same bytes, and those
with a label of the same width have the same length. What fits that pattern is taken from the block; anything else is left to the parser.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datascrub.layouts.protobuf import message

_FEWEST = 8
"""records of one length below which a block is not worth it"""
_PIECE_BYTES = 1 << 18
"""bytes taken in one go: what fits a core's own cache"""
_LABEL, _ENCODED_FALSE = 0x28, (0x38, 0x00)
"""tag of the label; the member encoded = false, which some writers spell out"""
_LABEL_BYTES = 4
"""label varints up to this length are taken (below 2**28); a negative label has 10 bytes and is left to the parser"""


@dataclass
class RawBlock:
    """What was had of N Datums.

    is_taken: (N,) bool, rows that fitted. data: (N, channels x height x width) uint8, filled in these. labels: (N,) int32. has_label: (N,) bool.
    """

    is_taken: np.ndarray
    data: np.ndarray
    labels: np.ndarray
    has_label: np.ndarray


def raw_block(values: Sequence[bytes | None], shape: tuple[int, int, int]) -> RawBlock:
    """What can be had at once of raw Datums that should have this shape (channels, height, width)."""
    count, size = len(values), shape[0] * shape[1] * shape[2]
    made = RawBlock(np.zeros(count, bool), np.empty((count, size), np.uint8), np.zeros(count, np.int32), np.zeros(count, bool))
    head = message("caffe.Datum")(channels=shape[0], height=shape[1], width=shape[2]).SerializeToString() + b"\x22" + _varint(size)
    lengths = np.fromiter((-1 if value is None else len(value) for value in values), np.int64, count)
    for length in np.unique(lengths[lengths >= len(head) + size]):
        rows = np.flatnonzero(lengths == length)
        if len(rows) >= _FEWEST and length - len(head) - size <= 1 + _LABEL_BYTES + len(_ENCODED_FALSE):
            step = max(_FEWEST, _PIECE_BYTES // int(length))
            for at in range(0, len(rows), step):
                _take(made, rows[at : at + step], values, head, size)
    return made


def _take(made: RawBlock, rows: np.ndarray, values: Sequence[bytes | None], head: bytes, size: int) -> None:
    block = np.frombuffer(b"".join([values[row] or b"" for row in rows]), np.uint8).reshape(len(rows), -1)
    fits = (block[:, : len(head)] == np.frombuffer(head, np.uint8)).all(1)
    tail = block[:, len(head) + size :]
    if tail.shape[1] >= len(_ENCODED_FALSE) and (tail[:, -2:] == _ENCODED_FALSE).all():
        tail = tail[:, :-2]
    if tail.shape[1] == 1 or tail.shape[1] > 1 + _LABEL_BYTES:
        return
    if tail.shape[1]:
        digits = tail[:, 1:].astype(np.int32)
        # Each digit of a varint but the last carries the mark that more follow.
        fits &= (tail[:, 0] == _LABEL) & (digits[:, :-1] >= 0x80).all(1) & (digits[:, -1] < 0x80)
        made.labels[rows] = ((digits & 0x7F) << (7 * np.arange(digits.shape[1], dtype=np.int32))).sum(1)
        made.has_label[rows] = fits
    made.is_taken[rows] = fits
    place = slice(rows[0], rows[-1] + 1) if rows[-1] - rows[0] + 1 == len(rows) else rows
    made.data[place] = block[:, len(head) : len(head) + size]


def _varint(number: int) -> bytes:
    made = bytearray()
    while number >= 0x80:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)
