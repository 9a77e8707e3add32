"""Who wrote a picture, as its header tells: quantisation tables, comment, the name of a program."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import xxhash

from datascrub.keys import printable

_DQT, _SOS, _COMMENT, _APP1 = 0xDB, 0xDA, 0xFE, 0xE1
_MOST_SEGMENTS = 256
_MOST_TEXT = 80
_SOFTWARE = 0x0131
_ORDERS: Mapping[bytes, Literal["little", "big"]] = {b"II*\x00": "little", b"MM\x00*": "big"}


@dataclass
class Tags:
    """quantisation: 64 bits of a hash of a JPEG's tables. comment: a JPEG's. software: what EXIF, or a text of a PNG, names as the program."""

    quantisation: str | None = None
    comment: str | None = None
    software: str | None = None


def tags_of(value: bytes) -> Tags:
    """The tags of an encoded picture; none where it is of another format, or its header is cut."""
    if value[:2] == b"\xff\xd8":
        return _of_jpeg(value)
    if value[:8] == b"\x89PNG\r\n\x1a\n":
        return Tags(software=_of_png(value))
    if value[:4] == b"RIFF" and value[8:12] == b"WEBP":
        return Tags(software=_of_webp(value))
    return Tags(software=_exif_software(value)) if value[:4] in _ORDERS else Tags()  # a TIFF is what EXIF is


def _of_jpeg(value: bytes) -> Tags:
    """From the segments before the first scan. Source: ITU-T T.81, B.1.1 and B.2.4."""
    tables, made, at = b"", Tags(), 2
    for _ in range(_MOST_SEGMENTS):
        if at + 4 > len(value) or value[at] != 0xFF:
            break
        marker, length = value[at + 1], int.from_bytes(value[at + 2 : at + 4], "big")
        if marker == 0xFF:  # a fill byte
            at += 1
            continue
        if marker == _SOS or length < 2:
            break
        if marker == _DQT:
            tables += value[at + 4 : at + 2 + length]
        elif marker == _COMMENT and made.comment is None:
            made.comment = _text(value[at + 4 : at + 2 + min(length, 400)])
        elif marker == _APP1 and made.software is None and value[at + 4 : at + 10] == b"Exif\x00\x00":
            made.software = _exif_software(value[at + 10 : at + 2 + length])
        at += 2 + length
    made.quantisation = xxhash.xxh3_64_hexdigest(tables) if tables else None
    return made


def _of_png(value: bytes) -> str | None:
    """From the chunks before the pixels. Source: PNG, third edition, 11.3.3 (tEXt, zTXt, iTXt under the keyword Software) and 11.3.4 (eXIf)."""
    at = 8
    for _ in range(_MOST_SEGMENTS):
        length, kind = int.from_bytes(value[at : at + 4], "big"), value[at + 4 : at + 8]
        if len(kind) < 4 or kind in (b"IDAT", b"IEND"):
            break
        body = value[at + 8 : at + 8 + length]
        if kind == b"eXIf" and (said := _exif_software(body)):
            return said
        keyword, _, rest = body.partition(b"\x00") if kind in (b"tEXt", b"zTXt", b"iTXt") else (b"", b"", b"")
        if keyword == b"Software":
            return _png_text(kind, rest)
        at += 12 + length
    return None


def _png_text(kind: bytes, rest: bytes) -> str | None:
    is_packed = kind == b"zTXt"
    if kind == b"iTXt":
        is_packed, rest = rest[:1] == b"\x01", rest[2:].split(b"\x00", 2)[-1]
    elif is_packed:
        rest = rest[1:]
    try:
        return _text(zlib.decompressobj().decompress(rest, 4 * _MOST_TEXT) if is_packed else rest)
    except zlib.error:
        return None


def _of_webp(value: bytes) -> str | None:
    """Its EXIF chunk stands behind the pixels."""
    at = 12
    for _ in range(_MOST_SEGMENTS):
        kind, length = value[at : at + 4], int.from_bytes(value[at + 4 : at + 8], "little")
        if len(kind) < 4:
            break
        if kind == b"EXIF":
            return _exif_software(value[at + 8 : at + 8 + length].removeprefix(b"Exif\x00\x00"))
        at += 8 + length + length % 2
    return None


def _exif_software(block: bytes) -> str | None:
    """The tag Software of the first directory of an EXIF block, from its TIFF header on. Source: TIFF 6.0, Software."""
    order = _ORDERS.get(block[:4])
    if order is None:
        return None
    start = int.from_bytes(block[4:8], order)
    count = int.from_bytes(block[start : start + 2], order)
    for at in range(start + 2, min(start + 2 + 12 * count, len(block) - 11), 12):
        if int.from_bytes(block[at : at + 2], order) == _SOFTWARE:
            size = int.from_bytes(block[at + 4 : at + 8], order)
            place = at + 8 if size <= 4 else int.from_bytes(block[at + 8 : at + 12], order)
            return _text(block[place : place + min(size, 4 * _MOST_TEXT)])
    return None


def _text(raw: bytes) -> str | None:
    return printable(raw.partition(b"\x00")[0].decode("utf-8", "replace").strip("\r\n "))[:_MOST_TEXT] or None
