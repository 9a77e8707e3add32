"""YOLO, Pascal VOC and COCO beside pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from datascrub import api
from datascrub.config import Config, DataConfig
from datascrub.model import Part
from datascrub.readers.base import CopyOptions
from datascrub.readers.image_folder import ImageFolder
from datascrub.readers.image_folder_format import annotation_coco, annotation_voc, annotation_yolo

GOOD = "0 0.5 0.5 0.2 0.2\n"


def lay(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 30), (9, 9, 9)).save(folder / name)


def parts(folder: Path, **data: Any) -> list[Part]:
    plan = api.survey(folder, Config(DataConfig(**data))).plan
    with ImageFolder(folder) as reader:
        return [piece for piece in reader.shards(plan) if isinstance(piece, Part)]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("0 0.5 0.5 0.2", "annotation-unparsable"),
        ("0 0.5 0.5 0.2 0.2 0.9", "annotation-unparsable"),
        ("0 0.5 0.5 0.2 x", "annotation-unparsable"),
        ("0 nan 0.5 0.2 0.2", "annotation-not-finite"),
        ("5 0.5 0.5 0.2 0.2", "annotation-class-unknown"),
        ("-1 0.5 0.5 0.2 0.2", "annotation-class-unknown"),
        ("cat 0.5 0.5 0.2 0.2", "annotation-class-unknown"),
        ("0 24 20 10 10", "annotation-not-normalised"),
        ("0 1.0371 0.5 0.1 0.1", "annotation-box-outside"),
        ("0 0.5 0.5 0 0.1", "annotation-box-zero-area"),
        ("0 0.5 0.5 -0.1 0.1", "annotation-box-inverted"),
    ],
)
def test_yolo_line(line: str, code: str) -> None:
    """Each kind of bad line is named by its number; the lines around it are healthy."""
    faults, objects = annotation_yolo.faults_of(f"1 0.5 0.5 1.0 1.0\n\n{line}\n0.0 0.25 0.25 0.5 0.5\r\n", 2)
    assert ([(fault.code, fault.where) for fault in faults], objects) == ([(code, "line 3")], 3)


def test_yolo_healthy_forms() -> None:
    """Outlines, key points and edges rounded past 1 are no faults."""
    text = "0 0.1 0.1 0.9 0.1 0.9 0.9\n0 0.5 0.5 0.2 0.2 0.5 0.5 2 0.4 0.4 1\n0 0.9 0.5 0.2002 0.2\n"
    assert annotation_yolo.faults_of(text, 1)[0] == []


def test_yolo_beside_pictures(tmp_path: Path) -> None:
    """Files are paired by path; the file is blamed, not the picture; without a declaration they are found by their name."""
    lay(tmp_path, "images/images (1).jpg", "images/a/b.jpg", "images/c.jpg")
    for name, text in {"images (1)": GOOD, "a/b": GOOD * 2, "stray": GOOD}.items():
        (tmp_path / f"labels/{name}.txt").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"labels/{name}.txt").write_text(text)
    (tmp_path / "labels/classes.txt").write_text("cat\ndog\n")
    found = {(part.code, part.key) for part in parts(tmp_path)}
    assert found == {
        ("annotation-box-repeated", "labels/a/b.txt"),
        ("annotation-orphan", "labels/stray.txt"),
        ("annotation-missing", "labels"),
    }
    assert found == {(part.code, part.key) for part in parts(tmp_path, annotations="labels", annotation_format="yolo")}


def voc(box: tuple[Any, ...], name: str = "cat", head: str = "") -> bytes:
    corners = "".join(f"<{side}>{value}</{side}>" for side, value in zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True))
    size = "<size><width>40</width><height>30</height></size>"
    return f"{head}<annotation>{size}\n<object><name>{name}</name><bndbox>{corners}</bndbox></object></annotation>".encode()


@pytest.mark.parametrize(
    ("data", "codes"),
    [
        (voc((1, 1, 40, 30)), []),
        (voc((0, 0, 41, 31)), []),
        (voc((5, 5, 5, 9)), ["annotation-box-zero-area"]),
        (voc((9, 5, 5, 9)), ["annotation-box-inverted"]),
        (voc((1, 1, 60, 30)), ["annotation-box-outside"]),
        (voc((1, "nan", 40, 30)), ["annotation-not-finite"]),
        (voc((1, "", 40, 30)), ["annotation-unparsable"]),
        (voc((1, 1, 9, 9), "cow"), ["annotation-class-unknown"]),
        (voc((1, 1, 9, 9))[:-20], ["annotation-unparsable"]),
        (b"", ["annotation-unparsable"]),
        (b"<a>" * 100_000, ["annotation-unparsable"]),
        (voc((1, 1, 9, 9), "&x;", '<!DOCTYPE a [<!ENTITY x "cat">]>'), ["annotation-unparsable"]),
        (b"<other/>", ["annotation-unparsable"]),
    ],
)
def test_voc(data: bytes, codes: list[str]) -> None:
    """Objects are named by line; entities are refused where they are declared."""
    assert [fault.code for fault in annotation_voc.faults_of(data, ("cat",))[0]] == codes


def test_coco() -> None:
    """Annotations are named by id; NaN, deep nesting and other shapes of JSON are findings."""
    whole: dict[str, Any] = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 40, "height": 30}, {"id": 2, "file_name": "gone.jpg"}],
        "categories": [{"id": 7, "name": "cat"}],
        "annotations": [
            {"id": number, "image_id": image, "category_id": category, "bbox": bbox}
            for number, (image, category, bbox) in enumerate(
                [(1, 7, [0, 0, 40, 30]), (1, 7, [1, 1, 0, 5]), (1, 8, [1, 1, 2, 2]), (3, 7, [1, 1, 2, 2]), (1, 7, [1, float("nan"), 2, 2]),
                 (1, 7, [0, 0, 40, 30]), (1, 7, [30, 1, 20, 2]), (1, 7, "x")]
            )
        ],
    }  # fmt: skip
    faults, count = annotation_coco.faults_of(json.dumps(whole).encode(), lambda name: b"a.jpg" if name == "a.jpg" else None)
    assert count == 8
    assert sorted(fault.code.removeprefix("annotation-") for fault in faults) == sorted(
        ["orphan", "box-zero-area", "class-unknown", "orphan", "not-finite", "box-repeated", "box-outside", "unparsable"]
    )
    for odd in (b"[]", b"{", b"[" * 100_000, b'{"images": 3}', b'{"annotations": [3, {"image_id": [1]}]}', b"\xff"):
        assert {fault.code for fault in annotation_coco.faults_of(odd, str.encode)[0]} == {"annotation-unparsable"}


def test_copy_leaves_no_orphans(tmp_path: Path) -> None:
    """The annotation file of a picture that is left out is left out too."""
    source = tmp_path / "set"
    lay(source, "images/a.jpg", "images/b.jpg")
    for name in "ab":
        (source / "labels").mkdir(exist_ok=True)
        (source / f"labels/{name}.txt").write_text(GOOD)
    plan = api.survey(source, Config(DataConfig(annotations="labels"))).plan
    with ImageFolder(source) as reader:
        reader.copy_clean(plan, tmp_path / "copy", frozenset({"images/a.jpg"}), CopyOptions(), lambda done: None)
    assert sorted(path.name for path in (tmp_path / "copy/labels").iterdir()) == ["b.txt"]


def test_classes_of_one_split(tmp_path: Path) -> None:
    """A class that one split has and another lacks is named; an empty folder keeps the numbers."""
    lay(tmp_path, "train/cat/0.jpg", "train/dog/0.jpg", "val/cat/0.jpg", "val/owl/0.jpg")
    assert {(part.code, part.key) for part in parts(tmp_path)} == {("part-class-missing", "train"), ("part-class-missing", "val")}
    (tmp_path / "train/owl").mkdir()
    assert {part.key for part in parts(tmp_path) if part.code == "part-class-missing"} == {"val"}


@pytest.mark.parametrize(
    ("width", "height", "box", "codes"),
    [
        (40, 30, (1, 1, 20, 20), []),
        (30, 40, (1, 1, 20, 20), []),  # as EXIF turns it
        (100, 100, (1, 1, 90, 90), ["annotation-size-mismatch", "annotation-box-outside"]),
        (0, 0, (1, 1, 20, 20), ["annotation-size-mismatch"]),
    ],
)
def test_size_of_the_picture_counts(width: int, height: int, box: tuple[int, ...], codes: list[str]) -> None:
    """What an annotation says of its picture's size is held against the picture, and boxes are judged by that."""
    sides = dict(zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True))
    corners = "".join(f"<{side}>{value}</{side}>" for side, value in sides.items())
    size = f"<size><width>{width}</width><height>{height}</height></size>"
    data = f"<annotation>{size}<object><name>cat</name><bndbox>{corners}</bndbox></object></annotation>"
    faults, _ = annotation_voc.faults_of(data.encode(), None, (40, 30))
    assert [fault.code for fault in faults] == codes
