"""The TFRecord reader: framing, damage, files, shards, and the cleaned copy."""

from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from datascrub.config import DataConfig
from datascrub.errors import SourceError, UsageError
from datascrub.model import Batch, Limits, Part, Shard
from datascrub.plan import Plan
from datascrub.readers.base import CopyOptions, CopyReport
from datascrub.readers.tfrecord import TFRecord
from datascrub.readers.tfrecord_format import cutting, framing
from tests.readers.tfrecord_bytes import example, frame, masked

COPY = CopyOptions()


def record(number: int, size: int = 4) -> bytes:
    return example(label=[number % 3], x=[float(number + step) for step in range(size)], name=[b"sample %d" % number])


def records(count: int, start: int = 0) -> list[bytes]:
    return [record(number) for number in range(start, start + count)]


def write(path: Path, payloads: list[bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(frame, payloads)))
    return path


def plan_of(source: Path, limits: Limits = Limits()) -> Plan:
    with TFRecord(source, limits=limits) as reader:
        survey = reader.survey(DataConfig())
        return Plan(str(source), "tfrecord", survey.layout, survey.fields, survey.settings, reader.fingerprint(), limits=limits)


def scan(source: Path, limits: Limits = Limits(), batch_size: int = 1024) -> tuple[list[Batch], list[Part], list[Shard]]:
    assert TFRecord.recognises(source)
    plan = plan_of(source, limits)
    batches: list[Batch] = []
    parts: list[Part] = []
    shards: list[Shard] = []
    with TFRecord(source, limits=limits) as reader:
        for each in reader.shards(plan):
            if isinstance(each, Part):
                parts.append(each)
                continue
            shards.append(each)
            held = list(reader.read(plan, each, batch_size=batch_size))
            parts += [item for item in held if isinstance(item, Part)]
            batches += [item for item in held if isinstance(item, Batch)]
            assert each.count in (None, sum(len(item) for item in held if isinstance(item, Batch)))
    return batches, parts, shards


def account(source: Path, limits: Limits = Limits(), batch_size: int = 1024) -> tuple[list[str], dict[str, str], list[tuple[str, str]]]:
    """(keys, code by key, (code, key) of the parts)."""
    batches, parts, _ = scan(source, limits, batch_size)
    keys = [key for batch in batches for key in batch.keys]
    return keys, {b.keys[row]: p.code for b in batches for row, p in b.problems.items()}, [(part.code, part.key) for part in parts]


def test_healthy_file_is_read_whole(tmp_path: Path) -> None:
    """Each record of a healthy file is a sample with its values, dense where all agree, and nothing is said against it."""
    batches, parts, _ = scan(write(tmp_path / "a.tfrecord", records(5)))
    (batch,) = batches
    assert batch.keys == [f"a.tfrecord#{number}" for number in range(5)] and not batch.problems and not parts
    assert np.array_equal(batch.columns["label"].values, np.array([0, 1, 2, 0, 1]))
    assert batch.columns["x"].values.dtype == np.float32 and batch.columns["x"].values.shape == (5, 4)
    assert batch.columns["name"].values[3] == "sample 3" and list(batch.sizes) == [len(value) for value in records(5)]


@pytest.mark.parametrize("squeeze", [gzip.compress, zlib.compress], ids=["gzip", "zlib"])
def test_compressed_files_are_known_by_content(tmp_path: Path, squeeze: object) -> None:
    """A gzip or zlib file is read whatever its name says."""
    (tmp_path / "data").write_bytes(squeeze(b"".join(map(frame, records(7)))))  # type: ignore[operator]  # one of two functions
    keys, problems, parts = account(tmp_path / "data")
    assert len(keys) == 7 and not problems and not parts


def test_gzip_of_several_members_is_one_stream(tmp_path: Path) -> None:
    """Concatenated gzip members, and zeros behind them, are one healthy stream."""
    whole = b"".join(map(frame, records(6)))
    (tmp_path / "a.gz").write_bytes(gzip.compress(whole[:101]) + gzip.compress(whole[101:]) + bytes(512))
    assert account(tmp_path / "a.gz") == ([f"a.gz#{number}" for number in range(6)], {}, [])


