"""Masks and annotations that nobody declared, in the layouts that public sets have."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from datascrub import api
from datascrub.config import Config, DataConfig
from datascrub.model import Part
from datascrub.readers.base import CopyOptions
from datascrub.readers.image_folder import ImageFolder

VOC = b"""<annotation><size><width>40</width><height>30</height><depth>3</depth></size>
<object><name>cat</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object></annotation>"""
YOLO = b"0 0.5 0.5 0.2 0.2\n"


def photo(seed: int, form: str = "JPEG") -> bytes:
    held = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (30, 40, 3), np.uint8)).save(held, form)
    return held.getvalue()


def photo_of(width: int, height: int) -> bytes:
    held = io.BytesIO()
    Image.new("RGB", (width, height), (90, 120, 30)).save(held, "JPEG")
    return held.getvalue()


def mask(seed: int, mode: str = "L", form: str = "PNG") -> bytes:
    plane = np.zeros((30, 40), np.uint8)
    plane[5 : 10 + seed, 8:20] = 1 + seed % 3
    image = Image.fromarray(plane)
    if mode == "P":
        image.putpalette([0, 0, 0, 128, 0, 0, 0, 128, 0, 128, 128, 0])
    if mode == "RGB":
        image = Image.fromarray(np.stack([plane * 60, plane * 20, plane * 80], axis=-1))
    held = io.BytesIO()
    image.save(held, form)
    return held.getvalue()


def lay(root: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def photos(*folders: str, count: int = 6, suffix: str = ".jpg") -> dict[str, bytes]:
    return {f"{folder}/{number:03d}{suffix}": photo(100 * at + number) for at, folder in enumerate(folders) for number in range(count)}


def masks(folder: str, ending: str = ".png", mode: str = "L", count: int = 6) -> dict[str, bytes]:
    return {f"{folder}/{number:03d}{ending}": mask(number, mode, "GIF" if ending.endswith("gif") else "PNG") for number in range(count)}


def texts(folder: str, suffix: str, data: bytes, count: int = 6) -> dict[str, bytes]:
    return {f"{folder}/{number:03d}{suffix}": data for number in range(count)}


class Found:
    """What a survey and a listing make of a folder."""

    def __init__(self, root: Path, data: DataConfig = DataConfig()) -> None:
        self.plan = api.survey(root, Config(data)).plan
        self.fields = [field.name for field in self.plan.fields]
        self.annotations = self.plan.settings["annotations"]
        with ImageFolder(root) as reader:
            pieces = list(reader.shards(self.plan))
            shards = [piece for piece in pieces if not isinstance(piece, Part)]
            batches = [batch for shard in shards for batch in reader.read(self.plan, shard) if not isinstance(batch, Part)]
        self.codes = {(piece.code, piece.key) for piece in pieces if isinstance(piece, Part)}
        self.keys = [key for batch in batches for key in batch.keys]
        self.problems = {batch.keys[row]: problem.code for batch in batches for row, problem in batch.problems.items()}
        its = [batch.columns["mask"].declared["mask_key"] for batch in batches] if "mask" in self.fields else []
        self.mask_keys = [key for keys in its for key in keys]


@pytest.mark.parametrize(
    ("pictures", "their_masks", "first", "count"),
    [
        (photos("images/training"), masks("annotations/training"), "annotations/training/000.png", 6),
        (photos("train/images", "val/images"), {**masks("train/masks"), **masks("val/masks")}, "train/masks/000.png", 12),
        (photos("train"), masks("train_masks", "_mask.gif", "P"), "train_masks/000_mask.gif", 6),
        (photos("data"), masks("data/masks", mode="RGB"), "data/masks/000.png", 6),
        (photos("img"), masks("labels"), "labels/000.png", 6),
        (photos(".", suffix=".jpg"), masks("GT"), "GT/000.png", 6),
    ],
)  # fmt: skip
def test_masks_are_found_beside_their_pictures(
    tmp_path: Path, pictures: dict[str, bytes], their_masks: dict[str, bytes], first: str, count: int
) -> None:
    """Masks in folders of the usual names belong to the pictures of the same relative name; they are no samples and no class."""
    found = Found(lay(tmp_path, pictures | their_masks))
    assert found.fields == ["image", "mask"]
    assert (len(found.keys), found.mask_keys[0], len(set(found.mask_keys) - {None})) == (count, first, count)
    assert (found.codes, found.problems) == (set(), {})


def test_a_picture_without_its_mask_is_named_and_a_folder_without_masks_is_not(tmp_path: Path) -> None:
    """One lost mask of many is a fault; pictures in a folder that has no masks at all have none by intent, as the good ones of MVTec."""
    files = photos("test/broken", count=20) | photos("test/good") | photos("train/good") | masks("ground_truth/broken", "_mask.png", count=20)
    del files["ground_truth/broken/007_mask.png"]
    found = Found(lay(tmp_path, files))
    assert found.problems == {"test/broken/007.jpg": "record-companion-missing"}
    assert found.fields == ["image", "label", "mask"]
    assert len(found.keys) == 32


def test_masks_of_some_pictures_are_read_and_accuse_no_other(tmp_path: Path) -> None:
    """Pascal VOC: boxes for all, masks of classes and of objects for a few; each belongs to the pictures, and only the first kind of mask is read."""
    files = photos("JPEGImages", count=12) | texts("Annotations", ".xml", VOC, count=12)
    files |= masks("SegmentationClass", mode="P", count=3) | masks("SegmentationObject", mode="P", count=3)
    root = lay(tmp_path / "set", files)
    found = Found(root)
    assert found.fields == ["image", "mask"]
    assert found.annotations == [["Annotations", "JPEGImages", "voc"]]
    assert (len(found.keys), found.mask_keys[:4]) == (12, [f"SegmentationClass/00{n}.png" for n in range(3)] + [None])
    assert (found.codes, found.problems) == (set(), {})
    with ImageFolder(root) as reader:
        reader.copy_clean(found.plan, tmp_path / "copy", frozenset({"JPEGImages/001.jpg"}), CopyOptions(), lambda _: None)
    left = {file.stem for folder in ("JPEGImages", "Annotations", "SegmentationClass") for file in (tmp_path / "copy" / folder).iterdir()}
    assert "001" not in left
    assert "002" in left


@pytest.mark.parametrize(
    "files",
    [
        photos("mask", "nomask"),
        photos("with_mask", "without_mask"),
        photos("blur") | {name: photo(7 + at, "PNG") for at, name in enumerate(photos("gt", suffix=".png"))},
        photos("images") | masks("masks", "_of_another_kind.png"),
    ],
)
def test_folders_named_for_masks_that_hold_none(tmp_path: Path, files: dict[str, bytes]) -> None:
    """Classes called mask, photos as ground truth of a restoration, and names that do not pair stay samples."""
    found = Found(lay(tmp_path, files))
    assert "mask" not in found.fields
    assert len(found.keys) == len(files)


@pytest.mark.parametrize(
    ("files", "annotations"),
    [
        (photos("train/images") | texts("train/labels", ".txt", YOLO), [["train/labels", "train/images", "yolo"]]),
        (photos("images/train") | texts("labels/train", ".txt", YOLO), [["labels", "images", "yolo"]]),
        (photos("obj_train_data") | texts("obj_train_data", ".txt", YOLO), [["obj_train_data", "obj_train_data", "yolo"]]),
        (photos(".") | texts(".", ".xml", VOC), [[".", ".", "voc"]]),
        (photos("a", "b") | texts("a", ".xml", VOC) | texts("b", ".xml", VOC), [[".", ".", "voc"]]),
        (photos("images") | texts("labels", ".txt", b"a photo of a cat\n"), []),
        (photos("10_cat") | texts("10_cat", ".txt", b"a cat, sitting\n"), []),
    ],
)
def test_boxes_are_found_beside_their_pictures(tmp_path: Path, files: dict[str, bytes], annotations: list[list[str]]) -> None:
    """Annotations in folders of the usual names at any depth, or right beside the pictures; captions are none."""
    found = Found(lay(tmp_path, files))
    assert found.annotations == annotations
    assert {code for code, _ in found.codes} <= {"part-not-a-sample"}
    assert bool(found.codes) is not bool(annotations)


def test_annotations_right_beside_the_pictures_are_judged_and_copied(tmp_path: Path) -> None:
    """A bad line is named by its file, and the annotation of a dropped picture goes with it."""
    root = lay(tmp_path / "set", photos("data") | texts("data", ".txt", YOLO) | {"data/003.txt": b"0 0.5 0.5 0.2 0\n"})
    found = Found(root)
    assert found.codes == {("annotation-box-zero-area", "data/003.txt")}
    with ImageFolder(root) as reader:
        reader.copy_clean(found.plan, tmp_path / "copy", frozenset({"data/001.jpg"}), CopyOptions(), lambda _: None)
    left = {file.name for file in (tmp_path / "copy/data").iterdir()}
    assert left == {f"00{n}{suffix}" for n in (0, 2, 3, 4, 5) for suffix in (".jpg", ".txt")}


def coco(names: list[str], **changed: object) -> bytes:
    images = [{"id": number, "file_name": name, "width": 40, "height": 30} | changed for number, name in enumerate(names)]
    boxes = [{"id": number, "image_id": number, "category_id": 1, "bbox": [1, 1, 8, 8]} for number in range(len(names))]
    return json.dumps({"info": {}, "images": images, "annotations": boxes, "categories": [{"id": 1, "name": "cat"}]}).encode()


@pytest.mark.parametrize(
    ("place", "folder"), [("train/_annotations.coco.json", "train"), ("annotations/instances_val2017.json", "val2017"), ("labels.json", "data")]
)
def test_coco_is_found_where_most_of_its_pictures_are(tmp_path: Path, place: str, folder: str) -> None:
    """A JSON file that speaks of pictures of the source is one of COCO's, and its sizes are held against the pictures; other JSON is none."""
    names = [f"{number:03d}.jpg" for number in range(6)]
    root = lay(tmp_path / "set", photos(folder) | {place: coco(names), "notes.json": b'{"images": 3}'})
    found = Found(root)
    assert found.annotations == [[place, ".", "coco"]]
    assert found.codes == {("part-not-a-sample", "notes.json")}
    (root / place).write_bytes(coco(names, width=400))
    assert ("annotation-size-mismatch", place) in Found(root).codes
    (root / place).write_bytes(coco([f"gone-{name}" for name in names]))
    assert Found(root).annotations == []


