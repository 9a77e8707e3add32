"""One HDF5 file written again without some rows: same groups, links, attributes, types, chunks and filters; other objects as they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from datascrub.errors import CopyError
from datascrub.readers.hdf5_format.dataset import Form, Stored
from datascrub.readers.hdf5_format.files import superblock
from datascrub.readers.hdf5_format.open import FAILURES, reason_of
from datascrub.readers.hdf5_format.table import Table

if TYPE_CHECKING:
    import h5py

_BLOCK_BYTES = 16 << 20
_VERSIONS = {0: "earliest", 1: "earliest", 2: "v108", 3: "v110"}
"""version of the superblock -> oldest library that wrote such files"""
_SCALE_LINKS = (b"DIMENSION_LIST", b"REFERENCE_LIST")
_VIRTUAL = 3  # H5D_VIRTUAL


def write_rows(table: Table, target: Path, keep: np.ndarray, notes: list[str], stale: list[str], pulse: Callable[[], None]) -> None:
    """keep: (length,) bool. notes, stale: what could not be carried over is said there. pulse: called again and again, to show that it goes on."""
    import h5py

    handle = table.opened.handle
    plist = handle.id.get_create_plist()
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    low = {"earliest": h5py.h5f.LIBVER_EARLIEST, "v108": h5py.h5f.LIBVER_V18, "v110": h5py.h5f.LIBVER_V110}[
        _VERSIONS.get(plist.get_version()[0], "v110")
    ]
    access.set_libver_bounds(low, h5py.h5f.LIBVER_LATEST)
    with h5py.File(h5py.h5f.create(os.fsencode(target), h5py.h5f.ACC_EXCL, fcpl=plist, fapl=access)) as made:
        writer = _Writer(table, made, keep, notes, stale, pulse)
        writer.group(handle, made, "")
        writer.attach_scales()
    _user_block(table, target)


def _user_block(table: Table, target: Path) -> None:
    """What stands before the first byte of HDF5."""
    block = superblock(table.file.path)
    if block is None or not block.base:
        return
    with table.file.path.open("rb") as source, target.open("r+b") as made:
        made.write(source.read(block.base))


class _Writer:
    """Walks the source and writes each object once, whatever the number of links to it."""

    def __init__(self, table: Table, made: h5py.File, keep: np.ndarray, notes: list[str], stale: list[str], pulse: Callable[[], None]) -> None:
        self.table, self.made, self.keep, self.notes, self.stale, self.pulse = table, made, keep, notes, stale, pulse
        self._places: dict[tuple[Any, ...], str] = {}
        self._datasets: list[tuple[str, h5py.Dataset]] = []

    def group(self, source: h5py.Group, made: h5py.Group, prefix: str) -> None:
        """Everything in a group, in its own order."""
        import h5py

        self._is_written(source, made.name)
        copy_attributes(source, made)
        try:
            names = list(source)
        except FAILURES as error:
            self.notes.append(f"{self.table.file.key}:{prefix or '/'} is not in the copy: it can't be listed ({reason_of(error)})")
            return
        for name in names:
            path = f"{prefix}{name}"
            link = source.get(name, getlink=True)
            column = self._column(path)
            if isinstance(link, h5py.SoftLink) or (isinstance(link, h5py.ExternalLink) and column is None):
                made[name] = link
                if isinstance(link, h5py.ExternalLink):
                    self.stale.append(f"{self.table.file.key}:{path}: a link to {link.filename}, which does not follow the rows that were dropped")
            elif column is not None and column.is_linked:
                self._rows(column, made, name)
                self.notes.append(f"{self.table.file.key}:{path} was an external link; the copy holds its rows")
            else:
                self._object(source, made, name, path)

    def _object(self, source: h5py.Group, made: h5py.Group, name: str, path: str) -> None:
        import h5py

        try:
            item = source[name]
        except FAILURES as error:
            self.notes.append(f"{self.table.file.key}:{path} is not in the copy: it can't be opened ({reason_of(error)})")
            return
        if (place := self._is_written(item, f"{made.name.rstrip('/')}/{name}")) is not None:
            made[name] = self.made[place]
        elif isinstance(item, h5py.Group):
            inner = h5py.Group(h5py.h5g.create(made.id, name.encode("utf-8"), gcpl=item.id.get_create_plist()))
            self.group(item, inner, path + "/")
        elif isinstance(item, h5py.Dataset) and (column := self._column(path)) is not None:
            self._rows(column, made, name)
        else:
            if isinstance(item, h5py.Dataset):
                self._has_rows(item, path)
                self._datasets.append((f"{made.name.rstrip('/')}/{name}", item))
            h5py.h5o.copy(source.id, name.encode("utf-8"), made.id, name.encode("utf-8"))
            _unlink_scales(made[name])

    def _is_written(self, item: Any, place: str) -> str | None:
        """Where the copy has this object already; else remembers the place where it will."""
        import h5py

        info = h5py.h5o.get_info(item.id)
        known = self._places.get((info.fileno, info.addr))
        if known is None:
            self._places[info.fileno, info.addr] = place
        return known

    def _column(self, path: str) -> Stored | None:
        """The dataset of this name, where its rows go with the samples."""
        stored = self.table.found.datasets.get(path)
        if stored is None or stored.is_scalar:
            return None
        columns = {column.name for column in self.table.columns.values()}
        return stored if stored.name in columns or stored.length == self.table.length else None

    def _has_rows(self, item: h5py.Dataset, path: str) -> None:
        """Refuse to leave rows of a dataset that can't be read beside samples that lose theirs."""
        shape = item.shape
        if not shape or shape[0] != self.table.length or path in self.table.found.datasets:
            return
        if item.id.get_storage_size():
            key = f"{self.table.file.key}:{path}"
            raise CopyError(f"{key} has a row for each sample and can't be read, so that it can't follow", fix="install the filter plugin it needs")

    def _rows(self, stored: Stored, made: h5py.Group, name: str) -> None:
        """A dataset along the axis, without the rows that go."""
        import h5py

        keep = self.keep[: stored.length]
        source = stored.dataset
        plist = source.id.get_create_plist()
        if plist.get_layout() == _VIRTUAL:
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            self.notes.append(f"{self.table.file.key}:{stored.name} was a virtual dataset; the copy holds its rows")
        kind = source.id.get_type()
        space = _space(source, int(keep.sum()))
        dataset = h5py.Dataset(h5py.h5d.create(made.id, name.encode("utf-8"), kind.copy() if kind.committed() else kind, space, dcpl=plist))
        self._datasets.append((dataset.name, source))
        if stored.form is Form.REFERENCES:
            self.stale.append(f"{self.table.file.key}:{stored.name}: references point to objects of the source")
        at = 0
        for values in _kept_blocks(stored, keep):
            self.pulse()
            _write(dataset, at, values)
            at += len(values)
        copy_attributes(source, dataset)

    def attach_scales(self) -> None:
        """Dimension scales of the source's datasets, attached to the copies of them."""
        for place, source in self._datasets:
            for axis, dimension in enumerate(source.dims):
                for scale in dimension.values():
                    if (name := self._places.get(_identity(scale))) is not None:
                        self.made[place].dims[axis].attach_scale(self.made[name])