def test_damaged_payload_costs_that_record(tmp_path: Path) -> None:
    """A flipped bit in a payload, or in its CRC, is record-checksum-mismatch of that record alone."""
    path = write(tmp_path / "a.tfrecord", records(6))
    raw = bytearray(path.read_bytes())
    sizes = [len(frame(value)) for value in records(6)]
    raw[sum(sizes[:2]) + 20] ^= 1
    raw[sum(sizes[:5]) - 1] ^= 1
    path.write_bytes(bytes(raw))
    keys, problems, parts = account(path)
    assert len(keys) == 6 and problems == dict.fromkeys(["a.tfrecord#2", "a.tfrecord#4"], "record-checksum-mismatch") and not parts


@pytest.mark.parametrize("place", range(12))
def test_damaged_header_costs_that_record(tmp_path: Path, place: int) -> None:
    """Any damaged byte of a header costs one record: the next one is found, and the skipped bytes are told."""
    path = write(tmp_path / "a.tfrecord", records(6))
    raw = bytearray(path.read_bytes())
    sizes = [len(frame(value)) for value in records(6)]
    raw[sum(sizes[:2]) + place] ^= 0x5A
    path.write_bytes(bytes(raw))
    batches, parts, _ = scan(path)
    (damage,) = parts
    assert damage.code == "part-damaged" and damage.lost_bytes == sizes[2] and damage.lost_records == 0
    problems = {b.keys[row]: p for b in batches for row, p in b.problems.items()}
    assert {key: problem.code for key, problem in problems.items()} == {"a.tfrecord#2": "record-checksum-mismatch"}
    assert "length" in problems["a.tfrecord#2"].detail and sum(map(len, batches)) == 6


def test_damage_over_several_records_says_that_numbers_change(tmp_path: Path) -> None:
    """Where more than one record may be lost, the numbers after it count what was found, and the part says so."""
    values = records(8)
    path = write(tmp_path / "a.tfrecord", values)
    raw = bytearray(path.read_bytes())
    sizes = [len(frame(value)) for value in values]
    raw[sum(sizes[:2]) : sum(sizes[:5]) - 3] = bytes(sum(sizes[2:5]) - 3)
    path.write_bytes(bytes(raw))
    batches, parts, _ = scan(path)
    (damage,) = parts
    assert damage.lost_records is None and damage.lost_bytes == sum(sizes[2:5]) and "numbers after #2" in damage.says
    assert sum(map(len, batches)) == 2 + 1 + 3


def test_record_with_the_bytes_of_another_is_not_taken_apart(tmp_path: Path) -> None:
    """Framed records inside the payload of a healthy record are its content."""
    inner = b"".join(map(frame, records(3)))
    path = write(tmp_path / "a.tfrecord", [example(name=[inner]) for _ in range(4)])
    assert len(account(path)[0]) == 4


@pytest.mark.parametrize("cut", [1, 4, 5, 30])
def test_cut_tail_is_a_truncated_sample(tmp_path: Path, cut: int) -> None:
    """A file that ends inside its last record has that record as record-truncated."""
    path = write(tmp_path / "a.tfrecord", records(3))
    path.write_bytes(path.read_bytes()[:-cut])
    keys, problems, parts = account(path)
    assert len(keys) == 3 and problems == {"a.tfrecord#2": "record-truncated"} and not parts


def test_cut_inside_the_header_is_a_truncated_sample(tmp_path: Path) -> None:
    """TensorFlow ends without an error where a file is cut inside the 12 bytes of a header; here the record is named."""
    path = write(tmp_path / "a.tfrecord", records(3))
    path.write_bytes(path.read_bytes() + frame(record(3))[:7])
    assert account(path)[1] == {"a.tfrecord#3": "record-truncated"}


