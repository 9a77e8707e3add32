"""Whether a folder is one of pictures, by a look at some thousand of its files."""

from __future__ import annotations

import os
from collections import deque

from datascrub.readers.image_folder_format.files import head_of
from datascrub.readers.image_folder_format.names import is_hidden, is_image_by_content, says_image, suffix_of
from datascrub.readers.image_folder_format.walk import is_folder, is_run_folder

_OTHERS = frozenset((b".tfrecord", b".tfrecords", b".h5", b".hdf5", b".mdb", b".ldb", b".tar", b".parquet", b".arrow"))
"""suffixes of containers that hold samples themselves"""

_FILES, _FILES_A_FOLDER, _SNIFFED = 20_000, 500, 200
_ENOUGH = 200


def holds_images(root: bytes) -> bool:
    """Whether pictures, by name or content, are there and outnumber the files of other containers. A database folder is none."""
    images = others = seen = sniffed = 0
    folders, entered = deque([root]), set[tuple[int, int]]()
    while folders and seen < _FILES and images < _ENOUGH:
        path = folders.popleft()
        entries = _entries(path)
        names = {entry.name for entry in entries}
        if b"data.mdb" in names or (b"CURRENT" in names and any(name.startswith(b"MANIFEST-") for name in names)):
            if path == root:
                return False
            others += 1
            continue
        files = 0
        for entry in entries:
            if is_hidden(entry.name):
                continue
            if is_folder(entry):
                status = entry.stat()
                if (status.st_dev, status.st_ino) not in entered and not is_run_folder(entry.path):
                    entered.add((status.st_dev, status.st_ino))
                    folders.append(entry.path)
            elif files < _FILES_A_FOLDER:
                files += 1
                seen += 1
                if says_image(entry.name):
                    images += 1
                elif suffix_of(entry.name).lower() in _OTHERS or b".tfrecord-" in entry.name:
                    others += 1
                elif sniffed < _SNIFFED:
                    sniffed += 1
                    images += is_image_by_content(head_of(entry.path) or b"")
    return images > 0 and images >= others


def _entries(path: bytes) -> list[os.DirEntry[bytes]]:
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
