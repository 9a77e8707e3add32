"""A cleaned copy of HDF5 files: whole where nothing of a file goes, else its datasets along the samples' axis without the rows that go."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from datascrub.errors import CopyError
from datascrub.keys import numbered, raw_of
from datascrub.model import Limits, Part
from datascrub.plan import Plan
from datascrub.readers.base import CopyOptions, CopyReport
from datascrub.readers.hdf5_format.digest import blocks, digests_of
from datascrub.readers.hdf5_format.files import HDF5File, files, is_list
from datascrub.readers.hdf5_format.open import FAILURES
from datascrub.readers.hdf5_format.table import Table, open_table
from datascrub.readers.hdf5_format.write import write_rows
from datascrub.readers.placing import Placer


@dataclass
class Account:
    """What the copy holds so far. lost: rows that nobody dropped and that can't be read."""

    kept: int = 0
    dropped: int = 0
    lost: int = 0
    unchanged: int = 0
    digest: Any = field(default_factory=xxhash.xxh3_128)
    written: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def report(self, what: str = "rows") -> CopyReport:
        notes = [*self.notes, *([f"{self.lost} {what} that can't be read are not in the copy"] if self.lost else [])]
        return CopyReport(self.kept, self.dropped, self.digest.hexdigest(), tuple(self.written), tuple(self.stale), tuple(notes))


def copy_files(
    source: Path, destination: Path, plan: Plan, drop: frozenset[str], options: CopyOptions, limits: Limits, progress: Callable[[int], None]
) -> CopyReport:
    """Write the copy. Raises CopyError where a file can't be read or written."""
    account, placer, is_one = Account(), Placer(options.link), source.is_file() and not is_list(source)
    try:
        for name, each in named(source, account, options):
            target = destination if is_one else destination / name
            target.parent.mkdir(parents=True, exist_ok=True)
            table = open_table(each, plan.fields, limits, source)
            if isinstance(table, Part):
                _leave_out(table, account, options)
                continue
            try:
                _copy_file(table, target, drop, options, placer, account, progress)
            finally:
                table.close()
        if not is_one:
            destination.mkdir(parents=True, exist_ok=True)
            copy_beside(source, destination, account, options, placer)
    except OSError as error:
        raise CopyError(
            f"the copy could not be made: {error.strerror or error}", fix="check room and permissions, and run the command again"
        ) from error
    account.notes += placer.notes()
    if options.only_changed and account.unchanged:
        account.notes.append(f"{account.unchanged} unchanged files are not in the copy")
    return account.report()


def named(source: Path, account: Account, options: CopyOptions) -> Iterator[tuple[str, HDF5File]]:
    """(name in the copy, file), in the order in which the copy will be read back."""
    found: list[tuple[str, HDF5File]] = []
    taken: set[str] = set()
    for each in files(source):
        if isinstance(each, Part):
            _leave_out(each, account, options)
            continue
        name = os.fsdecode(raw_of(each.key))
        if Path(name).is_absolute() or ".." in Path(name).parts:
            name = Path(name).name
        while name in taken:
            name = f"{Path(name).stem}_{Path(name).suffix}"
        taken.add(name)
        found.append((name, each))
    if is_list(source):
        found.sort(key=lambda pair: [os.fsencode(part) for part in Path(pair[0]).parts])
    yield from found


def _leave_out(part: Part, account: Account, options: CopyOptions) -> None:
    if part.code == "part-unreadable" and not options.drop_unreadable:
        raise CopyError(f"{part.key} {part.says}", fix="make it readable, or leave it out with --drop-unreadable")
    if part.code not in ("part-hidden", "part-not-a-sample", "part-duplicate-key"):
        account.notes.append(f"{part.key} is not in the copy: {part.says}")


def _copy_file(
    table: Table, target: Path, drop: frozenset[str], options: CopyOptions, placer: Placer, account: Account, progress: Callable[[int], None]
) -> None:
    key = table.file.key
    keep = np.fromiter((numbered(key, row) not in drop for row in range(table.length)), bool, table.length)
    wanted = int(keep.sum())
    digests: list[bytes] = []
    for start, stop in blocks(table):
        readable = np.zeros(stop - start, bool)
        for row, digest in digests_of(table, start, stop):
            readable[row - start] = True
            if keep[row]:
                digests.append(digest)
        keep[start:stop] &= readable
        progress(int(keep[start:stop].sum()))
    kept = int(keep.sum())
    is_whole = kept == table.length and table.opened.cut is None
    account.dropped += table.length - kept
    account.lost += wanted - kept
    account.unchanged += is_whole
    if is_whole and options.only_changed:
        return
    if is_whole:
        placer.place(table.file.path, target)
    else:
        try:
            write_rows(table, target, keep, account.notes, account.stale, lambda: progress(0))
        except FAILURES as error:
            raise CopyError(f"{key} could not be written without its dropped rows: {error}", fix="leave the file out of the source") from error
    account.kept += kept
    for digest in digests:
        account.digest.update(digest)
    account.written.append(target.name if target.parent == target else key)


def copy_beside(source: Path, destination: Path, account: Account, options: CopyOptions, placer: Placer) -> None:
    """The files of the folder that are no HDF5, and a list that names the copies."""
    if is_list(source):
        names = [path.relative_to(destination).as_posix() for path in sorted(destination.rglob("*")) if path.is_file()]
        (destination / source.name).write_text("".join(f"{name}\n" for name in names), "utf-8")
        account.written.append(source.name)
        return
    if options.only_changed:
        return
    for each in files(source):
        if not isinstance(each, Part) or each.code != "part-not-a-sample":
            continue
        for name in _beside(source):
            if not (destination / name).exists():
                (destination / name).parent.mkdir(parents=True, exist_ok=True)
                placer.place(source / name, destination / name)
                account.written.append(name)


def _beside(folder: Path) -> Iterator[str]:
    """Visible files of the folder that are not of the set."""
    held = {each.key for each in files(folder) if isinstance(each, HDF5File) or each.code not in ("part-not-a-sample", "part-hidden")}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in held and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield name
