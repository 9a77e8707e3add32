"""Annotation files beside the pictures of a folder: paired by their relative path without suffix, and read line by line or element by element."""

# Paths are bytes here, for foreign names need not decode, and pathlib takes no bytes.
# ruff: noqa: PTH112, PTH113, PTH118, PTH119, PTH120, PTH123, PTH208

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

from datascrub.config import DataConfig
from datascrub.keys import raw_of, text_of
from datascrub.media.header import HEAD_BYTES, size_in_header
from datascrub.model import Limits, Part
from datascrub.readers.image_folder_format import annotation_coco, annotation_voc, annotation_yolo
from datascrub.readers.image_folder_format.annotation_faults import Fault, Sorter
from datascrub.readers.image_folder_format.files import head_of, read_file
from datascrub.readers.image_folder_format.names import is_hidden, says_image, stem_of, suffix_of

SUFFIXES = {"yolo": b".txt", "voc": b".xml", "coco": b".json"}
_USUAL = frozenset((b"annotations", b"annotation", b"labels", b"label"))
_CLASS_LISTS = frozenset(
    (b"classes.txt", b"labels.txt", b"obj.names", b"names.txt", b"train.txt", b"val.txt", b"test.txt", b"readme.txt", b"notes.json")
)
"""what stands among annotation files and is none"""
_PROBED = 200
_PAIRED_SHARE = 0.5
"""of probed annotation files that have a picture by name: with fewer, a folder that nobody declared is taken for something else"""


class Annotations:
    """The annotations of a picture folder. place: folder or file; pictures: the folder that pairs with it; both relative to the root."""

    def __init__(self, root: bytes, place: bytes, pictures: bytes, form: str) -> None:
        self.place, self.pictures, self.form = place, pictures, form
        self._root = root
        self._stems = lru_cache(maxsize=64)(self._pictures_in)

    def files(self) -> Iterator[bytes]:
        """Annotation files relative to the root, in order."""
        whole = os.path.join(self._root, self.place)
        if not os.path.isdir(whole):
            yield self.place
            return
        for folder, folders, names in os.walk(whole):
            folders[:] = sorted(name for name in folders if not is_hidden(name))
            inside = os.path.relpath(folder, self._root)
            for name in sorted(names):
                if suffix_of(name).lower() == SUFFIXES[self.form] and not is_hidden(name) and name.lower() not in _CLASS_LISTS:
                    yield os.path.join(inside, name)

    @classmethod
    def of_plan(cls, root: bytes, settings: Mapping[str, Any]) -> Annotations | None:
        """The annotations that a plan names; None where it names none."""
        if settings["annotations"] is None:
            return None
        place, pictures, form = settings["annotations"]
        return cls(root, raw_of(place), b"" if pictures == "." else raw_of(pictures), form)

    def of(self, picture: bytes) -> bytes | None:
        """The annotation file of a picture alone, relative to the root; None where there is none."""
        inside = os.path.relpath(picture, self.pictures or b".")
        file = os.path.normpath(os.path.join(self.place, stem_of(inside) + SUFFIXES[self.form]))
        return file if self.form != "coco" and not inside.startswith(b"..") and os.path.isfile(os.path.join(self._root, file)) else None

    def has_picture(self, file: bytes) -> bool:
        inside = os.path.relpath(file, self.place)
        folder = os.path.normpath(os.path.join(self.pictures, os.path.dirname(inside)))
        return stem_of(os.path.basename(inside)) in self._stems(folder)

    def _pictures_in(self, folder: bytes) -> dict[bytes, bytes]:
        """Stem -> name of the pictures of a folder."""
        try:
            return {stem_of(name): name for name in sorted(os.listdir(os.path.join(self._root, folder))) if says_image(name)}
        except OSError:
            return {}

    def parts(self, data: DataConfig, limits: Limits, picture_count: int) -> Iterator[Part]:
        """Everything that is wrong with the annotations."""
        sorter, counts = Sorter(text_of(self.place, is_path=True)), Counter[str]()
        class_count = data.class_count if data.class_count is not None else self._listed_classes()
        first_empty: bytes | None = None
        for file in self.files():
            key = text_of(file, is_path=True)
            content, _, problem = read_file(os.path.join(self._root, file), limits.max_record_bytes)
            if content is None or problem is not None:
                says = problem.detail if problem is not None else "can't be read"
                yield Part("part-unreadable", key, f"an annotation file: {says}", file=key, lost_bytes=None)
                continue
            faults, objects = self._faults(file, content, data, class_count)
            if self.form != "coco" and not self.has_picture(file):
                faults = [Fault("annotation-orphan", "", "its picture (image) is missing"), *faults]
            elif self.form != "coco":
                counts["paired"] += 1
            if not objects and not faults and self.form != "coco":
                counts["empty"] += 1
                first_empty = first_empty or file
            yield from sorter.parts(key, faults)
        yield from sorter.rest()
        yield from self._told_once(counts, first_empty, picture_count)

    def _size(self, file: bytes) -> tuple[int, int] | None:
        """(width, height) of the picture of an annotation file, by its header; None where it is not there, or tells nothing."""
        inside = os.path.relpath(file, self.place)
        folder = os.path.normpath(os.path.join(self.pictures, os.path.dirname(inside)))
        name = self._stems(folder).get(stem_of(os.path.basename(inside)))
        return None if name is None else size_in_header(head_of(os.path.join(self._root, folder, name), HEAD_BYTES) or b"")

    def _faults(self, file: bytes, content: bytes, data: DataConfig, class_count: int | None) -> tuple[list[Fault], int]:
        if self.form == "voc":
            return annotation_voc.faults_of(content, data.classes if isinstance(data.classes, tuple) else None, self._size(file))
        if self.form == "coco":
            return annotation_coco.faults_of(content, self._exists)
        return annotation_yolo.faults_of(content.decode("utf-8-sig", "replace"), class_count)

    def _told_once(self, counts: Counter[str], first_empty: bytes | None, picture_count: int) -> Iterator[Part]:
        place = text_of(self.place, is_path=True)
        if first_empty is not None:
            says = f"{counts['empty']:,} annotation files hold no object: background, if it is meant"
            yield Part("annotation-empty", text_of(first_empty, is_path=True), says, {"count": counts["empty"]})
        without = picture_count - counts["paired"]
        if self.form != "coco" and without > 0:
            says = f"{without:,} of {picture_count:,} pictures have no annotation file: background, if it is meant"
            yield Part("annotation-missing", place, says, {"count": without})

    def _exists(self, name: str) -> bool:
        raw = os.fsencode(name) if "\0" not in name else b"/"
        folders = (self.pictures, b"", os.path.dirname(self.place))
        return any(os.path.isfile(os.path.join(self._root, folder, raw)) for folder in folders) or os.path.basename(raw) in self._below

    @cached_property
    def _below(self) -> frozenset[bytes]:
        """The file names below the folder of the pictures: COCO names files without the folder of their split."""
        return frozenset(name for _, _, names in os.walk(os.path.join(self._root, self.pictures)) for name in names)

    def _listed_classes(self) -> int | None:
        """The number of lines of a classes.txt beside the annotations; None where there is none."""
        try:
            with open(os.path.join(self._root, self.place, b"classes.txt"), "rb") as file:
                return sum(bool(line.strip()) for line in file.read(1 << 20).splitlines()) or None
        except OSError:
            return None


