"""What a LevelDB's folder holds: the tables that are alive, the entries of its logs, and what of it is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from datascrub.errors import SourceError
from datascrub.keys import printable, text_of
from datascrub.model import Part
from datascrub.readers.leveldb_format import manifest
from datascrub.readers.leveldb_format.log import Entry, Gap, changes, walk
from datascrub.readers.leveldb_format.manifest import TableFile, Version
from datascrub.readers.leveldb_format.numbers import NEWEST, FormatError, internal_key
from datascrub.readers.leveldb_format.tables import Table

TABLE_NAME = re.compile(r"(\d+)\.(ldb|sst)")
_LOG_NAME = re.compile(r"(\d+)\.log")
MANIFEST_NAME = re.compile(r"MANIFEST-(\d+)")


@dataclass(frozen=True)
class Loss:
    """An interval of keys, both ends in it, of which entries of a table are lost."""

    first: bytes
    last: bytes
    table: TableFile

    def holds(self, key: bytes) -> bool:
        return self.first <= key <= self.last


@dataclass
class State:
    """tables, paths: by number, those whose index can be read. is_certain: whether the MANIFEST tells which tables are newer than others."""

    tables: dict[int, TableFile] = field(default_factory=dict)
    paths: dict[int, Path] = field(default_factory=dict)
    losses: list[Loss] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    batches: list[bytes] = field(default_factory=list)
    is_certain: bool = True


def named(key: bytes) -> str:
    """A key in a sentence."""
    return printable(text_of(key)) if key else "''"


def interval(first: bytes, last: bytes) -> str:
    """An interval of keys as the key of a part."""
    return f"{text_of(first) if first else ''}..{text_of(last)}"


def look(source: Path) -> State:
    """The state of a folder. Raises SourceError where it can't be listed or was sorted by another comparator."""
    try:
        names = {path.name: path for path in source.iterdir()}
    except OSError as error:
        raise SourceError(f"{source} can't be read: {error.strerror}", fix="check the folder's permissions") from error
    state = State()
    version = _version(names, state)
    if version is not None and version.comparator != manifest.BYTEWISE:
        name = printable(version.comparator.decode("utf-8", "backslashreplace"))
        raise SourceError(f"{source} is sorted by the comparator {name}, which only its own program knows", fix="read it there and write an LMDB")
    _tables(names, version, state)
    _logs(names, version, state)
    return state


def _version(names: dict[str, Path], state: State) -> Version | None:
    """What the MANIFEST says; None where it can't be had, and then every table of the folder is taken."""
    name = _manifest_name(names, state)
    says = ""
    if name is None:
        state.parts.append(_salvage("part-record-missing", "MANIFEST", "the MANIFEST is missing"))
        return None
    try:
        return manifest.read(names[name].read_bytes())
    except FormatError as error:
        code, says = "part-damaged", f"the MANIFEST is damaged: {error}"
    except OSError as error:
        code, says = "part-unreadable", f"the MANIFEST can't be read: {error.strerror}"
    state.parts.append(_salvage(code, name, says))
    return None


def _salvage(code: str, key: str, says: str) -> Part:
    return Part(code, key, f"{says}; every table in the folder is read, and records that were replaced or deleted may be among them", file=key)


def _manifest_name(names: dict[str, Path], state: State) -> str | None:
    """The name of the MANIFEST: the one that CURRENT names, else the only one there."""
    there = sorted(name for name in names if MANIFEST_NAME.fullmatch(name))
    named, says = "", "CURRENT is missing"
    if "CURRENT" in names:
        try:
            text = names["CURRENT"].read_bytes()[:100].decode("utf-8", "replace")
            named, newline, _ = text.partition("\n")
            says = f"CURRENT names {printable(named)!r}, which is missing" if newline else "CURRENT is cut off"
            named = named if newline else ""
        except OSError as error:
            says = f"CURRENT can't be read: {error.strerror}"
    if named in there:
        return named
    taken = there[0] if len(there) == 1 else None
    state.parts.append(
        Part("part-record-missing", "CURRENT", f"{says}; LevelDB does not open it" + (f"; {taken} is taken" if taken else ""), file="CURRENT")
    )
    return taken


def _tables(names: dict[str, Path], version: Version | None, state: State) -> None:
    here = {int(found[1]): path for name, path in sorted(names.items()) if (found := TABLE_NAME.fullmatch(name))}
    state.is_certain = version is not None
    if version is None:
        for number, path in sorted(here.items()):
            _salvaged(number, path, state)
        return
    for number, table in sorted(version.tables.items()):
        if number not in here:
            _lost(table, f"{number:06d}.ldb", "part-record-missing", "the table is missing", state)
            continue
        try:
            filter_fault = _looked_at(here[number], table.size)
        except FormatError as error:
            code = "part-truncated" if here[number].stat().st_size < table.size else "part-damaged"
            _lost(table, here[number].name, code, f"the table can't be read: {error}", state)
        except OSError as error:
            _lost(table, here[number].name, "part-unreadable", f"the table can't be read: {error.strerror}", state)
        else:
            state.tables[number], state.paths[number] = table, here[number]
            if filter_fault:
                says = f"{here[number].name}: {filter_fault}; no record is lost, and a get of LevelDB may miss some"
                state.parts.append(Part("part-damaged", here[number].name, says, file=here[number].name))
    _unlisted(names, here, version, state)


