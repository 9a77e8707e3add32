"""A folder of pictures: flat, in class folders, with metadata or masks beside them."""

# Paths are bytes here, for foreign names need not decode, and pathlib takes no bytes.
# ruff: noqa: PTH100, PTH113, PTH117, PTH118, PTH120, PTH208

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from datascrub.config import DataConfig
from datascrub.errors import SourceError, UsageError
from datascrub.keys import printable, raw_of, text_of
from datascrub.model import FOLDERS, MASK_KEY, Column, Field, Kind, Part, Problem, Role, Shard
from datascrub.plan import Plan
from datascrub.readers.base import Survey
from datascrub.readers.image_folder_format.annotations import SUFFIXES, Annotations
from datascrub.readers.image_folder_format.classes import class_level, class_of, one_sided_classes
from datascrub.readers.image_folder_format.companions import declared_annotations, declared_masks, find_annotations, find_masks
from datascrub.readers.image_folder_format.entries import Entry, Listing, in_shards
from datascrub.readers.image_folder_format.files import head_of
from datascrub.readers.image_folder_format.list import IMAGE
from datascrub.readers.image_folder_format.masks import Masks
from datascrub.readers.image_folder_format.metadata import Metadata
from datascrub.readers.image_folder_format.names import is_hidden, is_image_by_content, says_image
from datascrub.readers.image_folder_format.outline import Outline
from datascrub.readers.image_folder_format.walk import Folder, Found, Walk, is_inside

_NAMED = 3
"""files of annotations that a note names"""
_DESCRIBED_SHARE = 0.5
"""of the probed pictures that the metadata speak of: with fewer, a picture without a row is no fault"""


