"""Image folders and list files: what is a sample, what it holds, what is said of the rest, and the cleaned copy."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from datascrub.config import DataConfig
from datascrub.errors import CopyError, SourceError, UsageError
from datascrub.model import Batch, Limits, Part, Role, Shard
from datascrub.plan import Plan
from datascrub.readers.base import CopyOptions, CopyReport
from datascrub.readers.image_folder import ImageFolder
from datascrub.readers.image_folder_format.classes import class_level


def picture(seed: int, form: str = "PNG") -> bytes:
    held = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (6, 8, 3), np.uint8)).save(held, form)
    return held.getvalue()


def lay(root: Path, *names: str, start: int = 0) -> Path:
    for seed, name in enumerate(names, start):
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(picture(seed, "JPEG" if name.endswith("jpg") else "PNG"))
    return root


class Scanned:
    """A source read whole."""

    def __init__(self, source: Path, data: DataConfig = DataConfig(), limits: Limits = Limits(), batch_size: int = 1024) -> None:
        self.reader = ImageFolder(source, limits=limits)
        self.survey = self.reader.survey(data)
        found = self.survey
        self.plan = Plan(str(source), "image-folder", None, found.fields, found.settings, self.reader.fingerprint(), data, limits)
        self.parts: list[Part] = []
        self.shards: list[Shard] = []
        self.batches: list[Batch] = []
        for each in self.reader.shards(self.plan):
            if isinstance(each, Part):
                self.parts.append(each)
                continue
            json.dumps(dict(each.where))
            self.shards.append(each)
            for piece in self.reader.read(self.plan, each, batch_size=batch_size):
                assert isinstance(piece, Batch)
                self.batches.append(piece)
        self.keys = [key for batch in self.batches for key in batch.keys]

    def values(self, field: str) -> list[object]:
        return [value for batch in self.batches for value in batch.columns[field].values]

    def problems(self) -> dict[str, tuple[str, str]]:
        return {batch.keys[row]: (problem.code, problem.detail) for batch in self.batches for row, problem in batch.problems.items()}

    def codes(self) -> set[tuple[str, str]]:
        return {(part.code, part.key) for part in self.parts}

    def copy(self, destination: Path, *drop: str, **options: object) -> CopyReport:
        made = CopyOptions(**options)  # type: ignore[arg-type]
        return self.reader.copy_clean(self.plan, destination, frozenset(drop), made, lambda done: None)

    def digest(self) -> tuple[int, str]:
        whole, count = xxhash.xxh3_128(), 0
        for _, each in self.reader.digests(self.plan):
            whole.update(each)
            count += 1
        return count, whole.hexdigest()


def outside(root: Path) -> list[tuple[str, int, int, bytes]]:
    made = []
    for place in sorted(root.rglob("*")):
        status = place.lstat()
        made.append((str(place), status.st_mode, status.st_mtime_ns, place.read_bytes() if place.is_file() else b""))
    return made


# -- what is a sample ---------------------------------------------------------------------------------------------------------------------


def test_class_folders_label_samples_in_path_order(tmp_path: Path) -> None:
    """Class folders give text labels, and samples stand in the order of their paths' bytes."""
    scanned = Scanned(lay(tmp_path, "dog/1.jpg", "cat/b.png", "cat/a.jpg", "cat.d/a.jpg"))
    assert scanned.keys == ["cat.d/a.jpg", "cat/a.jpg", "cat/b.png", "dog/1.jpg"] == sorted(scanned.keys)
    assert scanned.values("label") == ["cat.d", "cat", "cat", "dog"]
    assert scanned.survey.task == "classification"
    assert scanned.survey.labels == ("cat", "cat.d", "dog")
    assert scanned.batches[0].columns["image"].declared["format"] == ["jpeg", "jpeg", "png", "jpeg"]


@pytest.mark.parametrize(
    ("folders", "level"),
    [
        ((b"",), None),
        ((b"images",), None),
        ((b"train", b"val"), None),
        ((b"train2017", b"val2017"), None),
        ((b"images_train/cat", b"images_train/dog", b"images_test/cat"), 1),
        ((b"car", b"bus", b"train"), 0),
        ((b"train/cat", b"train/dog", b"val/cat"), 1),
        ((b"photos/cat", b"photos/dog"), 1),
        ((b"cat/train", b"dog/train"), 0),
        ((b"animal/cat", b"vehicle/car"), 0),
        ((b"train/a", b"train/b", b"test"), None),
        ((b"Cat", b"cat"), 0),
        ((b"images", b"masks"), None),
        ((b"", b"sub"), None),
    ],
)
def test_the_first_level_that_varies_names_the_classes(folders: tuple[bytes, ...], level: int | None) -> None:
    """Splits, a single folder, and folders named for their purpose are no classes; a split without class folders leaves the set unlabelled."""
    assert class_level(dict.fromkeys(folders, 10)) == level


