"""One pass over the outside of an image folder: how many pictures each folder holds, what else lies there, a few of each to look at."""

# Paths are bytes here, for foreign names need not decode, and pathlib takes no bytes.
# ruff: noqa: PTH119, PTH120

from __future__ import annotations

import os
from collections import Counter, defaultdict

import xxhash

from datascrub.readers.image_folder_format.annotations import SUFFIXES, is_class_list
from datascrub.readers.image_folder_format.companions import mask_place
from datascrub.readers.image_folder_format.metadata import NAMES, is_metadata
from datascrub.readers.image_folder_format.names import suffix_of
from datascrub.readers.image_folder_format.walk import Found, Other, Walk

_PROBED = 200
_MOST_PROBED = 10 * _PROBED
_TEXTS = frozenset(SUFFIXES.values())


class Outline:
    """What one walk met.

    pictures: folder -> pictures right in it. probe: some pictures of each folder; masks: likewise of each folder that is named for masks.
    texts: folder -> suffix in lower case -> files that may be annotations. tables: files of metadata. digest: of all names, sizes and times.
    """

    def __init__(self, walk: Walk) -> None:
        digest = xxhash.xxh3_128()
        self.pictures: Counter[bytes] = Counter()
        self.probe: list[bytes] = []
        self.masks: defaultdict[bytes, list[bytes]] = defaultdict(list)
        self.texts: defaultdict[bytes, Counter[bytes]] = defaultdict(Counter)
        self.tables: list[bytes] = []
        self.count, self.size, self.links = 0, 0, 0
        for item in walk:
            if not isinstance(item, (Found, Other)):
                continue
            digest.update(b"%s\0%d %d\n" % (item.path, item.size, item.mtime_ns))
            self.size += item.size
            if isinstance(item, Found):
                self._take(item)
                continue
            name = os.path.basename(item.path)
            if name in NAMES and is_metadata(walk.path(item.path)):
                self.tables.append(item.path)
            elif (suffix := suffix_of(name).lower()) in _TEXTS and not is_class_list(name):
                self.texts[os.path.dirname(item.path)][suffix] += 1
        self.digest, self.links_out = digest.hexdigest(), walk.links_out

    def _take(self, item: Found) -> None:
        self.count, self.links = self.count + 1, self.links + item.is_link
        folder = item.path.rpartition(b"/")[0]
        self.pictures[folder] += 1
        if self.pictures[folder] > _PROBED:
            return
        place = mask_place(folder)
        if place is not None and len(self.masks[place]) < _PROBED:
            self.masks[place].append(item.path)
        elif place is None and len(self.probe) < _MOST_PROBED:
            self.probe.append(item.path)

    def every_probe(self) -> list[bytes]:
        """Some pictures of each folder, whatever its name."""
        return self.probe + [path for paths in self.masks.values() for path in paths]