class FolderTree(Listing):
    """The samples of a folder, in the order of the bytes of their relative paths."""

    def __init__(self, source: Path) -> None:
        self._root = os.fsencode(source)
        self._metadata: Metadata | None = None
        self._masks: tuple[list[list[str]], list[Masks]] | None = None

    @cached_property
    def _outline(self) -> Outline:
        return Outline(Walk(self._root))

    def fingerprint(self) -> Mapping[str, Any]:
        return {"files": self._outline.count, "size_bytes": self._outline.size, "digest": self._outline.digest}

    def survey(self, data: DataConfig) -> Survey:
        try:
            os.listdir(self._root)
        except OSError as error:
            raise SourceError(f"{os.fsdecode(self._root)} can't be listed: {error.strerror}", fix="check permissions") from error
        leave, notes = list[bytes](), self._notes()
        masks = self._masks_of(data, leave, notes)
        if data.annotations is not None:
            leave.append(self._declared("annotations", data.annotations))
        whole = self._outline
        pictures = Counter({path: count for path, count in whole.pictures.items() if not any(is_inside(path, folder) for folder in leave)})
        if not pictures:
            raise SourceError("the folder holds no pictures", fix="point at the folder that holds them")
        annotations = self._annotations_of(data, pictures, leave, notes)
        tables = [path for path in whole.tables if not any(is_inside(path, folder) for folder in leave)]
        fields: list[Field] = [IMAGE]
        if masks:
            fields.append(Field("mask", Role.MASK, Kind.ENCODED, declared=("extension", "format", MASK_KEY)))
        settings: dict[str, Any] = {
            "kind": "folder",
            "leave": [text_of(folder, is_path=True) for folder in leave],
            "metadata": [text_of(path, is_path=True) for path in tables],
            "masks": [each.told() for each in masks],
            "annotations": [each.told() for each in annotations],
            "is_described": False,
        }
        if tables:
            table = self._metadata = Metadata(self._root, tables)
            probe = [path for path in whole.every_probe() if not any(is_inside(path, folder) for folder in leave)]
            settings["is_described"] = sum(not table.misses(path) for path in probe) >= _DESCRIBED_SHARE * len(probe)
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

    def _masks_of(self, data: DataConfig, leave: list[bytes], notes: list[str]) -> list[Masks]:
        """The masks beside the pictures, declared or not; their folders hold no samples, and are added to leave."""
        whole = self._outline
        if data.masks is not None:
            place = self._declared("masks", data.masks)
            leave.append(place)
            made, share = declared_masks(self._root, place, [path for path in whole.every_probe() if not is_inside(path, place)])
            if made is None:
                notes.append(f"{share:.0%} of the probed pictures have a mask of their name in {_said(place)}: masks are left aside")
            return [] if made is None else [made]
        found, others = find_masks(self._root, whole.pictures, whole.probe, whole.masks)
        leave += [each.folder for each in found] + others
        notes += [f"masks in {_said(each.folder)} belong to the pictures in {_said(each.pictures)}" for each in found]
        notes += [f"{_said(place)} holds further masks of the same pictures: left aside, name it in data.masks to scan these" for place in others]
        return found

    def _annotations_of(self, data: DataConfig, pictures: Counter[bytes], leave: list[bytes], notes: list[str]) -> list[Annotations]:
        """The annotations beside the pictures, likewise."""
        if data.annotations is not None:
            made = declared_annotations(self._root, leave[-1], data.annotation_format, pictures)
            if made is None:
                raise UsageError(f"data.annotations names {data.annotations}, which holds no annotation files", fix="declare annotation_format too")
            found = [made]
        else:
            found = find_annotations(self._root, pictures, self._outline.texts, data.annotation_format)
        leave += [each.place for each in found if each.place not in leave and not each.is_among_pictures]
        together: defaultdict[tuple[str, bytes], list[str]] = defaultdict(list)
        for each in found:
            together[each.form, each.pictures].append(_said(each.place))
        for (form, its_pictures), places in together.items():
            more = f" and {len(places) - _NAMED:,} more" if len(places) > _NAMED else ""
            notes.append(f"{form} annotations in {', '.join(places[:_NAMED])}{more} belong to the pictures in {_said(its_pictures)}")
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

    def shards(self, plan: Plan) -> Iterator[Shard | Part]:
        settings = plan.settings
        tables = frozenset(raw_of(path) for path in settings["metadata"])
        annotations = [Annotations.of_plan(self._root, told) for told in settings["annotations"]]
        beside = frozenset(SUFFIXES[each.form] for each in annotations if each.is_among_pictures)
        walk = Walk(self._root, leave=tuple(raw_of(folder) for folder in settings["leave"]), known=tables, beside=beside)
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
        for masks in self._pairs(plan):
            yield from masks.orphans()
        for each in annotations:
            yield from each.parts(plan.data, plan.limits, sum(count for folder, count in folders.items() if is_inside(folder, each.pictures)))
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
        table, problem = self._table(plan), None
        masks = next((each for each in self._pairs(plan) if is_inside(path, each.pictures)), None)
        mask = masks.of(path) if masks is not None else None
        if masks is not None and masks.is_missing(path):
            problem = Problem("record-companion-missing", f"its mask is missing in {_said(masks.folder)}")
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
        for masks in self._pairs(plan):
            yield from masks.strays()

    def _table(self, plan: Plan) -> Metadata | None:
        paths = tuple(raw_of(path) for path in plan.settings["metadata"])
        if paths and (self._metadata is None or self._metadata.paths != paths):
            self._metadata = Metadata(self._root, paths)
        return self._metadata if paths else None

    def _pairs(self, plan: Plan) -> list[Masks]:
        told = plan.settings["masks"]
        if self._masks is None or self._masks[0] != told:
            # A folder inside another one's comes first: a picture belongs to the nearest.
            made = sorted((Masks.of_plan(self._root, each) for each in told), key=lambda each: each.pictures, reverse=True)
            self._masks = told, made
        return self._masks[1]


def _said(path: bytes) -> str:
    return printable(text_of(path or b".", is_path=True))


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
