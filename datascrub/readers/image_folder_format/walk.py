"""The walk through an image folder: which files are samples, and what is left aside and why."""

# Paths are bytes here, for foreign names need not decode, and pathlib takes no bytes.
# ruff: noqa: PTH116, PTH118

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from datascrub.keys import printable, text_of
from datascrub.model import Part
from datascrub.readers.image_folder_format.files import head_of
from datascrub.readers.image_folder_format.names import is_hidden, is_image_by_content, says_image, suffix_of

_NAMED = 5
_HIDDEN_NAMED = 20
_RUN_NAMES = (b"plan.json", b"facts", b"run.lock", b"summary.json")
DEEPEST = 100
"""folders below one another; deeper ones are made to break programs, and are named instead of entered"""


@dataclass(frozen=True, slots=True)
class Found:
    """A sample's file: path relative to the root, size, time; is_link: reached by a link."""

    path: bytes
    size: int
    mtime_ns: int
    is_link: bool


@dataclass(frozen=True, slots=True)
class Other:
    """A file that is no sample."""

    path: bytes
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that was left: files in it and below it that are not hidden, samples among them or not."""

    path: bytes
    files: int


@dataclass
class Aside:
    """What is no sample, named for the first few and counted."""

    count: int = 0
    names: list[bytes] = field(default_factory=list)

    def add(self, path: bytes) -> None:
        self.count += 1
        if len(self.names) < _NAMED:
            self.names.append(path)

    def part(self, code: str, what: str) -> Iterator[Part]:
        """One part for all of them, if there are any."""
        if self.count:
            more = f" and {self.count - len(self.names):,} more" if self.count > len(self.names) else ""
            named = ", ".join(printable(text_of(name, is_path=True)) for name in self.names)
            yield Part(code, text_of(self.names[0], is_path=True), f"{what.format(self.count)}: {named}{more}", {"count": self.count})


def is_run_folder(path: bytes) -> bool:
    """Whether a folder is a run of this program, finished or just begun: it is never part of a source, wherever it lies."""
    marks = sum(os.path.lexists(os.path.join(path, name)) for name in _RUN_NAMES)
    return marks >= (1 if path.endswith(b".datascrub") else 2)


def is_inside(path: bytes, folder: bytes) -> bool:
    """Whether a path is a folder, or below it; everything is inside the root, the empty path."""
    return not folder or path == folder or path.startswith(folder.rstrip(b"/") + b"/")


def is_entered(link: bytes, real_root: bytes, entered: set[tuple[int, int]]) -> bool:
    """Whether a link to a folder leads to one that the walk meets elsewhere, or that holds the root itself."""
    real = os.path.realpath(link)
    if is_inside(real, real_root) or is_inside(real_root, real):
        return True
    status = os.stat(real)
    return (status.st_dev, status.st_ino) in entered


class Walk:
    """One pass over a folder, in the order of the bytes of relative paths.

    leave: relative paths of folders that hold no samples (masks, annotations), or of a file of annotations.
    known: relative paths of files that are used otherwise (metadata). beside: suffixes of such files, wherever they lie (annotations).
    Each real folder is entered once: a link to a folder inside the root is left to the folder's own place, one to a folder outside is followed.
    """

    def __init__(
        self, root: bytes, *, leave: tuple[bytes, ...] = (), known: frozenset[bytes] = frozenset(), beside: frozenset[bytes] = frozenset()
    ) -> None:
        self.root, self.links_out = root, 0
        self._real = os.path.realpath(root)
        self._leave, self._known, self._beside = leave, known | set(leave), beside
        self._entered: set[tuple[int, int]] = set()
        self._others, self._hidden, self._special, self._inner_links = Aside(), Aside(), Aside(), Aside()
        self._hidden_images = 0

    def __iter__(self) -> Iterator[Found | Other | Part | Folder]:
        yield from self._folder(b"")
        yield from self._hidden.part("part-hidden", "{:,} hidden files and folders are left aside")
        yield from self._special.part("part-not-a-sample", "{:,} pipes, sockets or devices are never opened")
        yield from self._inner_links.part("part-not-a-sample", "{:,} links lead to folders that are read at their own place")
        yield from self._others.part("part-not-a-sample", "{:,} files are no pictures, by name or content")

    def path(self, relative: bytes) -> bytes:
        return os.path.join(self.root, relative) if relative else self.root

    def _folder(self, relative: bytes) -> Iterator[Found | Other | Part | Folder]:
        path, files = self.path(relative), 0
        if relative.count(b"/") >= DEEPEST:
            yield Part(
                "part-unreadable",
                text_of(relative, is_path=True),
                f"more than {DEEPEST} folders deep: not entered",
                lost_bytes=None,
                lost_records=None,
            )
            return
        try:
            status = os.stat(path)
            with os.scandir(path) as entries:
                # A folder sorts as its name and a slash: so the whole walk is in the order of the paths' bytes.
                listed = sorted((entry.name + b"/" if is_folder(entry) else entry.name, entry) for entry in entries)
        except OSError as error:
            why = "no permission to list it" if isinstance(error, PermissionError) else f"can't be listed: {error.strerror}"
            yield Part(
                "part-unreadable", text_of(relative or b".", is_path=True), f"this folder is not scanned: {why}", lost_bytes=None, lost_records=None
            )
            yield Folder(relative, 1)
            return
        self._entered.add((status.st_dev, status.st_ino))
        for name, entry in listed:
            inside = relative + b"/" + entry.name if relative else entry.name
            if is_hidden(entry.name):
                yield from self._hide(inside, is_folder=name.endswith(b"/"))
            elif name.endswith(b"/"):
                for item in self._subfolder(inside, entry):
                    files += item.files if isinstance(item, Folder) and item.path == inside else 0
                    yield item
            else:
                files += 1
                yield from self._file(inside, entry)
        yield Folder(relative, files)

    def _subfolder(self, relative: bytes, entry: os.DirEntry[bytes]) -> Iterator[Found | Other | Part | Folder]:
        path = self.path(relative)
        if entry.is_symlink():
            if is_entered(path, self._real, self._entered):
                self._inner_links.add(relative)
                return
            self.links_out += 1
        if relative not in self._leave and not is_run_folder(path):
            yield from self._folder(relative)

    def _file(self, relative: bytes, entry: os.DirEntry[bytes]) -> Iterator[Found | Other | Part]:
        try:
            status = entry.stat()
        except OSError as error:
            yield _broken(relative, error)
            return
        if not stat.S_ISREG(status.st_mode):
            self._special.add(relative)
        elif says_image(entry.name):
            yield Found(relative, status.st_size, status.st_mtime_ns, entry.is_symlink())
        else:
            yield from self._unnamed(relative, status, entry.is_symlink())

    def _unnamed(self, relative: bytes, status: os.stat_result, is_link: bool) -> Iterator[Found | Other | Part]:
        head = b"" if relative in self._known or not status.st_size else head_of(self.path(relative))
        if head and is_image_by_content(head):
            yield Found(relative, status.st_size, status.st_mtime_ns, is_link)
            return
        yield Other(relative, status.st_size, status.st_mtime_ns)
        if head is None:
            yield Part("part-unreadable", text_of(relative, is_path=True), "can't be read, and its name says no picture", lost_bytes=status.st_size)
        elif relative not in self._known and suffix_of(relative).lower() not in self._beside:
            self._others.add(relative)

    def _hide(self, relative: bytes, *, is_folder: bool) -> Iterator[Part]:
        self._hidden.add(relative)
        if is_folder:
            return
        head = head_of(self.path(relative))
        if head and is_image_by_content(head) and self._hidden_images < _HIDDEN_NAMED:
            self._hidden_images += 1
            yield Part("part-hidden", text_of(relative, is_path=True), "a hidden file that holds a picture: left aside, as loaders do")


def is_folder(entry: os.DirEntry[bytes]) -> bool:
    """Whether it is a folder, or a link that leads to one; a link that leads in a circle is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _broken(relative: bytes, error: OSError) -> Part:
    key = text_of(relative, is_path=True)
    if isinstance(error, PermissionError):
        return Part("part-unreadable", key, "no permission to look at it", lost_bytes=None, lost_records=1)
    what = "a link that leads to nothing" if isinstance(error, FileNotFoundError) else f"a link that can't be followed: {error.strerror}"
    return Part("part-link-broken", key, what, lost_bytes=None, lost_records=1)
