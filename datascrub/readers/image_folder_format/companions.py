"""Which folders and files beside the pictures are their masks and annotations, where nobody declared them: told by name, pairing and content."""

# Paths are bytes here, for foreign names need not decode, and pathlib takes no bytes.
# ruff: noqa: PTH113, PTH118, PTH119, PTH120, PTH202, PTH208

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from datascrub.media.header import HEAD_BYTES, header_of
from datascrub.media.indexes import has_few_colours
from datascrub.readers.image_folder_format import annotation_coco, annotation_voc, annotation_yolo
from datascrub.readers.image_folder_format.annotations import SUFFIXES, Annotations, is_class_list
from datascrub.readers.image_folder_format.files import head_of, read_file
from datascrub.readers.image_folder_format.masks import ENDINGS, Accused, Masks
from datascrub.readers.image_folder_format.walk import is_inside

_MASKS = (b"masks", b"mask", b"segmentationclass", b"segmentationclassaug", b"segmentation", b"segmentations", b"segmentationobject")
"""folders of masks by their name alone, the better ones first"""
_PERHAPS_MASKS = (b"annotations", b"annotation", b"labels", b"label", b"ground_truth", b"groundtruth", b"gt")
"""folders that hold masks where their pictures look like such"""
_ANNOTATIONS = frozenset((b"annotations", b"annotation", b"labels", b"label", b"bboxes"))

_PROBED = 200
_LOOKED_AT = 20
_PAIRED_SHARE = 0.5
"""of the probed masks or annotations that have a picture by name: with fewer, a folder that nobody declared is taken for something else"""
_COMPLETE_SHARE = 0.9
"""of the pictures that have a mask: with fewer, masks are given for some of them by intent, and a picture without one is no fault"""
_MASK_MODES = frozenset(("1", "L", "P", "I", "I;16", "I;16B"))
_MOST_COLOURS = 100
"""a photo has more"""
_MOST_MASK_BYTES = 16 << 20
_MOST_JSON = 20
_MOST_JSON_BYTES = 64 << 20
"""a larger file of annotations is read only where it is declared"""

Texts = Mapping[bytes, Counter[bytes]]
"""folder -> suffix in lower case -> files with it that are no pictures"""


def find_masks(
    root: bytes, pictures: Iterable[bytes], probe: Sequence[bytes], masks: Mapping[bytes, Sequence[bytes]]
) -> tuple[list[Masks], list[bytes]]:
    """(the pairs of masks and pictures, folders of further masks of the same pictures).

    pictures: folders that hold pictures, masks among them. probe: some pictures. masks: folder that is named for masks -> some of the files below it.
    """
    plain = [folder for folder in pictures if mask_place(folder) is None]
    found, others = dict[bytes, Masks](), list[bytes]()
    for place in sorted(masks, key=lambda place: (_rank(place), place)):
        made = _paired_masks(root, place, masks[place], plain, probe)
        if made is not None and made.pictures in found:
            others.append(place)
        elif made is not None:
            found[made.pictures] = made
    return sorted(found.values(), key=lambda made: made.folder), sorted(others)


def mask_place(folder: bytes) -> bytes | None:
    """The topmost folder on a path that is named for masks; None where none is, or where it is the root's own."""
    parts = folder.split(b"/") if folder else []
    for level, part in enumerate(parts):
        name = part.lower()
        if name in _MASKS or name in _PERHAPS_MASKS or name.endswith((b"_masks", b"_mask")):
            return b"/".join(parts[: level + 1])
    return None


def _rank(place: bytes) -> int:
    name = os.path.basename(place).lower()
    return _MASKS.index(name) if name in _MASKS else len(_MASKS)


def _paired_masks(root: bytes, place: bytes, masks: Sequence[bytes], folders: Sequence[bytes], probe: Sequence[bytes]) -> Masks | None:
    made = [Masks(root, place, each, ending) for each in _beside(place, folders) for ending in ENDINGS]
    pairs = [sum(each.picture_of(path) is not None for path in masks) for each in made]
    if not pairs or max(pairs) < _PAIRED_SHARE * len(masks) or not _look_like_masks(root, place, masks):
        return None
    best = made[pairs.index(max(pairs))]
    asked = [path for path in probe if is_inside(path, best.pictures) and best.has_folder(path)]
    is_complete = sum(best.of(path) is not None for path in asked) >= _COMPLETE_SHARE * len(asked)
    return best.accusing(Accused.BESIDE if is_complete else Accused.NONE)


