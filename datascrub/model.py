"""The words of the house as types: role, field, column, batch, shard, part, finding.

Everything here is plain data that crosses rooms and processes. No room's logic lives here, and numpy is the only import.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as made
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class Role(enum.StrEnum):
    """What a field of a sample is to a training."""

    IMAGE = "image"
    ARRAY = "array"
    LABEL = "label"
    BOXES = "boxes"
    MASK = "mask"
    TEXT = "text"
    WEIGHT = "weight"
    ID = "id"
    IGNORE = "ignore"
    RECORD = "record"
    """The record itself, as the reader met it: its size and what was wrong with it. Each source has exactly one such field, named "record"."""


class Kind(enum.StrEnum):
    """How the values of a column are held."""

    ENCODED = "encoded"
    """bytes of an encoded image"""
    ARRAY = "array"
    """numbers: a dense block or arrays of differing shapes"""
    TEXT = "text"
    """str, or bytes that are no UTF-8"""
    NOTE = "note"
    """Problem or None: the record field alone"""


class Severity(enum.StrEnum):
    """How bad a finding is. An error leaves the cleaned copy."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        return ("info", "warning", "error").index(self.value)


class Scope(enum.StrEnum):
    """What a finding speaks of."""

    SAMPLE = "sample"
    PART = "part"
    SET = "set"


@dataclass(frozen=True)
class Field:
    """A named part of a sample, as the plan expects it.

    dtype, shape: what the great majority of the probed samples hold (numpy names; shape without the sample axis); None where they vary.
    declared: names of facts that the source declares about each value (a subset of format, width, height, channels); see Column.declared.
    """

    name: str
    role: Role
    kind: Kind
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    declared: tuple[str, ...] = ()

    def in_role(self, role: Role) -> Field:
        """This field in the role that its owner gives it; in another than the guessed one it holds no classes of objects."""
        return self if role is self.role else replace(self, role=role, declared=tuple(each for each in self.declared if each != OBJECTS))


RECORD = Field("record", Role.RECORD, Kind.NOTE)
CORNERS = "corners"
"""in Field.declared of boxes: the format defines a box as xmin, ymin, xmax, ymax"""
DOMAIN = "domain"
"""in Field.declared: the owner says in which range its values lie, or what is computed of them"""
DECODER = "decoder:"
"""in Field.declared of pictures, before a name: the owner wants to know what this decoder makes of them"""
MASK_KEY = "mask_key"
"""in Field.declared of a mask: the file of each, by whose key a finding on the mask goes"""
MASKED = "masked"
"""in Field.declared of an array: the one mask of the set has its shape; in Column.declared, the mask of each sample"""
OBJECTS = "objects"
"""in Field.declared of an array: the class of each object of the sample"""
FOLDERS = "folders"
"""in Field.declared of a label: it is the name of a folder, and no label is a file that stands outside of all of these"""


@dataclass(frozen=True)
class Limits:
    """What one sample may cost; a header that claims more is refused before anything is allocated.

    max_pixels: width x height of one image (all frames together count once each); Pillow refuses at the same number.
    max_record_bytes: one record, file or row as stored. max_inflated_bytes: what one compressed piece inside a record may grow to.
    sample_s: seconds one sample may take.
    """

    max_pixels: int = 178_956_970
    max_record_bytes: int = 1 << 29
    max_inflated_bytes: int = 1 << 30
    sample_s: float = 60.0


@dataclass(frozen=True)
class Problem:
    """What was wrong with one record, found by its reader or layout.

    code: code of a rule of the record_integrity validator (`record-truncated`, `record-unreadable`, …).
    detail: a sentence with the numbers in it, the same in every run: no address, no time, no path of the machine.
    """

    code: str
    detail: str


