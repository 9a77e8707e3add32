"""Which level of folders names the classes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from datascrub.keys import printable, text_of
from datascrub.model import Part

_SPLITS = frozenset(("train", "training", "val", "valid", "validation", "test", "testing", "dev", "eval"))
_PURPOSES = frozenset(
    ("images", "imgs", "img", "jpegimages", "pictures", "photos", "masks", "labels", "annotations", "segmentationclass", "segmentationobject", "gt")
)
"""folders named for what they hold: pictures and their masks are no two classes"""

_NAMED = 10
_LABELLED_SHARE = 0.9
"""of the pictures that stand below a level: with fewer, the folders sort pictures in some other way"""


def is_split(name: bytes) -> bool:
    """Whether a folder is named for a split, as train, val2017 or images_test are."""
    return any(word in _SPLITS for word in re.split("[^a-z]+", name.decode("utf-8", "replace").lower()))


def class_level(folders: Mapping[bytes, int]) -> int | None:
    """The first level of folders that varies and is neither split nor purpose; None where none is.

    folders: relative path of a folder that holds pictures (empty for the root) -> number of pictures right in it.
    """
    paths = [(path.split(b"/") if path else [], count) for path, count in folders.items()]
    for level in range(max((len(parts) for parts, _ in paths), default=0)):
        names = {parts[level] for parts, _ in paths if len(parts) > level}
        plain = {name.decode("utf-8", "replace").lower() for name in names}
        if len(names) == 1 or sum(map(is_split, names)) * 2 > len(names) or plain <= _PURPOSES:
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


def one_sided_classes(folders: Mapping[bytes, int], level: int) -> Iterator[Part]:
    """Classes that have pictures in one split and none in another; said where the folders right above the classes are splits.

    folders: as in class_level.
    """
    classes: dict[bytes, set[bytes]] = defaultdict(set)
    for path in folders:
        parts = path.split(b"/")
        if 0 < level < len(parts) and is_split(parts[level - 1]):
            classes[b"/".join(parts[:level])].add(parts[level])
    every = set().union(*classes.values()) if classes else set()
    for split in sorted(classes):
        absent = sorted(every - classes[split])
        if absent:
            named = ", ".join(printable(text_of(name, is_path=True)) for name in absent[:_NAMED]) + (", …" if len(absent) > _NAMED else "")
            says = f"{len(absent):,} of {len(every):,} classes of the other splits have no picture in this split: {named}; class numbers shift"
            yield Part("part-class-missing", text_of(split, is_path=True), says, {"count": len(absent)})
