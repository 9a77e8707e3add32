"""Masks in a folder of their own, paired with pictures by their relative path without suffix."""

# Paths are bytes here, for foreign names need not decode, and pathlib takes no bytes.
# ruff: noqa: PTH118, PTH119, PTH120, PTH208

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache

from datascrub.keys import text_of
from datascrub.model import Part
from datascrub.readers.image_folder_format.names import is_hidden, says_image, stem_of

_NAMED = 100


class Masks:
    """The pairs of a picture folder and a mask folder, both relative to the root."""

    def __init__(self, root: bytes, masks: bytes, pictures: bytes) -> None:
        self.folder, self.pictures = masks, pictures
        self._root = root
        self._stems = lru_cache(maxsize=64)(self._list)

    def of(self, picture: bytes) -> bytes | None:
        """The mask of a picture, relative to the root; None where there is none."""
        return self._partner(picture, self.pictures, self.folder)

    def _partner(self, path: bytes, here: bytes, there: bytes) -> bytes | None:
        inside = os.path.relpath(path, here or b".")
        if inside.startswith(b".."):
            return None
        folder = os.path.normpath(os.path.join(there, os.path.dirname(inside)))
        name = self._stems(folder).get(stem_of(os.path.basename(inside)))
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
        return (path for path in self._all() if self._partner(path, self.folder, self.pictures) is None)

    def _all(self) -> Iterator[bytes]:
        for folder, folders, names in os.walk(os.path.join(self._root, self.folder)):
            folders[:] = sorted(name for name in folders if not is_hidden(name))
            inside = os.path.relpath(folder, self._root)
            yield from (os.path.join(inside, name) for name in sorted(names) if says_image(name) and not is_hidden(name))


def pictures_of(root: bytes, masks: bytes, pictures: Iterable[bytes]) -> tuple[bytes, float]:
    """(folder of the pictures that pair best with the masks, the share of the given pictures that pair)."""
    paths = list(pictures)
    if not paths:
        return b"", 0.0
    common = os.path.commonpath([os.path.dirname(path) or b"." for path in paths]) if all(b"/" in path for path in paths) else b""
    candidates = [common]
    while candidates[-1]:
        candidates.append(os.path.dirname(candidates[-1]))
    pairs = [sum(Masks(root, masks, each).of(path) is not None for path in paths) for each in candidates]
    best = pairs.index(max(pairs))
    return candidates[best], pairs[best] / len(paths)
