"""Annotation files beside the pictures of a folder: paired by their relative path without suffix, and read line by line or element by element."""

# Paths are bytes here, for foreign names need not decode, and pathlib takes no bytes.
# ruff: noqa: PTH112, PTH113, PTH118, PTH119, PTH120, PTH208

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from datascrub.config import DataConfig
from datascrub.keys import raw_of, text_of
from datascrub.media.header import HEAD_BYTES, header_of
from datascrub.model import Limits, Part
from datascrub.readers.image_folder_format import annotation_coco, annotation_voc, annotation_yolo
from datascrub.readers.image_folder_format.annotation_faults import Fault, Sorter
from datascrub.readers.image_folder_format.files import head_of, read_file
from datascrub.readers.image_folder_format.names import is_hidden, says_image, stem_of, suffix_of

SUFFIXES = {"yolo": b".txt", "voc": b".xml", "coco": b".json"}
_CLASS_LISTS = frozenset(
    (b"classes.txt", b"labels.txt", b"obj.names", b"names.txt", b"train.txt", b"val.txt", b"test.txt", b"readme.txt", b"notes.json")
)
"""what stands among annotation files and is none"""
SOMEWHERE = b""
"""in place of the path of a picture: it is there, but which of several it is can't be told"""
_TEXT_BYTES = 1 << 20
_ROBOFLOW = (b"readme.", b"readme_", b"_darknet.")


def is_class_list(name: bytes) -> bool:
    """Whether a file among annotations is a list or a note by its name."""
    return name.lower() in _CLASS_LISTS or name.lower().startswith(_ROBOFLOW)


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
                if suffix_of(name).lower() == SUFFIXES[self.form] and not is_hidden(name) and not is_class_list(name):
                    yield os.path.normpath(os.path.join(inside, name))

    @classmethod
    def of_plan(cls, root: bytes, told: Sequence[str]) -> Annotations:
        """As told() wrote it into a plan."""
        place, pictures = (b"" if path == "." else raw_of(path) for path in told[:2])
        return cls(root, place, pictures, told[2])

    def told(self) -> list[str]:
        """For a plan."""
        return [*(text_of(path or b".", is_path=True) for path in (self.place, self.pictures)), self.form]

    @property
    def is_among_pictures(self) -> bool:
        """Whether each lies right beside its picture."""
        return self.form != "coco" and self.place == self.pictures

    def path(self, file: bytes) -> bytes:
        """Where to open a file."""
        return os.path.join(self._root, file)

    def of(self, picture: bytes) -> bytes | None:
        """The annotation file of a picture alone, relative to the root; None where there is none."""
        inside = os.path.relpath(picture, self.pictures or b".")
        file = os.path.normpath(os.path.join(self.place, stem_of(inside) + SUFFIXES[self.form]))
        return file if self.form != "coco" and not inside.startswith(b"..") and os.path.isfile(os.path.join(self._root, file)) else None

    def has_picture(self, file: bytes) -> bool:
        inside = os.path.relpath(file, self.place or b".")
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
        """(width, height) of the picture of an annotation file; None where it is not there, or tells nothing."""
        inside = os.path.relpath(file, self.place or b".")
        folder = os.path.normpath(os.path.join(self.pictures, os.path.dirname(inside)))
        name = self._stems(folder).get(stem_of(os.path.basename(inside)))
        return None if name is None else self._size_of(os.path.join(folder, name))

    def _faults(self, file: bytes, content: bytes, data: DataConfig, class_count: int | None) -> tuple[list[Fault], int]:
        if self.form == "voc":
            return annotation_voc.faults_of(content, data.classes if isinstance(data.classes, tuple) else None, self._size(file))
        if self.form == "coco":
            return annotation_coco.faults_of(content, self.picture, self._size_of)
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

    def picture(self, name: str) -> bytes | None:
        """The picture that COCO's file calls so, relative to the root; SOMEWHERE if several may be meant, None where there is none.

        A name that leads out of the source names what its last part does.
        """
        raw = os.fsencode(name) if "\0" not in name else b"/"
        for folder in dict.fromkeys((self.pictures, os.path.dirname(self.place), b"")):
            inside = os.path.normpath(os.path.join(folder, raw))
            if not inside.startswith((b"/", b"..")) and os.path.isfile(os.path.join(self._root, inside)):
                return inside
        return self._below.get(os.path.basename(raw))

    @cached_property
    def _below(self) -> Mapping[bytes, bytes]:
        """Name -> path of the files below the folder of the pictures: COCO names files without the folder of their split."""
        made: dict[bytes, bytes] = {}
        for folder, _, names in os.walk(os.path.join(self._root, self.pictures)):
            inside = os.path.relpath(folder, self._root)
            for name in names:
                made[name] = SOMEWHERE if name in made else os.path.join(inside, name)
        return made

    def _size_of(self, picture: bytes) -> tuple[int, int] | None:
        """(width, height) of a picture by its header; None where it tells nothing."""
        header = None if picture == SOMEWHERE else header_of(head_of(self.path(picture), HEAD_BYTES) or b"")
        return None if header is None else (header.width, header.height)

    def _listed_classes(self) -> int | None:
        """The number of classes that a classes.txt beside the annotations lists, or the YAML of the set declares; None where neither is there."""
        listed = self._text(os.path.join(self.place, b"classes.txt"))
        if listed is not None:
            return sum(bool(line.strip()) for line in listed.splitlines()) or None
        for folder in dict.fromkeys((b"", os.path.dirname(self.place), os.path.dirname(os.path.dirname(self.place)))):
            declared = self._text(os.path.join(folder, b"data.yaml"))
            if declared is not None:
                return annotation_yolo.classes_of_yaml(declared)
        return None

    def _text(self, file: bytes) -> str | None:
        data = head_of(os.path.join(self._root, file), _TEXT_BYTES)
        return None if data is None else data.decode("utf-8-sig", "replace")