def _beside(place: bytes, folders: Iterable[bytes]) -> list[bytes]:
    """Where the pictures of a folder of masks or annotations may lie: each folder beside it, and the one that holds it; the deepest ones too."""
    parent = os.path.dirname(place)
    made: dict[bytes, None] = {}
    for folder in sorted(folders):
        if folder == parent:
            made[folder] = None
        elif not parent or is_inside(folder, parent):
            parts = folder[len(parent) :].strip(b"/").split(b"/")
            for depth in range(1, len(parts) + 1):
                made[os.path.join(parent, *parts[:depth])] = None
    return [*made, parent] if parent not in made else list(made)


def _look_like_masks(root: bytes, place: bytes, masks: Sequence[bytes]) -> bool:
    """Whether nearly all that are looked at are drawn in few colours, or, where the name of the folder is sure, in one channel."""
    is_sure = os.path.basename(place).lower() not in _PERHAPS_MASKS
    told = [_looks_like_a_mask(os.path.join(root, path), is_sure) for path in masks[:: max(len(masks) // _LOOKED_AT, 1)]]
    known = [each for each in told if each is not None]
    return bool(known) and sum(known) >= _COMPLETE_SHARE * len(known)


def _looks_like_a_mask(path: bytes, is_sure: bool) -> bool | None:
    """None where the file can't be read."""
    data, _, problem = read_file(path, _MOST_MASK_BYTES)
    header = None if data is None or problem is not None else header_of(data)
    if data is None or header is None:
        return None
    if is_sure and header.mode in _MASK_MODES:
        return True
    return header.format != "JPEG" and has_few_colours(data, _MOST_COLOURS)


def declared_masks(root: bytes, place: bytes, probe: Sequence[bytes]) -> tuple[Masks | None, float]:
    """(the masks that the user points at with the pictures that pair best, the share of the probed pictures that have one).

    None for masks whose names fit no pictures. probe: some pictures.
    """
    folders = {os.path.dirname(path) for path in probe}
    candidates = [*_above(common_folder(sorted(folders))), *_beside(place, folders)]
    made = [Masks(root, place, each, ending) for each in dict.fromkeys(candidates) for ending in ENDINGS]
    pairs = [sum(each.of(path) is not None for path in probe) for each in made]
    best = made[pairs.index(max(pairs))]
    share = max(pairs) / max(len(probe), 1)
    if share >= _PAIRED_SHARE:
        return best, share
    return (None if share == 0 or next(best.strays(), None) is not None else best.accusing(Accused.NONE)), share


def find_annotations(root: bytes, pictures: Mapping[bytes, int], texts: Texts, form: str | None = None) -> list[Annotations]:
    """The annotations of a folder: in folders of the usual names, beside each picture, or in COCO's files.

    pictures: folder that holds pictures, masks left aside -> how many. texts: files that are no pictures. form: the one that is declared.
    """
    for find in (_folders_of_annotations, _annotations_among, _coco_files):
        made = [each for each in find(root, pictures, texts) if form in (None, each.form)]
        if made:
            return made
    return []


def _folders_of_annotations(root: bytes, pictures: Mapping[bytes, int], texts: Texts) -> Iterator[Annotations]:
    places = {place for folder in texts if (place := _annotation_place(folder)) is not None}
    for place in sorted(places):
        counts = Counter[bytes]()
        for folder in texts:
            if is_inside(folder, place):
                counts.update(texts[folder])
        form = max(("yolo", "voc"), key=lambda form: counts[SUFFIXES[form]])
        if counts[SUFFIXES[form]] and not any(is_inside(folder, place) for folder in pictures):
            found = paired(root, place, form, _beside(place, pictures))
            if found is not None and found[1] >= _PAIRED_SHARE and _reads(found[0]):
                yield found[0]


def _annotation_place(folder: bytes) -> bytes | None:
    parts = folder.split(b"/")
    return next((b"/".join(parts[: level + 1]) for level, part in enumerate(parts) if part.lower() in _ANNOTATIONS), None)


def _annotations_among(root: bytes, pictures: Mapping[bytes, int], texts: Texts) -> Iterator[Annotations]:
    """Annotations right beside each picture, as the tools that draw boxes write them."""
    for form in ("voc", "yolo"):
        both = [folder for folder in pictures if texts.get(folder, Counter())[SUFFIXES[form]]]
        if sum(min(pictures[folder], texts[folder][SUFFIXES[form]]) for folder in both) < _PAIRED_SHARE * sum(pictures.values()):
            continue
        common = common_folder(both)
        found = paired(root, common, form, [common])
        if found is not None and found[1] >= _PAIRED_SHARE and _reads(found[0]):
            yield found[0]
            return


def _coco_files(root: bytes, _: Mapping[bytes, int], texts: Texts) -> Iterator[Annotations]:
    folders = sorted(folder for folder in texts if texts[folder][b".json"])
    paths = [os.path.join(folder, name) for folder in folders for name in sorted(_listed(root, folder)) if name.lower().endswith(b".json")]
    for path in paths[:_MOST_JSON]:
        whole = os.path.join(root, path)
        if not annotation_coco.may_be(head_of(whole, HEAD_BYTES) or b"") or os.path.getsize(whole) > _MOST_JSON_BYTES:
            continue
        made = Annotations(root, path, b"", "coco")
        with open(whole, "rb") as file:  # noqa: PTH123  a path of bytes
            names = annotation_coco.pictures_of(file.read())
        if names and sum(made.picture(name) is not None for name in names[:_PROBED]) >= _PAIRED_SHARE * len(names[:_PROBED]):
            yield made


def _reads(annotations: Annotations) -> bool:
    """Whether most of the annotations that are looked at begin as their format does: texts beside pictures may be captions."""
    begins = annotation_voc.begins if annotations.form == "voc" else annotation_yolo.begins
    heads = [head_of(annotations.path(file), HEAD_BYTES) or b"" for file, _ in zip(annotations.files(), range(_LOOKED_AT), strict=False)]
    told = [begins(head) for head in heads if head.strip()]
    return sum(told) >= _PAIRED_SHARE * len(told)


def _listed(root: bytes, folder: bytes) -> list[bytes]:
    try:
        return os.listdir(os.path.join(root, folder) if folder else root)
    except OSError:
        return []


def declared_annotations(root: bytes, place: bytes, form: str | None, pictures: Mapping[bytes, int]) -> Annotations | None:
    """The annotations that the user points at; None where the place holds none."""
    its = form or _form(os.path.join(root, place))
    if its is None:
        return None
    folders = [folder for folder in pictures if pictures[folder]]
    found = paired(root, place, its, list(dict.fromkeys([*_above(common_folder(folders)), *_beside(place, folders)])))
    return None if found is None else found[0]


def _form(place: bytes) -> str | None:
    """The format of most files."""
    if os.path.isfile(place):
        names = [os.path.basename(place)]
    else:
        names = [name for _, _, names in os.walk(place) for name in names[:_PROBED]][: 10 * _PROBED]
    counts = {form: sum(name.lower().endswith(suffix) and not is_class_list(name) for name in names) for form, suffix in SUFFIXES.items()}
    best = max(counts, key=lambda form: counts[form])
    return best if counts[best] else None


def paired(root: bytes, place: bytes, form: str, candidates: Sequence[bytes]) -> tuple[Annotations, float] | None:
    """The annotations with the picture folder, of the candidates, that most of the probed files pair with, and their share."""
    made = [Annotations(root, place, candidate, form) for candidate in candidates]
    probe = [file for file, _ in zip(made[0].files(), range(_PROBED), strict=False)] if made else []
    if not probe:
        return None
    pairs = [sum(each.has_picture(file) for file in probe) for each in made]
    best = pairs.index(max(pairs))
    return made[best], pairs[best] / len(probe)


def _above(folder: bytes) -> list[bytes]:
    """A folder and each that holds it, up to the root."""
    made = [folder]
    while made[-1]:
        made.append(os.path.dirname(made[-1]))
    return made


def common_folder(folders: Sequence[bytes]) -> bytes:
    """The deepest folder that holds all of these; empty for the root."""
    return os.path.commonpath(folders) if folders and all(folders) else b""
