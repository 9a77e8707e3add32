"""Masks in a folder of their own, paired with pictures by their relative path without suffix."""

# Paths are bytes here, for foreign names need not decode, and pathlib takes no bytes.
# ruff: noqa: PTH112, PTH118, PTH119, PTH120, PTH208

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache

from datascrub.keys import raw_of, text_of
from datascrub.model import Part
from datascrub.readers.image_folder_format.names import is_hidden, says_image, stem_of

ENDINGS = (b"", b"_mask", b"-mask", b"_segmentation", b"_seg", b"_label", b"_gt")
"""what the names of masks have behind those of their pictures"""
_NAMED = 100


class Accused(StrEnum):
    """Which pictures without a mask are at fault: every one, those beside whose masks others lie, or none."""

    EVERY = "every"
    BESIDE = "beside"
    NONE = "none"


class Masks:
    """The pairs of a picture folder and a mask folder, both relative to the root. ending: what the stem of a mask has behind its picture's."""

    def __init__(self, root: bytes, masks: bytes, pictures: bytes, ending: bytes = b"", accused: Accused = Accused.EVERY) -> None:
        self.folder, self.pictures, self.ending, self.accused = masks, pictures, ending, accused
        self._root = root
        self._stems = lru_cache(maxsize=64)(self._list)

    @classmethod
    def of_plan(cls, root: bytes, told: Sequence[str]) -> Masks:
        """As told() wrote it into a plan."""
        masks, pictures, ending, accused = told
        return cls(root, raw_of(masks), b"" if pictures == "." else raw_of(pictures), raw_of(ending) if ending else b"", Accused(accused))

    def told(self) -> list[str]:
        """For a plan."""
        folders = (text_of(path or b".", is_path=True) for path in (self.folder, self.pictures))
        return [*folders, text_of(self.ending, is_path=True) if self.ending else "", str(self.accused)]

    def accusing(self, accused: Accused) -> Masks:
        return Masks(self._root, self.folder, self.pictures, self.ending, accused)

    def of(self, picture: bytes) -> bytes | None:
        """The mask of a picture, relative to the root; None where there is none."""
        return self._partner(picture, self.pictures, self.folder, b"", self.ending)

    def picture_of(self, mask: bytes) -> bytes | None:
        """The picture of a mask, likewise."""
        return self._partner(mask, self.folder, self.pictures, self.ending, b"")

    def has_folder(self, picture: bytes) -> bool:
        """Whether there is a folder in which the mask of a picture would lie."""
        inside = os.path.relpath(picture, self.pictures or b".")
        return not inside.startswith(b"..") and os.path.isdir(os.path.join(self._root, self.folder, os.path.dirname(inside)))

    def is_missing(self, picture: bytes) -> bool:
        """Whether a picture should have a mask, and has none."""
        if self.accused is Accused.NONE or self.of(picture) is not None:
            return False
        return self.accused is Accused.EVERY or self.has_folder(picture)

    def _partner(self, path: bytes, here: bytes, there: bytes, ending: bytes, its_ending: bytes) -> bytes | None:
        inside = os.path.relpath(path, here or b".")
        stem = stem_of(os.path.basename(inside))
        if inside.startswith(b"..") or not stem.endswith(ending):
            return None
        folder = os.path.normpath(os.path.join(there, os.path.dirname(inside)))
        name = self._stems(folder).get(stem[: len(stem) - len(ending)] + its_ending)
        return None if name is None else os.path.normpath(os.path.join(folder, name))

    def _list(self, folder: bytes) -> dict[bytes, bytes]:
        try:
            names = sorted(os.listdir(os.path.join(self._root, folder)), reverse=True)
        except OSError:
            return {}
        return {stem_of(name): name for name in names if says_image(name) and not is_hidden(name)}

    def orphans(self) -> Iterator[Part]:
        """Masks whose picture is not there, as parts."""
        count = 0
        for path in self.strays():
            count += 1
            if count <= _NAMED:
                yield Part("part-record-missing", text_of(path, is_path=True), "a mask whose picture (image) is missing", lost_records=1)
        if count > _NAMED:
            rest = count - _NAMED
            yield Part("part-record-missing", text_of(self.folder, is_path=True), f"{rest:,} more masks without a picture", lost_records=rest)

    def strays(self) -> Iterator[bytes]:
        """The files of masks without a picture, relative to the root."""
        return (path for path in self._all() if self.picture_of(path) is None)

    def _all(self) -> Iterator[bytes]:
        for folder, folders, names in os.walk(os.path.join(self._root, self.folder)):
            folders[:] = sorted(name for name in folders if not is_hidden(name))
            inside = os.path.relpath(folder, self._root)
            yield from (os.path.join(inside, name) for name in sorted(names) if says_image(name) and not is_hidden(name))