def test_unlabelled_task_makes_folders_no_classes(tmp_path: Path) -> None:
    """With task unlabelled there is no label field."""
    scanned = Scanned(lay(tmp_path, "a/1.png", "b/1.png"), DataConfig(task="unlabelled"))
    assert [field.name for field in scanned.plan.fields] == ["image"]


def test_name_or_content_makes_a_sample(tmp_path: Path) -> None:
    """A file is a sample if its name says image, whatever it holds, or if its content is one; other files are named once, as info."""
    lay(tmp_path, "a.png")
    (tmp_path / "page.jpg").write_bytes(b"<html></html>")
    (tmp_path / "nothing.png").write_bytes(b"")
    (tmp_path / "nameless").write_bytes(picture(3))
    (tmp_path / "wrong.txt").write_bytes(picture(4, "JPEG"))
    (tmp_path / "README.md").write_text("P5 is a format of pictures")
    (tmp_path / "drawing.svg").write_text("<svg></svg>")
    scanned = Scanned(tmp_path)
    assert scanned.keys == ["a.png", "nameless", "nothing.png", "page.jpg", "wrong.txt"]
    assert scanned.values("image")[2:4] == [b"", b"<html></html>"]
    assert scanned.codes() == {("part-not-a-sample", "README.md")}
    assert scanned.parts[0].evidence == {"count": 2}
    assert not scanned.problems()


def test_a_name_declares_its_format(tmp_path: Path) -> None:
    """The suffix declares the format, .svg too where a picture of pixels hides behind it; a name without one declares nothing."""
    lay(tmp_path, "a.JPEG", "b.svg", "c")
    declared = Scanned(tmp_path).batches[0].columns["image"].declared
    assert declared == {"extension": [".JPEG", ".svg", None], "format": ["jpeg", "svg", None]}


def test_hidden_files_are_counted_and_hidden_pictures_named(tmp_path: Path) -> None:
    """Hidden files are one info; a hidden file that holds a picture is named, an AppleDouble companion is not; neither makes a class."""
    lay(tmp_path, "cat/a.png", "dog/b.png", ".c.png", ".ipynb_checkpoints/x.png", "__MACOSX/cat/a.png")
    (tmp_path / "cat/Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0")
    (tmp_path / "cat/._a.png").write_bytes(b"\x00\x05\x16\x07" + bytes(60))
    scanned = Scanned(tmp_path)
    assert scanned.keys == ["cat/a.png", "dog/b.png"]
    assert [(part.code, part.evidence.get("count")) for part in scanned.parts] == [("part-hidden", None), ("part-hidden", 5)]
    assert scanned.parts[0].key == ".c.png"


def test_an_empty_class_folder_is_named(tmp_path: Path) -> None:
    """A class folder without files is part-empty at the level of classes; elsewhere an empty folder is nothing."""
    lay(tmp_path, "train/cat/a.png", "train/dog/b.png", "val/cat/c.png")
    (tmp_path / "val/dog").mkdir()
    (tmp_path / "train/cat/old").mkdir()
    (tmp_path / "tmp").mkdir()
    assert Scanned(tmp_path).codes() == {("part-empty", "val/dog")}


def test_a_run_inside_the_source_is_never_read(tmp_path: Path) -> None:
    """A folder with a plan and facts is a run: its files are no part of the source, of its fingerprint, or of its copy."""
    lay(tmp_path / "set", "a.png")
    before = ImageFolder(tmp_path / "set").fingerprint()
    lay(tmp_path / "set/set.datascrub", "thumb.png")
    (tmp_path / "set/set.datascrub/facts").mkdir()
    (tmp_path / "set/set.datascrub/plan.json").write_text("{}")
    lay(tmp_path / "set/begun/facts", "thumb.png")
    (tmp_path / "set/begun/run.lock").touch()
    scanned = Scanned(tmp_path / "set")
    assert scanned.keys == ["a.png"]
    assert not scanned.parts
    assert scanned.plan.fingerprint == before
    scanned.copy(tmp_path / "copy")
    assert [place.name for place in (tmp_path / "copy").iterdir()] == ["a.png"]


# -- odd places -----------------------------------------------------------------------------------------------------------------------------


def test_links_end_and_are_told(tmp_path: Path) -> None:
    """A loop ends; a link to a file or folder outside is read; a folder inside is read once, at its own place; a dangling link is an error."""
    lay(tmp_path / "out", "far/x.png", "y.png")
    root = lay(tmp_path / "set", "a.png", "sub/b.png")
    (root / "sub/loop").symlink_to("..")
    (root / "again").symlink_to("sub")
    (root / "far").symlink_to(tmp_path / "out/far")
    (root / "y.png").symlink_to(tmp_path / "out/y.png")
    (root / "gone.png").symlink_to("nowhere.png")
    (root / "self.png").symlink_to("self.png")
    scanned = Scanned(root)
    assert scanned.keys == ["a.png", "far/x.png", "sub/b.png", "y.png"]
    assert scanned.codes() == {("part-link-broken", "gone.png"), ("part-link-broken", "self.png"), ("part-not-a-sample", "again")}
    assert len(scanned.survey.notes) == 2


