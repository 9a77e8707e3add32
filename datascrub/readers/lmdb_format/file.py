"""The file of an LMDB as it lies on disk: its two meta pages, and the pages of its trees, read without the engine.

The engine maps the file and trusts it: reading past its end or over a zeroed page kills the process. What is looked at here is read with pread, so
that damage is found before the engine meets it. Layout of pages: LMDB's own mdb.c, data format 1 (LMDB 0.9) and 3 (LMDB 1.0), 64-bit, this machine's
byte order.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from datascrub.errors import SourceError

_MAGIC = struct.pack("=I", 0xBEEFC0DE)
_ANY_MAGIC = (_MAGIC, _MAGIC[::-1])
_HEADERS = {1: 16, 3: 24}
"""data format -> bytes of a page header"""
_NO_PAGE = (1 << 64) - 1
_BRANCH, _LEAF, _LEAF2 = 0x01, 0x02, 0x20
_TYPES = 0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40
_BIG, _SUBTREE = 0x01, 0x02
"""flags of a node: its value stands on pages of its own; it is the root of a tree"""
_FARTHEST = (1 << 63) - 1
"""the last byte that a file can have"""
_DEEPEST = 32
_WRITE_AGAIN = "write the data set again, or copy it again from where it came"


@dataclass(frozen=True)
class Tree:
    """Where a database begins: page number of its root (None where it is empty), levels, entries, flags."""

    root: int | None
    depth: int
    entries: int
    flags: int

    @classmethod
    def of(cls, record: bytes) -> Tree:
        """From the 48 bytes that LMDB stores of a database."""
        _, flags, depth, _, _, _, entries, root = struct.unpack("=IHHQQQQQ", record)
        return cls(None if root == _NO_PAGE else root, depth, entries, flags)


@dataclass(frozen=True)
class Outline:
    """What the committed meta page says. version: data format, 1 or 3."""

    version: int
    page_bytes: int
    last_page: int
    transaction: int
    main: Tree

    @property
    def header_bytes(self) -> int:
        return _HEADERS[self.version]


@dataclass(frozen=True)
class Leaf:
    """A leaf page, or a whole branch that can't be read: the interval of keys that its parents say it holds (high excluded, None the end)."""

    low: bytes
    high: bytes | None
    page: int
    keys: int
    is_sound: bool


def data_file(source: Path) -> Path:
    """The file that holds the data: data.mdb of a directory, or the source itself."""
    return source / "data.mdb" if source.is_dir() else source


def is_lmdb(source: Path) -> bool:
    """Whether a file begins as an LMDB does, of whatever word size and byte order, or its second meta page does.

    data.mdb in a directory that is empty or may not be read has no content to tell by, and goes by its name.
    """
    path = data_file(source)
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(8192)
    except PermissionError:
        return path != source
    except OSError:
        return False
    if not head:
        return path != source
    return any(head[at : at + 4] in _ANY_MAGIC for page in (0, 4096) for at in (page + 12, page + 16, page + 24))


def outline_of(path: Path) -> Outline:
    """Both meta pages, checked as the engine does, and the size of the file against them. Raises SourceError."""
    size = path.stat().st_size
    if size == 0:
        raise SourceError(f"{path} is empty", fix=_WRITE_AGAIN)
    with path.open("rb") as file:
        head = file.read(256)
        version = next((version for version, at in _HEADERS.items() if head[at : at + 4] == _MAGIC), None)
        if version is None:
            foreign = any(head[at : at + 4] in _ANY_MAGIC for at in (12, 16, 24))
            why = "was written by a 32-bit machine or one of another byte order" if foreign else "has a damaged first page"
            raise SourceError(f"{path} {why}", fix="copy it with mdb_dump there and mdb_load here" if foreign else _WRITE_AGAIN)
        first = _meta(head, version, path)
        file.seek(first.page_bytes)
        second = _meta(file.read(256), version, path, page_bytes=first.page_bytes)
    newest = second if first.transaction < second.transaction else first
    needed = (newest.last_page + 1) * newest.page_bytes
    if needed > size and _reaches_past(path, newest, size):
        says = f"{path} is truncated: its meta page says {needed:,} bytes, it has {size:,}"
        raise SourceError(says, fix=_WRITE_AGAIN + "; reading it would kill the process")
    return newest


def _meta(page: bytes, version: int, path: Path, page_bytes: int | None = None) -> Outline:
    header = _HEADERS[version]
    if len(page) < header + 136:
        raise SourceError(f"{path} is truncated: it ends inside a meta page", fix=_WRITE_AGAIN)
    magic, found = page[header : header + 4], struct.unpack_from("=I", page, header + 4)[0]
    if magic != _MAGIC or found != version:
        raise SourceError(f"{path} has a damaged meta page", fix=_WRITE_AGAIN)
    free_at = header + 24
    size = struct.unpack_from("=I", page, free_at)[0]
    if size & (size - 1) or not 256 <= size <= 1 << 16 or (page_bytes is not None and size != page_bytes):
        raise SourceError(f"{path} has a damaged meta page: it claims pages of {size:,} bytes", fix=_WRITE_AGAIN)
    last_page, transaction = struct.unpack_from("=QQ", page, free_at + 96)
    return Outline(version, size, last_page, transaction, Tree.of(page[free_at + 48 : free_at + 96]))


