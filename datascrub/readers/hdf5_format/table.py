"""An open file under a plan: which dataset stands for which field, how many rows there are, and what of them is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from datascrub.model import Field, Kind, Limits, Part, Role
from datascrub.readers.hdf5_format.axis import dataset_name, is_carried, unequal_pairs
from datascrub.readers.hdf5_format.contents import Contents, contents
from datascrub.readers.hdf5_format.dataset import Form, Stored
from datascrub.readers.hdf5_format.files import HDF5File, is_member_of_set, superblock, unreadable
from datascrub.readers.hdf5_format.open import FAILURES, LARGE_CACHE, SMALL_CACHE, CantOpenError, Opened, open_file
from datascrub.readers.hdf5_format.roles import REQUIRED

_SHARD_BYTES, _SHARD_ROWS = 32 << 20, 16_384
_BAND_BYTES = 256 << 20
"""rows of one chunk beyond this are read in pieces"""
_KINDS: Mapping[Form, Kind] = {Form.TEXT: Kind.TEXT, Form.PICTURES: Kind.ENCODED}


class Table:
    """columns: by field name, those of the plan's fields that this file holds. length: rows, by the longest of them.

    damage: by dataset and first row, the damaged chunks that reading met; whoever reads takes them.
    """

    def __init__(self, file: HDF5File, opened: Opened, found: Contents, fields: Sequence[Field]) -> None:
        self.file, self.opened, self.found, self.fields = file, opened, found, fields
        self.columns: dict[str, Stored] = {
            field.name: stored for field in fields if (stored := found.datasets.get(dataset_name(field.name))) is not None and not stored.is_scalar
        }
        self.is_of_set = any(REQUIRED in field.declared for field in fields if field.name in self.columns) or not any(
            REQUIRED in field.declared for field in fields
        )
        self.length = max((stored.length for stored in self.columns.values()), default=0) if self.is_of_set else 0
        self.damage: dict[tuple[str, int], Part] = {}
        self._intact: dict[str, np.ndarray | None] = {}

    def close(self) -> None:
        self.opened.close()

    @property
    def sampled(self) -> dict[str, Stored]:
        """The columns whose values are read."""
        ignored = {field.name for field in self.fields if field.role is Role.IGNORE}
        return {name: stored for name, stored in self.columns.items() if name not in ignored}

    @property
    def is_damaged(self) -> bool:
        """Whether something in it is known not to be readable."""
        return self.opened.cut is not None or any(part.code in ("part-damaged", "part-link-broken", "part-too-large") for part in self.found.parts)

    def needs_cache(self) -> bool:
        """Whether a dataset has filtered chunks that the blocks of the others cut into pieces."""
        columns = sorted(self.columns.values(), key=lambda stored: stored.row_bytes)
        is_cut = [stored.chunk_rows * stored.row_bytes > SMALL_CACHE and stored.dataset.id.get_create_plist().get_nfilters() for stored in columns]
        return any(is_cut[:-1]) or any(stored.chunk_rows * stored.row_bytes > _BAND_BYTES for stored in columns)

    def missing(self) -> list[str]:
        """Fields that the set has and this file has not, and of which no part has told why."""
        told = {part.key for part in self.found.parts}
        return [
            field.name
            for field in self.fields
            if field.name not in self.columns and REQUIRED in field.declared and f"{self.file.key}:{dataset_name(field.name)}" not in told
        ]

    def parts(self) -> list[Part]:
        """What of the file is no sample."""
        made = list(self.found.parts)
        for data, label in unequal_pairs(self.found.datasets):
            lengths = {name: self.found.datasets[name].length for name in (data, label)}
            says = f"{data} has {lengths[data]:,} rows and {label} {lengths[label]:,}: they do not pair up"
            made.append(Part("part-axis-mismatch", f"{self.file.key}:{data}", says, {"rows": lengths}, file=self.file.key))
        if not self.is_of_set and self.found.datasets:
            made.append(Part("part-not-a-sample", self.file.key, "holds none of the set's datasets; it is left aside", file=self.file.key))
        return made

    def beside(self) -> list[Stored]:
        """The datasets that hold no value of a sample: side tables, statistics, other splits."""
        held = {stored.name for stored in self.columns.values() if self.is_of_set and not is_carried(stored)}
        return [stored for stored in self.found.datasets.values() if stored.name not in held]

    def intact(self, stored: Stored) -> np.ndarray | None:
        """(length,) bool: rows that stand before the end of the file; None where all do."""
        if stored.name not in self._intact:
            self._intact[stored.name] = self._intact_rows(stored)
        return self._intact[stored.name]

    def _intact_rows(self, stored: Stored) -> np.ndarray | None:
        end = self.opened.cut
        if stored.is_linked or stored.dataset.is_virtual:
            return None  # its bytes stand in another file, which HDF5 refuses to open where it is cut
        if end is None:
            if stored.dataset.chunks is not None or not stored.is_dense:
                return None
            end = self.file.size
        try:
            rows = stored.intact(end)
            if stored.element.hasobject:
                rows &= self._intact_heaps(stored, end)
        except FAILURES:
            rows = np.zeros(stored.length, bool)
        return None if rows.all() else rows

    def _intact_heaps(self, stored: Stored, end: int) -> np.ndarray:
        """(length,) bool: rows of variable length whose heap stands before the end of the file: HDF5 goes in a circle for ever in a heap of zeros.

        A row is a length (4 bytes), the address of a heap (8) and a number in it (4); a heap begins with GCOL, and its size stands at byte 8.
        In chunks the rows can't be told apart without reading them, and none is read.
        """
        rows = np.zeros(stored.length, bool)
        block, offset = superblock(self.file.path), stored.dataset.id.get_offset() if stored.is_contiguous() else None
        if block is None or offset is None or stored.shape:
            return rows
        with self.file.path.open("rb") as file:
            file.seek(offset)
            raw = file.read(16 * stored.length)
            held = np.frombuffer(raw[: len(raw) // 16 * 16], np.dtype([("length", "<u4"), ("heap", "<u8"), ("number", "<u4")]))
            for address in np.unique(held["heap"]).tolist():
                at = block.base + address
                if address and at + 16 <= end:
                    file.seek(at)
                    head = file.read(16)
                    is_whole = head.startswith(b"GCOL") and at + int.from_bytes(head[8:16], "little") <= end
                    rows[: len(held)] |= (held["heap"] == address) & is_whole
            rows[: len(held)] |= held["heap"] == 0
        return rows

    def shard_rows(self) -> int:
        """Rows of a shard: some tens of MB, in whole chunks."""
        row_bytes = sum(stored.row_bytes for stored in self.sampled.values())
        return self.whole_chunks(max(1, min(_SHARD_ROWS, _SHARD_BYTES // max(row_bytes, 1))))

    def whole_chunks(self, rows: int) -> int:
        """About so many rows, in whole chunks of the dataset that weighs most: a chunk is read once, and at once."""
        columns = list(self.sampled.values())
        heaviest = max(columns, key=lambda stored: stored.row_bytes, default=None)
        if heaviest is None or heaviest.chunk_rows * sum(stored.row_bytes for stored in columns) > _BAND_BYTES:
            return rows
        return max(1, heaviest.chunk_rows, rows // heaviest.chunk_rows * heaviest.chunk_rows)


def kind_of(stored: Stored) -> Kind:
    """How values of the dataset are held."""
    return _KINDS.get(stored.form, Kind.ARRAY)


def open_table(file: HDF5File, fields: Sequence[Field], limits: Limits, source: Path) -> Table | Part:
    """The file under the plan's fields, or why it can't be opened."""
    try:
        if is_member_of_set(file.path):
            says = "a member of a multi-file HDF5 set (family, multi or split driver), which can't be read here"
            return Part("part-unsupported", file.key, says, file=file.key, lost_records=None)
        opened = open_file(file.path)
    except CantOpenError as failure:
        code = "part-truncated" if failure.is_cut else "part-damaged"
        return Part(code, file.key, failure.says, {"size_bytes": file.size}, file=file.key, lost_bytes=None, lost_records=None)
    except OSError as error:
        return unreadable(file.key, error)
    table = Table(file, opened, contents(opened, file, limits, source), fields)
    if not table.needs_cache():
        return table
    table.close()
    opened = open_file(file.path, LARGE_CACHE)
    return Table(file, opened, contents(opened, file, limits, source), fields)