def test_pipes_and_sockets_are_never_opened(tmp_path: Path) -> None:
    """A named pipe called .jpg does not block the scan and is no sample."""
    lay(tmp_path, "a.png")
    os.mkfifo(tmp_path / "pipe.jpg")
    with socket.socket(socket.AF_UNIX) as sock:
        here = Path.cwd()
        os.chdir(tmp_path)  # the address of a socket is at most 108 bytes long
        sock.bind("sock")
        os.chdir(here)
        scanned = Scanned(tmp_path)
    assert scanned.keys == ["a.png"]
    assert [(part.code, part.evidence["count"]) for part in scanned.parts] == [("part-not-a-sample", 2)]


def test_undecodable_and_odd_names_lead_back_to_their_files(tmp_path: Path) -> None:
    """Names that are no UTF-8, begin with 0x, or hold a line break have unique keys, and fetch finds the file by its key."""
    names = [b"caf\xe9.png", b"0x41.png", b"new\nline.png", "猫.png".encode(), b"#1.png", b"-rf.png"]
    for seed, name in enumerate(names):
        for folder in (b"a\xff", b"b"):
            place = tmp_path / os.fsdecode(folder)
            place.mkdir(exist_ok=True)
            (place / os.fsdecode(name)).write_bytes(picture(seed))
    scanned = Scanned(tmp_path)
    assert len(set(scanned.keys)) == 12
    for key, value in zip(scanned.keys, scanned.values("image"), strict=True):
        batch, raw = scanned.reader.fetch(scanned.plan, key)
        assert raw == value == batch.columns["image"].values[0]
        assert batch.keys == [key]


@pytest.mark.parametrize("key", ["nothing.png", "../out.png", "a/../a.png", ".h.png", "", "0xzz", "a", "/etc/passwd", "0x00"])
def test_a_key_that_is_no_sample_is_refused(tmp_path: Path, key: str) -> None:
    """fetch refuses what the listing would not hold, and never leaves the source."""
    lay(tmp_path, "out.png", "set/a/b.png", "set/.h.png")
    scanned = Scanned(tmp_path / "set")
    with pytest.raises(UsageError):
        scanned.reader.fetch(scanned.plan, key)


def test_very_deep_folders_are_named(tmp_path: Path) -> None:
    """Folders nested beyond reason do not break the walk; they are named, and neither scanned nor copied."""
    lay(tmp_path / "set", "a.png")
    here, depth = Path.cwd(), 150
    os.chdir(tmp_path / "set")
    for _ in range(depth):
        Path("d").mkdir()
        os.chdir("d")
    os.chdir(here)
    scanned = Scanned(tmp_path / "set")
    assert ImageFolder.recognises(tmp_path / "set")
    assert [part.code for part in scanned.parts] == ["part-unreadable"]
    report = scanned.copy(tmp_path / "copy")
    assert report.kept == 1
    assert len(report.stale) == 1


def test_unreadable_is_not_corrupt(tmp_path: Path) -> None:
    """A file without permission, one that vanished, and one whose disk answers EIO are record-unreadable, each with its reason."""
    root = lay(tmp_path, "a.png", "deaf.png", "gone.png")
    (root / "disk.png").symlink_to("/proc/self/mem")  # reading its first page ends in EIO
    (root / "deaf.png").chmod(0)
    reader = ImageFolder(root)
    plan = Plan(str(root), "image-folder", None, reader.survey(DataConfig()).fields, reader.survey(DataConfig()).settings)
    (shard,) = [each for each in reader.shards(plan) if isinstance(each, Shard)]
    (root / "gone.png").unlink()
    (batch,) = reader.read(plan, shard)
    assert isinstance(batch, Batch)
    problems = {batch.keys[row]: problem.detail for row, problem in batch.problems.items()}
    assert {problem.code for problem in batch.problems.values()} == {"record-unreadable"}
    assert "vanished" in problems["gone.png"]
    assert "unreadable" in problems["disk.png"]
    if not os.access(root / "deaf.png", os.R_OK):
        assert "permission" in problems["deaf.png"]


def test_unreadable_folder_is_named(tmp_path: Path) -> None:
    """A folder that can't be listed is part-unreadable, and the rest is scanned."""
    root = lay(tmp_path, "a.png", "deaf/b.png")
    (root / "deaf").chmod(0)
    try:
        if os.access(root / "deaf", os.R_OK):
            pytest.skip("nothing is unreadable to root")
        assert Scanned(root).codes() == {("part-unreadable", "deaf")}
    finally:
        (root / "deaf").chmod(0o755)


def test_a_huge_sparse_file_is_not_read(tmp_path: Path) -> None:
    """A file over the limit is record-too-large; 8 GiB that were never written are told as zeros, without reading them."""
    lay(tmp_path, "a.png")
    (tmp_path / "hole.png").touch()
    os.truncate(tmp_path / "hole.png", 8 << 30)
    (tmp_path / "big.png").write_bytes(b"x" * 5000)
    (tmp_path / "zero.png").write_bytes(bytes(5000))
    problems = Scanned(tmp_path, limits=Limits(max_record_bytes=4096)).problems()
    assert {code for code, _ in problems.values()} == {"record-too-large"}
    assert "zero" in problems["hole.png"][1]
    assert "zero" in problems["zero.png"][1]
    assert "zero" not in problems["big.png"][1]


