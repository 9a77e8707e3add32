"""JPEG: the walk over its markers, and a strict decode at reduced size in which libjpeg's warnings count."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from datascrub.media import exif, outcome, tint
from datascrub.media.picture import Picture
from datascrub.model import Limits

CODINGS = {
    0xC0: "baseline", 0xC1: "extended", 0xC2: "progressive", 0xC3: "lossless", 0xC5: "hierarchical", 0xC6: "hierarchical progressive",
    0xC7: "hierarchical lossless", 0xC9: "arithmetic", 0xCA: "arithmetic progressive", 0xCB: "arithmetic lossless", 0xCD: "hierarchical arithmetic",
    0xCE: "hierarchical arithmetic progressive", 0xCF: "hierarchical arithmetic lossless",
}  # fmt: skip
# A scaled decode of a lossless file overruns simplejpeg's buffer and kills the process: only these codings ever reach it.
_DECODABLE = frozenset((0xC0, 0xC1, 0xC2, 0xC9, 0xCA))
_NEXT_MARKER = re.compile(rb"\xff[^\x00\xff]")
_SCAN_END = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))
"""markers without a length: TEM, RSTn, SOI"""


@dataclass
class Structure:
    """What the markers of a JPEG say.

    sof: the marker of the first frame header, 0 where there is none. end: offset behind EOI, 0 where it is missing. odd: a frame header that
    must not be decoded stands somewhere. cut: a segment is longer than the file. junk: ranges of bytes between segments that belong to none.
    scans: (offset of the SOS segment, offset of its data, offset of the marker behind it).
    """

    sof: int = 0
    sof_at: int = 0
    bits: int = 0
    width: int = 0
    height: int = 0
    sampling: tuple[tuple[int, int], ...] = ()
    adobe: int = -1
    end: int = 0
    odd: int = 0
    cut: bool = False
    junk: list[tuple[int, int]] = field(default_factory=list)
    scans: list[tuple[int, int, int]] = field(default_factory=list)
    exif: bytes = b""
    exif_twice: bool = False
    icc: list[bytes] = field(default_factory=list)


def walk(data: bytes) -> Structure:
    """The markers of a JPEG in order, as libjpeg meets them: bytes between segments are skipped, restart markers belong to the scan."""
    found, at = Structure(), 2
    while True:
        match = _NEXT_MARKER.search(data, at)
        if match is None:
            return found
        marker, start = data[match.start() + 1], match.start()
        if start > at and data.count(b"\xff", at, start) < start - at:
            found.junk.append((at, start))
        at = match.end()
        if marker == 0xD9:
            found.end = at
            return found
        if marker in _ALONE:
            continue
        length = int.from_bytes(data[at : at + 2], "big")
        if length < 2 or at + length > len(data):
            found.cut = True
            return found
        _segment(found, marker, start, data, at, length)
        at += length
        if marker == 0xDA:
            stop = _SCAN_END.search(data, at)
            here, at = at, stop.start() if stop else len(data)
            found.scans.append((start, here, at))


def _segment(found: Structure, marker: int, start: int, data: bytes, at: int, length: int) -> None:
    if marker in CODINGS:
        if marker not in _DECODABLE:
            found.odd = marker
        if not found.sof and length >= 8:
            found.sof, found.sof_at, found.bits = marker, start, data[at + 2]
            found.height, found.width = int.from_bytes(data[at + 3 : at + 5], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
            count = min(data[at + 7], (length - 8) // 3)
            found.sampling = tuple((data[at + 9 + 3 * i] >> 4, data[at + 9 + 3 * i] & 15) for i in range(count))
    elif marker == 0xE1 and data[at + 2 : at + 8] == b"Exif\x00\x00":
        found.exif_twice = found.exif_twice or bool(found.exif)
        found.exif = found.exif or data[at + 8 : at + length]
    elif marker == 0xE2 and data[at + 2 : at + 14] == b"ICC_PROFILE\x00":
        found.icc.append(data[at + 14 : at + 16])
    elif marker == 0xEE and data[at + 2 : at + 7] == b"Adobe" and length >= 14:
        found.adobe = data[at + 13]


def examine(data: bytes, limits: Limits) -> Picture:
    """The picture of a JPEG: every entropy-coded bit is decoded, the pixels at reduced size."""
    structure = walk(data)
    facts = _facts(data, structure)
    refused = _refused(structure, limits)
    if refused is not None:
        return Picture(status=refused[0], detail=refused[1], **facts)
    status, detail, warning, pixels = _decoded(data, structure)
    if structure.icc and _icc_is_bad(structure.icc):
        facts["metadata_damage"] = facts["metadata_damage"] or "the ICC profile's pieces are numbered wrongly"
    if status == outcome.OK and not structure.end:
        status, detail = outcome.TRUNCATED, "the end marker is missing"
    factor = structure.width / pixels.shape[1] if pixels is not None else 1.0
    is_coloured = tint.of_jpeg(data, structure) if status == outcome.OK else None
    return Picture(status=status, detail=detail, warning=warning, pixels=pixels, factor=factor, is_coloured=is_coloured, **facts)


def _facts(data: bytes, structure: Structure) -> dict[str, Any]:
    count = len(structure.sampling)
    modes = {1: "L", 3: "RGB", 4: "CMYK"}
    note = exif.examine(structure.exif) if structure.exif else exif.NOTHING
    damage = "two EXIF blocks" if structure.exif_twice else note.damage
    trailing = data[structure.end :] if structure.end else b""
    return {
        "format": "jpeg", "width": structure.width, "height": structure.height, "mode": modes.get(count, ""), "channels": count,
        "bits": structure.bits, "coding": CODINGS.get(structure.sof, ""), "orientation": note.orientation, "metadata_damage": damage,
        "trailing_bytes": len(trailing), "trailing": outcome.what_trails(trailing),
    }  # fmt: skip


def _refused(structure: Structure, limits: Limits) -> tuple[str, str] | None:
    """(status, detail) where the header alone says that nothing is to be decoded."""
    if structure.width * structure.height > limits.max_pixels:
        return outcome.TOO_LARGE, f"claims {structure.width} x {structure.height} pixels"
    if not structure.sof or not structure.scans:
        what = "no scan: the picture has no data" if structure.sof else "no frame header"
        if not structure.end:
            return outcome.TRUNCATED, "ends before the first scan"
        return _undecodable(structure) or (outcome.DAMAGED, what)
    if not structure.width or not structure.height:
        return outcome.DAMAGED, f"claims {structure.width} x {structure.height} pixels"
    return _undecodable(structure)


def _undecodable(structure: Structure) -> tuple[str, str] | None:
    """(status, detail) of a coding that no decoder here reads, or that none could."""
    is_lossless = structure.sof in (0xC3, 0xC7, 0xCB, 0xCF)
    if structure.sof and structure.bits not in (8, 12) and not (is_lossless and 2 <= structure.bits <= 16):
        return outcome.DAMAGED, f"the frame header claims {structure.bits} bits a sample"
    if structure.odd or structure.bits == 12:
        what = CODINGS[structure.odd] if structure.odd else "12-bit"
        return outcome.UNSUPPORTED, f"{what} JPEG needs a decoder that is not here"
    return None


_Decoded = tuple[str, str, str, np.ndarray | None]
"""(status, detail, warning, pixels)"""


def _decoded(data: bytes, structure: Structure, tries: int = 3) -> _Decoded:
    """The outcome of a strict decode. tries: how often bytes that a warning is about may be taken out."""
    try:
        return outcome.OK, "", "", decode(data, structure)
    except ValueError as error:
        said = str(error).strip()
    if "extraneous bytes" in said or "Invalid SOS parameters" in said or "Adobe color transform" in said or "ICC marker" in said:
        return _tolerated(data, structure, said, tries)
    if "subsampling" in said or "olor conversion" in said or "olorspace" in said or "header" in said.lower():
        return _by_pillow(data, structure, said)
    return (*_meaning(said, structure), "", _whatever(data, structure))


def _meaning(said: str, structure: Structure) -> tuple[str, str]:
    """What libjpeg's sentence means for the picture: (status, detail)."""
    if "remature end of JPEG file" in said or ("remature" in said and not structure.end):
        return outcome.TRUNCATED, "ends before its last pixel"
    if "Unsupported marker" not in said and re.search(r"not supported|unsupported|not implemented|cannot do|can't do", said, re.IGNORECASE):
        return outcome.UNSUPPORTED, said
    return outcome.DAMAGED, said


