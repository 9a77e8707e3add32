"""What an open HDF5 file holds: its datasets, and the places that are none: broken links, damaged objects, claims that nothing stands behind."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datascrub.model import Limits, Part
from datascrub.readers.hdf5_format.dataset import Form, Stored
from datascrub.readers.hdf5_format.files import HDF5File, base_of, superblock
from datascrub.readers.hdf5_format.open import FAILURES, Opened, reason_of

if TYPE_CHECKING:
    import h5py

DATA_NAMES = frozenset({"data", "x", "image", "images", "img", "imgs", "features", "feature", "input", "inputs", "pixels"})
LABEL_NAMES = frozenset({"label", "labels", "y", "target", "targets"})
_DEPTH = 64  # groups below one another; deeper ones are made to exhaust a program
_OBJECTS = 500_000  # datasets of one file that are looked at; a file of more is made to exhaust memory
_CLAIM_BYTES = 256 << 20
"""a dataset below this size is read as it is, written or not"""
_UNWRITTEN = 1000
"""a dataset over it is refused when less than a thousandth of it was ever written: it would read as fill values for hours"""


@dataclass
class Contents:
    """datasets: by name (path without the leading slash), in order of names; those that can be read. parts: what can't, or needs saying."""

    datasets: dict[str, Stored] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)


def contents(opened: Opened, file: HDF5File, limits: Limits, source: Path) -> Contents:
    """Walk the file.

    Links to other files are followed inside the source's folder alone, and not where that folder is the source: its files are read anyway.
    """
    found = Contents()
    walk = _Walk(file, source, found.parts)
    for name, dataset in walk.datasets(opened.handle):
        key = f"{file.key}:{name}"
        try:
            stored = Stored(name, dataset, is_linked=name in walk.linked)
            part = _refused(stored, key, file, limits, walk)
        except FAILURES as error:
            part = _failure(key, file, error)
        if part is not None:
            found.parts.append(part)
        elif not stored.is_null:
            found.datasets[name] = stored
    if opened.cut is not None:
        found.parts.insert(0, _cut(opened.cut, file))
    return found


class _Walk:
    """Every dataset of a file once, whatever the number of links to it; groups in a circle are entered once."""

    def __init__(self, file: HDF5File, source: Path, parts: list[Part]) -> None:
        self.file, self.parts, self.follows = file, parts, not source.is_dir()
        here, base = file.path.parent.resolve(), base_of(source).resolve()
        self.root = base if here.is_relative_to(base) else here
        self._seen: set[Any] = set()
        self._count = 0
        self.linked: set[str] = set()

    def datasets(self, group: h5py.Group, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, h5py.Dataset]]:
        import h5py

        if self._is_seen(group) or depth > _DEPTH:
            return
        try:
            names = sorted(group)
        except FAILURES as error:
            self._say("part-damaged", prefix or "/", f"corrupt: the group can't be listed ({reason_of(error)})")
            return
        for name in names:
            path = f"{prefix}{name}"
            try:
                link = group.get(name, getlink=True)
                if not isinstance(link, h5py.HardLink):
                    yield from self._linked(group, name, path, link)
                    continue
                item = group[name]
            except FAILURES as error:
                self.parts.append(_failure(f"{self.file.key}:{path}", self.file, error))
                continue
            if isinstance(item, h5py.Group):
                yield from self.datasets(item, path + "/", depth + 1)
            elif isinstance(item, h5py.Dataset) and not self._is_seen(item):
                self._count += 1
                if self._count <= _OBJECTS:
                    yield path, item
                elif self._count == _OBJECTS + 1:
                    says = f"holds more than {_OBJECTS:,} datasets; those from here on are not read"
                    self.parts.append(Part("part-too-large", f"{self.file.key}:{path}", says, file=self.file.key, lost_bytes=None, lost_records=None))

    def _is_seen(self, item: Any) -> bool:
        import h5py

        try:
            info = h5py.h5o.get_info(item.id)
        except FAILURES:
            return False
        identity = (info.fileno, info.addr)
        is_seen = identity in self._seen
        self._seen.add(identity)
        return is_seen

    def _linked(self, group: h5py.Group, name: str, path: str, link: Any) -> Iterator[tuple[str, h5py.Dataset]]:
        """What a soft or external link leads to. A soft link's target is met by its own name; here it is only seen whether it is there."""
        import h5py

        is_external = isinstance(link, h5py.ExternalLink)
        if is_external:
            target = self.inside(link.filename)
            if target is None:
                self._say("part-unsupported", path, f"an external link out of the source's folder, to {Path(link.filename).name}; it is not followed")
                return
            if not target.is_file():  # HDF5 would go on to look for it where the command runs
                self._broken(name, path, link, is_external)
                return
        try:
            item = group[name]
        except FAILURES:
            self._broken(name, path, link, is_external)
            return
        is_inside = is_external and isinstance(item, h5py.Dataset) and self.inside(item.file.filename) is not None
        if is_inside and self.follows and not self._is_seen(item):
            self.linked.add(path)
            yield path, item

    def inside(self, filename: str) -> Path | None:
        """The file that a link of this file names; None where it stands out of the source's folder."""
        try:
            path = (self.file.path.parent / filename).resolve()
        except (OSError, ValueError):
            return None
        return path if path.is_relative_to(self.root) else None

    def _broken(self, name: str, path: str, link: Any, is_external: bool) -> None:
        """A link to nothing is an error where its name says that the set's data stand there; elsewhere it is a leftover, said without blame."""
        target = f"{link.filename}:{link.path}" if is_external else link.path
        says = f"{'an external' if is_external else 'a soft'} link to {target}, which is missing"
        is_data = name.lower() in DATA_NAMES | LABEL_NAMES
        self._say("part-link-broken" if is_data else "part-not-a-sample", path, says)

    def _say(self, code: str, path: str, says: str) -> None:
        is_lost = code in ("part-damaged", "part-link-broken")
        lost = None if is_lost else 0
        key = f"{self.file.key}:{path}"
        self.parts.append(Part(code, key, says, {"dataset": path}, file=self.file.key, lost_bytes=lost, lost_records=lost))