# -- shards ---------------------------------------------------------------------------------------------------------------------------------


def test_shards_are_disjoint_complete_and_independent_of_batches(tmp_path: Path) -> None:
    """Shards of a thousand cover every sample once; any batch size and any choice of rows gives the same samples."""
    body = picture(0)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for number in range(1100):
            (tmp_path / folder / f"{number:04}.png").write_bytes(body)
    whole, small = Scanned(tmp_path), Scanned(tmp_path, batch_size=7)
    assert whole.keys == small.keys == sorted(whole.keys)
    assert [(shard.number, shard.count, shard.first) for shard in whole.shards] == [(0, 1000, 0), (1, 1000, 1000), (2, 200, 2000)]
    assert whole.survey.count == 2200
    assert max(len(json.dumps(dict(shard.where))) for shard in whole.shards) < 20_000
    (batch,) = whole.reader.read(whole.plan, whole.shards[1], rows=frozenset((3, 999)), untouched=frozenset((3,)))
    assert isinstance(batch, Batch)
    assert batch.rows.tolist() == [3, 999]
    assert batch.keys == [whole.keys[1003], whole.keys[1999]]
    assert batch.columns["image"].values == [None, body]
    assert not batch.problems


# -- lists ----------------------------------------------------------------------------------------------------------------------------------


def test_a_list_file_is_a_source(tmp_path: Path) -> None:
    """`path label` a line, paths with spaces, CRLF, blank lines: samples in the list's order, labels integers; a missing picture is a part."""
    lay(tmp_path, "in/b c.png", "in/a.png")
    (tmp_path / "list.txt").write_bytes(b"in/b c.png 3\r\n\nin/gone.png 1\nin/a.png\t-1")
    assert ImageFolder.recognises(tmp_path / "list.txt")
    scanned = Scanned(tmp_path / "list.txt")
    assert scanned.keys == ["in/b c.png", "in/a.png"]
    labels = scanned.batches[0].columns["label"]
    assert labels.is_dense
    assert labels.values.tolist() == [3, -1]  # type: ignore[union-attr]
    assert scanned.codes() == {("part-record-missing", "in/gone.png")}
    assert scanned.survey.count == 2
    assert scanned.reader.fetch(scanned.plan, "in/a.png")[1] == (tmp_path / "in/a.png").read_bytes()


def test_a_list_with_a_bad_line_and_repeats(tmp_path: Path) -> None:
    """A line without a label is record-unparsable; where pictures stand twice, keys carry the line's number and stay unique."""
    lay(tmp_path, "a.png", "b.png")
    (tmp_path / "list").write_text("a.png 0\nb.png 1\na.png 2\nb.png x\nb.png\n")
    scanned = Scanned(tmp_path / "list")
    assert scanned.keys == ["a.png#0", "b.png#1", "a.png#2", "b.png#4"]
    assert scanned.problems() == {"b.png#4": ("record-unparsable", "line 5 ends in no integer label")}
    assert scanned.reader.fetch(scanned.plan, "a.png#2")[0].columns["label"].values.tolist() == [2]  # type: ignore[union-attr]
    assert scanned.codes() == {("part-record-missing", "b.png x#3")}


@pytest.mark.parametrize("text", [b"", b"hello\n", b"a.h5\nb.h5\n", b"\0\1\2", b"1 2 3\n4 5 6\n", b"a.png\n"])
def test_other_texts_are_no_lists(tmp_path: Path, text: bytes) -> None:
    """A text whose lines are not mostly a picture's path and an integer is not recognised."""
    lay(tmp_path, "a.png")
    (tmp_path / "text.txt").write_bytes(text)
    assert not ImageFolder.recognises(tmp_path / "text.txt")


def test_a_list_whose_pictures_are_elsewhere_is_refused(tmp_path: Path) -> None:
    """A list of which no picture is found can't be scanned, and the error says what to do."""
    (tmp_path / "list.txt").write_text("nowhere/a.png 1\n")
    with pytest.raises(SourceError) as told:
        ImageFolder(tmp_path / "list.txt").survey(DataConfig())
    assert told.value.fix


# -- metadata and masks ---------------------------------------------------------------------------------------------------------------------