def _tolerated(data: bytes, structure: Structure, said: str, tries: int) -> _Decoded:
    """The last warning is all that is told, and a harmless one may hide others: what it was about is taken out, and the rest decoded again."""
    from datascrub.media import entropy

    ranges = _superfluous(data, structure, said) if tries else []
    if ranges:
        cleaned = _without(data, ranges)
        status, detail, _, pixels = _decoded(cleaned, walk(cleaned), tries - 1)
        if status != outcome.OK or structure.junk:
            return status, detail, said, pixels
    # libjpeg-turbo's fast path passes over codes that do not exist; what is left over at the end of a scan makes them likely.
    fault = entropy.fault(data, structure)
    return (outcome.DAMAGED if fault else outcome.OK), fault, said if "ICC" not in said else "", _whatever(data, structure)


def _superfluous(data: bytes, structure: Structure, said: str) -> list[tuple[int, int]]:
    """The bytes that an "N extraneous bytes before marker 0xXX" is about: between segments, else at the end of a scan that this marker ends."""
    if structure.junk:
        return structure.junk
    told = re.search(r"(\d+) extraneous bytes before marker 0x([0-9a-f]{2})", said)
    if told is None:
        return []
    count, marker = int(told[1]), int(told[2], 16)
    ends = [(start, stop) for _, start, stop in structure.scans if data[stop + 1 : stop + 2] == bytes([marker])]
    return [(stop - count, stop) for start, stop in ends[-1:] if 0 < count <= stop - start]


