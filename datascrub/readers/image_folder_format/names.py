"""What the name of a file or folder in an image folder says of it."""

from __future__ import annotations

from functools import lru_cache

from datascrub.media.sniff import format_of_suffix, sniff

_SYSTEM = frozenset((b"thumbs.db", b"ehthumbs.db", b"desktop.ini", b"__macosx", b"icon\r", b"$recycle.bin", b"system volume information", b"@eadir"))
"""what file managers leave behind, in lower case"""

_TOLD_BY_CONTENT = frozenset(("jpeg", "png", "gif", "tiff", "jp2", "webp", "avif", "heic", "bmp", "psd", "qoi", "exr", "dds", "icns"))
"""Formats whose mark is long enough to call a file an image that no name calls one; a text may begin with P5."""

HEAD_BYTES = 1024


def is_hidden(name: bytes) -> bool:
    """Whether file managers and loaders leave this name aside."""
    return name.startswith(b".") or name.lower() in _SYSTEM


@lru_cache(maxsize=4096)
def _format(suffix: bytes) -> str | None:
    return format_of_suffix(suffix.decode("ascii", "replace"))


def suffix_of(name: bytes) -> bytes:
    """What stands behind the last dot of a file name, with it; empty where there is none."""
    dot = name.rfind(b".")
    return name[dot:] if dot > 0 else b""


def stem_of(name: bytes) -> bytes:
    """A file name without its suffix."""
    return name[: len(name) - len(suffix_of(name))]


def says_image(name: bytes) -> bool:
    """Whether the suffix is one of a picture format. Drawings in XML are none: no loader of pixels reads them."""
    return _format(suffix_of(name)) not in {None, "svg"}


def is_image_by_content(head: bytes) -> bool:
    """Whether bytes begin as a picture does, beyond doubt."""
    return sniff(head).name in _TOLD_BY_CONTENT


def declared(name: bytes) -> tuple[str | None, str | None]:
    """(extension, format) as the name says them; (None, None) where it says no picture format."""
    suffix = suffix_of(name)
    made = _format(suffix)
    return (suffix.decode("ascii", "replace"), made) if made else (None, None)