def test_metadata_csv_gives_labels_and_texts(tmp_path: Path) -> None:
    """Columns of metadata.csv are fields; quoted fields span lines; a row without a file and a file without a row are named."""
    lay(tmp_path, "a.png", "sub/b.png", "c.png", "lone.png")
    (tmp_path / "metadata.csv").write_text('file_name,label,caption\na.png,1,"two\nlines"\nsub/b.png,2,x\nc.png,0,"a ""q"""\ngone.png,1,y\n')
    scanned = Scanned(tmp_path)
    assert [(field.name, field.role) for field in scanned.plan.fields] == [("image", Role.IMAGE), ("label", Role.LABEL), ("caption", Role.TEXT)]
    assert scanned.keys == ["a.png", "c.png", "lone.png", "sub/b.png"]
    assert scanned.values("caption") == ["two\nlines", 'a "q"', None, "x"]
    assert [None if value is None else int(value) for value in scanned.values("label")] == [1, 0, None, 2]  # type: ignore[call-overload]
    assert scanned.problems() == {"lone.png": ("record-field-missing", "the metadata has no row for this picture")}
    assert scanned.codes() == {("part-record-missing", "gone.png")}


def test_a_quote_inside_a_plain_field_swallows_nothing(tmp_path: Path) -> None:
    """A quote that does not open a field is a character, so the rows behind it are read."""
    lay(tmp_path, "a.png", "b.png")
    (tmp_path / "metadata.csv").write_text('\ufefffile_name,text\na.png,5" pipe\nb.png,x\n')
    scanned = Scanned(tmp_path)
    assert scanned.values("text") == ['5" pipe', "x"]
    assert not scanned.parts


def test_a_metadata_csv_of_another_kind_is_a_file_like_any_other(tmp_path: Path) -> None:
    """metadata.csv without a column file_name accuses nothing."""
    lay(tmp_path, "a.png")
    (tmp_path / "metadata.csv").write_text("isic_id,age\nISIC_1,60\n")
    assert Scanned(tmp_path).codes() == {("part-not-a-sample", "metadata.csv")}


_ODD = st.sampled_from(
    [
        *(b"file_name,x\n", b"a.png,1\n", b'"a.png', b'"', b"[" * 2000, b"{", b"\0", b"\xff\xfe", b"\r", b"x" * 3000, b"9" * 5000),
        *(b'{"file_name": "a.png", "t": "\\ud800"}\n', b'{"file_name": "\\ud800"}\n', b'{"file_name": "\\u0000", "n": 1e999}\n'),
        *(b"a.png 0\n", b"a.png\n", b"/ 1\n", b". 9\n"),
    ]
)


@given(st.lists(_ODD | st.binary(max_size=20), max_size=12), st.sampled_from(["metadata.csv", "metadata.jsonl", "list.txt"]))
def test_foreign_bytes_beside_pictures_never_raise(parts: list[bytes], name: str) -> None:
    """Whatever a metadata or list file holds, the folder is scanned and every picture is a sample."""
    with tempfile.TemporaryDirectory() as folder:
        root = lay(Path(folder), "a.png")
        (root / name).write_bytes(b"".join(parts))
        assert "a.png" in Scanned(root).keys  # the attribute of Scanned, not of a dict
        if ImageFolder.recognises(root / name):
            with contextlib.suppress(SourceError):
                Scanned(root / name)


def test_metadata_jsonl_in_each_split(tmp_path: Path) -> None:
    """metadata.jsonl of each split speaks of files beside it; a row that is no JSON is named."""
    lay(tmp_path, "train/0.png", "test/0.png")
    (tmp_path / "train/metadata.jsonl").write_text('{"file_name": "0.png", "label": "cat", "box": [1, 2]}\n')
    (tmp_path / "test/metadata.jsonl").write_text('{"file_name": "0.png", "label": "dog", "box": []}\n{broken\n')
    scanned = Scanned(tmp_path)
    assert scanned.values("label") == ["dog", "cat"]
    assert scanned.codes() == {("part-damaged", "test/metadata.jsonl#1")}
    assert [field.role for field in scanned.plan.fields] == [Role.IMAGE, Role.LABEL, Role.IGNORE]


def test_masks_pair_by_whole_stem(tmp_path: Path) -> None:
    """Masks pair by relative path without suffix: 1 is not 10; a picture without a mask and a mask without a picture are named."""
    lay(tmp_path, *(f"images/train/{n}.jpg" for n in range(1, 13)), *(f"masks/train/{n}.png" for n in range(1, 12)), "masks/train/extra.png")
    scanned = Scanned(tmp_path, DataConfig(masks="masks"))
    assert len(scanned.keys) == 12
    keys = scanned.batches[0].columns["mask"].declared["mask_key"]
    assert [key.replace("masks", "images").replace("png", "jpg") if key else None for key in keys] == [
        key if key != "images/train/12.jpg" else None for key in scanned.keys
    ]
    assert scanned.values("mask")[0] == (tmp_path / "masks/train/1.png").read_bytes()
    assert {key: code for key, (code, _) in scanned.problems().items()} == {"images/train/12.jpg": "record-companion-missing"}
    assert scanned.codes() == {("part-record-missing", "masks/train/extra.png")}


