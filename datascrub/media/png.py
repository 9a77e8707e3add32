"""PNG: every checksum, every inflated row and filter byte, the frames of an APNG in order; pixels by Pillow."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from datascrub.media import exif, outcome
from datascrub.media.picture import Picture
from datascrub.media.png_rows import CHANNELS, Fault, inflate, rows_of
from datascrub.model import Limits

if TYPE_CHECKING:
    from datascrub.media.other import First

_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_MODES = {0: "L", 2: "RGB", 3: "P", 4: "LA", 6: "RGBA"}
_MOST_TEXT = 1 << 20
"""what one compressed text may grow to: Pillow refuses a picture with more"""
_MOST_PROFILE = 1 << 24
"""what a colour profile may grow to; those of presses hold some MB"""
_PIXELS_UP_TO = 1 << 25
"""larger pictures are checked row by row without holding their pixels"""


@dataclass
class Chunks:
    """The chunks of a PNG.

    plain: signature and chunks that make the default picture, without texts, profiles and frames. data: pieces of its data.
    frames: (width, height, pieces) of an APNG's frames that have data of their own. controls: fcTL chunks; declared: what acTL promises.
    """

    header: bytes = b""
    plain: list[memoryview] = field(default_factory=list)
    data: list[memoryview] = field(default_factory=list)
    frames: list[tuple[int, int, list[memoryview]]] = field(default_factory=list)
    controls: int = 0
    declared: int | None = None
    sequence: int = 0
    transparent: bool = False
    palette: int | None = None
    orientation: int = 1
    metadata_damage: str = ""
    end: int = 0


def examine(data: bytes, limits: Limits) -> Picture:
    """The picture of a PNG, the whole of it checked."""
    chunks = Chunks()
    if len(data) < 33:
        return Picture(format="png", status=outcome.TRUNCATED, detail="ends inside the header")
    try:
        for at, kind, body in _walk(data):
            _take(chunks, data, at, kind, body, limits)
        _complete(chunks)
        first = _first(chunks, limits)
    except Fault as fault:
        status, detail = fault.args
        return Picture(status=status, detail=detail, **_facts(data, chunks))
    facts = _facts(data, chunks)
    factor = facts["width"] / first.pixels.shape[1] if first.pixels is not None else 1.0
    return Picture(pixels=first.pixels, factor=factor, is_coloured=first.is_coloured, alpha=first.alpha, **facts)


def _walk(data: bytes) -> Iterator[tuple[int, bytes, memoryview]]:
    """(offset, kind, body) of each chunk up to IEND. Raises Fault at a checksum that does not fit, and where the file ends too early."""
    view, at, kind = memoryview(data), 8, b""
    while kind != b"IEND":
        if at + 12 > len(data):
            raise Fault(outcome.TRUNCATED, "ends before the IEND chunk")
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        if not kind.isalpha():
            raise Fault(outcome.DAMAGED, f"no chunk begins at byte {at:,}")
        if at + 12 + size > len(data):
            raise Fault(outcome.TRUNCATED, f"ends inside the {kind.decode()} chunk at byte {at:,}")
        if zlib.crc32(view[at + 4 : at + 8 + size]) != int.from_bytes(data[at + 8 + size : at + 12 + size], "big"):
            raise Fault(outcome.DAMAGED, f"the checksum of the {kind.decode()} chunk at byte {at:,} does not fit")
        yield at, kind, view[at + 8 : at + 8 + size]
        at += 12 + size


def _take(chunks: Chunks, data: bytes, at: int, kind: bytes, body: memoryview, limits: Limits) -> None:
    whole = memoryview(data)[at : at + 12 + len(body)]
    if not chunks.header:
        if kind != b"IHDR" or len(body) != 13:
            raise Fault(outcome.DAMAGED, "the first chunk is no header")
        _header(chunks, bytes(body), limits)
        chunks.plain += [memoryview(data)[:8], whole]
    elif kind == b"IHDR":
        raise Fault(outcome.DAMAGED, "a second header")
    elif kind == b"IDAT":
        chunks.data.append(body)
        chunks.plain.append(whole)
    elif kind == b"IEND":
        chunks.plain.append(whole)
        chunks.end = at + 12 + len(body)
    elif kind in (b"PLTE", b"tRNS"):
        _colours(chunks, kind, body)
        if kind == b"PLTE" or not chunks.data:
            chunks.plain.append(whole)
    elif kind in (b"acTL", b"fcTL", b"fdAT"):
        _animation(chunks, kind, body)
    elif kind in (b"zTXt", b"iTXt", b"iCCP"):
        _compressed(chunks, kind, bytes(body))
    elif kind == b"eXIf":
        note = exif.examine(bytes(body))
        chunks.orientation, chunks.metadata_damage = note.orientation, chunks.metadata_damage or note.damage
    elif kind[:1].isupper():
        raise Fault(outcome.UNSUPPORTED, f"needs the unknown critical chunk {kind.decode()}")


def _header(chunks: Chunks, body: bytes, limits: Limits) -> None:
    chunks.header = body
    width, height = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big")
    depth, colour, compression, filtering, interlace = body[8:13]
    if depth not in _DEPTHS.get(colour, ()) or compression or filtering or interlace > 1:
        raise Fault(
            outcome.DAMAGED,
            f"the header is out of range: depth {depth}, colour {colour}, compression {compression}, filter {filtering}, interlace {interlace}",
        )
    if not width or not height or width >= 1 << 31 or height >= 1 << 31:
        raise Fault(outcome.DAMAGED, f"the header claims {width} x {height} pixels")
    if width * height > limits.max_pixels:
        raise Fault(outcome.TOO_LARGE, f"claims {width} x {height} pixels")


def _colours(chunks: Chunks, kind: bytes, body: memoryview) -> None:
    if kind == b"tRNS":
        chunks.transparent = True
        return
    if len(body) % 3 or not 1 <= len(body) // 3 <= 256:
        raise Fault(outcome.DAMAGED, f"a palette of {len(body)} bytes")
    if chunks.palette is not None:
        raise Fault(outcome.DAMAGED, "a second palette")
    chunks.palette = len(body) // 3


def _animation(chunks: Chunks, kind: bytes, body: memoryview) -> None:
    """Takes in a chunk of an APNG. Its chunks are numbered through."""
    if kind == b"acTL":
        number = int.from_bytes(body[:4], "big")
        if len(body) >= 8 and not chunks.data and 1 <= number < 1 << 31:
            chunks.declared = number
        return
    if chunks.declared is None:
        if kind == b"fcTL" and not chunks.data:  # before its acTL: out of order, and numbered all the same
            chunks.sequence, chunks.controls = chunks.sequence + 1, chunks.controls + 1
        return  # without an acTL before the picture's data a file is no animation, and these chunks are private
    if len(body) < (26 if kind == b"fcTL" else 4):
        raise Fault(outcome.DAMAGED, f"a short {kind.decode()} chunk")
    number = int.from_bytes(body[:4], "big")
    if number != chunks.sequence:
        raise Fault(outcome.DAMAGED, f"the animation's chunk {chunks.sequence} is numbered {number}")
    chunks.sequence += 1
    if kind == b"fdAT":
        if not chunks.frames:
            raise Fault(outcome.DAMAGED, "a frame's data stand before its fcTL chunk")
        chunks.frames[-1][2].append(body[4:])
        return
    width, height, left, top = (int.from_bytes(body[at : at + 4], "big") for at in (4, 8, 12, 16))
    whole = (int.from_bytes(chunks.header[:4], "big"), int.from_bytes(chunks.header[4:8], "big"))
    if not width or not height or left + width > whole[0] or top + height > whole[1]:
        raise Fault(outcome.DAMAGED, f"frame {chunks.controls} reaches out of the picture")
    chunks.controls += 1
    if chunks.data:
        chunks.frames.append((width, height, []))
    elif chunks.controls > 1:
        raise Fault(outcome.DAMAGED, "the default image has two fcTL chunks")


def _compressed(chunks: Chunks, kind: bytes, body: bytes) -> None:
    """A compressed text or profile: what it grows to is bounded, how it is compressed is known."""
    _, _, rest = body.partition(b"\x00")
    if kind == b"iTXt":
        if rest[:1] != b"\x01":
            return
        rest = rest[1:2] + rest[2:].partition(b"\x00")[2].partition(b"\x00")[2]
    if rest[:1] != b"\x00":
        raise Fault(outcome.DAMAGED, f"the {kind.decode()} chunk is compressed by an undefined method")
    inflater, most = zlib.decompressobj(), _MOST_PROFILE if kind == b"iCCP" else _MOST_TEXT
    try:
        grown = inflater.decompress(rest[1:], most)
    except zlib.error:
        chunks.metadata_damage = chunks.metadata_damage or f"the {kind.decode()} chunk does not inflate"
        return
    if inflater.unconsumed_tail and len(grown) >= most:
        raise Fault(outcome.TOO_LARGE, f"the {kind.decode()} chunk of {len(body):,} bytes inflates to more than {most:,}")


def _complete(chunks: Chunks) -> None:
    if not chunks.data:
        raise Fault(outcome.DAMAGED, "no IDAT chunk: the picture has no data")
    if chunks.header[9] == 3 and chunks.palette is None:
        raise Fault(outcome.DAMAGED, "a palette picture without a palette")
    if chunks.declared is not None and chunks.controls and chunks.controls < chunks.declared:
        raise Fault(outcome.DAMAGED, f"{chunks.declared} frames declared, {chunks.controls} there")


def _first(chunks: Chunks, limits: Limits) -> First:
    width, height = int.from_bytes(chunks.header[:4], "big"), int.from_bytes(chunks.header[4:8], "big")
    for number, (wide, high, pieces) in enumerate(chunks.frames):
        if not pieces:
            raise Fault(outcome.DAMAGED, f"frame {number + 1} has no data")
        inflate(pieces, rows_of(chunks.header, wide, high), f"frame {number + 1}: ")
    rows = rows_of(chunks.header, width, height)
    if len(rows) > 1 or width * height > _PIXELS_UP_TO:
        inflate(chunks.data, rows, "")
    from datascrub.media import other

    if width * height > _PIXELS_UP_TO:
        return other.First()
    # Without the texts and profiles: they were looked at, and Pillow would read them again, and die of a bad one.
    first = other.first_frame(b"".join(chunks.plain), ("PNG",))
    if first.failure or (first.ends_blank and len(rows) == 1):
        inflate(chunks.data, rows, "")  # says what is wrong; and Pillow lets rows be missing where the data end with a row
    if first.failure:
        raise Fault(outcome.DAMAGED, first.failure)
    return first


def _facts(data: bytes, chunks: Chunks) -> dict[str, Any]:
    header = chunks.header or data[16:29]
    colour, trailing = header[9], data[chunks.end :] if chunks.end else b""
    mode = "I;16" if header[8] == 16 and colour == 0 else "1" if header[8] == 1 and colour == 0 else _MODES.get(colour, "")
    return {
        "format": "png", "width": int.from_bytes(header[:4], "big"), "height": int.from_bytes(header[4:8], "big"), "mode": mode,
        "channels": CHANNELS.get(colour, 0), "bits": header[8], "frames": max(1, chunks.controls), "coding": "interlaced" if header[12] == 1 else "",
        "orientation": chunks.orientation, "has_alpha": colour in (4, 6) or chunks.transparent, "metadata_damage": chunks.metadata_damage,
        "trailing_bytes": len(trailing), "trailing": outcome.what_trails(trailing),
    }  # fmt: skip