@dataclass
class Column:
    """One field of a batch: N values.

    values: dense numbers as one array (N, …); else a list of N: bytes (encoded), ndarray (numbers of differing shape), str or bytes (text), Problem
        or None (record). None stands for a value that the record does not hold.
    declared: per sample, what the source says of the value (None where it says nothing): "format" as a lower-case format name (jpeg, png, …; from
        the file name or a sibling feature), "width", "height", "channels" in pixels, "extension" as the suffix of a file name.
    """

    field: Field
    values: np.ndarray | list[Any]
    declared: Mapping[str, Sequence[Any] | np.ndarray] = made(default_factory=dict)
    limits: Limits = Limits()
    _derived: dict[str, Any] = made(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_dense(self) -> bool:
        return isinstance(self.values, np.ndarray)

    def present(self) -> np.ndarray:
        """(N,) bool: which samples hold a value."""
        if isinstance(self.values, np.ndarray):
            return np.ones(len(self.values), bool)
        return np.fromiter((value is not None for value in self.values), bool, len(self.values))

    def derive(self, name: str, make: Callable[[Column], T]) -> T:
        """make(self), made once for this batch whoever asks: a picture is decoded once for all validators."""
        if name not in self._derived:
            self._derived[name] = make(self)
        made: T = self._derived[name]
        return made

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Numbers of equal shape and dtype together: (rows, block) with rows (n,) the positions in the batch and block (n, …).

        A dense column is one block, without a copy. Values that are None are in no block.
        """
        if isinstance(self.values, np.ndarray):
            if len(self.values):
                yield np.arange(len(self.values)), self.values
            return
        groups: dict[tuple[Any, ...], list[int]] = {}
        for row, value in enumerate(self.values):
            if value is not None:
                groups.setdefault((value.shape, value.dtype.str), []).append(row)
        for rows in groups.values():
            first = self.values[rows[0]]
            if len(rows) == 1:
                yield np.array(rows), first[np.newaxis]
            else:
                yield np.array(rows), np.stack([self.values[row] for row in rows])


@dataclass
class Batch:
    """N samples in columns.

    keys: N texts that a person can read and that lead back to the record (see readers.keys).
    rows: (N,) int64, the place of each sample in its shard, counted from 0 over all samples of the shard.
    columns: by field name; every field of the plan but those of role ignore. The record's own field is made from problems and sizes.
    problems: what the reader or the layout found wrong, by position in the batch; such a sample may lack its other values (None).
    sizes: (N,) int64, bytes of the record as stored.
    files, offsets: where the record stands, for the quarantine list: the file (relative to the source) and the byte or row offset; None unknown.
    stamps: by what each sample is known again when it is read anew, where the reader has the bytes at hand; see Reader.stamps.
    """

    keys: list[str]
    rows: np.ndarray
    columns: dict[str, Column]
    sizes: np.ndarray
    problems: dict[int, Problem] = made(default_factory=dict)
    files: list[str | None] | None = None
    offsets: list[int | None] | None = None
    stamps: list[str | None] | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def record_column(self) -> Column:
        """The record's own column: a Problem or None per sample; sizes in declared["size_bytes"]."""
        notes: list[Any] = [None] * len(self)
        for row, problem in self.problems.items():
            notes[row] = problem
        return Column(RECORD, notes, {"size_bytes": self.sizes})


@dataclass(frozen=True)
class Shard:
    """A contiguous range of samples of a source: the unit of work, resume and distribution.

    number: its place in the order of the plan, from 0.
    where: plain JSON values that only the reader understands.
    count: samples in it, where the reader knows; first: number of its first sample in the source, where the reader knows.
    """

    number: int
    where: Mapping[str, Any]
    count: int | None = None
    first: int | None = None


@dataclass(frozen=True)
class Part:
    """A place in the source that is no sample: a file, a byte range, an interval of keys, a record that should exist.

    code: code of a part rule of the record_integrity validator. key: names the place; says: a sentence with the numbers in it.
    lost_bytes, lost_records: what can't be had because of it; None where unknown, 0 where nothing is lost.
    """

    code: str
    key: str
    says: str
    evidence: Mapping[str, Any] = made(default_factory=dict)
    file: str | None = None
    offset: int | None = None
    lost_bytes: int | None = 0
    lost_records: int | None = 0


@dataclass(frozen=True)
class Finding:
    """What a rule says of one sample, of a part, or of the whole set (key None)."""

    key: str | None
    code: str
    severity: Severity
    field: str | None
    message: str
    evidence: Mapping[str, Any] = made(default_factory=dict)
    scope: Scope = Scope.SAMPLE

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values, in the order of the contract."""
        return {
            "key": self.key,
            "code": self.code,
            "severity": self.severity.value,
            "field": self.field,
            "message": self.message,
            "evidence": dict(self.evidence),
            "scope": self.scope.value,
        }

    def under(self, key: str | None) -> Finding:
        return replace(self, key=key)
