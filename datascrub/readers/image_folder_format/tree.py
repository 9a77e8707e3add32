"""A folder of pictures: flat, in class folders, with metadata or masks beside them."""

# Paths are bytes here, for foreign names need not decode, and pathlib takes no bytes.
# ruff: noqa: PTH100, PTH113, PTH117, PTH118, PTH119, PTH120, PTH208

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import xxhash

from datascrub.config import DataConfig
from datascrub.errors import SourceError, UsageError
from datascrub.keys import printable, raw_of, text_of
from datascrub.model import FOLDERS, MASK_KEY, Column, Field, Kind, Part, Problem, Role, Shard
from datascrub.plan import Plan
from datascrub.readers.base import Survey
from datascrub.readers.image_folder_format.annotations import Annotations
from datascrub.readers.image_folder_format.annotations import find as find_annotations
from datascrub.readers.image_folder_format.classes import class_level, class_of, one_sided_classes
from datascrub.readers.image_folder_format.entries import Entry, Listing, in_shards
from datascrub.readers.image_folder_format.files import head_of
from datascrub.readers.image_folder_format.list import IMAGE
from datascrub.readers.image_folder_format.masks import Masks, pictures_of
from datascrub.readers.image_folder_format.metadata import NAMES, Metadata, is_metadata
from datascrub.readers.image_folder_format.names import is_hidden, is_image_by_content, says_image
from datascrub.readers.image_folder_format.walk import Folder, Found, Other, Walk, is_inside

_PROBED = 200
_PAIRED_SHARE = 0.5
"""of probed pictures that have a mask by name: with fewer, names pair in a way that is not known here, and nothing is accused"""

_DESCRIBED_SHARE = 0.5
"""of the probed pictures that the metadata speak of: with fewer, a picture without a row is no fault"""


class _Outline:
    """One pass: the outside of all files, and how many pictures each folder holds."""

    def __init__(self, walk: Walk) -> None:
        digest = xxhash.xxh3_128()
        self.pictures: Counter[bytes] = Counter()
        self.probe: list[bytes] = []
        self.count, self.size, self.links = 0, 0, 0
        self.tables: list[bytes] = []
        for item in walk:
            if isinstance(item, (Found, Other)):
                digest.update(b"%s\0%d %d\n" % (item.path, item.size, item.mtime_ns))
                self.size += item.size
            if isinstance(item, Other) and os.path.basename(item.path) in NAMES and is_metadata(walk.path(item.path)):
                self.tables.append(item.path)
            if isinstance(item, Found):
                self.count, self.links = self.count + 1, self.links + item.is_link
                folder = os.path.dirname(item.path)
                self.pictures[folder] += 1
                if self.pictures[folder] <= _PROBED and len(self.probe) < _PROBED * 10:
                    self.probe.append(item.path)
        self.digest, self.links_out = digest.hexdigest(), walk.links_out


