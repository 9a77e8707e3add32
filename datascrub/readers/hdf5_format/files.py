"""Which files make up an HDF5 source: one file, a folder of them, or a text file that lists them (Caffe's source); told apart by content."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from datascrub.keys import raw_of, text_of
from datascrub.media.sniff import sniff
from datascrub.model import Part

SIGNATURE = b"\x89HDF\r\n\x1a\n"
_HEAD = 4096
_SUFFIXES = frozenset({".h5", ".hdf5", ".hdf", ".he5", ".h5py"})
_BESIDE = frozenset({".txt", ".md", ".rst", ".json", ".csv", ".tsv", ".xml", ".yaml", ".yml", ".log", ".html", ".toml", ".py", ".prototxt", ""})
_LOOKED_AT = 200  # files of a folder that recognition opens at most
_LIST_BYTES = 16 << 20  # a list of files is no longer than this
_UNDEFINED = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True)
class HDF5File:
    """A file of the source. key: its path from the source, its own name, or the line of the list that names it."""

    key: str
    path: Path
    size: int


@dataclass(frozen=True)
class Superblock:
    """What the first bytes of a file claim.

    base: where the file begins (behind a user block). end: bytes that it should have. driver: name of the driver of a set of several files, else "".
    """

    base: int
    end: int
    driver: str


def superblock(path: Path) -> Superblock | None:
    """The superblock, at byte 0, 512, 1024, 2048, …; None where there is no signature. end is 0 where the block itself is cut.

    Source: HDF5 File Format Specification 3.0, section II.A.
    """
    with path.open("rb") as file:
        size, at = os.fstat(file.fileno()).st_size, 0
        while at < max(size, 1):
            file.seek(at)
            head = file.read(128)
            if head.startswith(SIGNATURE):
                return _claims(head, at, file.read(_HEAD))
            at = at * 2 or 512
    return None


def _claims(head: bytes, at: int, more: bytes) -> Superblock:
    version = head[8] if len(head) > 8 else 0
    start, width_at = {0: (24, 13), 1: (28, 13)}.get(version, (12, 9))
    if len(head) < start + 32 or head[width_at] != 8:  # addresses of another width than 8 bytes are rare: nothing is claimed of them
        return Superblock(at, 0, "")
    _, _, end, driver_at = struct.unpack_from("<4Q", head, start)
    driver = ""
    if version >= 2:
        _, _, end, driver_at = *struct.unpack_from("<3Q", head, start), _UNDEFINED
    if driver_at != _UNDEFINED:
        driver = (head + more)[driver_at + 8 : driver_at + 16].decode("latin-1")
    return Superblock(at, end, driver)


def is_hdf5(path: Path) -> bool:
    """Whether the file bears the signature. Never raises for what stands there."""
    try:
        return path.is_file() and superblock(path) is not None
    except OSError:
        return False


def is_source(source: Path) -> bool:
    """Whether the source is HDF5: such a file, a folder most of whose data files are, or a list that names one."""
    try:
        if source.is_file():
            return is_hdf5(source) or any(is_hdf5(path) for path in _listed(source, 20))
        return source.is_dir() and _is_folder(source)
    except OSError:
        return False


def _is_folder(folder: Path) -> bool:
    ours = others = 0
    for looked, path in enumerate(_walk(folder, frozenset())):
        if looked >= _LOOKED_AT:
            break
        if is_hdf5(path):
            ours += 1
        elif path.suffix.lower() not in _BESIDE | _SUFFIXES and not _is_hidden(path.name):
            others += 1
    return ours > others


def _listed(source: Path, most: int | None = None) -> list[Path]:
    return [_place(source, line) for line in lines_of(source)[:most]]


def lines_of(source: Path) -> list[str]:
    """The names in a list of files, one a line; empty where the file is no such text."""
    if source.stat().st_size > _LIST_BYTES:
        return []
    with source.open("rb") as file:
        if b"\0" in file.read(_HEAD):
            return []
    try:
        return [line.strip() for line in source.read_text("utf-8").splitlines() if line.strip()]
    except UnicodeDecodeError:
        return []


def _place(source: Path, line: str) -> Path:
    """The file that a line of the list names: beside the list, else where the command runs."""
    if len(os.fsencode(line)) > 4096:  # PATH_MAX
        return source.parent / "-"
    beside = source.parent / line
    try:
        return beside if beside.exists() or not Path(line).exists() else Path(line)
    except OSError:
        return beside


def is_list(source: Path) -> bool:
    return source.is_file() and superblock(source) is None


def base_of(source: Path) -> Path:
    """The folder that keys and links are relative to."""
    return source if source.is_dir() else source.parent


def path_of(source: Path, key: str) -> Path:
    """The file of a key."""
    name = os.fsdecode(raw_of(key))
    return _place(source, name) if is_list(source) else base_of(source) / name


def files(source: Path) -> Iterator[HDF5File | Part]:
    """The files of the source in order, and what stands among them that is none."""
    if is_list(source):
        yield from _files_of_list(source)
    elif source.is_dir():
        yield from _files_of_folder(source)
    else:
        yield HDF5File(_key(source.parent, source), source, source.stat().st_size)


def _files_of_list(source: Path) -> Iterator[HDF5File | Part]:
    seen: set[str] = set()
    for line in lines_of(source):
        key, path = text_of(line.encode(), is_path=True), _place(source, line)
        if key in seen:
            yield Part("part-duplicate-key", key, "listed more than once; it is read once", file=key)
            continue
        seen.add(key)
        try:
            yield _judged(key, path, frozenset())
        except FileNotFoundError:
            yield Part(
                "part-link-broken", key, "listed, and there is no such file: its data are missing", file=key, lost_bytes=None, lost_records=None
            )
        except OSError as error:
            yield unreadable(key, error)


def _files_of_folder(folder: Path) -> Iterator[HDF5File | Part]:
    hidden, beside = [], []
    paths = [(_key(folder, path), path) for path in _walk(folder, frozenset())]
    sets = frozenset(_stem(path) for _, path in paths if _is_first_of_set(path))
    for key, path in paths:
        if any(_is_hidden(name) for name in key.split("/")):
            hidden.append(key)
            continue
        try:
            found = _judged(key, path, sets)
        except OSError as error:
            if path.is_symlink() and not path.exists():
                yield Part("part-link-broken", key, "a link to what is not there", file=key, lost_bytes=None, lost_records=None)
            else:
                yield unreadable(key, error)
            continue
        if isinstance(found, Part) and found.code == "part-not-recognised" and path.suffix.lower() not in _SUFFIXES:
            beside.append(key)
        else:
            yield found
    for code, keys, says in (
        ("part-hidden", hidden, "hidden files are left aside"),
        ("part-not-a-sample", beside, "files that are no HDF5 are left aside"),
    ):
        if keys:
            yield Part(code, keys[0], f"{len(keys):,} {says}", {"count": len(keys), "names": keys[:5]}, file=keys[0])


def _judged(key: str, path: Path, sets: frozenset[str]) -> HDF5File | Part:
    size = path.stat().st_size
    if path.is_dir():
        return Part("part-not-recognised", key, "a folder, not an HDF5 file", file=key)
    if size == 0:
        return Part("part-empty", key, "an empty file: 0 bytes, no HDF5 signature", file=key)
    block = superblock(path)
    if block is None and _stem(path) in sets:
        return Part("part-unsupported", key, "a member of a multi-file HDF5 set, which can't be read here", file=key, lost_records=None)
    if block is None:
        with path.open("rb") as file:
            content = sniff(file.read(_HEAD))
        says = f"not an HDF5 file: it holds {content.name} ({size:,} bytes)"
        return Part("part-not-recognised", key, says, {"size_bytes": size}, file=key, lost_records=None)
    return HDF5File(key, path, size)


def is_member_of_set(path: Path) -> bool:
    """Whether the file is the first of several that make up one HDF5 file (family, multi and split drivers)."""
    block = superblock(path)
    if block is None:
        return False
    return block.driver.startswith("NCSA") or (path.stat().st_size < block.end and _goes_on(path))


def _goes_on(path: Path) -> bool:
    """Whether the file of the next number is there and begins in the middle: older family files bear no name of their driver."""
    digits = re.search(r"\d+$", path.stem)
    if digits is None:
        return False
    following = path.with_stem(path.stem[: digits.start()] + str(int(digits[0]) + 1).zfill(len(digits[0])))
    return following.is_file() and following.stat().st_size > 0 and superblock(following) is None


def _is_first_of_set(path: Path) -> bool:
    try:
        return path.is_file() and is_member_of_set(path)
    except OSError:
        return False


def _stem(path: Path) -> str:
    """What the names of the members of one set share: family_00002.h5 and family_00000.h5, multi-r.h5 and multi-s.h5."""
    return str(path.parent / re.sub(r"(\d+|-\w)$", "", path.stem))


def unreadable(key: str, error: OSError) -> Part:
    return Part("part-unreadable", key, f"can't be read: {error.strerror or 'input/output error'}", file=key, lost_bytes=None, lost_records=None)


def _key(base: Path, path: Path) -> str:
    return text_of(os.fsencode(path.relative_to(base).as_posix()), is_path=True)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name in ("__MACOSX", "Thumbs.db", "desktop.ini", "@eaDir")


def _walk(folder: Path, above: frozenset[str]) -> Iterator[Path]:
    """Every file below, in order of names; links in a circle and folders that can't be listed are passed over."""
    real = os.path.realpath(folder)
    if real in above:
        return
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: os.fsencode(entry.name))
    except OSError:
        return
    for entry in found:
        try:
            is_folder = entry.is_dir()
        except OSError:
            is_folder = False
        if is_folder:
            yield from _walk(Path(entry.path), above | {real})
        else:
            yield Path(entry.path)
