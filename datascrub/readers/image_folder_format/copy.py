"""The cleaned copy of an image folder: all files but those of dropped samples, and lists and metadata without their lines."""

# Paths are bytes here, for foreign names need not decode, and pathlib takes no bytes.
# ruff: noqa: PTH100, PTH101, PTH103, PTH112, PTH113, PTH116, PTH118, PTH119, PTH120, PTH122, PTH202

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import xxhash

from datascrub.errors import CopyError
from datascrub.keys import printable, raw_of, text_of
from datascrub.plan import Plan
from datascrub.readers.base import CopyOptions, CopyReport
from datascrub.readers.image_folder_format.annotations import Annotations
from datascrub.readers.image_folder_format.entries import Entry, Listing
from datascrub.readers.image_folder_format.files import digest_into
from datascrub.readers.image_folder_format.list import ListFile, is_list, locate, parse, root_of
from datascrub.readers.image_folder_format.metadata import file_of, parse_rows
from datascrub.readers.image_folder_format.walk import DEEPEST, is_entered, is_inside, is_run_folder
from datascrub.readers.placing import Placer, remove_half

_TEXT_BYTES = 64 << 20
"""text files up to this size are searched for names of dropped pictures"""

_STEP = 256
_STALE_NAMED = 50
_UNREADABLE = (errno.EACCES, errno.EPERM, errno.EIO, errno.ENOENT)


class _Kept:
    """Which samples stay, and the digest of their bytes in order."""

    def __init__(
        self, listing: Listing, plan: Plan, source: bytes, drop: frozenset[str], options: CopyOptions, progress: Callable[[int], None]
    ) -> None:
        self.gone: set[bytes] = set()
        self.kept, self.dropped, self.unreadable = 0, 0, 0
        whole = xxhash.xxh3_128()
        done = 0
        for entry in listing.every(plan):
            own = None if entry.key in drop else _digest(entry, source)
            if entry.key not in drop and own is None:
                self._refuse(entry, options)
            if own is None:
                self.dropped += 1
                self.gone.update({entry.name, *([entry.mask] if entry.mask else [])})
            else:
                whole.update(own)
                self.kept += 1
            done += 1
            if done % _STEP == 0:
                progress(_STEP)
        progress(done % _STEP)
        self.digest = whole.hexdigest()

    def _refuse(self, entry: Entry, options: CopyOptions) -> None:
        if not options.drop_unreadable:
            raise CopyError(f"{printable(entry.key)} can't be read", fix="give permission, or leave such samples out with --drop-unreadable")
        self.unreadable += 1


def _digest(entry: Entry, source: bytes) -> bytes | None:
    digest = xxhash.xxh3_128()
    places = [entry.path] if entry.mask is None else [entry.path, os.path.join(source, entry.mask)]
    return digest.digest() if all(digest_into(digest, place) for place in places) else None


def copy_tree(
    listing: Listing, plan: Plan, source: Path, destination: Path, drop: frozenset[str], options: CopyOptions, progress: Callable[[int], None]
) -> CopyReport:
    """Copy a folder. Class folders that lose all their pictures stay; links become what they lead to; times and permissions are kept."""
    root = os.fsencode(source)
    kept = _Kept(listing, plan, root, drop, options, progress)
    strays = set(listing.strays(plan))
    annotations = [Annotations.of_plan(root, told) for told in plan.settings["annotations"]]
    # Of a picture that is gone they would be orphans.
    kept.gone.update([file for picture in kept.gone for each in annotations if (file := each.of(picture)) is not None])
    copier = _TreeCopy(plan, root, os.fsencode(destination), kept.gone | strays, options)
    copier.run()
    notes = [*copier.notes()]
    if kept.unreadable:
        notes.append(f"{kept.unreadable:,} samples that can't be read are left out")
    if strays:
        notes.append(f"{len(strays):,} masks without a picture are left out")
    if options.only_changed:
        return CopyReport(0, kept.dropped, xxhash.xxh3_128().hexdigest(), tuple(copier.written), _few(copier.stale), tuple(notes))
    return CopyReport(kept.kept, kept.dropped, kept.digest, tuple(copier.written), _few(copier.stale), tuple(notes))