def _looked_at(path: Path, size: int) -> str:
    """What is wrong with a table's filter. Raises FormatError or OSError where the table itself can't be read."""
    table = Table(path, size)
    try:
        return table.filter_fault()
    finally:
        table.close()


def _unlisted(names: dict[str, Path], here: dict[int, Path], version: Version, state: State) -> None:
    """Tables that the MANIFEST does not name: left behind by a crash, or, where files that it names are gone, a sign that it is cut off."""
    others = sorted(set(here) - set(version.tables))
    if not others:
        return
    many = f"{len(others):,} tables in the folder are not named by the MANIFEST, {here[others[0]].name} among them"
    if all(number in here for number in version.tables) and (not version.log_number or f"{version.log_number:06d}.log" in names):
        says = f"{many}; LevelDB left them behind, and they are left aside"
        state.parts.append(Part("part-not-a-sample", here[others[0]].name, says, {"count": len(others)}))
        return
    state.is_certain = False
    state.parts.append(
        Part("part-stale-index", "MANIFEST", f"{many}, and files that it names are missing: it is older than the tables; all are read")
    )
    for number in others:
        _salvaged(number, here[number], state)


def _lost(table: TableFile, name: str, code: str, says: str, state: State) -> None:
    state.losses.append(Loss(table.first, table.last, table))
    sentence = f"{name}: {says}; its records from the key {named(table.first)} up to {named(table.last)} are lost"
    evidence = {"first": text_of(table.first), "last": text_of(table.last), "level": table.level}
    state.parts.append(Part(code, interval(table.first, table.last), sentence, evidence, name, None, table.size, None))


def _salvaged(number: int, path: Path, state: State) -> None:
    """A table whose range no MANIFEST tells: from its first key to the last separator of its index."""
    try:
        table = Table(path)
    except (FormatError, OSError) as error:
        says = error.strerror if isinstance(error, OSError) else str(error)
        state.parts.append(Part("part-damaged", path.name, f"the table can't be read: {says}; its records are lost", {}, path.name, None, None, None))
        return
    if table.blocks:
        first = table.first_key()
        smallest = internal_key(b"", NEWEST) if first is None else first
        state.tables[number] = TableFile(0, number, table.file_bytes, smallest, table.last_key())
        state.paths[number] = path
    table.close()


def _logs(names: dict[str, Path], version: Version | None, state: State) -> None:
    numbered = sorted((int(found[1]), path) for name, path in names.items() if (found := _LOG_NAME.fullmatch(name)))
    alive = [path for number, path in numbered if version is None or number >= version.log_number or number == version.previous_log != 0]
    if version is not None and version.log_number and version.log_number not in {number for number, _ in numbered}:
        name = f"{version.log_number:06d}.log"
        says = f"{name}, the log that the MANIFEST names, is missing; what was written last and stood in no table yet is lost"
        state.parts.append(Part("part-record-missing", name, says, file=name, lost_bytes=None, lost_records=None))
    for path in alive:
        try:
            data = path.read_bytes()
        except OSError as error:
            state.parts.append(Part("part-unreadable", path.name, f"the log can't be read: {error.strerror}", {}, path.name, 0, None, None))
            continue
        for item in _log_items(data):
            if isinstance(item, bytes):
                state.batches.append(item)
            else:
                state.parts.append(_log_part(path.name, *item))


def _log_items(data: bytes) -> Iterator[bytes | tuple[Gap, int | None]]:
    """The sound write batches of a log, and its gaps with the changes that each lost, as the sequence numbers around it tell."""
    following: int | None = None
    waiting: list[Gap] = []
    for item in walk(data):
        if isinstance(item, Entry):
            try:
                sequence, found = changes(item.data)
            except FormatError as error:
                item = Gap(item.offset, len(item.data), "part-damaged", f"the record at byte {item.offset:,} is no write batch: {error}")
            else:
                lost = None if following is None or len(waiting) != 1 or sequence < following else sequence - following
                yield from ((gap, lost) for gap in waiting)
                waiting, following = [], sequence + len(found)
                yield item.data
                continue
        waiting.append(item)
    yield from ((gap, None) for gap in waiting)


def _log_part(name: str, gap: Gap, lost: int | None) -> Part:
    what = "an unknown number of changes is lost" if lost is None else f"{lost:,} changes are lost"
    says = f"{name}: {gap.says}; {gap.size:,} bytes from byte {gap.offset:,} on can't be read, and {what}"
    return Part(gap.code, f"{name}@{gap.offset}+{gap.size}", says, {"offset": gap.offset, "size": gap.size}, name, gap.offset, gap.size, lost)