@pytest.mark.parametrize("more", [1, 40])
def test_records_appended_to_a_cut_record_are_found(tmp_path: Path, more: int) -> None:
    """Records that a restarted writer appended behind a cut record are read, whether or not the cut one's length reaches past the end."""
    cut = frame(record(2, size=500))[:200]
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"".join(map(frame, records(2))) + cut + b"".join(map(frame, records(more, 3))))
    batches, _, _ = scan(path)
    assert sum(map(len, batches)) == 3 + more
    problems = {b.keys[row]: p.code for b in batches for row, p in b.problems.items()}
    assert list(problems) == ["a.tfrecord#2"] and problems["a.tfrecord#2"] in ("record-truncated", "record-checksum-mismatch")


def test_overwritten_record_before_many_shards_loses_none(tmp_path: Path) -> None:
    """A cut record whose length spans thousands of later ones hides none of them from any shard."""
    cut = frame(record(0, size=60_000))[:100]
    path = tmp_path / "a.tfrecord"
    path.write_bytes(frame(record(0)) + cut + b"".join(map(frame, records(6000))))
    batches, _, _ = scan(path)
    keys = [key for batch in batches for key in batch.keys]
    assert len(keys) == len(set(keys)) == 6002


def test_zero_tail_is_no_sample(tmp_path: Path) -> None:
    """Zeros behind the last record are one part, and accuse no record."""
    path = write(tmp_path / "a.tfrecord", records(3))
    path.write_bytes(path.read_bytes() + bytes(4096))
    keys, problems, parts = account(path)
    assert len(keys) == 3 and not problems and [code for code, _ in parts] == ["part-trailing-bytes"]


def test_empty_payload_is_record_empty(tmp_path: Path) -> None:
    """A record of length 0 whose CRC fits is a record, and it is empty."""
    assert account(write(tmp_path / "a.tfrecord", [*records(3), b"", *records(2)]))[1] == {"a.tfrecord#3": "record-empty"}


def test_first_header_damaged_in_a_file_named_so(tmp_path: Path) -> None:
    """A TFRecord whose very first header is damaged is still one."""
    path = write(tmp_path / "d" / "a.tfrecord", records(4))
    path.write_bytes(b"\xff" * 6 + path.read_bytes()[6:])
    write(tmp_path / "d" / "b.tfrecord", records(2))
    keys, problems, _ = account(tmp_path / "d")
    assert len(keys) == 6 and problems == {"a.tfrecord#0": "record-checksum-mismatch"}
    assert TFRecord.recognises(path)


def test_too_large_record_is_not_read(tmp_path: Path) -> None:
    """A record over the limit is named, in plain and compressed files, and the next one is read."""
    payloads = [record(0), record(1, size=9000), record(2)]
    plain = write(tmp_path / "a.tfrecord", payloads)
    (tmp_path / "b.tfrecord.gz").write_bytes(gzip.compress(plain.read_bytes()))
    for path in (plain, tmp_path / "b.tfrecord.gz"):
        keys, problems, _ = account(path, Limits(max_record_bytes=20_000))
        assert len(keys) == 3 and problems == {f"{path.name}#1": "record-too-large"}


def test_declared_length_allocates_nothing(tmp_path: Path) -> None:
    """A header with a right CRC that declares 2**60 bytes is a cut record, at once."""
    length = struct.pack("<Q", 1 << 60)
    for squeeze in (bytes, gzip.compress):
        path = tmp_path / "a.tfrecord"
        path.write_bytes(squeeze(b"".join(map(frame, records(2))) + length + masked(length) + b"x" * 100))
        assert account(path)[1] == {"a.tfrecord#2": "record-truncated"}


def test_bomb_stops_at_the_limit(tmp_path: Path) -> None:
    """A gzip that inflates without end to zeros is left at the limit, and said."""
    path = tmp_path / "a.tfrecord.gz"
    path.write_bytes(gzip.compress(b"".join(map(frame, records(2))) + bytes(60_000_000)))
    keys, problems, parts = account(path, Limits(max_inflated_bytes=4_000_000))
    assert len(keys) == 2 and not problems and parts[0][0] == "part-too-large"


