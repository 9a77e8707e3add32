"""Which level of folders names the classes."""

from __future__ import annotations

from collections.abc import Mapping

_SPLITS = frozenset(("train", "training", "val", "valid", "validation", "test", "testing", "dev", "eval"))
_PURPOSES = frozenset(
    ("images", "imgs", "img", "jpegimages", "pictures", "photos", "masks", "labels", "annotations", "segmentationclass", "segmentationobject", "gt")
)
"""folders named for what they hold: pictures and their masks are no two classes"""

_LABELLED_SHARE = 0.9
"""of the pictures that stand below a level: with fewer, the folders sort pictures in some other way"""


def class_level(folders: Mapping[bytes, int]) -> int | None:
    """The first level of folders that varies and is neither split nor purpose; None where none is.

    folders: relative path of a folder that holds pictures (empty for the root) -> number of pictures right in it.
    """
    paths = [(path.split(b"/") if path else [], count) for path, count in folders.items()]
    for level in range(max((len(parts) for parts, _ in paths), default=0)):
        names = {parts[level] for parts, _ in paths if len(parts) > level}
        plain = {name.decode("utf-8", "replace").lower() for name in names}
        if len(names) == 1 or len(plain & _SPLITS) * 2 > len(plain) or plain <= _PURPOSES:
            continue
        below = sum(count for parts, count in paths if len(parts) > level)
        sorted_in = {tuple(parts[:level]) for parts, _ in paths if len(parts) > level}
        # A split without class folders (Kaggle's test) is unlabelled by intent; its pictures are not to be accused of missing labels.
        is_everywhere = all(tuple(parts[:level]) in sorted_in for parts, _ in paths if len(parts) == level)
        return level if is_everywhere and below >= _LABELLED_SHARE * sum(count for _, count in paths) else None
    return None


def class_of(path: bytes, level: int) -> bytes | None:
    """The class folder of a file; None where the file stands above that level."""
    parts = path.split(b"/")
    return parts[level] if len(parts) > level + 1 else None
