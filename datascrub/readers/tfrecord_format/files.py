"""Which files make up a TFRecord source: found, told apart by content, and held against the numbers in their names."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from datascrub.keys import raw_of, text_of
from datascrub.media.sniff import sniff
from datascrub.model import Part
from datascrub.readers.tfrecord_format.framing import HEADER, looks_like_records, payload_length
from datascrub.readers.tfrecord_format.streams import GZIP, PLAIN, ZLIB, InflatedBytes

_HEAD = 1 << 18
_NAME = re.compile(r"tfrecord|tfrec|\.records?\b|-\d{3,}-of-\d{3,}", re.IGNORECASE)
_SHARD = re.compile(r"(?P<prefix>.*)-(?P<number>\d{3,})-of-(?P<count>\d{3,})(?P<suffix>[^/]*)")
_GZIP_SUFFIXES = (".gz", ".gzip")
_BESIDE = re.compile(r"\.(jsonl?|txt|md|rst|csv|tsv|pbtxt|ya?ml|toml|html|idx|index|labels|names|log|sha256|md5|py|ipynb|pb|lock)", re.IGNORECASE)
_BESIDE_NAMES = frozenset({"README", "LICENSE", "NOTICE", "CHECKSUMS", "_SUCCESS", "MANIFEST"})
_LOOKED_AT = 48  # files of a folder that recognition opens at most


@dataclass(frozen=True)
class RecordFile:
    """A file of the source: key (path from the source, or the file's own name), path, how it is stored, its size."""

    key: str
    path: Path
    compression: str
    size: int


def base_of(source: Path) -> Path:
    """The folder that keys are relative to."""
    if source.is_dir():
        return source
    if source.exists() or not glob.has_magic(str(source)):
        return source.parent
    fixed = [part for part in source.parts if part]
    first = next(index for index, part in enumerate(fixed) if glob.has_magic(part))
    return Path(*fixed[:first]) if first else Path()


def path_of(source: Path, key: str) -> Path:
    """The file of a key."""
    return base_of(source) / os.fsdecode(raw_of(key))


def _key(base: Path, path: Path) -> str:
    return text_of(os.fsencode(path.relative_to(base).as_posix()), is_path=True)


def is_hidden(key: str) -> bool:
    """Whether a part of the path begins with a dot, or is what systems leave in folders."""
    return any(part.startswith(".") or part in ("__MACOSX", "Thumbs.db", "desktop.ini", "@eaDir") for part in key.split("/"))


def listing(source: Path) -> Iterator[tuple[str, Path]]:
    """(key, path) of every file of the source in order, hidden ones included. Folders that can't be listed and links in a circle are passed over."""
    base = base_of(source)
    if source.is_dir():
        yield from ((_key(base, path), path) for path in _walk(source, frozenset()))
    elif source.exists():
        yield _key(base, source), source
    else:
        found = sorted(glob.glob(str(source), recursive=True), key=os.fsencode)  # noqa: PTH207  # the pattern is the user's, Path.glob takes no absolute one
        yield from ((_key(base, Path(path)), Path(path)) for path in found if not Path(path).is_dir())


def _walk(folder: Path, above: frozenset[str]) -> Iterator[Path]:
    real = os.path.realpath(folder)
    if real in above:
        return
    try:
        with os.scandir(folder) as entries:
            names = sorted(entries, key=lambda entry: os.fsencode(entry.name))
    except OSError:
        return
    for entry in names:
        try:
            is_folder = entry.is_dir()
        except OSError:
            is_folder = False
        if is_folder:
            yield from _walk(Path(entry.path), above | {real})
        else:
            yield Path(entry.path)


def compression_of(path: Path, *, is_lenient: bool) -> str | None:
    """How the TFRecord in this file is stored, by its content: plain, gzip or zlib; None where it is none.

    is_lenient: it may begin with damage or be cut within its first bytes, as its name says that it is one. Raises OSError.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD if is_lenient else HEADER)
    if payload_length(head[:HEADER]) is not None:
        return PLAIN
    for compression in (GZIP, ZLIB):
        if _begins(head, compression) and _inflates_to_records(path, compression, is_lenient=is_lenient):
            return compression
    if is_lenient and head.strip(b"\0") and (looks_like_records(head) or (len(head) < HEADER and is_named(path.name))):
        return PLAIN
    return None


def _begins(head: bytes, compression: str) -> bool:
    if compression == GZIP:
        return head[:2] == b"\x1f\x8b"
    return len(head) > 1 and head[0] & 0x0F == 8 and int.from_bytes(head[:2], "big") % 31 == 0


def _inflates_to_records(path: Path, compression: str, *, is_lenient: bool) -> bool:
    with InflatedBytes(path, compression) as stream:
        head = stream.view(0, _HEAD if is_lenient else HEADER)
        is_whole = not stream.fault
    if len(head) >= HEADER:
        return looks_like_records(head) if is_lenient else payload_length(head) is not None
    # Nothing, compressed, is an emptied file of a set; a stream cut before its first record is whole is told by its name alone.
    return (not head and is_whole) or (is_lenient and compression == GZIP and is_named(path.name))


def is_named(key: str) -> bool:
    """Whether the name says TFRecord."""
    return _NAME.search(key.rpartition("/")[2]) is not None


def is_beside(key: str) -> bool:
    """Whether the name is one of the files that stand beside records and are none."""
    name = key.rpartition("/")[2]
    return name in _BESIDE_NAMES or _BESIDE.fullmatch(Path(name).suffix) is not None


def holds_records(source: Path) -> bool:
    """Whether the source holds at least one TFRecord file; a folder's first files are looked at, those named so before the others. Never raises."""
    named: list[tuple[str, Path]] = []
    others: list[tuple[str, Path]] = []
    try:
        for seen, (key, path) in enumerate(listing(source)):
            if not (is_hidden(key) and source.is_dir()):
                (named if is_named(key) else others).append((key, path))
            if len(named) >= _LOOKED_AT or seen > 20 * _LOOKED_AT:
                break
    except OSError:
        return False
    is_one = not source.is_dir()
    return any(_compression_or_none(path, is_lenient=is_one or is_named(key)) for key, path in (named + others)[:_LOOKED_AT])


def _compression_or_none(path: Path, *, is_lenient: bool) -> str | None:
    try:
        return compression_of(path, is_lenient=is_lenient) if path.is_file() and path.stat().st_size else None
    except OSError:
        return None


def files(source: Path) -> Iterator[RecordFile | Part]:
    """The TFRecord files of the source in order, and as parts whatever stands among them; what is told once for all files comes at the end."""
    hidden: list[str] = []
    beside: list[str] = []
    shards: list[str] = []
    is_folder = source.is_dir()
    for key, path in listing(source):
        if is_folder and is_hidden(key):
            hidden.append(key)
            continue
        made = _look(key, path, is_folder=is_folder)
        if made is None:
            beside.append(key)
            continue
        if _SHARD.fullmatch(key):
            shards.append(key)
        yield made
        if isinstance(made, RecordFile) and made.compression == PLAIN and Path(key).suffix.lower() in _GZIP_SUFFIXES:
            yield Part("part-name-mismatch", key, "named gzip compressed, but holds plain, uncompressed records", file=key)
    if not source.is_file():
        yield from (part for part in missing_shards(shards) if is_folder or fnmatch.fnmatch(str(base_of(source) / part.key), str(source)))
    if beside:
        yield Part("part-not-a-sample", beside[0], f"{len(beside)} files beside the records are no samples: {_some(beside)}", {"files": len(beside)})
    if hidden:
        yield Part("part-hidden", hidden[0], f"{len(hidden)} hidden files left aside: {_some(hidden)}", {"files": len(hidden)})


def _some(keys: list[str]) -> str:
    return ", ".join(keys[:5]) + (", …" if len(keys) > 5 else "")


def _look(key: str, path: Path, *, is_folder: bool) -> RecordFile | Part | None:
    """A TFRecord file, a part that says what else it is, or None for a file that rightly stands beside records."""
    try:
        if not path.is_file():
            code, what = ("part-link-broken", "a link to what is not there") if path.is_symlink() else ("part-not-recognised", "no regular file")
            return Part(code, key, what, file=key, lost_bytes=None, lost_records=None)
        size = path.stat().st_size
        is_lenient = is_named(key) or not is_folder
        compression = compression_of(path, is_lenient=is_lenient and not is_beside(key)) if size else None
        if compression is not None:
            return RecordFile(key, path, compression, size)
        if is_beside(key):
            return None
        if size == 0:
            return Part("part-empty", key, "an empty file: TensorFlow reads it as no records, without a word", file=key)
        with path.open("rb") as file:
            says = sniff(file.read(1 << 12)).says
    except OSError as error:
        return Part("part-unreadable", key, f"can't be read: {error.strerror}", file=key, lost_bytes=None, lost_records=None)
    return Part("part-not-recognised", key, f"no TFRecord: it holds {says} ({size:,} bytes)", {"size_bytes": size}, key, None, size, None)


def missing_shards(keys: list[str]) -> Iterator[Part]:
    """Files that should exist: a number that is in no name of its -of-N."""
    sets: dict[tuple[str, str, int], list[tuple[int, str]]] = {}
    for key in keys:
        match = _SHARD.fullmatch(key)
        if match is not None:
            sets.setdefault((match["prefix"], match["suffix"], int(match["count"])), []).append((int(match["number"]), match["count"]))
    for (prefix, suffix, count), held in sets.items():
        numbers = {number for number, _ in held}
        if count > 1_000_000:  # no set has as many files; a number in a name allocates nothing
            continue
        lost = [number for number in range(count) if number not in numbers]
        width = len(held[0][1])
        for number in lost[:100]:
            name = f"{prefix}-{number:0{width}}-of-{count:0{width}}{suffix}"
            yield Part("part-record-missing", name, f"shard {number} of {count} is missing", {"shards": count}, name, None, None, None)
        if len(lost) > 100:
            yield Part(
                "part-record-missing",
                f"{prefix}-…-of-{count:0{width}}{suffix}",
                f"{len(lost) - 100} more shards of {count} are missing",
                {},
                None,
                None,
                None,
                None,
            )