def test_bomb_that_declares_one_record_stops_at_the_limit(tmp_path: Path) -> None:
    """A gzip whose header declares one record of gigabytes is left at the limit, without holding what it inflates to."""
    import resource

    length = struct.pack("<Q", 1 << 40)
    path = tmp_path / "a.tfrecord.gz"
    path.write_bytes(gzip.compress(frame(record(0)) + length + masked(length) + bytes(300_000_000), 1))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    keys, problems, parts = account(path, Limits(max_record_bytes=1_000_000, max_inflated_bytes=200_000_000))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
    assert len(keys) == 1 and not problems and [code for code, _ in parts] == ["part-too-large"]


def test_long_compressed_record_before_damage_is_copied(tmp_path: Path) -> None:
    """A record of many blocks that stands before a damaged header in a gzip is copied byte for byte."""
    long = example(name=[np.random.default_rng(2).bytes(3_000_000)])
    source = tmp_path / "a.tfrecord.gz"
    bad = bytearray(frame(record(1)))
    bad[2] ^= 7
    source.write_bytes(gzip.compress(frame(record(0)) + frame(long) + bytes(bad) + frame(record(2)), 1))
    report = clean(source, tmp_path / "clean.gz", {"a.tfrecord.gz#2"})
    assert report.kept == 3 and gzip.decompress((tmp_path / "clean.gz").read_bytes()) == frame(record(0)) + frame(long) + frame(record(2))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_cut_gzip_keeps_what_was_read(tmp_path: Path, share: float) -> None:
    """What a cut gzip still gives stands; the rest is named as a part."""
    path = tmp_path / "a.tfrecord.gz"
    rng = np.random.default_rng(0)
    whole = gzip.compress(b"".join(frame(example(name=[rng.bytes(300)])) for _ in range(400)))
    path.write_bytes(whole[: int(len(whole) * share)])
    batches, parts, _ = scan(path)
    assert 380 * share < sum(map(len, batches)) < 400 and "part-truncated" in [part.code for part in parts]
    assert all(part.lost_records is None for part in parts if part.code == "part-truncated")