def test_masks_of_another_naming_accuse_nothing(tmp_path: Path) -> None:
    """Where most pictures have no mask of their name, masks are left aside, with a note and without a finding."""
    lay(tmp_path, "images/1.jpg", "images/2.jpg", "masks/a1z.png", "masks/a2z.png")
    scanned = Scanned(tmp_path, DataConfig(masks="masks"))
    assert [field.name for field in scanned.plan.fields] == ["image"]
    assert not scanned.problems()
    assert not scanned.parts
    assert "masks" in scanned.survey.notes[-1]


def test_a_masks_folder_that_is_not_there_is_a_wrong_use(tmp_path: Path) -> None:
    """data.masks and data.annotations must name folders inside the source."""
    lay(tmp_path, "a.png")
    for data in (DataConfig(masks="nowhere"), DataConfig(annotations="../"), DataConfig(annotations="gone.json"), DataConfig(masks="a.png")):
        with pytest.raises(UsageError):
            ImageFolder(tmp_path).survey(data)


def test_annotations_may_be_one_file(tmp_path: Path) -> None:
    """data.annotations may name a file, which then is no noise either."""
    lay(tmp_path, "a.jpg")
    (tmp_path / "coco.json").write_text("{}")
    assert not Scanned(tmp_path, DataConfig(annotations="coco.json", annotation_format="coco")).parts


