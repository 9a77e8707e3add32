#!/usr/bin/env python3
"""Make a small damaged data set of pictures in each container, and the right answers beside them.

    make_fixtures.py [FOLDER]        default: fixtures/ of the clone

FOLDER/photos (image folder), photos.lmdb, photos.leveldb, photos.h5, photos.tfrecord hold the same 120 photo-like pictures in six classes,
of which a few are spoilt; FOLDER/answers.json names, for each set, the keys of the spoilt samples with what was done to them; the key ""
stands for a place that is no one sample. The same bytes every time: one seed, no clock. Where plyvel is not installed (it has wheels for
few platforms), the LevelDB set is left out.
"""

from __future__ import annotations

import io
import json
import shutil
import struct
import sys
from pathlib import Path

import google_crc32c
import h5py
import lmdb
import numpy as np
import zxingcpp
from PIL import Image

SEED = 20160322
COUNT = 120
CLASSES = ("bench", "boat", "bridge", "fountain", "lamp", "tower")
QR_CODE, CUT, LOGIN_PAGE, HOLE, NO_BYTES, WRONG_LABEL, NOT_A_NUMBER, INFINITE, BAD_CHECKSUM = 12, 23, 34, 45, 56, 67, 78, 89, 100
"""numbers of the spoilt samples"""
ENCODED = {
    QR_CODE: "a shop's QR code, a PNG, in place of the photo",
    CUT: "a JPEG cut at 60 %",
    LOGIN_PAGE: "an HTML login page in place of the photo",
    HOLE: "a JPEG with a hole of zeros in its data",
}
LOGIN = b"<!DOCTYPE html>\n<html><head><title>Sign in to the hotel network</title></head><body>Please accept our terms.</body></html>\n"


def photo(number: int) -> bytes:
    """A photo-like JPEG of 176x128 pixels: soft colours, some edges, camera noise."""
    random = np.random.default_rng([SEED, number])
    soft = Image.fromarray(random.integers(40, 216, (5, 7, 3), np.uint8)).resize((176, 128), Image.Resampling.BICUBIC)
    pixels = np.asarray(soft, np.int16).copy()
    for _ in range(4):
        top, left = int(random.integers(0, 96)), int(random.integers(0, 140))
        pixels[top : top + int(random.integers(8, 32)), left : left + int(random.integers(8, 36))] += random.integers(-60, 60, 3, np.int16)
    noisy = pixels + random.normal(0, 5, pixels.shape).round().astype(np.int16)
    file = io.BytesIO()
    Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(file, "JPEG", quality=88)
    return file.getvalue()


def qr_code() -> bytes:
    """A PNG with the QR code of a shop, 176 pixels wide."""
    code = zxingcpp.create_barcode("https://shop.example/sale?from=your-training-set", zxingcpp.BarcodeFormat.QRCode)
    pixels = np.array(zxingcpp.write_barcode_to_image(code, scale=4))
    file = io.BytesIO()
    Image.fromarray(pixels).convert("RGB").resize((176, 176), Image.Resampling.NEAREST).save(file, "PNG")
    return file.getvalue()