def test_flipped_gzip_keeps_what_was_read(tmp_path: Path) -> None:
    """Damage inside a gzip never raises, keeps the records before it, and is named."""
    rng = np.random.default_rng(1)
    whole = gzip.compress(b"".join(frame(example(x=rng.random(50).tolist())) for _ in range(100)))
    for place in range(len(whole) // 3, len(whole), len(whole) // 17):
        path = tmp_path / "a.tfrecord.gz"
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        batches, parts, _ = scan(path)
        assert parts or any(batch.problems for batch in batches)
        assert sum(map(len, batches)) >= 20


def test_a_folder_and_what_stands_in_it(tmp_path: Path) -> None:
    """Files that are no TFRecord are named for what they are; companions and hidden files are said once; an empty shard is said."""
    folder = tmp_path / "set"
    for number in (0, 2):
        write(folder / f"train-{number:05d}-of-00003", records(2))
    (folder / "train-00009.tfrecord").write_bytes(b"<!DOCTYPE html><html><body>not found</body></html>")
    (folder / "empty.tfrecord").touch()
    (folder / "dataset_info.json").write_text("{}")
    (folder / "README").write_text("read me")
    (folder / ".DS_Store").write_bytes(b"x")
    (folder / "gone.tfrecord").symlink_to(tmp_path / "nowhere")
    keys, problems, parts = account(folder)
    assert keys == ["train-00000-of-00003#0", "train-00000-of-00003#1", "train-00002-of-00003#0", "train-00002-of-00003#1"] and not problems
    assert parts == [
        ("part-empty", "empty.tfrecord"),
        ("part-link-broken", "gone.tfrecord"),
        ("part-not-recognised", "train-00009.tfrecord"),
        ("part-record-missing", "train-00001-of-00003"),
        ("part-not-a-sample", "README"),
        ("part-hidden", ".DS_Store"),
    ]


def test_a_pattern_of_names(tmp_path: Path) -> None:
    """A pattern takes the files that it matches, and their keys are relative to its fixed folder."""
    for number in range(3):
        write(tmp_path / f"train-{number:05d}-of-00003", records(1))
    write(tmp_path / "other.tfrecord", records(1))
    assert account(tmp_path / "train-*") == ([f"train-{number:05d}-of-00003#0" for number in range(3)], {}, [])
    assert account(tmp_path / "train-0000[01]*") == ([f"train-{number:05d}-of-00003#0" for number in range(2)], {}, [])
    (tmp_path / "train-00001-of-00003").unlink()
    assert account(tmp_path / "train-*")[2] == [("part-record-missing", "train-00001-of-00003")]


def test_name_says_gzip_and_content_does_not(tmp_path: Path) -> None:
    """A .gz name over plain records is told; the records are healthy."""
    keys, problems, parts = account(write(tmp_path / "a.tfrecord.gz", records(2)))
    assert len(keys) == 2 and not problems and [code for code, _ in parts] == ["part-name-mismatch"]


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    """A folder that links to itself is walked once."""
    write(tmp_path / "set" / "a.tfrecord", records(1))
    (tmp_path / "set" / "loop").symlink_to(tmp_path / "set")
    assert account(tmp_path / "set")[0] == ["a.tfrecord#0"]


def test_odd_file_names_lead_back(tmp_path: Path) -> None:
    """A name that is no UTF-8, or holds a #, is a key that finds its record again."""
    for name in (b"\xff\xfe.tfrecord", b"a#7.tfrecord"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/set")).mkdir(exist_ok=True)
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/set/" + name)).write_bytes(b"".join(map(frame, records(2))))
    keys, problems, _ = account(tmp_path / "set")
    assert len(set(keys)) == 4 and not problems
    plan = plan_of(tmp_path / "set")
    with TFRecord(tmp_path / "set") as reader:
        assert [reader.fetch(plan, key)[1] for key in keys] == records(2) * 2


def test_no_permission_is_no_damage(tmp_path: Path) -> None:
    """A file without read permission is part-unreadable, and the others are read."""
    write(tmp_path / "set" / "a.tfrecord", records(2))
    locked = write(tmp_path / "set" / "b.tfrecord", records(2))
    locked.chmod(0)
    if os.access(locked, os.R_OK):
        pytest.skip("this user may read everything")
    assert account(tmp_path / "set") == (["a.tfrecord#0", "a.tfrecord#1"], {}, [("part-unreadable", "b.tfrecord")])


def test_vanished_and_shortened_files_do_not_raise(tmp_path: Path) -> None:
    """A file that goes or shrinks between listing and reading is a part, or truncated."""
    source = tmp_path / "set"
    paths = [write(source / name, records(3)) for name in ("a.tfrecord", "b.tfrecord")]
    plan = plan_of(source)
    with TFRecord(source) as reader:
        shards = [each for each in reader.shards(plan) if isinstance(each, Shard)]
        paths[0].unlink()
        os.truncate(paths[1], paths[1].stat().st_size - 9)
        (gone,) = reader.read(plan, shards[0])
        assert isinstance(gone, Part) and gone.code == "part-unreadable"
        (held,) = reader.read(plan, shards[1])
        assert isinstance(held, Batch) and {p.code for p in held.problems.values()} == {"record-truncated"}


def test_shards_are_disjoint_and_complete(tmp_path: Path) -> None:
    """Shards give each record once and in order, whatever the batch size; numbers are known over plain files."""
    source = tmp_path / "set"
    write(source / "a.tfrecord", records(20_000))
    write(source / "b.tfrecord", records(10))
    batches, _, shards = scan(source)
    assert [(shard.first, shard.count) for shard in shards] == [(0, 16384), (16384, 3616), (20000, 10)]
    keys = [key for batch in batches for key in batch.keys]
    assert keys == [f"a.tfrecord#{n}" for n in range(20_000)] + [f"b.tfrecord#{n}" for n in range(10)]
    assert account(source, batch_size=7)[0] == keys


def test_records_read_in_runs_are_those_read_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards, keys, sizes, offsets, problems, values and parts are the same, also around damage and where shards are cut by size."""
    framed = [frame(record) for record in records(9000)]
    framed[50] = framed[50][:-1] + bytes([framed[50][-1] ^ 1])  # the CRC of its payload
    framed[3000] = bytes([framed[3000][0] ^ 4]) + framed[3000][1:]  # its length
    framed[4000] = framed[4000][:20]  # cut, and written over
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"".join(framed) + bytes(40))
    monkeypatch.setattr(cutting, "SHARD_BYTES", 85_050)
    monkeypatch.setattr(cutting, "SHARD_RECORDS", 1000)

    def told() -> list[object]:
        batches, parts, shards = scan(path, batch_size=300)
        each = [
            (key, row, int(batch.sizes[at]), batch.offsets[at], batch.problems.get(at), str(batch.columns["label"].values[at]))
            for batch in batches
            if batch.offsets is not None
            for at, (key, row) in enumerate(zip(batch.keys, batch.rows.tolist(), strict=True))
        ]
        return [shards, each, parts]

    in_runs = told()
    monkeypatch.setattr(framing, "_run", lambda *_: None)
    assert told() == in_runs
    assert len(in_runs[0]) >= 9 and len(in_runs[2]) > 1


def test_only_the_rows_asked_for(tmp_path: Path) -> None:
    """rows picks samples by their place in the shard; an untouched one is named and holds nothing."""
    path = write(tmp_path / "a.tfrecord", records(10))
    plan = plan_of(path)
    with TFRecord(path) as reader:
        (shard,) = reader.shards(plan)
        (batch,) = reader.read(plan, shard, rows=frozenset({2, 5}), untouched=frozenset({5}))
    assert batch.keys == ["a.tfrecord#2", "a.tfrecord#5"] and list(batch.rows) == [2, 5] and not batch.problems
    assert batch.columns["label"].values[1] is None and batch.columns["x"].values[1] is None


def test_fetch_one(tmp_path: Path) -> None:
    """A key gives its sample and its stored bytes, damaged or not; an unknown key is wrong use."""
    path = write(tmp_path / "a.tfrecord", records(5))
    raw = bytearray(path.read_bytes())
    raw[-6] ^= 1
    path.write_bytes(bytes(raw))
    plan = plan_of(path)
    with TFRecord(path) as reader:
        batch, stored = reader.fetch(plan, "a.tfrecord#3")
        assert stored == record(3) and batch.keys == ["a.tfrecord#3"]
        assert reader.fetch(plan, "a.tfrecord#4")[0].problems[0].code == "record-checksum-mismatch"
        for key in ("a.tfrecord#5", "b.tfrecord#0", "a.tfrecord"):
            with pytest.raises(UsageError):
                reader.fetch(plan, key)


@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b"PK\x03\x04" + bytes(99), bytes(500), b"\x1f\x8b\x08broken", b'{"a": 1}', os.urandom(0) + bytes(range(256)) * 9]
)
def test_other_files_are_not_recognised(tmp_path: Path, content: bytes) -> None:
    """What holds no record is no TFRecord, whatever it is."""
    (tmp_path / "file.bin").write_bytes(content)
    assert not TFRecord.recognises(tmp_path / "file.bin") and not TFRecord.recognises(tmp_path)


def test_nothing_to_scan_is_an_error_of_the_source(tmp_path: Path) -> None:
    """A file without one whole record can't be surveyed."""
    path = tmp_path / "a.tfrecord"
    path.write_bytes(frame(record(0))[:-3])
    with TFRecord(path) as reader, pytest.raises(SourceError):
        reader.survey(DataConfig())


def test_records_of_another_layout(tmp_path: Path) -> None:
    """Records need not be Examples."""
    assert plan_of(write(tmp_path / "a.tfrecord", [b"a line of text %d" % number for number in range(9)])).layout == "text"


@given(damage=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=6), cut=st.integers(0, 300))
def test_any_damage_is_survived(tmp_path_factory: pytest.TempPathFactory, damage: list[tuple[int, int]], cut: int) -> None:
    """Whatever bytes change, nothing raises, no key stands twice, a record that stands untouched before the damage is healthy."""
    raw = bytearray(b"".join(map(frame, records(12))))
    first = len(raw)
    for place, value in damage:
        place %= len(raw)
        if raw[place] != value:
            first = min(first, place)
        raw[place] = value
    del raw[len(raw) - cut :]
    first = min(first, len(raw))
    path = tmp_path_factory.mktemp("any") / "a.tfrecord"
    path.write_bytes(bytes(raw))
    whole = 0
    sizes = [len(frame(value)) for value in records(12)]
    while whole < 12 and sum(sizes[: whole + 1]) <= first:
        whole += 1
    if not whole:
        return
    keys, problems, _ = account(path)
    assert len(keys) == len(set(keys)) and not set(keys[:whole]) & set(problems)


def clean(source: Path, destination: Path, drop: set[str], options: CopyOptions = COPY) -> CopyReport:
    plan = plan_of(source)
    with TFRecord(source) as reader:
        report = reader.copy_clean(plan, destination, frozenset(drop), options, lambda _: None)
    rolling, count = xxhash.xxh3_128(), 0
    with TFRecord(destination) as reader:
        survey = reader.survey(replace(plan.data, layout=plan.layout))
        for _, digest in reader.digests(replace(plan, source=str(destination), settings=survey.settings)):
            rolling.update(digest)
            count += 1
    assert (count, rolling.hexdigest()) == (report.kept, report.digest)
    return report


@pytest.mark.parametrize("squeeze", [bytes, gzip.compress, zlib.compress], ids=["plain", "gzip", "zlib"])
def test_copy_without_one_record(tmp_path: Path, squeeze: object) -> None:
    """The copy of a file lacks the dropped record, and holds the others byte for byte, compressed as the source."""
    source = tmp_path / "a.tfrecord"
    source.write_bytes(squeeze(b"".join(map(frame, records(5)))))  # type: ignore[operator]  # one of three functions
    report = clean(source, tmp_path / "b.tfrecord", {"a.tfrecord#2"})
    kept = b"".join(frame(value) for number, value in enumerate(records(5)) if number != 2)
    raw = (tmp_path / "b.tfrecord").read_bytes()
    opened = {bytes: bytes, gzip.compress: gzip.decompress, zlib.compress: zlib.decompress}[squeeze](raw)  # type: ignore[index]  # as above
    assert opened == kept and (report.kept, report.dropped) == (4, 1)


def test_copy_of_a_folder(tmp_path: Path) -> None:
    """Whole files are linked, an emptied shard stays as an empty file, damage goes, and dataset_info.json counts right."""
    source = tmp_path / "set"
    names = [f"mnist-train.tfrecord-{number:05d}-of-00003" for number in range(3)]
    for name in names:
        write(source / name, records(2))
    tail = source / names[2]
    tail.write_bytes(tail.read_bytes() + bytes(64))
    info = {"name": "mnist", "splits": [{"name": "train", "shardLengths": ["2", "2", "2"], "numBytes": "600"}]}
    (source / "dataset_info.json").write_text(json.dumps(info))
    (source / "train.idx").write_text("0 1\n")
    report = clean(source, tmp_path / "clean", {f"{names[1]}#0", f"{names[1]}#1"}, CopyOptions(link="hard"))
    assert (report.kept, report.dropped) == (4, 2)
    assert (tmp_path / "clean" / names[0]).stat().st_ino == (source / names[0]).stat().st_ino
    assert (tmp_path / "clean" / names[1]).read_bytes() == b""
    assert (tmp_path / "clean" / names[2]).read_bytes() == tail.read_bytes()[:-64]
    counted = json.loads((tmp_path / "clean" / "dataset_info.json").read_text())["splits"][0]
    assert counted == {"name": "train", "shardLengths": ["2", "0", "2"], "numBytes": str(sum(map(len, records(2))) * 2)}
    assert [line.partition(":")[0] for line in report.stale] == ["train.idx"]


def test_copy_of_changed_files_alone(tmp_path: Path) -> None:
    """--only-changed writes the files that lose a record, and counts what it wrote."""
    source = tmp_path / "set"
    for name in ("a.tfrecord", "b.tfrecord"):
        write(source / name, records(3))
    report = clean(source, tmp_path / "clean", {"b.tfrecord#0"}, CopyOptions(only_changed=True))
    assert report.files == ("b.tfrecord",) and report.kept == 2 and not (tmp_path / "clean" / "a.tfrecord").exists()


def test_copy_leaves_out_what_is_lost(tmp_path: Path) -> None:
    """A cut record and a damaged region are not in the copy, and a scan of the copy finds nothing."""
    source = write(tmp_path / "a.tfrecord", records(6))
    raw = bytearray(source.read_bytes())
    raw[len(frame(record(0))) + 3] ^= 9
    source.write_bytes(bytes(raw[:-5]))
    report = clean(source, tmp_path / "clean.tfrecord", {"a.tfrecord#1", "a.tfrecord#5"})
    assert (report.kept, report.dropped) == (4, 2)
    assert account(tmp_path / "clean.tfrecord")[1:] == ({}, [])


def test_copy_with_nothing_kept(tmp_path: Path) -> None:
    """A copy without any record reads back as none."""
    source = write(tmp_path / "a.tfrecord", records(2))
    assert clean(source, tmp_path / "clean.tfrecord", {"a.tfrecord#0", "a.tfrecord#1"}).kept == 0


def test_source_is_unchanged(tmp_path: Path) -> None:
    """Survey, scan and copy leave names, bytes and times as they were, and the fingerprint with them."""
    source = tmp_path / "set"
    path = write(source / "a.tfrecord", records(5))
    before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(source.iterdir()))
    with TFRecord(source) as reader:
        fingerprint = reader.fingerprint()
        scan(source)
        clean(source, tmp_path / "clean", {"a.tfrecord#1"})
        assert reader.fingerprint() == fingerprint
        write(path, records(6))
        assert reader.fingerprint() != fingerprint
    path.write_bytes(before[0])
    assert before[0] == path.read_bytes() and before[2] == sorted(source.iterdir())


