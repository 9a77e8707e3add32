"""The rows inside a PNG's compressed data: how many bytes they are, that all are there, and that each names a filter that exists."""

from __future__ import annotations

import zlib

import numpy as np

from datascrub.media import outcome

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
# Adam7: (first column, first row, column step, row step) of each pass
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_PIECE = 1 << 22
"""inflated bytes held at a time"""


class Fault(Exception):  # noqa: N818 -- it carries an outcome, it is no error of ours
    """What is wrong with a PNG: (status, detail)."""


def rows_of(header: bytes, width: int, height: int) -> list[tuple[int, int]]:
    """(bytes of a row with its filter byte, rows) of the picture, or of each of its seven passes."""
    bits = header[8] * CHANNELS[header[9]]
    if not header[12]:
        return [(1 + (width * bits + 7) // 8, height)]
    passes = ((-(-(width - x) // dx), -(-(height - y) // dy)) for x, y, dx, dy in _PASSES)
    return [(1 + (w * bits + 7) // 8, h) for w, h in passes if w > 0 and h > 0]


def inflate(pieces: list[memoryview], rows: list[tuple[int, int]], where: str) -> None:
    """Inflates the data a few MB at a time: their size is that of the rows, each row begins with a filter that exists, and the checksum fits."""
    inflater, wanted, at = zlib.decompressobj(), sum(stride * count for stride, count in rows), 0
    try:
        for piece in pieces:
            rest: bytes | memoryview = piece
            while len(rest) and not inflater.eof and at <= wanted:
                grown = inflater.decompress(rest, _PIECE)
                _filters(grown, at, rows, where)
                at += len(grown)
                rest = inflater.unconsumed_tail
    except zlib.error as error:
        raise Fault(outcome.DAMAGED, f"{where}the pixel data do not inflate: {outcome.clean(str(error).partition(': ')[2] or str(error))}") from error
    if at < wanted:
        raise Fault(outcome.DAMAGED, f"{where}{at:,} bytes of pixels where {wanted:,} are needed")


def _filters(grown: bytes, at: int, rows: list[tuple[int, int]], where: str) -> None:
    """Raises Fault where a row that begins in these bytes (at: their offset in the inflated data) names a filter that does not exist."""
    values, begin = np.frombuffer(grown, np.uint8), 0
    for stride, count in rows:
        stop = begin + stride * count
        if begin < at + len(grown) and stop > at:
            first = begin - at if begin >= at else (begin - at) % stride
            starts = values[first : stop - at : stride]
            if starts.size and int(starts.max()) > 4:
                raise Fault(outcome.DAMAGED, f"{where}a row names the filter {int(starts.max())}, which does not exist")
        begin = stop