def _identity(item: Any) -> tuple[Any, ...]:
    import h5py

    info = h5py.h5o.get_info(item.id)
    return info.fileno, info.addr


def _space(source: h5py.Dataset, rows: int) -> Any:
    """The shape of the copy: a first axis that may grow still may, and a fixed one ends with the rows, but never below one chunk."""
    import h5py

    shape, most = (rows, *source.shape[1:]), list(source.maxshape)
    if source.chunks is None:
        return h5py.h5s.create_simple(shape)
    if most[0] == source.shape[0]:
        most[0] = max(rows, source.chunks[0])
    return h5py.h5s.create_simple(shape, tuple(h5py.h5s.UNLIMITED if axis is None else axis for axis in most))


def _kept_blocks(stored: Stored, keep: np.ndarray) -> Iterator[np.ndarray]:
    """The rows that stay, some MB at a time."""
    rows = max(1, _BLOCK_BYTES // max(1, stored.row_bytes))
    step = max(stored.chunk_rows, rows // stored.chunk_rows * stored.chunk_rows)
    for start in range(0, len(keep), step):
        mask = keep[start : start + step]
        if not mask.any():
            continue
        try:
            yield _read(stored, start, start + len(mask))[mask]
        except FAILURES:
            borders = [0, *(np.flatnonzero(np.diff(mask.astype(np.int8))) + 1).tolist(), len(mask)]
            for low, high in pairwise(borders):
                if mask[low]:  # every row that stays was read before: only its neighbours can't be
                    yield _read(stored, start + low, start + high)


def _read(stored: Stored, start: int, stop: int) -> np.ndarray:
    """Rows as bytes, in the type of the file, so that no conversion comes between; those of variable length as h5py gives them."""
    if stored.element.hasobject:
        return np.asarray(stored.raw(start, stop))
    return _exchange(stored.dataset, start, stop, None)


def _write(dataset: h5py.Dataset, at: int, values: np.ndarray) -> None:
    if values.dtype.hasobject:
        dataset[at : at + len(values)] = values
    else:
        _exchange(dataset, at, at + len(values), np.ascontiguousarray(values))


def _exchange(dataset: h5py.Dataset, start: int, stop: int, values: np.ndarray | None) -> np.ndarray:
    """Read rows as void elements, or write such; the memory type is the file's own."""
    import h5py

    kind, shape = dataset.id.get_type(), (stop - start, *dataset.shape[1:])
    block = np.empty(shape, f"V{kind.get_size()}") if values is None else values
    if not block.size:
        return block
    space = dataset.id.get_space()
    space.select_hyperslab((start, *(0,) * (len(shape) - 1)), shape)
    memory = h5py.h5s.create_simple(shape)
    if values is None:
        dataset.id.read(memory, space, block, kind)
    else:
        dataset.id.write(memory, space, block, kind)
    return block


def copy_attributes(source: Any, made: Any) -> None:
    """The attributes of an object, in their own types; those that bind dimension scales are made anew."""
    import h5py

    for index in range(h5py.h5a.get_num_attrs(source.id)):
        attribute = h5py.h5a.open(source.id, index=index)
        if attribute.name in _SCALE_LINKS:
            continue
        kind = attribute.get_type()
        copy = h5py.h5a.create(made.id, attribute.name, kind.copy() if kind.committed() else kind, attribute.get_space())
        if attribute.get_space().get_simple_extent_type() == h5py.h5s.NULL:
            continue
        values = np.empty(attribute.shape, attribute.dtype)
        attribute.read(values)
        copy.write(values)


def _unlink_scales(made: Any) -> None:
    import h5py

    for name in _SCALE_LINKS:
        if h5py.h5a.exists(made.id, name):
            h5py.h5a.delete(made.id, name)