def test_annotations_are_no_samples_and_no_noise(tmp_path: Path) -> None:
    """Files below data.annotations are not listed at all."""
    lay(tmp_path, "images/a.jpg", "labels/preview.png")
    (tmp_path / "labels/a.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    scanned = Scanned(tmp_path, DataConfig(annotations="labels", annotation_format="yolo"))
    assert scanned.keys == ["images/a.jpg"]
    assert not scanned.parts


# -- recognition ----------------------------------------------------------------------------------------------------------------------------


def test_recognises_by_content(tmp_path: Path) -> None:
    """Pictures by name or content make an image folder; a database, an empty folder and mostly TFRecords do not."""
    assert ImageFolder.recognises(lay(tmp_path / "deep", "x/y/z/a.png"))
    (tmp_path / "bare").mkdir()
    assert not ImageFolder.recognises(tmp_path / "bare")
    (tmp_path / "bare/data").write_bytes(picture(0))
    assert ImageFolder.recognises(tmp_path / "bare")
    lay(tmp_path / "mdb", "a.png")
    (tmp_path / "mdb/data.mdb").touch()
    assert not ImageFolder.recognises(tmp_path / "mdb")
    lay(tmp_path / "ldb", "a.png")
    (tmp_path / "ldb/CURRENT").touch()
    (tmp_path / "ldb/MANIFEST-000001").touch()
    assert not ImageFolder.recognises(tmp_path / "ldb")
    lay(tmp_path / "records", "preview.png")
    for number in range(3):
        (tmp_path / f"records/train.tfrecord-0000{number}-of-00003").touch()
    assert not ImageFolder.recognises(tmp_path / "records")
    assert not ImageFolder.recognises(tmp_path / "nowhere")


# -- the cleaned copy -----------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def labelled(tmp_path: Path) -> Iterator[Path]:
    """A set with what belongs beside pictures."""
    root = lay(tmp_path / "set", "cat/a.png", "cat/b.png", "dog/c.png", ".hidden.png")
    (root / "README.md").write_text("two classes")
    (root / "train.txt").write_bytes(b"cat/a.png 0\r\ncat/b.png 0\ndog/c.png 1\n")
    (root / "metadata.csv").write_text('file_name,caption\ncat/a.png,"x\ny"\ncat/b.png,z\ndog/c.png,w\n')
    (root / "index.json").write_text('["dog/c.png"]')
    os.utime(root / "cat/a.png", ns=(10**18, 10**18 + 7))
    yield root


@pytest.mark.parametrize("link", ["copy", "hard", "sym", "reflink"])
def test_a_copy_without_some_holds_the_others(labelled: Path, tmp_path: Path, link: str) -> None:
    """Kept files are byte for byte the same with their times, lists and metadata lose the lines of dropped ones, an emptied class folder stays."""
    before = outside(labelled)
    scanned = Scanned(labelled)
    report = scanned.copy(tmp_path / "copy", "dog/c.png", link=link)
    made = tmp_path / "copy"
    assert outside(labelled) == before
    assert (report.kept, report.dropped) == (2, 1)
    copied = Scanned(made)
    assert copied.keys == ["cat/a.png", "cat/b.png"]
    assert copied.digest() == (report.kept, report.digest)
    assert (made / "cat/a.png").read_bytes() == (labelled / "cat/a.png").read_bytes()
    assert (made / "cat/a.png").stat().st_mtime_ns == 10**18 + 7
    assert (made / "train.txt").read_bytes() == b"cat/a.png 0\r\ncat/b.png 0\n"
    assert (made / "metadata.csv").read_text() == 'file_name,caption\ncat/a.png,"x\ny"\ncat/b.png,z\n'
    assert (made / "README.md").read_text() == "two classes"
    assert (made / ".hidden.png").exists()
    assert (made / "dog").is_dir()
    assert len(report.stale) == 1
    assert report.stale[0].startswith("index.json")
    assert (made / "cat/a.png").is_symlink() is (link == "sym")
    assert (made / "cat/a.png").samefile(labelled / "cat/a.png") is (link in ("sym", "hard"))


def test_a_copy_with_nothing_dropped_is_equal(labelled: Path, tmp_path: Path) -> None:
    """With nothing dropped every file is there and equal."""
    scanned = Scanned(labelled)
    report = scanned.copy(tmp_path / "copy")
    assert scanned.digest() == Scanned(tmp_path / "copy").digest() == (3, report.digest)
    held = {place.relative_to(labelled): place.read_bytes() for place in labelled.rglob("*") if place.is_file()}
    assert held == {place.relative_to(tmp_path / "copy"): place.read_bytes() for place in (tmp_path / "copy").rglob("*") if place.is_file()}
    assert not report.stale
    assert not report.files


def test_only_changed_writes_lists_alone(labelled: Path, tmp_path: Path) -> None:
    """only_changed writes the corrected lists and names what was left out."""
    report = Scanned(labelled).copy(tmp_path / "copy", "dog/c.png", only_changed=True)
    assert sorted(place.name for place in (tmp_path / "copy").rglob("*")) == ["metadata.csv", "train.txt"]
    assert sorted(report.files) == ["metadata.csv", "train.txt"]
    assert "dog/c.png" in report.notes[-1]
    assert (report.kept, report.dropped) == (0, 1)


def test_a_read_only_source_is_copied(labelled: Path, tmp_path: Path) -> None:
    """A source without write permission is scanned and copied, and the copy can be removed by its owner."""
    places = [labelled, *labelled.rglob("*")]
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    try:
        report = Scanned(labelled).copy(tmp_path / "copy", "cat/b.png")
        assert report.kept == 2
        assert (tmp_path / "copy/cat").stat().st_mode & 0o700 == 0o700
        assert (tmp_path / "copy/cat/a.png").stat().st_mode & 0o777 == 0o444
    finally:
        for place in places:
            place.chmod(0o755)


def test_links_become_what_they_lead_to(tmp_path: Path) -> None:
    """A copy stands alone: file links are copied, loops and broken links are left out and counted."""
    lay(tmp_path, "out/x.png")
    root = lay(tmp_path / "set", "a.png")
    (root / "x.png").symlink_to(tmp_path / "out/x.png")
    (root / "loop").symlink_to(".")
    (root / "gone.png").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    report = Scanned(root).copy(tmp_path / "copy")
    assert sorted(place.name for place in (tmp_path / "copy").iterdir()) == ["a.png", "x.png"]
    assert not (tmp_path / "copy/x.png").is_symlink()
    assert len(report.notes) == 2


def test_unreadable_samples_refuse_a_copy(tmp_path: Path) -> None:
    """A sample that can't be read refuses the copy, unless such samples are to be left out."""
    root = lay(tmp_path / "set", "a.png")
    (root / "disk.png").symlink_to("/proc/self/mem")
    scanned = Scanned(root)
    with pytest.raises(CopyError):
        scanned.copy(tmp_path / "refused")
    report = scanned.copy(tmp_path / "copy", drop_unreadable=True)
    assert (report.kept, report.dropped) == (1, 1)
    assert [place.name for place in (tmp_path / "copy").iterdir()] == ["a.png"]


def test_a_mask_goes_with_its_picture(tmp_path: Path) -> None:
    """A dropped picture takes its mask along; the digest of a pair is over both."""
    root = lay(tmp_path / "set", "images/1.jpg", "images/2.jpg", "masks/1.png", "masks/2.png")
    scanned = Scanned(root, DataConfig(masks="masks"))
    report = scanned.copy(tmp_path / "copy", "images/1.jpg")
    copied = Scanned(tmp_path / "copy", DataConfig(masks="masks"))
    assert copied.digest() == (1, report.digest)
    assert not copied.parts
    assert scanned.reader.fetch(scanned.plan, "images/2.jpg")[1] == b"".join((root / name).read_bytes() for name in ("images/2.jpg", "masks/2.png"))


def test_a_mask_without_a_picture_is_not_copied(tmp_path: Path) -> None:
    """A copy leaves out masks that belong to no picture, for they shift pairs by position."""
    root = lay(tmp_path / "set", "images/1.jpg", "images/2.jpg", "masks/1.png", "masks/2.png", "masks/x.png")
    report = Scanned(root, DataConfig(masks="masks")).copy(tmp_path / "copy")
    assert not Scanned(tmp_path / "copy", DataConfig(masks="masks")).parts
    assert report.kept == 2
    assert report.notes == ("1 masks without a picture are left out",)


def test_metadata_of_what_is_not_there_is_not_copied(tmp_path: Path) -> None:
    """A copy leaves out rows that name no file, so that a loader opens it."""
    root = lay(tmp_path / "set", "a.png", "b.png")
    (root / "metadata.csv").write_text("file_name,text\na.png,x\ngone.png,y\nb.png,z\n")
    Scanned(root).copy(tmp_path / "copy")
    assert (tmp_path / "copy/metadata.csv").read_text() == "file_name,text\na.png,x\nb.png,z\n"


def test_a_list_is_copied_as_a_list(tmp_path: Path) -> None:
    """The copy of a list keeps its lines byte for byte where the pictures are found from it, else makes paths absolute; either reads back."""
    lay(tmp_path / "set", "in/a.png", "in/b c.png")
    (tmp_path / "set/list.txt").write_bytes(b"in/a.png 0\r\nin/b c.png\t1\nin/gone.png 2\n")
    scanned = Scanned(tmp_path / "set/list.txt")
    near = scanned.copy(tmp_path / "set/clean.txt", "in/a.png")
    assert (tmp_path / "set/clean.txt").read_bytes() == b"in/b c.png\t1\n"
    assert Scanned(tmp_path / "set/clean.txt").digest() == (1, near.digest)
    (tmp_path / "elsewhere").mkdir()
    far = scanned.copy(tmp_path / "elsewhere/clean.txt")
    copied = Scanned(tmp_path / "elsewhere/clean.txt")
    assert copied.digest() == (2, far.digest) == scanned.digest()
    assert not copied.parts


@pytest.mark.corpus
def test_every_picture_of_the_corpus_is_a_sample(corpus: Path) -> None:
    """Every file of the collections that is a picture by name or content is a sample, and reading raises nothing."""
    for folder in sorted((corpus / "images").iterdir()):
        assert ImageFolder.recognises(folder)
        scanned = Scanned(folder, DataConfig(task="unlabelled"))
        assert scanned.survey.count == len(scanned.keys) > 0
        assert {part.code for part in scanned.parts} <= {"part-not-a-sample"}
        assert not scanned.problems()


def test_a_list_with_numbers_that_are_no_integers(tmp_path: Path) -> None:
    """A fraction or NaN behind a path is no part of its name: the picture is there, and its label is wrong."""
    lay(tmp_path, "a.png", "b.png", "c.png", "d.png")
    (tmp_path / "list").write_text("a.png 0\nb.png 1\nc.png 1.5\nd.png nan\n")
    problems = Scanned(tmp_path / "list").problems()
    assert problems == {
        "c.png": ("record-unparsable", "line 3 ends in 1.5, and no integer label"),
        "d.png": ("record-unparsable", "line 4 ends in nan, and no integer label"),
    }


def test_links_in_a_circle_end_nothing(tmp_path: Path) -> None:
    """A link to itself and one that leads nowhere are named; the pictures beside them are scanned."""
    lay(tmp_path, "a.png", "b.png")
    (tmp_path / "self.png").symlink_to("self.png")
    (tmp_path / "nowhere.png").symlink_to("gone.png")
    scanned = Scanned(tmp_path)
    assert scanned.keys == ["a.png", "b.png"]
    assert {part.key for part in scanned.parts if part.code == "part-link-broken"} == {"self.png", "nowhere.png"}


def test_one_odd_value_among_numbers(tmp_path: Path) -> None:
    """A word, a fraction and NaN among integer labels are wrong, and no reason to take the column for text; a file in two rows is named."""
    names = [f"{number:02}.png" for number in range(24)]
    lay(tmp_path, *names)
    labels = [str(number % 3) for number in range(24)]
    labels[3], labels[5], labels[7] = "one", "1.5", "NaN"
    rows = ["file_name,label", *(f"{name},{label}" for name, label in zip(names, labels, strict=True)), "09.png,2"]
    (tmp_path / "metadata.csv").write_text("\n".join(rows) + "\n")
    scanned = Scanned(tmp_path)
    assert scanned.problems() == {"03.png": ("record-field-kind", "label is 'one', and a number in the other rows of the metadata")}
    held = {key: value for batch in scanned.batches for key, value in zip(batch.keys, batch.columns["label"].values, strict=True)}
    assert float(held["05.png"]) == 1.5
    assert np.isnan(held["07.png"])
    assert [part.key for part in scanned.parts if part.code == "part-duplicate-key"] == ["09.png"]


def test_a_class_without_a_picture(tmp_path: Path) -> None:
    """A class folder that holds a text alone is an empty class."""
    lay(tmp_path, "cat/a.png", "cat/b.png", "dog/c.png")
    (tmp_path / "owl").mkdir()
    (tmp_path / "owl" / "readme.txt").write_text("no pictures yet")
    assert [part.key for part in Scanned(tmp_path).parts if part.code == "part-empty"] == ["owl"]


def test_pictures_that_no_line_names(tmp_path: Path) -> None:
    """Pictures beside the listed ones that the list does not name are counted in one info."""
    lay(tmp_path, "a.png", "b.png", "c.png", "d.png")
    (tmp_path / "list.txt").write_text("a.png 0\nb.png 1\n")
    (part,) = Scanned(tmp_path / "list.txt").parts
    assert (part.code, part.says) == ("part-not-a-sample", "2 pictures beside those of the list are named by no line: c.png, d.png")