def _without(data: bytes, ranges: list[tuple[int, int]]) -> bytes:
    kept, at = [], 0
    for start, stop in ranges:
        kept.append(data[at:start])
        at = stop
    return b"".join([*kept, data[at:]])


def _by_pillow(data: bytes, structure: Structure, said: str) -> _Decoded:
    """What simplejpeg can't take (sampling of no common kind): Pillow's pixels, and, as Pillow hides libjpeg's warnings, a look at every code."""
    from datascrub.media import entropy, other

    first = other.first_frame(data, ("JPEG",))
    if first.failure:
        status, detail = _meaning(first.failure, structure)
        return (status, detail, "", None) if structure.end else (outcome.TRUNCATED, "ends before its last pixel", "", None)
    fault = entropy.fault(data, structure)
    return (outcome.DAMAGED if fault else outcome.OK), fault, "", first.pixels


def _whatever(data: bytes, structure: Structure) -> np.ndarray | None:
    """The pixels of damaged data, as lenient trainers would see them."""
    try:
        return decode(data, structure, strict=False)
    except ValueError:
        return None


def decode(data: bytes, structure: Structure, *, strict: bool = True) -> np.ndarray:
    """(h, w) uint8 gray at the smallest of libjpeg's scales that keeps outcome.SIDE pixels. Raises ValueError with libjpeg's words."""
    import simplejpeg

    height, width = outcome.least(structure.height, structure.width)
    if len(structure.sampling) == 4:
        inks = simplejpeg.decode_jpeg(data, "CMYK", min_height=height, min_width=width, min_factor=1, strict=strict)
        return outcome.gray_of_inks(inks, inverted=structure.adobe >= 0)
    made: np.ndarray = simplejpeg.decode_jpeg(data, "GRAY", min_height=height, min_width=width, min_factor=1, strict=strict)
    return made[:, :, 0]


def _icc_is_bad(pieces: list[bytes]) -> bool:
    """Whether the pieces of the ICC profile are not numbered 1 to n of n."""
    return (
        any(len(piece) < 2 for piece in pieces)
        or sorted(p[0] for p in pieces) != list(range(1, len(pieces) + 1))
        or {p[1] for p in pieces} != {len(pieces)}
    )