class Pages:
    """The pages of one file, read safely."""

    def __init__(self, path: Path, outline: Outline) -> None:
        self._outline = outline
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))

    def close(self) -> None:
        os.close(self._file)

    def leaves(self, tree: Tree) -> Iterator[Leaf]:
        """The leaf pages of a tree in key order, their headers checked; a damaged branch stands for all that hangs on it."""
        if tree.root is None:
            return
        waiting: list[tuple[int, int, bytes, bytes | None]] = [(tree.root, 1, b"", None)]
        while waiting:
            page, level, low, high = waiting.pop()
            if level >= tree.depth:
                yield self._leaf(page, low, high)
                continue
            children = self._children(page) if level < _DEEPEST else None
            if children is None:
                yield Leaf(low, high, page, 0, False)
                continue
            lows = [low, *(key for key, _ in children[1:])]
            for at in range(len(children) - 1, -1, -1):
                waiting.append((children[at][1], level + 1, lows[at], lows[at + 1] if at + 1 < len(lows) else high))

    def overflows(self, page: int) -> Iterator[int]:
        """The last page of each value of a leaf that stands on pages of its own."""
        for _, flags, value_bytes, value in self._entries(page):
            if flags & _BIG and len(value) >= 8:  # the first page's number stands in the place of the value
                yield struct.unpack_from("=Q", value)[0] + (self._outline.header_bytes + value_bytes - 1) // self._outline.page_bytes

    def trees(self, page: int) -> dict[bytes, Tree]:
        """The trees that hang on a leaf, by the key they hang on: named databases, and the values of keys that have too many for a page."""
        return {key: Tree.of(value[:48]) for key, flags, _, value in self._entries(page) if flags & _SUBTREE and len(value) >= 48}

    def keys(self, page: int) -> list[bytes]:
        """The keys of a leaf, as far as they can be read."""
        return [key for key, _, _, _ in self._entries(page)]

    def _entries(self, page: int) -> Iterator[tuple[bytes, int, int, bytes]]:
        """(key, flags, bytes of the value, the value or what stands in its place) of each node of a leaf."""
        whole = self._read(page, self._outline.page_bytes)
        for at in self._nodes(whole) or ():
            low, high, flags, key_bytes = struct.unpack_from("=HHHH", whole, at)
            value_at, value_bytes = at + 8 + key_bytes, low | high << 16
            if value_at <= len(whole):
                yield whole[at + 8 : value_at], flags, value_bytes, whole[value_at : value_at + (8 if flags & _BIG else value_bytes)]

    def _read(self, page: int, count: int) -> bytes:
        # A page number from damaged bytes may be past what pread takes, and so may the last page.
        at = page * self._outline.page_bytes
        return os.pread(self._file, count, at) if page <= self._outline.last_page and at <= _FARTHEST else b""

    def _header(self, page: int, head: bytes) -> tuple[int, int] | None:
        """(type, number of keys) of a page of a tree; None where its header is damaged."""
        header = self._outline.header_bytes
        if len(head) < header or struct.unpack_from("=Q", head)[0] != page:
            return None
        flags, lower, upper = struct.unpack_from("=HHH", head, header - 6)
        base = 0 if self._outline.version == 1 else header
        floor = header - base
        if not floor < lower <= upper <= self._outline.page_bytes - base:
            return None
        return flags & _TYPES, (lower - floor) // 2

    def _leaf(self, page: int, low: bytes, high: bytes | None) -> Leaf:
        found = self._header(page, self._read(page, self._outline.header_bytes))
        if found is None or found[0] not in (_LEAF, _LEAF | _LEAF2):
            return Leaf(low, high, page, 0, False)
        return Leaf(low, high, page, found[1], True)

    def _nodes(self, whole: bytes) -> list[int] | None:
        """Where the nodes of a page stand in it; None where a pointer leads out of it."""
        header = self._outline.header_bytes
        if len(whole) < self._outline.page_bytes:
            return None
        base = 0 if self._outline.version == 1 else header
        lower = struct.unpack_from("=H", whole, header - 4)[0]
        count = (lower + base - header) // 2
        places = [at + base for at in struct.unpack_from(f"={count}H", whole, header)]
        return places if all(header <= at <= len(whole) - 8 for at in places) else None

    def _children(self, page: int) -> list[tuple[bytes, int]] | None:
        """(separator, page number) of each child of a branch page; None where it is damaged."""
        whole = self._read(page, self._outline.page_bytes)
        found = self._header(page, whole)
        places = self._nodes(whole) if found is not None and found[0] == _BRANCH else None
        if not places:
            return None
        children = []
        for at in places:
            low, high, flags, key_bytes = struct.unpack_from("=HHHH", whole, at)
            if at + 8 + key_bytes > len(whole):
                return None
            children.append((whole[at + 8 : at + 8 + key_bytes], low | high << 16 | flags << 32))
        return children


def _reaches_past(path: Path, outline: Outline, size: int) -> bool:
    """Whether a page in use lies past the end of the file. Free pages at the end may never have been written; that is no damage."""
    pages = Pages(path, outline)
    try:
        return _tree_reaches(pages, outline.main, size // outline.page_bytes, 0)
    finally:
        pages.close()


def _tree_reaches(pages: Pages, tree: Tree, held: int, level: int) -> bool:
    for leaf in pages.leaves(tree):
        if not leaf.is_sound or leaf.page >= held or any(last >= held for last in pages.overflows(leaf.page)):
            return True
        # Named databases and the many values of one key hang on leaves; deeper nesting than those two there is none.
        if level < 2 and any(_tree_reaches(pages, each, held, level + 1) for each in pages.trees(leaf.page).values()):
            return True
    return False
