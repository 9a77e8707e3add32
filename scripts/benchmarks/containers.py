"""Data sets in containers, from a seed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.pictures import SEED, jpegs

_FILES = 4
"""files of a TFRecord set"""
_BLOCK = 4096
_ODD_EVERY = 1000
"""of the set that is copied, one sample in so many is declared with a wrong height"""


def _datums(count: int, side: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys and Caffe Datum records of 3 x side x side raw bytes."""
    from datascrub.layouts.protobuf import message

    random, datum = np.random.default_rng(SEED), message("caffe.Datum")
    for number in range(count):
        pixels = random.integers(0, 256, 3 * side * side, np.uint8).tobytes()
        yield f"{number:08d}".encode(), datum(channels=3, height=side, width=side, data=pixels, label=number % 10).SerializeToString()


def _write_lmdb(place: Path, records: Iterator[tuple[bytes, bytes]], map_bytes: int) -> None:
    import lmdb

    with lmdb.open(str(place), map_size=max(map_bytes, 1 << 24)) as environment, environment.begin(write=True) as transaction:
        for key, record in records:
            transaction.put(key, record, append=True)


def make_lmdb(place: Path, count: int) -> None:
    """3x32x32 raw bytes, 3 KB a record."""
    _write_lmdb(place, _datums(count, 32), count * 8192)


def make_tiny_lmdb(place: Path, count: int) -> None:
    """3x8x8 raw bytes: many samples in few bytes."""
    _write_lmdb(place, _datums(count, 8), count * 1024)


def make_large_lmdb(place: Path, count: int) -> None:
    """3x128x128 raw bytes, 49 KB a record; some declare a wrong height, so that a cleaned copy leaves them out."""
    from datascrub.layouts.protobuf import message

    datum = message("caffe.Datum")

    def records() -> Iterator[tuple[bytes, bytes]]:
        for number, (key, record) in enumerate(_datums(count, 128)):
            if number % _ODD_EVERY == _ODD_EVERY // 2:
                held = datum.FromString(record)
                held.height = 127
                record = held.SerializeToString()
            yield key, record

    _write_lmdb(place, records(), count * 65536)


def make_leveldb(place: Path, count: int) -> None:
    """The records of make_lmdb."""
    import plyvel

    with plyvel.DB(str(place), create_if_missing=True) as database:
        for key, record in _datums(count, 32):
            database.put(key, record)
        database.compact_range()


def make_hdf5(place: Path, count: int) -> None:
    """float32 data (N, 3, 32, 32) and a label."""
    import h5py

    random = np.random.default_rng(SEED)
    with h5py.File(place, "w") as file:
        data = file.create_dataset("data", (count, 3, 32, 32), np.float32)
        for start in range(0, count, _BLOCK):
            rows = min(_BLOCK, count - start)
            data[start : start + rows] = random.normal(0, 1, (rows, 3, 32, 32)).astype(np.float32)
        file["label"] = np.arange(count) % 10


def make_tfrecord_photos(place: Path, count: int) -> None:
    """tf.Example with a JPEG of 110 KB and a label."""
    from datascrub.layouts.protobuf import message

    feature = message("tensorflow.Feature")

    def records() -> Iterator[bytes]:
        for number, jpeg in enumerate(jpegs(count)):
            its = {"image/encoded": feature(), "image/class/label": feature()}
            its["image/encoded"].bytes_list.value.append(jpeg)
            its["image/class/label"].int64_list.value.append(number % 10)
            yield _example(its)

    _write_tfrecords(place, records(), count)


def make_tfrecord_small(place: Path, count: int) -> None:
    """tf.Example with 16 floats, a label and a name of 8 bytes: 150 bytes a record."""
    from datascrub.layouts.protobuf import message

    feature = message("tensorflow.Feature")

    def records() -> Iterator[bytes]:
        for start in range(0, count, _BLOCK):
            values = np.random.default_rng([SEED, start]).normal(0, 1, (_BLOCK, 16)).astype(np.float32)
            for number in range(start, min(count, start + _BLOCK)):
                its = {"features": feature(), "label": feature(), "name": feature()}
                its["features"].float_list.value.extend(values[number - start].tolist())
                its["label"].int64_list.value.append(number % 10)
                its["name"].bytes_list.value.append(f"{number:08d}".encode())
                yield _example(its)

    _write_tfrecords(place, records(), count)


def _example(its: dict[str, object]) -> bytes:
    from datascrub.layouts.protobuf import message

    example = message("tensorflow.Example")()
    for name, value in its.items():
        example.features.feature[name].CopyFrom(value)
    record: bytes = example.SerializeToString(deterministic=True)
    return record


def _write_tfrecords(place: Path, records: Iterator[bytes], count: int) -> None:
    from datascrub.readers.tfrecord_format.framing import masked_crc

    place.mkdir()
    for number in range(_FILES):
        with (place / f"part-{number:05d}-of-{_FILES:05d}.tfrecord").open("wb") as file:
            for _ in range(count * number // _FILES, count * (number + 1) // _FILES):
                record = next(records)
                length = struct.pack("<Q", len(record))
                file.write(length + struct.pack("<I", masked_crc(length)) + record + struct.pack("<I", masked_crc(record)))
