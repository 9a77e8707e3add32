"""A list file as Caffe reads it: on each line the path of a picture, white space, and an integer label."""

# Paths are bytes here, for foreign names need not decode, and pathlib takes no bytes.
# ruff: noqa: PTH208, PTH100, PTH109, PTH110, PTH113, PTH116, PTH118, PTH119, PTH120

from __future__ import annotations

import os
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from datascrub.config import DataConfig
from datascrub.errors import SourceError, UsageError
from datascrub.keys import numbered, printable, raw_of, split_number, text_of
from datascrub.model import Column, Field, Kind, Part, Problem, Role, Shard
from datascrub.plan import Plan
from datascrub.readers.base import Survey
from datascrub.readers.image_folder_format.entries import SHARD_SAMPLES, Entry, Listing
from datascrub.readers.image_folder_format.files import head_of, size_of
from datascrub.readers.image_folder_format.names import is_hidden, is_image_by_content, says_image

_PROBED = 200
_LOOKED_AT = 1 << 16
_MISSING_NAMED, _UNLISTED_NAMED = 100, 3
_ANCESTORS = 8
_LINE = re.compile(rb"(?s)(.*\S)[ \t]+([+-]?\d{1,18})[ \t]*")
_NO_INTEGER = re.compile(rb"(?is)(.*\S)[ \t]+([+-]?(?:\d+\.\d*|\.\d+|\d+)(?:e[+-]?\d+)?|[+-]?(?:nan|inf(?:inity)?))")
"""a number behind a path, which Caffe would read as the integer that it begins with, or as 0"""
IMAGE = Field("image", Role.IMAGE, Kind.ENCODED, declared=("extension", "format"))
LABEL = Field("label", Role.LABEL, Kind.ARRAY, "int64", ())


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its number from 0, path, label (None where no integer ends it; wrong: the number that ends it instead)."""

    number: int
    path: bytes
    label: int | None
    wrong: bytes | None = None


def parse(number: int, raw: bytes) -> Line | None:
    """A line of a list; None where it is blank."""
    text = raw.removeprefix(b"\xef\xbb\xbf").strip(b"\r\n\t ")
    match = _LINE.fullmatch(text)
    if match:
        return Line(number, match[1], int(match[2]))
    if match := _NO_INTEGER.fullmatch(text):
        return Line(number, match[1], None, match[2])
    return Line(number, text, None) if text else None


def locate(root: bytes, path: bytes) -> bytes:
    """Where the picture of a line lies; Caffe joins root and path as texts, so a leading slash may be relative to the root."""
    return path if path.startswith(b"/") and os.path.exists(path) else os.path.join(root, path.lstrip(b"/"))


def root_of(folder: bytes, paths: Sequence[bytes]) -> bytes | None:
    """The folder that the paths of a list are relative to: its own, one above it, or the current one, whichever holds most.

    None where none holds any.
    """
    candidates, above = [os.path.abspath(folder)], os.path.abspath(folder)
    for _ in range(_ANCESTORS):
        above = os.path.dirname(above)
        candidates.append(above)
    candidates.append(os.getcwdb())
    held = [sum(os.path.isfile(locate(root, path)) for path in paths) for root in candidates]
    return candidates[held.index(max(held))] if any(held) else None


def is_list(path: bytes) -> bool:
    """Whether most lines of a text are a picture's path and an integer. Reads a few KB; a picture is told by its name, or by its bytes."""
    head = head_of(path, _LOOKED_AT)
    if not head or b"\0" in head:
        return False
    raw = head.splitlines()
    if len(head) == _LOOKED_AT:
        raw = raw[:-1]
    lines = [line for line in map(parse, range(_PROBED), raw) if line is not None]
    folder = os.path.dirname(path)
    pictures = [line for line in lines if line.label is not None and (says_image(line.path) or _is_picture(folder, line.path))]
    return bool(lines) and len(pictures) * 2 > len(lines)


def _is_picture(folder: bytes, path: bytes) -> bool:
    return is_image_by_content(head_of(locate(folder, path)) or b"")