def find(root: bytes, declared: bytes | None, form: str | None, pictures: Counter[bytes]) -> Annotations | None:
    """The annotations of a folder: where they are declared, else in a folder of the usual name that pairs. pictures: how many each folder holds."""
    places = [declared] if declared is not None else _usual(root, pictures)
    for place in places:
        its = form or _form(os.path.join(root, place))
        if its is None or (declared is None and its == "coco"):
            continue
        made = _paired(root, place, its, pictures)
        if made is not None and (declared is not None or made[1] >= _PAIRED_SHARE):
            return made[0]
    return None


def _usual(root: bytes, pictures: Counter[bytes]) -> list[bytes]:
    names = sorted(name for name in os.listdir(root) if name.lower() in _USUAL and os.path.isdir(os.path.join(root, name)))
    return [name for name in names if not any(folder == name or folder.startswith(name + b"/") for folder in pictures)]


def _form(place: bytes) -> str | None:
    """The format of most files."""
    if os.path.isfile(place):
        names = [os.path.basename(place)]
    else:
        names = [name for _, _, names in os.walk(place) for name in names[:_PROBED]][: 10 * _PROBED]
    counts = {form: sum(suffix_of(name).lower() == suffix for name in names) for form, suffix in SUFFIXES.items()}
    best = max(counts, key=lambda form: counts[form])
    return best if counts[best] else None


def _paired(root: bytes, place: bytes, form: str, pictures: Counter[bytes]) -> tuple[Annotations, float] | None:
    """The annotations with the picture folder that most of the probed files pair with, and their share."""
    folders = [folder for folder in pictures if pictures[folder]]
    common = os.path.commonpath([folder or b"." for folder in folders]) if folders and all(folders) else b""
    candidates = [common]
    while candidates[-1]:
        candidates.append(os.path.dirname(candidates[-1]))
    made = [Annotations(root, place, candidate, form) for candidate in candidates]
    probe = [file for file, _ in zip(made[0].files(), range(_PROBED), strict=False)]
    if not probe:
        return None
    pairs = [sum(each.has_picture(file) for file in probe) for each in made]
    best = pairs.index(max(pairs))
    return made[best], pairs[best] / len(probe)
