"""Putting one file of a copy in its place: as a copy, a hard or symbolic link, or a reflink."""

# Paths may be bytes, for foreign names need not decode, and pathlib takes no bytes.
# ruff: noqa: PTH108, PTH211

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

Place = bytes | os.PathLike[str]
_FICLONE = 0x40049409
"""ioctl that shares the blocks of a file with another (linux/fs.h)"""

_NO_REFLINK = (errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EPERM)
_NO_HARD_LINK = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP)


class Placer:
    """Places files, and counts where it had to copy instead of linking."""

    def __init__(self, link: str) -> None:
        self._link, self._fell_back = link, 0

    def notes(self) -> Iterator[str]:
        if self._fell_back:
            yield f"{self._fell_back:,} files were copied: this file system can't make {self._link} links for them"

    def place(self, source: Place, destination: Place) -> None:
        """The content of source under destination, whose folder is there; a link leads to the real file, never to another link."""
        source, destination = os.fsencode(source), os.fsencode(destination)
        if self._link == "sym":
            os.symlink(os.path.realpath(source), destination)
        elif self._link == "hard":
            self._hard(os.path.realpath(source), destination)
        else:
            self._copy(source, destination)

    def write(self, lines: Sequence[bytes], like: bytes, destination: bytes) -> None:
        """A file of its own with the permissions of another."""
        with Path(os.fsdecode(destination)).open("wb") as file:
            file.writelines(lines)
        shutil.copymode(like, destination)

    def _hard(self, source: bytes, destination: bytes) -> None:
        try:
            os.link(source, destination)
        except OSError as error:
            if error.errno not in _NO_HARD_LINK:
                raise
            self._fell_back += 1
            shutil.copy2(source, destination)

    def _copy(self, source: bytes, destination: bytes) -> None:
        if self._link == "reflink" and not _reflink(source, destination):
            self._fell_back += 1
        elif self._link == "reflink":
            shutil.copystat(source, destination)
            return
        shutil.copy2(source, destination)


def _reflink(source: bytes, destination: bytes) -> bool:
    with Path(os.fsdecode(source)).open("rb") as whole, Path(os.fsdecode(destination)).open("wb") as made:
        try:
            fcntl.ioctl(made.fileno(), _FICLONE, whole.fileno())
        except OSError as error:
            if error.errno not in _NO_REFLINK:
                raise
            return False
    return True


def remove_half(destination: bytes) -> None:
    """Remove what a failed attempt may have left."""
    if os.path.lexists(destination):
        os.unlink(destination)