def _refused(stored: Stored, key: str, file: HDF5File, limits: Limits, walk: _Walk) -> Part | None:
    """Why a dataset is not read, where it is not."""
    evidence: dict[str, Any] = {"dataset": stored.name}

    def part(code: str, says: str, lost: int | None = None) -> Part:
        return Part(code, key, says, evidence, file=file.key, lost_bytes=lost, lost_records=lost)

    if stored.form is Form.UNKNOWN:
        return part("part-unsupported", f"a type that can't be read here ({stored.element})", 0)
    if stored.is_null:
        return None
    if (missing := _missing_filter(stored)) is not None:
        return part("part-unsupported", f"needs an HDF5 filter plugin that is not installed ({missing})", 0)
    if stored.dataset.external:
        return part("part-unsupported", "keeps its numbers in another file, by external storage, which is not read here", 0)
    if stored.dataset.is_virtual and (gone := _missing_source(stored, walk)):
        return part("part-link-broken", f"a virtual dataset whose source {gone} is missing: it would read as fill values")
    return _claim(stored, part, limits, file.size)


def _claim(stored: Stored, part: Any, limits: Limits, size: int) -> Part | None:
    made: Part | None = None
    chunk_bytes = math.prod(stored.dataset.chunks or (0,)) * stored.element.itemsize
    if stored.row_bytes > limits.max_record_bytes and stored.length:
        made = part("part-too-large", f"one row claims {stored.row_bytes:,} bytes, over the limit of {limits.max_record_bytes:,}")
    elif chunk_bytes > limits.max_inflated_bytes:
        made = part("part-too-large", f"one chunk claims {chunk_bytes:,} bytes, over the limit of {limits.max_inflated_bytes:,}")
    elif stored.logical_bytes > _CLAIM_BYTES and not stored.dataset.is_virtual:
        chunked = stored.dataset.chunks is not None
        stored_bytes = stored.dataset.id.get_storage_size() if stored.is_linked else min(stored.dataset.id.get_storage_size(), size)
        written = stored.dataset.id.get_num_chunks() * chunk_bytes if chunked else stored_bytes
        if written * _UNWRITTEN < stored.logical_bytes:
            says = f"claims {stored.logical_bytes:,} bytes of which {written:,} were ever written"
            made = part("part-too-large", says)
    return made


def _missing_filter(stored: Stored) -> str | None:
    """The first filter of its chunks that can't be undone here."""
    import h5py

    plist = stored.dataset.id.get_create_plist()
    for index in range(plist.get_nfilters()):
        code, _, _, name = plist.get_filter(index)
        if not h5py.h5z.filter_avail(code) or not h5py.h5z.get_filter_info(code) & h5py.h5z.FILTER_CONFIG_DECODE_ENABLED:
            return f"{name.decode('utf-8', 'replace')}, filter {code}" if name else f"filter {code}"
    return None


def _missing_source(stored: Stored, walk: _Walk) -> str | None:
    """The first file of a virtual dataset that is not there, or out of the source's folder."""
    for source in stored.dataset.virtual_sources():
        if source.file_name == "." or "%" in source.file_name:  # a pattern of names stands for as many files as there are
            continue
        path = walk.inside(source.file_name)
        if path is None or not path.is_file():
            return str(source.file_name)
    return None


def _failure(key: str, file: HDF5File, error: BaseException) -> Part:
    """An object that h5py does not open: a type it does not know, or damage."""
    reason = reason_of(error)
    if isinstance(error, TypeError) or "no appropriate function for conversion path" in reason:
        return Part("part-unsupported", key, f"a type that can't be read here ({reason})", file=file.key)
    return Part("part-damaged", key, f"corrupt: the object can't be opened ({reason})", file=file.key, lost_bytes=None, lost_records=None)


def _cut(cut: int, file: HDF5File) -> Part:
    block = superblock(file.path)
    claimed = block.end if block else cut
    says = f"truncated: {cut:,} of {claimed:,} bytes; what stands before the cut is read"
    return Part("part-truncated", file.key, says, {"size_bytes": cut, "claimed_bytes": claimed}, file=file.key, offset=cut, lost_bytes=claimed - cut)
