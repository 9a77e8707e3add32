"""A cleaned copy of TFRecord files: kept records framed again byte for byte, in files of the same names and compression."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xxhash

from datascrub.errors import CopyError
from datascrub.keys import numbered, raw_of
from datascrub.model import Limits, Part
from datascrub.readers.base import CopyOptions, CopyReport
from datascrub.readers.placing import Placer
from datascrub.readers.tfrecord_format.files import RecordFile, files, is_beside, is_hidden, listing
from datascrub.readers.tfrecord_format.framing import FOOTER, HEADER, RECORD, Frame, frames
from datascrub.readers.tfrecord_format.places import is_sample
from datascrub.readers.tfrecord_format.streams import GZIP, PLAIN, Stream, open_stream

_BLOCK = 1 << 20
_INDEX_SUFFIXES = (".idx", ".index")


@dataclass
class _Account:
    """What a file gives to the copy.

    is_whole: every byte of it belongs to a kept record. lost: those that nobody dropped and that can't be read whole.
    """

    kept: int = 0
    dropped: int = 0
    is_whole: bool = True
    kept_bytes: int = 0
    lost: int = 0


def copy_files(
    source: Path, destination: Path, drop: frozenset[str], options: CopyOptions, limits: Limits, progress: Callable[[int], None]
) -> CopyReport:
    """Write the copy. Raises CopyError where a file can't be read or written."""
    digest = xxhash.xxh3_128()
    accounts: dict[str, _Account] = {}
    written: list[str] = []
    notes: list[str] = []
    stale: list[str] = []
    is_one, placer = source.is_file(), Placer(options.link)
    try:
        for each in files(source):
            if isinstance(each, Part):
                notes += _left_out(each, options)
                if each.code == "part-empty" and not is_one and not options.only_changed:
                    _target(destination, each.key, is_one=False).touch()
                    written.append(each.key)
                continue
            account = accounts[each.key] = _Account()
            target = _target(destination, each.key, is_one=is_one)
            _copy_file(each, target, drop, options, placer, limits, account, digest, progress)
            if target.exists():
                written.append(each.key)
        if not is_one:
            destination.mkdir(parents=True, exist_ok=True)
            _copy_beside(source, destination, accounts, options, placer, written, stale)
    except OSError as error:
        raise CopyError(f"the copy could not be made: {error.strerror}", fix="check room and permissions, and run the command again") from error
    notes += placer.notes()
    unchanged = sum(account.is_whole for account in accounts.values())
    if options.only_changed and unchanged:
        notes.append(f"{unchanged} unchanged files are not in the copy")
    lost = sum(account.lost for account in accounts.values())
    if lost:
        notes.append(f"{lost} records that can't be read whole are not in the copy")
    kept = sum(account.kept for account in accounts.values() if not (options.only_changed and account.is_whole))
    return CopyReport(kept, sum(account.dropped for account in accounts.values()), digest.hexdigest(), tuple(written), tuple(stale), tuple(notes))


def _left_out(part: Part, options: CopyOptions) -> list[str]:
    if part.code == "part-unreadable" and not options.drop_unreadable:
        raise CopyError(f"{part.key} {part.says}", fix="make it readable, or leave it out with --drop-unreadable")
    if part.code in ("part-unreadable", "part-not-recognised", "part-link-broken"):
        return [f"{part.key} is not in the copy: {part.says}"]
    return []


def _target(destination: Path, key: str, *, is_one: bool) -> Path:
    target = destination if is_one else destination / os.fsdecode(raw_of(key))
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _copy_file(
    file: RecordFile,
    target: Path,
    drop: frozenset[str],
    options: CopyOptions,
    placer: Placer,
    limits: Limits,
    account: _Account,
    digest: Any,
    progress: Callable[[int], None],
) -> None:
    """One file: whole where nothing of it goes, else its kept records framed again."""
    with open_stream(file.path, file.compression) as stream:
        for _ in _kept(file, stream, drop, limits, account):
            pass
        account.is_whole = account.is_whole and not stream.fault and not stream.trailing
    whole = account.is_whole
    if whole and options.only_changed:
        return
    counted = _Account()
    with open_stream(file.path, file.compression) as stream, _writer(None if whole else target, file.compression) as write:
        for frame in _kept(file, stream, drop, limits, counted):
            rolling = xxhash.xxh3_128()
            for at in range(frame.start, frame.stop, _BLOCK):
                block = stream.view(at, min(_BLOCK, frame.stop - at))
                write(block)
                begin = max(0, frame.start + HEADER - at)
                rolling.update(block[begin : max(begin, frame.stop - FOOTER - at)])
            digest.update(rolling.digest())
            progress(1)
    if whole:
        placer.place(file.path, target)


