"""metadata.csv and metadata.jsonl beside the pictures, as Hugging Face datasets reads them: a column file_name, and what is known of each file."""

# Paths are bytes here, for foreign names need not decode, and pathlib takes no bytes.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from datascrub.keys import printable, text_of
from datascrub.model import Column, Field, Kind, Part, Role

NAMES = (b"metadata.csv", b"metadata.jsonl")
_LABELS = frozenset(("label", "labels", "class", "category", "target"))
_TAKEN = frozenset(("image", "mask", "record"))
"""names of fields that a sample has anyhow"""
_ODD_OF, _ODD_SHARE = 6, 6
"""of six rows and more, one in six may be of another kind than its column"""
_MISSING_NAMED = 100
_TYPED = 1000
"""rows by which the type of a column is decided"""


def parse_rows(path: bytes) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
    """(row as stored, its values by column); values are None for the header and for a row that does not parse. A quoted field may span lines."""
    with Path(os.fsdecode(path)).open("rb") as file:
        if path.endswith(b".jsonl"):
            yield from ((raw, _json(raw)) for raw in file)
        else:
            yield from _csv_rows(file)


def _json(raw: bytes) -> dict[str, Any] | None:
    try:
        made = json.loads(raw.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    return made if isinstance(made, dict) else None


def _csv_rows(file: Iterable[bytes]) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
    taken: list[bytes] = []  # by the row in hand: the parser asks for as many lines as a row has
    header: list[str] | None = None

    def texts() -> Iterator[str]:
        for raw in file:
            taken.append(raw)
            yield raw.decode("utf-8", "replace").removeprefix("\ufeff")

    lines = texts()
    while True:
        try:
            values = next(csv.reader(lines), None)
        except csv.Error:  # a field over 128 KiB
            values = []
        if values is None:
            return
        is_header, header = header is None, header or values
        yield b"".join(taken), None if is_header or not values else dict(zip(header, values, strict=False))
        taken.clear()


def file_of(path: bytes, values: Mapping[str, Any] | None) -> bytes | None:
    """The file that a row speaks of, relative to the root as `path` is; None where it names none inside the root."""
    name = (values or {}).get("file_name")
    if not isinstance(name, str) or not name:
        return None
    try:
        made = os.path.normpath(os.path.join(os.path.dirname(path), os.fsencode(name)))
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can hold and no file name
        return None
    return None if made.startswith((b"/", b"..")) or b"\0" in made else made


def is_metadata(path: bytes) -> bool:
    """Whether a file of that name is of that kind: its first row has file_name. Others, as ISIC's metadata.csv, are files like any other."""
    try:
        for raw, values in parse_rows(path):
            if path.endswith(b".csv"):
                return b"file_name" in re.split(rb"[\s\",]+", raw.removeprefix(b"\xef\xbb\xbf"))
            return values is not None and "file_name" in values
    except OSError:
        return False
    return False


class Metadata:
    """All rows of the metadata files of a folder, by file."""

    def __init__(self, root: bytes, paths: Sequence[bytes]) -> None:
        self.paths = tuple(paths)
        self.rows: dict[bytes, dict[str, Any]] = {}
        self.where: dict[bytes, tuple[bytes, int]] = {}
        self.bad: list[tuple[bytes, int]] = []
        self.doubled: dict[bytes, tuple[bytes, int]] = {}
        for path in paths:
            for number, (raw, values) in enumerate(parse_rows(os.path.join(root, path)), 1):
                file = file_of(path, values)
                if file is not None and values is not None:
                    told = {name: each for name, each in values.items() if name != "file_name"}
                    if self.rows.setdefault(file, told) != told:
                        self.doubled[file] = path, number
                    self.rows[file] = told
                    self.where[file] = path, number
                elif raw.strip() and not (number == 1 and path.endswith(b".csv")):
                    self.bad.append((path, number))

    def fields(self) -> tuple[Field, ...]:
        """A field for each column: the label, texts; other numbers and structures are ignored unless the owner gives them a role."""
        names: dict[str, list[Any]] = {}
        for row in list(self.rows.values())[:_TYPED]:
            for name, value in row.items():
                names.setdefault(name, []).append(value)
        made = [_field(name, values) for name, values in names.items() if name not in _TAKEN and name.isprintable() and name]
        if sum(field.role is Role.LABEL for field in made) > 1:
            first = next(field for field in made if field.role is Role.LABEL)
            made = [field if field is first or field.role is not Role.LABEL else Field(field.name, Role.IGNORE, field.kind) for field in made]
        return tuple(made)

    def misses(self, file: bytes) -> bool:
        """Whether a file lies beside or below a metadata file, and has no row."""
        folders = (os.path.dirname(path) for path in self.paths)
        return file not in self.rows and any(not folder or file.startswith(folder + b"/") for folder in folders)

    def odd(self, fields: Sequence[Field], file: bytes) -> str | None:
        """What the row of a file holds where the others hold a number; None where all is of one kind."""
        for field in fields:
            value = self.rows.get(file, {}).get(field.name)
            if field.role is Role.LABEL and field.kind is Kind.ARRAY and value not in (None, "") and _float(value) is None:
                return f"{field.name} is {value!r}, and a number in the other rows of the metadata"
        return None

    def column(self, field: Field, names: Sequence[bytes]) -> Column:
        """The values of a field for files by their relative paths; None where a row or value is missing or of another type."""
        values = [_typed(field, self.rows.get(name, {}).get(field.name)) for name in names]
        if field.kind is Kind.ARRAY and values and all(value is not None for value in values):
            return Column(field, np.array(values))
        return Column(field, values)

    def parts(self, root: bytes) -> Iterator[Part]:
        """Rows that name files that are not there, and rows that name nothing."""
        missing = [file for file in self.rows if not os.path.lexists(os.path.join(root, file))]
        for file in missing[:_MISSING_NAMED]:
            path, number = self.where[file]
            says = f"row {number:,} of {printable(text_of(path, is_path=True))} names it, and it is not there"
            yield Part("part-record-missing", text_of(file, is_path=True), says, {"row": number}, lost_bytes=None, lost_records=1)
        if len(missing) > _MISSING_NAMED:
            rest = len(missing) - _MISSING_NAMED
            yield Part("part-record-missing", text_of(self.paths[0]), f"{rest:,} more files that metadata names are not there", lost_records=rest)
        for file, (path, number) in list(self.doubled.items())[:_MISSING_NAMED]:
            says = f"row {number:,} of {printable(text_of(path, is_path=True))} names it again, with other values; the last row counts"
            yield Part("part-duplicate-key", text_of(file, is_path=True), says, {"row": number})
        for path, number in self.bad[:_MISSING_NAMED]:
            key = f"{text_of(path, is_path=True)}#{number - 1}"
            yield Part("part-damaged", key, f"row {number:,} does not parse, or names no file inside the folder", {"row": number}, lost_bytes=None)


def _field(name: str, values: Sequence[Any]) -> Field:
    held = [value for value in values if value not in (None, "")]
    is_label = name.lower() in _LABELS
    for dtype, read in (("int64", _integer), ("float64", _float)):
        # Decided by nearly all rows: a single word or fraction among numbers is what is wrong, and not what the column is.
        if held and sum(read(value) is None for value in held) <= (len(held) // _ODD_SHARE if len(held) >= _ODD_OF else 0):
            return Field(name, Role.LABEL if is_label else Role.IGNORE, Kind.ARRAY, dtype, ())
    if held and all(isinstance(value, str) for value in held):
        return Field(name, Role.LABEL if is_label else Role.TEXT, Kind.TEXT)
    return Field(name, Role.IGNORE, Kind.TEXT)


def _typed(field: Field, value: Any) -> Any:
    if field.kind is Kind.TEXT:
        return _text(value) if isinstance(value, str) else None if value is None else json.dumps(value)
    whole = _integer(value) if field.dtype == "int64" else None
    if whole is not None:
        return np.asarray(whole, np.int64)
    number = _float(value)
    return None if number is None else np.asarray(number, np.float64)


def _text(value: str) -> str | bytes:
    """The text, or its bytes where it holds half of a surrogate pair and can't be UTF-8."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def _integer(value: Any) -> int | None:
    try:
        made = int(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
    except ValueError:
        return None
    return made if made is not None and -(1 << 63) <= made < 1 << 63 else None


def _float(value: Any) -> float | None:
    try:
        return float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        return None
