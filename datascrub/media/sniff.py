"""What bytes are, by their beginning alone: picture formats, and what is met in a picture's place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_HEAD = 1024
"""bytes looked at: a text header, a DOCTYPE behind comments"""

_SUFFIXES: Mapping[str, str] = {
    **dict.fromkeys(("jpg", "jpeg", "jpe", "jfif", "jif", "mpo"), "jpeg"),
    **dict.fromkeys(("png", "apng"), "png"),
    **dict.fromkeys(("tif", "tiff"), "tiff"),
    **dict.fromkeys(("ppm", "pgm", "pbm", "pnm", "pam", "pfm"), "ppm"),
    **dict.fromkeys(("jp2", "j2k", "jpx", "jpf", "j2c", "jpc"), "jp2"),
    **dict.fromkeys(("bmp", "dib"), "bmp"),
    **dict.fromkeys(("ico", "cur"), "ico"),
    **dict.fromkeys(("heic", "heif", "hif"), "heic"),
    **dict.fromkeys(("avif", "avifs"), "avif"),
    **dict.fromkeys(("tga", "vda", "icb", "vst"), "tga"),
    **dict.fromkeys(("sgi", "rgb", "rgba", "bw"), "sgi"),
    **dict.fromkeys(("fli", "flc"), "fli"),
    **{name: name for name in ("gif", "webp", "psd", "dds", "pcx", "qoi", "jxl", "svg", "icns", "exr", "hdr", "ras", "xbm", "xpm", "msp")},
}

IMAGES = frozenset(_SUFFIXES.values())
"""Formats that are pictures, whether a decoder is here or not."""

_STARTS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"II+\x00", "tiff"),
    (b"MM\x00+", "tiff"),
    (b"\x00\x00\x00\x0cjP  \r\n\x87\n", "jp2"),
    (b"\xff\x4f\xff\x51", "jp2"),
    (b"8BPS", "psd"),
    (b"DDS ", "dds"),
    (b"qoif", "qoi"),
    (b"\xff\x0a", "jxl"),
    (b"\x00\x00\x00\x0cJXL \r\n\x87\n", "jxl"),
    (b"icns", "icns"),
    (b"v/1\x01", "exr"),
    (b"#?RADIANCE", "hdr"),
    (b"#?RGBE", "hdr"),
    (b"\x59\xa6\x6a\x95", "ras"),
    (b"\x01\xda", "sgi"),
    (b"DanM", "msp"),
    (b"LinS", "msp"),
    (b"/* XPM */", "xpm"),
    (b"\x00\x05\x16\x07", "appledouble"),
    (b"%PDF-", "pdf"),
    (b"%!PS", "postscript"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstandard"),
    (b"7z\xbc\xaf\x27\x1c", "7-zip"),
    (b"Rar!\x1a\x07", "rar"),
    (b"\x7fELF", "elf"),
    (b"MZ", "windows-program"),
    (b"version https://git-lfs.github.com/spec/", "lfs-pointer"),
    (b"HTTP/1.", "http-answer"),
    (b"HTTP/2 ", "http-answer"),
    (b"\x93NUMPY", "npy"),
    (b"\x89HDF\r\n\x1a\n", "hdf5"),
    (b"SQLite format 3\x00", "sqlite"),
    (b"PAR1", "parquet"),
    (b"OggS", "ogg"),
    (b"ID3", "mp3"),
    (b"fLaC", "flac"),
    (b"\x1aE\xdf\xa3", "matroska"),
    (b"\xca\xfe\xba\xbe", "java-class"),
)

_SAYS: Mapping[str, str] = {
    "html": "an HTML page",
    "xml": "XML text",
    "json": "JSON text",
    "text": "plain text",
    "pdf": "a PDF document",
    "postscript": "a PostScript document",
    "zip": "a zip archive",
    "gzip": "a gzip archive",
    "tar": "a tar archive",
    "bzip2": "a bzip2 archive",
    "xz": "an xz archive",
    "zstandard": "a Zstandard archive",
    "7-zip": "a 7-Zip archive",
    "rar": "a RAR archive",
    "elf": "an ELF program",
    "windows-program": "a Windows program",
    "lfs-pointer": "a Git LFS pointer: the picture itself was never downloaded",
    "http-answer": "a raw HTTP answer, headers and all",
    "appledouble": "an AppleDouble companion file of macOS",
    "pickle": "a Python pickle",
    "npy": "a NumPy array file",
    "mp4": "a video or other ISO media file",
    "webp": "a WebP picture",
    "wave": "a WAVE or other RIFF file",
    "zeros": "nothing but zero bytes",
    "constant": "one byte repeated",
    "empty": "no bytes",
    "": "bytes of no known kind",
}

_NETPBM = re.compile(rb"P(?:[1-7]|[Ff]|y)[\s#]")
_MARKUP = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*|<\?xml[^>]*>\s*)*"
    rb"<(!doctype\s+)?(html|head|body|svg|script|title|meta|div|table|[a-z?!])",
    re.IGNORECASE | re.DOTALL,
)
_XBM = re.compile(rb"\s*#define[ \t]+\w*_?width[ \t]+\d")
_HEIF_BRANDS = frozenset((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"))


@dataclass(frozen=True, slots=True)
class Content:
    """What the bytes are.

    name: a short lower-case name; "" unknown. is_image: a picture format, whether or not it can be decoded. says: the name in words.
    """

    name: str
    is_image: bool
    says: str


def format_of_suffix(suffix: str) -> str | None:
    """The picture format that a suffix or a declared format's name stands for: "JPG", ".jpg", "image/jpeg" -> "jpeg"; None where it names none."""
    return _SUFFIXES.get(suffix.lower().removeprefix("image/").lstrip("."))