def test_tensorflow_reads_the_copy(tmp_path: Path) -> None:
    """tf.data reads the kept records of a copied set, plain and gzip, with the same values."""
    pytest.importorskip("tensorflow")
    source = tmp_path / "a.tfrecord"
    packed = tmp_path / "b.tfrecord.gz"
    write(source, records(5))
    packed.write_bytes(gzip.compress(source.read_bytes()))
    clean(source, tmp_path / "plain", {"a.tfrecord#2"})
    clean(packed, tmp_path / "packed", {"b.tfrecord.gz#2"})
    script = """
import sys, tensorflow as tf
for path, kind in ((sys.argv[1], ""), (sys.argv[2], "GZIP")):
    raw = tf.data.TFRecordDataset(path, compression_type=kind)
    parsed = [tf.io.parse_single_example(r, {"name": tf.io.FixedLenFeature([], tf.string)}) for r in raw]
    print([each["name"].numpy().decode() for each in parsed])
"""
    told = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "plain", tmp_path / "packed"],
        capture_output=True, text=True, check=True, env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""},
    ).stdout  # fmt: skip
    assert told.splitlines() == [str([f"sample {number}" for number in (0, 1, 3, 4)])] * 2


def test_neither_tensorflow_nor_torch_is_imported(tmp_path: Path) -> None:
    """Reading TFRecords imports neither tensorflow nor torch."""
    path = write(tmp_path / "a.tfrecord", records(3))
    script = (
        "import sys; from pathlib import Path; from tests.readers.test_tfrecord import scan; scan(Path(sys.argv[1])); "
        "assert not {'tensorflow', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script, path], check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))})


@pytest.mark.corpus
def test_real_files_are_healthy(corpus: Path) -> None:
    """No record of the real TFRecord files, alone or as folders, is accused of anything."""
    folder = corpus / "tfrecord"
    for source in [path for path in folder.rglob("*") if path.is_file()] + [folder / "tfx" / "csv_example_gen", folder / "tfx" / "penguin"]:
        _, problems, parts = account(source)
        assert not problems and not parts, source.name
