"""The loops that people write instead of a scan, each run by as many processes as the scan.

    python -m benchmarks.peers NAME PLACE PROCESSES

prints how long the loops took once every process had imported what it needs. A peer is a generator: it imports and opens, yields None when it is
ready, does its share of the work, and yields how many samples that was.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

Peer = Callable[[Path, int, int], Iterator[int | None]]
_SCAN_END = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")


def pillow(place: Path, share: int, shares: int) -> Iterator[int | None]:
    """Open and load."""
    from PIL import Image

    files = _files(place, share, shares)
    yield None
    for file in files:
        with Image.open(file) as picture:
            picture.load()
    yield len(files)


def floor(place: Path, share: int, shares: int) -> Iterator[int | None]:
    """Read, walk the markers, decode gray at an eighth with libjpeg's warnings as errors: the least that checks a JPEG."""
    import simplejpeg

    files = _files(place, share, shares)
    yield None
    for file in files:
        data = file.read_bytes()
        assert _ends_well(data), file
        height, width, _, _ = simplejpeg.decode_jpeg_header(data)
        simplejpeg.decode_jpeg(data, "GRAY", min_height=-(-height // 8), min_width=-(-width // 8), min_factor=1)
    yield len(files)


def _ends_well(data: bytes) -> bool:
    """Whether the segments of a JPEG follow each other to its end marker."""
    at = 2
    while data[at] == 0xFF and data[at + 1] != 0xD9:
        is_scan = data[at + 1] == 0xDA
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if is_scan:
            found = _SCAN_END.search(data, at)
            if found is None:
                return False
            at = found.start()
    return data[at : at + 2] == b"\xff\xd9"


def cleanvision(place: Path, share: int, shares: int) -> Iterator[int | None]:
    """Its default checks; it has processes of its own."""
    from cleanvision import Imagelab

    yield None
    if share == 0:
        lab = Imagelab(data_path=str(place), verbose=False)
        lab.find_issues(n_jobs=shares, verbose=False)
        yield len(lab.issues)
    yield 0


def lmdb(place: Path, share: int, shares: int) -> Iterator[int | None]:
    """Cursor, parse, isfinite, min and max of each sample."""
    import lmdb as library

    with library.open(str(place), readonly=True, lock=False) as environment, environment.begin() as transaction:
        total = environment.stat()["entries"]
        first, end = total * share // shares, total * (share + 1) // shares
        cursor = transaction.cursor()
        cursor.set_key(f"{first:08d}".encode())
        yield from _datums(itertools.islice(cursor, end - first))


def leveldb(place: Path, share: int, shares: int) -> Iterator[int | None]:
    """The same over an iterator that verifies checksums, each process on a shadow of links: LevelDB lets one process alone open it."""
    import plyvel

    with tempfile.TemporaryDirectory() as folder:
        for file in place.iterdir():
            if file.suffix in (".ldb", ".sst"):
                (Path(folder) / file.name).symlink_to(file.absolute())
            elif file.name != "LOCK":
                (Path(folder) / file.name).write_bytes(file.read_bytes())
        with plyvel.DB(folder, create_if_missing=False) as database:
            count = sum(1 for _ in database.iterator(include_value=False))
            borders = [f"{count * each // shares:08d}".encode() for each in (share, share + 1)]
            with database.iterator(start=borders[0], stop=borders[1], verify_checksums=True) as iterator:
                yield from _datums(iterator)


def _datums(records: Any) -> Iterator[int | None]:
    import numpy as np

    from datascrub.layouts.protobuf import message

    parse, done = message("caffe.Datum").FromString, 0
    yield None
    for _, record in records:
        values = np.frombuffer(parse(record).data, np.uint8).astype(np.float32)
        assert np.isfinite(values).all() and values.min() <= values.max()
        done += 1
    yield done


def hdf5(place: Path, share: int, shares: int) -> Iterator[int | None]:
    """Block reads and one isfinite a block."""
    import h5py
    import numpy as np

    done = 0
    with h5py.File(place, locking=False) as file:
        data = file["data"]
        yield None
        for start in range(share * 512, len(data), shares * 512):
            block = data[start : start + 512]
            assert np.isfinite(block).all()
            done += len(block)
    yield done


def tfdata_photos(place: Path, share: int, shares: int) -> Iterator[int | None]:
    """Read, parse, decode_jpeg."""
    tf, records = _tensorflow(place, share, shares)
    spec = {"image/encoded": tf.io.FixedLenFeature([], tf.string), "image/class/label": tf.io.FixedLenFeature([], tf.int64)}
    yield None
    pixels = records.map(lambda record: tf.io.decode_jpeg(tf.io.parse_single_example(record, spec)["image/encoded"])).prefetch(2)
    yield int(pixels.reduce(0, lambda done, picture: done + tf.minimum(tf.shape(picture)[0], 1)))


def tfdata_small(place: Path, share: int, shares: int) -> Iterator[int | None]:
    """Read, and parse_example of a thousand at once."""
    tf, records = _tensorflow(place, share, shares)
    spec = {
        "features": tf.io.FixedLenFeature([16], tf.float32),
        "label": tf.io.FixedLenFeature([], tf.int64),
        "name": tf.io.FixedLenFeature([], tf.string),
    }
    yield None
    parsed = records.batch(1024).map(lambda some: tf.io.parse_example(some, spec)).prefetch(2)
    yield int(parsed.reduce(0, lambda done, some: done + tf.shape(some["label"])[0]))


def _tensorflow(place: Path, share: int, shares: int) -> tuple[Any, Any]:
    """TensorFlow with one thread for each kind of work, and the records of a share of the files."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    return tf, tf.data.TFRecordDataset([str(file) for file in sorted(place.iterdir())[share::shares]])


def _files(place: Path, share: int, shares: int) -> list[Path]:
    return sorted(file for file in place.rglob("*") if file.is_file())[share::shares]


PEERS: Mapping[str, Peer] = {
    each.__name__: each for each in (pillow, floor, cleanvision, lmdb, leveldb, hdf5, tfdata_photos, tfdata_small)
}  # fmt: skip


def run(name: str, place: Path, processes: int) -> dict[str, float]:
    """{samples, bare_s}: how many there were, and how long all processes took together from the moment that the last one was ready."""
    forked = multiprocessing.get_context("fork")
    pipes = [forked.Pipe() for _ in range(processes)]
    ours = [pipe for pipe, _ in pipes]
    workers = [forked.Process(target=_work, args=(PEERS[name], place, share, processes, pipe)) for share, (_, pipe) in enumerate(pipes)]
    try:
        for worker, (_, theirs) in zip(workers, pipes, strict=True):
            worker.start()
            theirs.close()  # so that a death is the end of the pipe
        for pipe in ours:
            pipe.recv()
        start = time.perf_counter()
        for pipe in ours:
            pipe.send(None)
        samples = sum(pipe.recv() for pipe in ours)
        return {"samples": samples, "bare_s": time.perf_counter() - start}
    finally:
        for worker in workers:
            if worker.pid is not None:
                worker.kill()
                worker.join()


def _work(peer: Peer, place: Path, share: int, shares: int, pipe: Connection) -> None:
    work = peer(place, share, shares)
    pipe.send(next(work))
    pipe.recv()
    pipe.send(next(work))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))) + "\n")