def test_a_name_in_two_splits_is_held_against_neither_picture(tmp_path: Path) -> None:
    """COCO's names have no folder: where two splits hold one name, whose size is meant can't be told, and nothing is accused."""
    names = [f"{number:03d}.jpg" for number in range(6)]
    small = {f"val/{name}": mask(0, form="JPEG") for name in names}
    large = {f"train/{name}": photo_of(80, 60) for name in names}
    places = {"annotations/instances_val.json": coco(names), "annotations/instances_train.json": coco(names, width=80, height=60)}
    found = Found(lay(tmp_path, small | large | places))
    assert len(found.annotations) == 2
    assert found.codes == set()


@pytest.mark.parametrize("name", ["../outside.jpg", "{outside}"])
def test_names_that_lead_out_of_the_source_are_not_followed(tmp_path: Path, name: str) -> None:
    """A file name of an annotation is looked for inside the source alone."""
    lay(tmp_path, {"outside.jpg": photo(1)})
    name = name.format(outside=tmp_path / "outside.jpg")
    names = [f"{number:03d}.jpg" for number in range(6)]
    found = Found(lay(tmp_path / "set", photos("data") | {"data/labels.json": coco([*names, name])}))
    assert found.codes == {("annotation-orphan", "data/labels.json")}


def test_panoptic_and_captions_of_coco_are_healthy() -> None:
    """Annotations without a category or a box of their own are no faults."""
    from datascrub.readers.image_folder_format import annotation_coco

    images = [{"id": 1, "file_name": "a.jpg", "width": 4, "height": 3}]
    segments = [{"image_id": 1, "file_name": "a.png", "segments_info": [{"id": 7, "category_id": 1}]}]
    captions = [{"id": 1, "image_id": 1, "caption": "a cat"}]
    for listed in (segments, captions):
        whole = {"images": images, "annotations": listed, "categories": [{"id": 1, "name": "cat"}]}
        assert annotation_coco.faults_of(json.dumps(whole).encode(), str.encode)[0] == []


@pytest.mark.parametrize(
    "text", ["train: ../train/images\nnc: 1\nnames: ['cat']\n", "names:\n  0: cat\npath: x\n", "nc: 1  # one\n", "names:\n- cat\n"]
)
def test_the_yaml_of_a_set_declares_its_classes(tmp_path: Path, text: str) -> None:
    """A class beyond those that data.yaml declares is named."""
    files = (
        photos("train/images") | texts("train/labels", ".txt", YOLO) | {"train/labels/002.txt": b"1 0.5 0.5 0.2 0.2\n", "data.yaml": text.encode()}
    )
    assert ("annotation-class-unknown", "train/labels/002.txt") in Found(lay(tmp_path, files)).codes
