"""The bytes of a TFRecord file as one forward stream, whether it is stored plain, as gzip or as zlib."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

PLAIN, GZIP, ZLIB = "plain", "gzip", "zlib"
_CHUNK = 1 << 18
_AHEAD_LEAST, _AHEAD_MOST = 1 << 9, 1 << 20
_GAP = 1 << 12  # as many bytes are sooner read than stepped over
_WBITS = {GZIP: 31, ZLIB: 15}  # 16 + 15: zlib reads the gzip header and checks its trailer


class PlainBytes:
    """A file as it is. view() reads ahead as long as it is asked for one range after the other, and little where ranges are skipped."""

    is_compressed = False
    fault, fault_offset, trailing = "", 0, 0

    def __init__(self, path: Path, ahead: int = 1 << 16) -> None:
        self._file = path.open("rb", buffering=0)
        self.size = os.fstat(self._file.fileno()).st_size
        self._ahead, self._base, self._held = ahead, 0, b""

    def view(self, start: int, count: int) -> bytes:
        """The `count` bytes from `start`, fewer at the end of the file. Raises OSError."""
        held, offset = self.at_hand(start, count)
        return held[offset : offset + count]

    def at_hand(self, start: int, least: int) -> tuple[bytes, int]:
        """What was read ahead, and the place of `start` in it; `least` bytes stand from there on, fewer at the end of the file. Raises OSError."""
        offset = start - self._base
        if offset < 0 or offset + least > len(self._held):
            self._load(start, least)
            offset = 0
        return self._held, offset

    def _load(self, start: int, count: int) -> None:
        skipped = not self._base <= start <= self._base + len(self._held) + _GAP
        self._ahead = max(_AHEAD_LEAST, self._ahead // 4) if skipped else min(_AHEAD_MOST, self._ahead * 2)
        wanted = max(0, min(max(count, self._ahead), self.size - start))
        pieces: list[bytes] = []
        while wanted > 0:
            piece = os.pread(self._file.fileno(), wanted, start + sum(map(len, pieces)))
            if not piece:
                self.size = start + sum(map(len, pieces))  # the file became shorter while it was read
                break
            pieces.append(piece)
            wanted -= len(piece)
        self._base, self._held = start, b"".join(pieces)

    def reaches(self, stop: int) -> bool:
        """Whether the stream holds at least `stop` bytes."""
        return stop <= self.size

    def bound(self, start: int) -> int:
        """Bytes from `start` that the stream can hold at most."""
        return self.size - start

    def let_go(self, before: int) -> None:
        """Nothing before this place will be asked for again."""

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class InflatedBytes:
    """A gzip or zlib file, inflated as far as it is asked for. Where the compressed stream is damaged or cut the stream ends, and `fault` says why.

    fault: empty while nothing is wrong; fault_offset: compressed bytes taken in when it was met. trailing: bytes behind the compressed stream.
    """

    is_compressed = True

    def __init__(self, path: Path, compression: str) -> None:
        self._file: BinaryIO = path.open("rb", buffering=0)
        self.compressed_size = os.fstat(self._file.fileno()).st_size
        self._wbits = _WBITS[compression]
        self._inflate = zlib.decompressobj(self._wbits)
        self._base, self._held = 0, bytearray()
        self._input, self._taken, self._is_over = b"", 0, False
        self.fault, self.fault_offset, self.trailing = "", 0, 0

    def view(self, start: int, count: int) -> bytes:
        """The `count` inflated bytes from `start`, fewer where the stream ends. Raises OSError."""
        self._fill(start + count)
        offset = start - self._base
        assert offset >= 0, "bytes that were let go are gone"
        return bytes(self._held[offset : offset + count])

    def _fill(self, stop: int) -> None:
        while not self._is_over and self._base + len(self._held) < stop:
            if not self._input:
                self._input = self._file.read(_CHUNK) or b""
                self._taken += len(self._input)
                if not self._input:
                    self._end("the compressed stream is cut")
                    return
            before = self._inflate.copy()
            try:
                # max_length bounds what one piece of a bomb can grow to.
                self._held += self._inflate.decompress(self._input, 1 << 20)
            except zlib.error as error:
                self._salvage(before)
                self._end(f"the compressed stream is damaged ({str(error).rpartition(': ')[2]})")
                return
            self._input = self._inflate.unconsumed_tail
            if self._inflate.eof:
                self._next_member(self._inflate.unused_data)

    def _salvage(self, inflate: Any) -> None:
        """Take what the input gives before its damage: an error discards all that its call had inflated, so it is fed byte by byte."""
        for at in range(len(self._input)):
            try:
                self._held += inflate.decompress(self._input[at : at + 1])
            except zlib.error:
                self._input = self._input[at:]
                return

    def _next_member(self, rest: bytes) -> None:
        # Concatenated members are one stream; writers also pad with zeros.
        while not (rest := rest.lstrip(b"\0") if self._wbits == _WBITS[GZIP] else rest):
            rest = self._file.read(_CHUNK) or b""
            self._taken += len(rest)
            if not rest:
                self._is_over = True
                return
        more = self._file.read(1) or b"" if len(rest) == 1 else b""
        self._taken += len(more)
        rest += more
        if self._wbits == _WBITS[GZIP] and rest[:2] == b"\x1f\x8b":
            self._inflate, self._input = zlib.decompressobj(self._wbits), rest
            return
        self._is_over, self.trailing = True, self.compressed_size - self._taken + len(rest)

    def _end(self, fault: str) -> None:
        self.fault, self.fault_offset, self._is_over = fault, self._taken - len(self._input), True

    def reaches(self, stop: int) -> bool:
        """Whether the stream holds at least `stop` bytes."""
        self._fill(stop)
        return self._base + len(self._held) >= stop

    def bound(self, start: int) -> int:
        """Bytes from `start` that the stream can hold at most: deflate grows a byte to 1,032 at most."""
        if self._is_over:
            return self._base + len(self._held) - start
        return self.compressed_size * 1032 - start

    def let_go(self, before: int) -> None:
        """Nothing before this place will be asked for again."""
        if before - self._base > _CHUNK:
            dropped = min(before - self._base, len(self._held))
            del self._held[:dropped]
            self._base += dropped

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


Stream = PlainBytes | InflatedBytes


def open_stream(path: Path, compression: str) -> Stream:
    """The stream of a file. Raises OSError."""
    return PlainBytes(path) if compression == PLAIN else InflatedBytes(path, compression)