class FolderTree(Listing):
    """The samples of a folder, in the order of the bytes of their relative paths."""

    def __init__(self, source: Path) -> None:
        self._root = os.fsencode(source)
        self._metadata: Metadata | None = None
        self._masks: tuple[tuple[str, str], Masks] | None = None

    @cached_property
    def _outline(self) -> _Outline:
        return _Outline(Walk(self._root))

    def fingerprint(self) -> Mapping[str, Any]:
        return {"files": self._outline.count, "size_bytes": self._outline.size, "digest": self._outline.digest}

    def survey(self, data: DataConfig) -> Survey:
        try:
            os.listdir(self._root)
        except OSError as error:
            raise SourceError(f"{os.fsdecode(self._root)} can't be listed: {error.strerror}", fix="check permissions") from error
        leave = [self._declared(name, folder) for name, folder in (("masks", data.masks), ("annotations", data.annotations)) if folder is not None]
        whole = self._outline
        pictures = Counter({path: count for path, count in whole.pictures.items() if not any(is_inside(path, folder) for folder in leave)})
        if not pictures:
            raise SourceError("the folder holds no pictures", fix="point at the folder that holds them")
        annotations = self._annotations_of(data, pictures, leave)
        tables = [path for path in whole.tables if not any(is_inside(path, folder) for folder in leave)]
        fields, notes, settings = [IMAGE], self._notes(), self._base(leave, tables)
        if annotations is not None:
            place, its_pictures = (printable(text_of(path or b".", is_path=True)) for path in (annotations.place, annotations.pictures))
            settings["annotations"] = [*(text_of(path or b".", is_path=True) for path in (annotations.place, annotations.pictures)), annotations.form]
            notes.append(f"{annotations.form} annotations in {place} belong to the pictures in {its_pictures}")
        if data.masks is not None:
            probe = [path for path in whole.probe if not any(is_inside(path, folder) for folder in leave)]
            fields, notes = self._pair(leave[0], probe, settings, fields, notes)
        if tables:
            table = self._metadata = Metadata(self._root, tables)
            settings["is_described"] = sum(not table.misses(path) for path in whole.probe) >= _DESCRIBED_SHARE * len(whole.probe)
            fields += table.fields()
        level = None if data.task == "unlabelled" or any(field.role is Role.LABEL for field in fields) else class_level(pictures)
        settings["class_level"] = level
        classes: list[str] = []
        if level is not None:
            fields.insert(1, Field("label", Role.LABEL, Kind.TEXT, declared=(FOLDERS,)))
            classes = sorted({text_of(name, is_path=True) for path in pictures if (name := class_of(path + b"/", level)) is not None})
            notes.append(f"{len(classes):,} class folders")
        if data.task == "unlabelled":
            fields = [field for field in fields if field.role is not Role.LABEL]
        is_labelled = any(field.role is Role.LABEL for field in fields)
        is_number = any(field.role is Role.LABEL and field.dtype == "float64" for field in fields)
        task = data.task or ("regression" if is_number else "classification" if is_labelled else "unlabelled")
        return Survey(None, tuple(fields), sum(pictures.values()), whole.size, settings, task=task, labels=tuple(classes[:36]), notes=tuple(notes))

    def _annotations_of(self, data: DataConfig, pictures: Counter[bytes], leave: list[bytes]) -> Annotations | None:
        """The annotations beside the pictures, declared or not; their folder holds no samples."""
        declared = self._declared("annotations", data.annotations) if data.annotations is not None else None
        found = find_annotations(self._root, declared, data.annotation_format, pictures)
        if found is None and declared is not None:
            raise UsageError(f"data.annotations names {data.annotations}, which holds no annotation files", fix="declare annotation_format too")
        if found is not None and found.place not in leave:
            leave.append(found.place)
        return found

    def _declared(self, name: str, folder: str) -> bytes:
        """The relative path of a folder that holds masks or annotations; annotations may be one file."""
        holds = os.path.isdir if name == "masks" else os.path.exists
        made = os.path.normpath(os.fsencode(folder))
        if os.path.isabs(made):
            made = os.path.relpath(made, os.path.abspath(self._root))
        if made.startswith(b"..") or made == b"." or not holds(os.path.join(self._root, made)):
            raise UsageError(f"data.{name} names {folder}, which is not inside the source", fix="give its path relative to the source")
        return made

    def _notes(self) -> list[str]:
        whole, notes = self._outline, []
        if whole.links:
            notes.append(f"{whole.links:,} pictures are reached by links; what they lead to is read")
        if whole.links_out:
            notes.append(f"{whole.links_out:,} links to folders outside the source are followed")
        return notes

    def _base(self, leave: Sequence[bytes], tables: Sequence[bytes]) -> dict[str, Any]:
        return {
            "kind": "folder",
            "leave": [text_of(folder, is_path=True) for folder in leave],
            "metadata": [text_of(path, is_path=True) for path in tables],
            "masks": None,
            "annotations": None,
            "is_described": False,
        }

    def _pair(
        self, masks: bytes, probe: Sequence[bytes], settings: dict[str, Any], fields: list[Field], notes: list[str]
    ) -> tuple[list[Field], list[str]]:
        pictures, share = pictures_of(self._root, masks, probe)
        name = printable(text_of(masks, is_path=True))
        if share < _PAIRED_SHARE:
            return fields, [*notes, f"{share:.0%} of the probed pictures have a mask of their name in {name}: masks are left aside"]
        settings["masks"] = [text_of(masks, is_path=True), text_of(pictures or b".", is_path=True)]
        return [*fields, Field("mask", Role.MASK, Kind.ENCODED, declared=("extension", "format", MASK_KEY))], notes

    def shards(self, plan: Plan) -> Iterator[Shard | Part]:
        settings = plan.settings
        tables = frozenset(raw_of(path) for path in settings["metadata"])
        walk = Walk(self._root, leave=tuple(raw_of(folder) for folder in settings["leave"]), known=tables)
        number = first = 0
        folders: Counter[bytes] = Counter()
        for piece in in_shards(self._sized(walk, settings["class_level"], folders)):
            if isinstance(piece, Part):
                yield piece
                continue
            yield Shard(number, {"folders": _folded(piece)}, len(piece), first)
            number, first = number + 1, first + len(piece)
        held = self._table(plan)
        if held is not None:
            yield from held.parts(self._root)
        masks = self._pairs(plan)
        if masks is not None:
            yield from masks.orphans()
        annotations = Annotations.of_plan(self._root, settings)
        if annotations is not None:
            yield from annotations.parts(plan.data, plan.limits, first)
        if settings["class_level"] is not None:
            yield from one_sided_classes(folders, settings["class_level"])

    def _sized(self, walk: Walk, level: int | None, folders: Counter[bytes]) -> Iterator[tuple[bytes, int] | Part]:
        """Pictures in order, and parts; counts the pictures of each folder on the way."""
        holding: set[bytes] = set()
        for item in walk:
            if isinstance(item, Part):
                yield item
            elif isinstance(item, Found):
                folders[os.path.dirname(item.path)] += 1
                if level is not None:
                    holding.add(b"/".join(item.path.split(b"/")[: level + 1]))
                yield item.path, item.size
            elif isinstance(item, Folder) and level is not None and item.path.count(b"/") == level and item.path:
                if item.path not in holding:
                    what = "an empty class folder" if not item.files else "a class folder in which no file is a picture"
                    yield Part("part-empty", text_of(item.path, is_path=True), f"{what}: a class without pictures")
                folders[item.path] += 0

    def entries(self, plan: Plan, where: Mapping[str, Any]) -> Sequence[Entry]:
        made: list[Entry] = []
        for folder_key, names in where["folders"]:
            folder = raw_of(folder_key) if folder_key else b""
            for name in names:
                raw = raw_of(name)
                made.append(self._entry(plan, folder + b"/" + raw if folder else raw))
        return made

    def _entry(self, plan: Plan, path: bytes) -> Entry:
        masks, table, problem = self._pairs(plan), self._table(plan), None
        mask = masks.of(path) if masks is not None else None
        if masks is not None and mask is None:
            problem = Problem("record-companion-missing", f"its mask is missing in {printable(text_of(masks.folder, is_path=True))}")
        elif table is not None and plan.settings["is_described"] and table.misses(path):
            problem = Problem("record-field-missing", "the metadata has no row for this picture")
        elif table is not None and (odd := table.odd(plan.fields, path)) is not None:
            problem = Problem("record-field-kind", odd)
        return Entry(text_of(path, is_path=True), os.path.join(self._root, path), path, mask, None, problem)

    def find(self, plan: Plan, key: str) -> Entry:
        try:
            path = raw_of(key)
        except ValueError:
            path = b""
        leave = [raw_of(folder) for folder in plan.settings["leave"]]
        names = path.split(b"/")
        whole = os.path.join(self._root, path)
        if (
            not path
            or b"\0" in path
            or os.path.normpath(path) != path
            or path.startswith((b"/", b".."))
            or any(is_hidden(name) for name in names)
            or any(is_inside(path, folder) for folder in leave)
            or not os.path.isfile(whole)
            or not (says_image(names[-1]) or is_image_by_content(head_of(whole) or b""))
        ):
            raise UsageError(f"the source holds no sample {printable(key)}")
        return self._entry(plan, path)

    def column(self, plan: Plan, field: Field, entries: Sequence[Entry]) -> Column:
        level, table = plan.settings["class_level"], self._table(plan)
        if field.name == "label" and level is not None:
            classes = [class_of(entry.name, level) for entry in entries]
            return Column(field, [None if name is None else text_of(name, is_path=True) for name in classes])
        return table.column(field, [entry.name for entry in entries]) if table is not None else Column(field, [None] * len(entries))

    def strays(self, plan: Plan) -> Iterator[bytes]:
        masks = self._pairs(plan)
        if masks is not None:
            yield from masks.strays()

    def _table(self, plan: Plan) -> Metadata | None:
        paths = tuple(raw_of(path) for path in plan.settings["metadata"])
        if paths and (self._metadata is None or self._metadata.paths != paths):
            self._metadata = Metadata(self._root, paths)
        return self._metadata if paths else None

    def _pairs(self, plan: Plan) -> Masks | None:
        if plan.settings["masks"] is None:
            return None
        names = tuple(plan.settings["masks"])
        if self._masks is None or self._masks[0] != names:
            pictures = raw_of(names[1])
            self._masks = (names[0], names[1]), Masks(self._root, raw_of(names[0]), b"" if pictures == b"." else pictures)
        return self._masks[1]


def _folded(paths: Sequence[bytes]) -> list[list[Any]]:
    """Paths in order as [[folder, [name, …]], …]: the folder of many files stands once."""
    made: list[list[Any]] = []
    last: bytes | None = None
    for path in paths:
        folder, _, name = path.rpartition(b"/")
        if folder != last:
            made.append([text_of(folder, is_path=True) if folder else "", []])
            last = folder
        made[-1][1].append(text_of(name, is_path=True))
    return made