class ListFile(Listing):
    """The samples of a list file, in its order."""

    def __init__(self, source: Path) -> None:
        self._path = os.fsencode(source)
        self._name = os.path.basename(self._path)

    def fingerprint(self) -> Mapping[str, Any]:
        status = os.stat(self._path)
        digest = xxhash.xxh3_128()
        root, is_first = b"", True
        for batch in _batched(self._lines(0)):
            if is_first:
                root, is_first = root_of(os.path.dirname(self._path), [line.path for line in batch[:_PROBED]]) or b"", False
            for line in batch:
                digest.update(_outside(locate(root, line.path)))
        return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "digest": digest.hexdigest()}

    def survey(self, data: DataConfig) -> Survey:
        try:
            first = [line.path for line in islice(self._lines(0), _PROBED)]
        except OSError as error:
            raise SourceError(f"{self._path.decode('utf-8', 'replace')} can't be read: {error.strerror}", fix="check permissions") from error
        root = root_of(os.path.dirname(self._path), first)
        if root is None:
            raise SourceError(
                "none of the pictures that the list names is there", fix="put the list beside them, or scan from the folder that its paths start at"
            )
        seen: set[bytes] = set()
        labels: set[int] = set()
        count, size, repeats = 0, 0, False
        for line in self._lines(0):
            path = locate(root, line.path)
            if os.path.isfile(path):
                count += 1
                size += size_of(path)
            repeats = repeats or line.path in seen
            seen.add(line.path)
            if line.label is not None and len(labels) < 1000:
                labels.add(line.label)
        settings = {"kind": "list", "root": text_of(root, is_path=True), "repeats": repeats}
        start = os.path.relpath(root, os.path.dirname(os.path.abspath(self._path)))
        notes = [f"a list of pictures, whose paths start at {printable(text_of(start, is_path=True))} seen from the list"]
        if repeats:
            notes.append("the list names some pictures more than once: keys carry the number of their line, from 0")
        fields = (IMAGE,) if data.task == "unlabelled" else (IMAGE, LABEL)
        task = data.task or "classification"
        return Survey(None, fields, count, size, settings, task=task, labels=tuple(sorted(labels)[:36]), notes=tuple(notes))

    def shards(self, plan: Plan) -> Iterator[Shard | Part]:
        number = first = missing = 0
        listed: dict[bytes, array[int]] = defaultdict(lambda: array("Q"))
        for batch in _batched(self._placed()):
            for _, line in batch:
                folder, name = os.path.split(self._file(plan, line))
                listed[folder].append(xxhash.xxh3_64_intdigest(name))
            skip = [at for at, (_, line) in enumerate(batch) if not os.path.lexists(self._file(plan, line))]
            for at in skip:
                missing += 1
                if missing <= _MISSING_NAMED:
                    yield self._missing(plan, batch[at][1])
            count = len(batch) - len(skip)
            if count:
                where = {"offset": batch[0][0], "line": batch[0][1].number, "lines": len(batch), "skip": skip}
                yield Shard(number, where, count, first)
                number, first = number + 1, first + count
        if missing > _MISSING_NAMED:
            rest = missing - _MISSING_NAMED
            yield Part(
                "part-record-missing",
                text_of(self._name, is_path=True),
                f"{rest:,} more pictures that the list names are not there",
                lost_records=rest,
            )
        yield from self._unlisted(listed)

    def _unlisted(self, listed: Mapping[bytes, array[int]]) -> Iterator[Part]:
        """Pictures beside those of the list, in the same folders, that it does not name."""
        count, examples = 0, list[str]()
        for folder, names in sorted(listed.items()):
            known = np.unique(np.array(names, np.uint64))
            for name in _pictures_in(folder):
                place = np.searchsorted(known, hashed := np.uint64(xxhash.xxh3_64_intdigest(name)))
                if place == len(known) or known[place] != hashed:
                    count += 1
                    examples += [text_of(name, is_path=True)] if len(examples) < _UNLISTED_NAMED else []
        if count:
            named = ", ".join(map(printable, examples)) + (", …" if count > len(examples) else "")
            says = f"{count:,} pictures beside those of the list are named by no line: {named}"
            yield Part("part-not-a-sample", text_of(self._name, is_path=True), says, {"count": count})

    def _missing(self, plan: Plan, line: Line) -> Part:
        says = f"line {line.number + 1:,} of {printable(text_of(self._name, is_path=True))} names it, and it is not there"
        return Part("part-record-missing", self._key(plan, line), says, {"line": line.number + 1}, lost_bytes=None, lost_records=1)

    def entries(self, plan: Plan, where: Mapping[str, Any]) -> Sequence[Entry]:
        skip = frozenset(where["skip"])
        lines = islice(self._lines(where["offset"], where["line"]), where["lines"])
        return [self._entry(plan, line) for at, line in enumerate(lines) if at not in skip]

    def find(self, plan: Plan, key: str) -> Entry:
        try:
            path, number = split_number(key) if plan.settings["repeats"] else (key, None)
            wanted = raw_of(path)
        except ValueError:
            raise UsageError(f"{printable(key)} is no key of this list") from None
        for line in self._lines(0):
            if line.path == wanted and number in (None, line.number) and os.path.lexists(self._file(plan, line)):
                return self._entry(plan, line)
        raise UsageError(f"the list holds no {printable(key)}")

    def column(self, plan: Plan, field: Field, entries: Sequence[Entry]) -> Column:
        labels = [entry.label for entry in entries]
        if None in labels:
            return Column(field, [None if label is None else np.asarray(label, np.int64) for label in labels])
        return Column(field, np.array(labels, np.int64))

    def kept_lines(self, plan: Plan, drop: frozenset[str]) -> Iterator[bytes]:
        """The lines as they stand, without those of dropped samples and of pictures that are not there."""
        for number, raw in enumerate(_raw_lines(self._path, 0)):
            line = parse(number, raw)
            if line is None or (self._key(plan, line) not in drop and os.path.lexists(self._file(plan, line))):
                yield raw

    def _entry(self, plan: Plan, line: Line) -> Entry:
        met = "" if line.wrong is None else f"{line.wrong.decode('ascii')}, and "
        says = f"line {line.number + 1:,} ends in {met}no integer label"
        problem = None if line.label is not None else Problem("record-unparsable", says)
        return Entry(self._key(plan, line), self._file(plan, line), line.path, None, line.label, problem)

    def _key(self, plan: Plan, line: Line) -> str:
        key = text_of(line.path, is_path=True)
        return numbered(key, line.number) if plan.settings["repeats"] else key

    def _file(self, plan: Plan, line: Line) -> bytes:
        return locate(raw_of(plan.settings["root"]), line.path)

    def _lines(self, offset: int, number: int = 0) -> Iterator[Line]:
        for each, raw in enumerate(_raw_lines(self._path, offset), number):
            line = parse(each, raw)
            if line is not None:
                yield line

    def _placed(self) -> Iterator[tuple[int, Line]]:
        offset = 0
        for number, raw in enumerate(_raw_lines(self._path, 0)):
            line = parse(number, raw)
            if line is not None:
                yield offset, line
            offset += len(raw)


def _raw_lines(path: bytes, offset: int) -> Iterator[bytes]:
    with Path(os.fsdecode(path)).open("rb") as file:
        file.seek(offset)
        yield from file


def _pictures_in(folder: bytes) -> list[bytes]:
    try:
        return sorted(name for name in os.listdir(folder or b".") if says_image(name) and not is_hidden(name))
    except OSError:
        return []


def _batched(items: Iterable[Any]) -> Iterator[list[Any]]:
    source = iter(items)
    while batch := list(islice(source, SHARD_SAMPLES)):
        yield batch


def _outside(path: bytes) -> bytes:
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # ValueError: a zero byte in the path
        return b"-"
    return b"%d %d\n" % (status.st_size, status.st_mtime_ns)