def pictures() -> list[bytes]:
    """All pictures, the spoilt ones among them."""
    made = [photo(number) for number in range(COUNT)]
    made[QR_CODE] = qr_code()
    made[CUT] = made[CUT][: len(made[CUT]) * 6 // 10]
    made[LOGIN_PAGE] = LOGIN
    middle = len(made[HOLE]) // 2
    made[HOLE] = made[HOLE][:middle] + bytes(400) + made[HOLE][middle + 400 :]
    return made


def labels() -> list[int]:
    """A class for each picture, and one that does not exist."""
    made = [number % len(CLASSES) for number in range(COUNT)]
    made[WRONG_LABEL] = 77
    return made


# --- protocol buffers by hand: a reader must not be tested against its own writer


def varint(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def number_field(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value)


def bytes_field(tag: int, value: bytes) -> bytes:
    return varint(tag << 3 | 2) + varint(len(value)) + value


def datum(picture: bytes, label: int) -> bytes:
    """Caffe's Datum: data 4, label 5, encoded 7."""
    return bytes_field(4, picture) + number_field(5, label) + number_field(7, 1)


def example(picture: bytes, label: int) -> bytes:
    """tf.Example, with the features that ImageNet's builder wrote."""
    features = {
        "image/class/label": bytes_field(3, bytes_field(1, varint(label))),
        "image/encoded": bytes_field(1, bytes_field(1, picture)),
        "image/format": bytes_field(1, bytes_field(1, b"JPEG")),
    }
    return bytes_field(1, b"".join(bytes_field(1, bytes_field(1, name.encode()) + bytes_field(2, value)) for name, value in features.items()))


# --- one function for each container: writes the set, returns the right answers


def image_folder(place: Path) -> dict[str, str]:
    names = {number: f"{CLASSES[number % len(CLASSES)]}/{number:04d}.jpg" for number in range(COUNT)}
    for number, picture in enumerate(pictures()):
        file = place / names[number]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"" if number == NO_BYTES else picture)
    return {names[number]: what for number, what in {**ENCODED, NO_BYTES: "a file of no bytes"}.items()}


def records() -> list[tuple[bytes, bytes]]:
    """Key and Datum, as Caffe's convert_imageset writes them."""
    return [(record_key(n).encode(), datum(picture, label)) for n, (picture, label) in enumerate(zip(pictures(), labels(), strict=True))]


def record_key(number: int) -> str:
    return f"{number:08d}_{CLASSES[number % len(CLASSES)]}.jpg"


def named(spoilt: dict[int, str]) -> dict[str, str]:
    return {record_key(number): what for number, what in spoilt.items()}


def lmdb_database(place: Path) -> dict[str, str]:
    with lmdb.open(str(place), map_size=1 << 26) as environment, environment.begin(write=True) as transaction:
        for number, (key, record) in enumerate(records()):
            transaction.put(key, b"\xff\xffno Datum" if number == BAD_CHECKSUM else record)
    return named({**ENCODED, WRONG_LABEL: "label 77 of 6 classes", BAD_CHECKSUM: "bytes that are no Datum"})


def leveldb_database(place: Path) -> dict[str, str]:
    import plyvel

    with plyvel.DB(str(place), create_if_missing=True, compression=None) as database:
        for key, record in records():
            database.put(key, record)
        database.compact_range()
    table = max(place.glob("*.ldb"), key=lambda file: file.stat().st_size)
    damaged = bytearray(table.read_bytes())
    damaged[len(damaged) * 9 // 10] ^= 1  # one bit in a data block behind the other spoilt samples
    table.write_bytes(damaged)
    return {**named({**ENCODED, WRONG_LABEL: "label 77 of 6 classes"}), "": "a flipped bit in a block of records"}


def hdf5_file(place: Path) -> dict[str, str]:
    features = np.random.default_rng(SEED).normal(0, 1, (COUNT, 16)).astype(np.float32)
    features[NOT_A_NUMBER, 7] = np.nan
    features[INFINITE, 15] = np.inf
    with h5py.File(place, "w") as file:
        encoded = file.create_dataset("image", (COUNT,), h5py.vlen_dtype(np.uint8))
        for number, picture in enumerate(pictures()):
            encoded[number] = np.frombuffer(picture, np.uint8)
        file["features"] = features
        file["label"] = np.array(labels(), np.int64)
    more = {WRONG_LABEL: "label 77 of 6 classes", NOT_A_NUMBER: "a NaN among the features", INFINITE: "an Inf among the features"}
    return {f"{place.name}#{number}": what for number, what in {**ENCODED, **more}.items()}


def masked_crc(data: bytes) -> bytes:
    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def tfrecord_file(place: Path) -> dict[str, str]:
    with place.open("wb") as file:
        for number, (picture, label) in enumerate(zip(pictures(), labels(), strict=True)):
            record = bytearray(example(picture, label))
            crc = masked_crc(bytes(record))
            if number == BAD_CHECKSUM:
                record[len(record) // 2] ^= 1
            length = struct.pack("<Q", len(record))
            file.write(length + masked_crc(length) + record + crc)
    more = {WRONG_LABEL: "label 77 of 6 classes", BAD_CHECKSUM: "a flipped bit under a CRC"}
    return {f"{place.name}#{number}": what for number, what in {**ENCODED, **more}.items()}


MAKERS = {
    "photos": image_folder,
    "photos.lmdb": lmdb_database,
    "photos.leveldb": leveldb_database,
    "photos.h5": hdf5_file,
    "photos.tfrecord": tfrecord_file,
}


def make(folder: Path) -> dict[str, dict[str, str]]:
    """Write every set anew; set -> spoilt key -> what was done to it."""
    folder.mkdir(parents=True, exist_ok=True)
    answers = {}
    for name, write in MAKERS.items():
        place = folder / name
        shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
        try:
            answers[name] = write(place)
        except ModuleNotFoundError as error:
            print(f"{name}: left out, {error.name} is not installed", file=sys.stderr)
    (folder / "answers.json").write_text(json.dumps(answers, indent=2) + "\n")
    return answers


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "fixtures")
