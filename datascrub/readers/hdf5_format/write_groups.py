"""One HDF5 file written again without some groups: everything else as HDF5 itself copies it, with types, chunks, filters and attributes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from datascrub.readers.hdf5_format.write import copy_attributes

if TYPE_CHECKING:
    import h5py


def copy_group(handle: h5py.File, target: Path, gone: frozenset[str]) -> None:
    """gone: paths of groups, without the leading slash. Raises what h5py raises."""
    import h5py

    with h5py.File(target, "w-", libver=("earliest", "latest"), track_order=_is_ordered(handle)) as made:
        _copy(handle, made, "", gone)


def _is_ordered(group: h5py.Group) -> bool:
    """Whether it remembers the order in which its links were made."""
    return bool(group.id.get_create_plist().get_link_creation_order())


def _copy(source: h5py.Group, made: h5py.Group, prefix: str, gone: frozenset[str]) -> None:
    import h5py

    copy_attributes(source, made)
    for name in source:
        path = f"{prefix}{name}"
        if path in gone:
            continue
        link = source.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            made[name] = link
        elif any(each.startswith(f"{path}/") for each in gone):
            inner = source[name]
            _copy(inner, made.create_group(name, track_order=_is_ordered(inner)), f"{path}/", gone)
        else:
            source.copy(name, made, name=name)