def sniff(data: bytes) -> Content:
    """What these bytes are. Only the beginning counts, and for a run of one byte the whole."""
    name = "jpeg" if data[:2] == b"\xff\xd8" else _name(data)
    is_image = name in IMAGES
    return Content(name, is_image, _SAYS.get(name) or (f"a {name.upper()} picture" if is_image else f"a {name} file"))


def _name(data: bytes) -> str:
    if not data:
        return "empty"
    for start, name in _STARTS:
        if data.startswith(start):
            return name
    return _container(data) or _pixels(data) or _text(data)


def _container(data: bytes) -> str:
    """Formats that are told by a second mark, some bytes in."""
    if data[:4] == b"RIFF":
        return "webp" if data[8:12] == b"WEBP" else "wave"
    if data[4:8] == b"ftyp":
        brands = {data[at : at + 4] for at in range(8, min(len(data), 64), 4)}
        if brands & {b"avif", b"avis"}:
            return "avif"
        return "heic" if brands & _HEIF_BRANDS else "mp4"
    if data[257:262] == b"ustar":
        return "tar"
    return "pickle" if _is_pickle(data) else ""


def _is_pickle(data: bytes) -> bool:
    """Protocol 2 or later: its opcode and number at the start, STOP at the end."""
    return data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05") and data.rstrip(b"\n")[-1:] == b"."


def _pixels(data: bytes) -> str:
    """Picture formats with a short mark, believed only where the header behind it makes sense."""
    return next((name for name, fits in _HEADERS if fits(data)), "")


def _is_bmp(data: bytes) -> bool:
    return data[:2] == b"BM" and len(data) > 26 and (int.from_bytes(data[14:18], "little") in _BMP_HEADERS or data[6:10] == bytes(4))


def _is_ico(data: bytes) -> bool:
    """An icon or cursor with entries; a TGA without a palette begins alike, with zeros where the number of entries stands."""
    return data[:4] in (b"\x00\x00\x01\x00", b"\x00\x00\x02\x00") and (data[4:6] != b"\x00\x00" or len(data) == 6)


def _is_pcx(data: bytes) -> bool:
    return data[:1] == b"\x0a" and data[1:2] in (b"\x00", b"\x02", b"\x03", b"\x05") and data[2:3] == b"\x01"


_BMP_HEADERS = (12, 16, 40, 52, 56, 64, 108, 124)
_HEADERS: tuple[tuple[str, Callable[[bytes], object]], ...] = (
    ("bmp", _is_bmp),
    ("tga", lambda data: data[-18:-1] == b"TRUEVISION-XFILE."),
    ("ico", _is_ico),
    ("ppm", lambda data: _NETPBM.match(data[:3])),
    ("pcx", _is_pcx),
    ("fli", lambda data: data[4:6] in (b"\x11\xaf", b"\x12\xaf") and len(data) >= 128),
    ("xbm", lambda data: _XBM.match(data[:_HEAD])),
)


def _text(data: bytes) -> str:
    if data.count(data[:1]) == len(data) and len(data) > 1:
        return "zeros" if data[0] == 0 else "constant"
    head = data[:_HEAD]
    markup = _MARKUP.match(head)
    if markup:
        tag = markup[2].lower()
        if tag == b"svg":
            return "svg"
        if tag in (b"html", b"head", b"body", b"script", b"title", b"meta", b"div", b"table"):
            return "html"
    if not _is_text(head):
        return ""
    if markup:
        return "xml"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return "json" if re.match(rb'[{\[]\s*(["{\[\]}\d]|true|false|null)', start) else "text"


def _is_text(head: bytes) -> bool:
    """Whether bytes read as UTF-8 text without control characters (a character cut at the end is no fault)."""
    if len(head) < 2 or re.search(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", head):
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3 and len(head) == _HEAD
    return True
