"""COCO's JSON: images, annotations and categories in one file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from datascrub.readers.image_folder_format.annotation_faults import Box, Fault, Repeats, box_fault

_TOLERANCE = 1.0
"""pixels: edges are counted from 0 or from 1, and rounded"""


def faults_of(data: bytes, exists: Callable[[str], bool]) -> tuple[list[Fault], int]:
    """(what is wrong, number of annotations) of a file. exists: whether a picture of this file name is in the source."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError) as error:
        return [Fault("annotation-unparsable", "", f"no JSON: {str(error)[:100]}")], 0
    if not isinstance(whole, dict) or not all(isinstance(whole.get(name, []), list) for name in ("images", "annotations", "categories")):
        return [Fault("annotation-unparsable", "", "no COCO file: images, annotations and categories are lists in one object")], 0
    images, found = _images(whole.get("images", []), exists)
    categories = {_id(each, "id") for each in whole.get("categories", [])}
    annotations = whole.get("annotations", [])
    found += _annotations(annotations, images, categories)
    return found, len(annotations)


def _images(listed: list[Any], exists: Callable[[str], bool]) -> tuple[dict[Any, dict[str, Any]], list[Fault]]:
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
        if not exists(image["file_name"]):
            found.append(Fault("annotation-orphan", where, f"its picture {image['file_name'][:200]!r} is missing"))
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
        if categories and _id(each, "category_id") not in categories:
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
    sides = [float(image[side]) if _is_number(image.get(side)) else 0.0 for side in ("width", "height")]
    fault = box_fault(Box(x, y, x + width, y + height, *sides), _TOLERANCE)
    return None if fault is None else Fault(fault[0], where, fault[1])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and (isinstance(value, float) or abs(value) < 2**1000)


def _id(item: Any, name: str) -> int | str | None:
    value = item.get(name) if isinstance(item, dict) else None
    return value if isinstance(value, (int, str)) else None
