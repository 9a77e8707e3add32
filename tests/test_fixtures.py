"""The fixtures: the same bytes every time, and spoilt just as their answers say."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import h5py
import lmdb
import numpy as np
import zxingcpp
from PIL import Image


def test_same_bytes_every_time(fixtures: Path, root: Path, tmp_path: Path) -> None:
    """Made twice, the picture files, the TFRecord and the HDF5 file are equal byte for byte."""
    subprocess.run([sys.executable, root / "scripts" / "make_fixtures.py", tmp_path], check=True)
    files = [file.relative_to(tmp_path) for file in tmp_path.rglob("*.*") if file.is_file() and file.suffix in {".jpg", ".tfrecord", ".h5", ".json"}]
    assert len(files) == 120 + 3
    assert [str(file) for file in files if (tmp_path / file).read_bytes() != (fixtures / file).read_bytes()] == []


def test_every_set_holds_all_pictures(fixtures: Path) -> None:
    """Folder, LMDB and HDF5 hold 120 samples each."""
    assert len(list((fixtures / "photos").rglob("*.jpg"))) == 120
    with lmdb.open(str(fixtures / "photos.lmdb"), readonly=True, lock=False) as environment:
        assert environment.stat()["entries"] == 120
    with h5py.File(fixtures / "photos.h5", locking=False) as file:
        assert {name: len(rows) for name, rows in file.items()} == {"image": 120, "features": 120, "label": 120}


def test_the_hijacked_photo_is_a_qr_code(fixtures: Path) -> None:
    """What the answers call a QR code is a PNG that says where the shop is, under a .jpg name."""
    answers = json.loads((fixtures / "answers.json").read_text())
    (name,) = [key for key, what in answers["photos"].items() if "QR code" in what]
    content = (fixtures / "photos" / name).read_bytes()
    picture = Image.open(io.BytesIO(content))
    assert (Path(name).suffix, picture.format) == (".jpg", "PNG")
    (code,) = zxingcpp.read_barcodes(np.asarray(picture.convert("L")))
    assert code.text.startswith("https://shop.example/")
