"""COCO's JSON: images, annotations and categories in one file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from datascrub.readers.image_folder_format.annotation_faults import Box, Fault, Repeats, box_fault

_TOLERANCE = 1.0
"""pixels: edges are counted from 0 or from 1, and rounded"""
_SIDES = ("width", "height")


_HEADER_KEYS = (b'"images"', b'"annotations"', b'"categories"', b'"info"', b'"licenses"')
_IMAGE_KEYS = (b'"file_name"', b'"image_id"', b'"images"')


def may_be(head: bytes) -> bool:
    """Whether a JSON file may be one of COCO's, by its first bytes."""
    return head.lstrip().startswith(b"{") and any(key in head for key in _HEADER_KEYS) and any(key in head for key in _IMAGE_KEYS)


def pictures_of(data: bytes) -> list[str]:
    """The names of the pictures that a file speaks of; empty where it is none of COCO's."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        return []
    images = whole.get("images") if isinstance(whole, dict) and isinstance(whole.get("annotations", []), list) else None
    listed = images if isinstance(images, list) else []
    return [each["file_name"] for each in listed if isinstance(each, dict) and isinstance(each.get("file_name"), str)]


def faults_of(
    data: bytes, picture: Callable[[str], bytes | None], size_of: Callable[[bytes], tuple[int, int] | None] = lambda _: None
) -> tuple[list[Fault], int]:
    """(what is wrong, number of annotations) of a file.

    picture: the picture of this file name in the source, None where there is none. size_of: its (width, height), where they are known.
    """
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError) as error:
        return [Fault("annotation-unparsable", "", f"no JSON: {str(error)[:100]}")], 0
    if not isinstance(whole, dict) or not all(isinstance(whole.get(name, []), list) for name in ("images", "annotations", "categories")):
        return [Fault("annotation-unparsable", "", "no COCO file: images, annotations and categories are lists in one object")], 0
    images, found = _images(whole.get("images", []), picture, size_of)
    categories = {_id(each, "id") for each in whole.get("categories", [])}
    annotations = whole.get("annotations", [])
    found += _annotations(annotations, images, categories)
    return found, len(annotations)


def _images(
    listed: list[Any], picture: Callable[[str], bytes | None], size_of: Callable[[bytes], tuple[int, int] | None]
) -> tuple[dict[Any, dict[str, Any]], list[Fault]]:
    images: dict[Any, dict[str, Any]] = {}
    found: list[Fault] = []
    for place, image in enumerate(listed):
        where = f"image {place}"
        if not isinstance(image, dict) or _id(image, "id") is None or not isinstance(image.get("file_name"), str):
            found.append(Fault("annotation-unparsable", where, "has no id or no file_name"))
            continue
        if image["id"] in images:
            found.append(Fault("annotation-unparsable", where, f"its id {image['id']} is a duplicate: annotations of two pictures run together"))
        images[image["id"]] = image
        path = picture(image["file_name"])
        real = None if path is None else size_of(path)
        if path is None:
            found.append(Fault("annotation-orphan", where, f"its picture {image['file_name'][:200]!r} is missing"))
        elif real is not None and all(_is_number(image.get(side)) for side in _SIDES):
            width, height = (image[side] for side in _SIDES)
            if (width, height) not in (real, real[::-1]):  # turned by EXIF, width and height change places
                says = f"width and height say {width:g} x {height:g}, the picture {image['file_name'][:200]} has {real[0]} x {real[1]}"
                found.append(Fault("annotation-size-mismatch", where, says))
                images[image["id"]] = image | dict(zip(_SIDES, real, strict=True))  # boxes are held against the picture itself
    return images, found


def _annotations(listed: list[Any], images: dict[Any, dict[str, Any]], categories: set[Any]) -> Iterator[Fault]:
    repeats: dict[Any, Repeats] = {}
    for place, each in enumerate(listed):
        if not isinstance(each, dict) or _id(each, "image_id") is None:
            yield Fault("annotation-unparsable", f"annotation {place}", "is no object with an image_id")
            continue
        named = _id(each, "id")
        where = f"annotation {place if named is None else f'id {named}'}"
        image = images.get(each["image_id"])
        if image is None:
            yield Fault("annotation-orphan", where, f"speaks of image {each['image_id']}, which is missing in the file")
            continue
        where += f" ({image['file_name'][:200]})"
        if categories and ("category_id" in each or "bbox" in each) and _id(each, "category_id") not in categories:
            yield Fault("annotation-class-unknown", where, f"category {str(each.get('category_id'))[:40]} is out of the file's categories")
        fault = _box(where, each.get("bbox"), image)
        if fault is None and isinstance(each.get("bbox"), list):
            fault = repeats.setdefault(each["image_id"], Repeats()).fault(where, _id(each, "category_id"), *each["bbox"])
        if fault is not None:
            yield fault


def _box(where: str, bbox: Any, image: dict[str, Any]) -> Fault | None:
    if bbox is None or bbox == []:
        return None  # captions and keypoints have none
    if not isinstance(bbox, list) or len(bbox) != 4 or not all(_is_number(value) for value in bbox):
        return Fault("annotation-unparsable", where, "its bbox is not a list of 4 numbers")
    x, y, width, height = (float(value) for value in bbox)
    sides = [float(image[side]) if _is_number(image.get(side)) else 0.0 for side in _SIDES]
    fault = box_fault(Box(x, y, x + width, y + height, *sides), _TOLERANCE)
    return None if fault is None else Fault(fault[0], where, fault[1])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and (isinstance(value, float) or abs(value) < 2**1000)


def _id(item: Any, name: str) -> int | str | None:
    value = item.get(name) if isinstance(item, dict) else None
    return value if isinstance(value, (int, str)) else None