def _few(stale: list[str]) -> tuple[str, ...]:
    rest = len(stale) - _STALE_NAMED
    return (*stale[:_STALE_NAMED], *([f"and {rest:,} more"] if rest > 0 else []))


class _TreeCopy:
    """One pass over everything in the source that is not a run of this program."""

    def __init__(self, plan: Plan, source: bytes, destination: bytes, gone: set[bytes], options: CopyOptions) -> None:
        self._source, self._destination, self._gone, self._options = source, destination, gone, options
        self._tables = {raw_of(path) for path in plan.settings["metadata"]}
        self._leave = [raw_of(path) for path in plan.settings["leave"]]
        self._placer = Placer(options.link)
        self._real = os.path.realpath(source)
        self._entered: set[tuple[int, int]] = set()
        self._links, self._left_out = 0, 0
        self._stems = {os.path.splitext(path)[0] for path in gone}
        self.written: list[str] = []
        self.stale: list[str] = []

    def run(self) -> None:
        self._folder(b"")

    def notes(self) -> Iterator[str]:
        yield from self._placer.notes()
        if self._links:
            yield f"{self._links:,} links to files became copies of what they lead to"
        if self._left_out:
            yield f"{self._left_out:,} pipes, sockets, devices, links to folders and broken links are not in the copy"
        if self._options.only_changed and self._gone:
            named = ", ".join(sorted(printable(text_of(path, is_path=True)) for path in self._gone)[:100])
            yield f"left out, {len(self._gone):,} files: {named}"

    def _folder(self, relative: bytes) -> None:
        here = os.path.join(self._source, relative) if relative else self._source
        there = os.path.join(self._destination, relative) if relative else self._destination
        status = os.stat(here)
        self._entered.add((status.st_dev, status.st_ino))
        if not self._options.only_changed or not relative:
            os.makedirs(there, exist_ok=True)
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError as error:
            if not self._options.drop_unreadable:
                raise CopyError(
                    f"{printable(text_of(relative, is_path=True))} can't be listed: {error.strerror}",
                    fix="give permission, or pass --drop-unreadable",
                ) from error
            self.stale.append(f"{printable(text_of(relative, is_path=True))}: can't be listed, so it is empty in the copy")
            entries = []
        for entry in entries:
            self._entry(relative + b"/" + entry.name if relative else entry.name, entry)
        if os.path.isdir(there):
            # Owner's rights are added: a copy without them could be neither finished nor removed.
            os.chmod(there, (status.st_mode & 0o7777) | 0o700)
            os.utime(there, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _entry(self, relative: bytes, entry: os.DirEntry[bytes]) -> None:
        path = os.path.join(self._source, relative)
        if os.path.isdir(path):
            if entry.is_symlink() and is_entered(path, self._real, self._entered):
                self._left_out += 1
            elif relative.count(b"/") >= DEEPEST:
                self.stale.append(f"{printable(text_of(relative, is_path=True))}: too deep, so it is not in the copy")
            elif not is_run_folder(path):
                self._folder(relative)
        elif relative in self._gone:
            return
        elif not os.path.isfile(path):
            self._left_out += 1
        else:
            self._links += entry.is_symlink()
            self._file(relative, path)

    def _file(self, relative: bytes, path: bytes) -> None:
        there = os.path.join(self._destination, relative)
        lines = self._corrected(relative, path) if self._gone or relative in self._tables else None
        key = text_of(relative, is_path=True)
        if lines is not None:
            os.makedirs(os.path.dirname(there), exist_ok=True)
            self._placer.write(lines, path, there)
            self.written.append(key)
        elif not self._options.only_changed:
            try:
                self._placer.place(path, there)
            except OSError as error:
                if error.errno not in _UNREADABLE:
                    raise CopyError(f"{printable(key)} can't be written: {error.strerror}", fix="make room, or choose another place") from error
                remove_half(there)
                self.stale.append(f"{printable(key)}: can't be read, so it is not in the copy")

    def _corrected(self, relative: bytes, path: bytes) -> list[bytes] | None:
        """The lines of a list or metadata file that stay; None where the file does not change."""
        if relative in self._tables:
            rows = list(parse_rows(path))
            kept = [raw for raw, values in rows if self._is_there(file_of(relative, values))]
            return kept if len(kept) < len(rows) else None
        if os.path.splitext(relative)[0] in self._stems and any(is_inside(relative, folder) for folder in self._leave):
            self.stale.append(f"{printable(text_of(relative, is_path=True))}: belongs to a picture that was left out")
            return None
        if os.path.splitext(relative)[1].lower() not in _TEXTS or os.path.getsize(path) > _TEXT_BYTES or not os.access(path, os.R_OK):
            return None
        if is_list(path):
            return self._corrected_list(relative, path)
        self._search(relative, path)
        return None

    def _is_there(self, file: bytes | None) -> bool:
        return file is None or (file not in self._gone and os.path.lexists(os.path.join(self._source, file)))

    def _corrected_list(self, relative: bytes, path: bytes) -> list[bytes] | None:
        with Path(os.fsdecode(path)).open("rb") as file:
            raw = list(file)
        lines = [parse(number, each) for number, each in enumerate(raw)]
        root = root_of(os.path.dirname(path), [line.path for line in lines[:200] if line is not None])
        if root is None:
            self._search(relative, path)
            return None
        inside = os.path.abspath(self._source)
        kept = [
            each for each, line in zip(raw, lines, strict=True) if line is None or os.path.relpath(locate(root, line.path), inside) not in self._gone
        ]
        return kept if len(kept) < len(raw) else None

    def _search(self, relative: bytes, path: bytes) -> None:
        """Name a text beside the pictures that speaks of one that was left out."""
        held = set(re.split(rb"[\s\"'`,;:<>|=()\[\]{}]+", Path(os.fsdecode(path)).read_bytes()))
        named = held & (self._gone | {os.path.basename(each) for each in self._gone})
        if named:
            first = printable(text_of(min(named), is_path=True))
            self.stale.append(f"{printable(text_of(relative, is_path=True))}: names pictures that were left out, as {first}")


_TEXTS = frozenset((b"", b".txt", b".lst", b".list", b".csv", b".tsv", b".json", b".jsonl", b".xml", b".yaml", b".yml", b".md", b".toml"))


def copy_list(
    listing: ListFile, plan: Plan, destination: Path, drop: frozenset[str], options: CopyOptions, progress: Callable[[int], None]
) -> CopyReport:
    """Write the list without the lines of dropped samples; pictures stay where they are.

    Lines are kept byte for byte where the copy finds the pictures from its own place as the source does, else paths become absolute.
    """
    kept = _Kept(listing, plan, b"", drop, options, progress)
    gone = drop | {text_of(name, is_path=True) for name in kept.gone} if kept.unreadable else drop
    lines = list(listing.kept_lines(plan, frozenset(gone)))
    parsed = [parse(number, raw) for number, raw in enumerate(lines)]
    root = raw_of(plan.settings["root"])
    notes = ["the copy is a list; the pictures stay where they are"]
    if root_of(os.fsencode(destination.absolute().parent), [line.path for line in parsed[:200] if line is not None]) != root:
        lines = [raw if line is None else raw.replace(line.path, locate(root, line.path), 1) for raw, line in zip(lines, parsed, strict=True)]
        notes.append("paths became absolute: from the place of the copy, the pictures can't be found by the relative ones")
    Placer(options.link).write(lines, os.fsencode(plan.source), os.fsencode(destination))
    return CopyReport(kept.kept, kept.dropped, kept.digest, (destination.name,), (), tuple(notes))