def _kept(file: RecordFile, stream: Stream, drop: frozenset[str], limits: Limits, account: _Account) -> Iterator[Frame]:
    """The records of a file that stay."""
    number = 0
    for frame in frames(stream, 0, None, limits):
        if not is_sample(frame):
            account.is_whole = False
            continue
        if frame.kind == RECORD and numbered(file.key, number) not in drop:
            account.kept += 1
            account.kept_bytes += frame.length
            yield frame
        else:
            account.dropped += 1
            account.lost += numbered(file.key, number) not in drop
            account.is_whole = False
        number += 1


@contextmanager
def _writer(target: Path | None, compression: str) -> Iterator[Callable[[bytes], Any]]:
    """Takes the framed bytes of a file and stores them as the source does; takes them for nothing where target is None."""
    if target is None:
        yield len
        return
    with target.open("xb") as raw:
        if compression == PLAIN:
            yield raw.write
        elif compression == GZIP:
            # No time and no name in the header: two copies are equal.
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                yield packed.write
        else:
            squeeze = zlib.compressobj()
            yield lambda block: raw.write(squeeze.compress(block))
            raw.write(squeeze.flush())


def _copy_beside(
    source: Path, destination: Path, accounts: dict[str, _Account], options: CopyOptions, placer: Placer, written: list[str], stale: list[str]
) -> None:
    """The files that stand beside the records; those that count them are corrected, or named as stale."""
    is_changed = any(not account.is_whole for account in accounts.values())
    for key, path in listing(source):
        if is_hidden(key) or not is_beside(key) or key in accounts or not path.is_file():
            continue
        target = _target(destination, key, is_one=False)
        if target.exists() or target.is_symlink():
            continue
        if is_changed and key.rpartition("/")[2] == "dataset_info.json" and _corrected(path, target, key, accounts):
            written.append(key)
            continue
        if options.only_changed:
            continue
        placer.place(path, target)
        written.append(key)
        if is_changed and key.rpartition("/")[2] == "dataset_info.json":
            stale.append(f"{key}: its counts could not be told apart by split, and stand as they were")
        elif is_changed and path.suffix.lower() in _INDEX_SUFFIXES:
            stale.append(f"{key}: an index of byte offsets of the source; write it again")


def _corrected(path: Path, target: Path, key: str, accounts: dict[str, _Account]) -> bool:
    """Write dataset_info.json of TensorFlow Datasets with the copy's counts; False where they can't be told for certain."""
    try:
        table = json.loads(path.read_text("utf-8"))
        for split in table["splits"]:
            lengths = split["shardLengths"]
            held = _shards_of(split["name"], len(lengths), key, accounts)
            if held is None:
                return False
            split["shardLengths"] = [type(length)(account.kept) for length, account in zip(lengths, held, strict=True)]
            if "numBytes" in split and any(not account.is_whole for account in held):
                split["numBytes"] = type(split["numBytes"])(sum(account.kept_bytes for account in held))
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    target.write_text(json.dumps(table, indent=2), "utf-8")
    return True


def _shards_of(split: str, count: int, key: str, accounts: dict[str, _Account]) -> list[_Account] | None:
    """The accounts of name-split.tfrecord-00000-of-NNNNN in the same folder, in order."""
    folder = key[: key.rfind("/") + 1]
    ends = [f"-{split}.tfrecord-{number:05d}-of-{count:05d}" for number in range(count)]
    found = [[its for name, its in accounts.items() if name.startswith(folder) and name.endswith(end)] for end in ends]
    return [each[0] for each in found] if all(len(each) == 1 for each in found) else None
