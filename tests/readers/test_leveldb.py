"""The LevelDB reader on real databases, sound and damaged."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import plyvel
import pytest

from datascrub.config import DataConfig
from datascrub.errors import CopyError, MissingPackageError, SourceError, UsageError
from datascrub.keys import raw_of, text_of
from datascrub.model import Limits, Part, Shard
from datascrub.plan import Plan
from datascrub.readers import CopyOptions
from datascrub.readers.leveldb import LevelDbReader

Records = Mapping[bytes, bytes]


def datum(number: int) -> bytes:
    """A Caffe Datum of 1x4x6 pixels that differ from record to record, label number % 10."""
    pixels = np.random.default_rng(number).integers(0, 256, 24, np.uint8).tobytes()
    return b"\x08\x01\x10\x04\x18\x06\x22\x18" + pixels + b"\x28" + bytes([number % 10])


def key_of(number: int) -> bytes:
    return b"%08d" % number


def build(folder: Path, records: Records, *, compact: bool = True, **settings: object) -> Path:
    database = plyvel.DB(str(folder), create_if_missing=True, **{"compression": None, **settings})
    for key, value in records.items():
        database.put(key, value)
    if compact:
        database.compact_range()
    database.close()
    return folder


@pytest.fixture(scope="module")
def ten_thousand() -> dict[bytes, bytes]:
    return {key_of(number): datum(number) for number in range(10_000)}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory, ten_thousand: dict[bytes, bytes]) -> Path:
    """10,000 records in several tables."""
    return build(tmp_path_factory.mktemp("leveldb") / "sound", ten_thousand, max_file_size=1 << 16, write_buffer_size=1 << 16)


class Read:
    """What a reader gives for a source."""

    def __init__(self, source: Path, data: DataConfig | None = None) -> None:
        self.records: dict[bytes, bytes] = {}
        self.problems: dict[str, str] = {}
        with LevelDbReader(source) as reader:
            survey = reader.survey(data or DataConfig(layout="caffe-datum"))
            self.plan = Plan(str(source), "leveldb", survey.layout, survey.fields, survey.settings)
            self.survey = survey
            items = list(reader.shards(self.plan))
        self.parts = [item for item in items if isinstance(item, Part)]
        self.shards = [item for item in items if isinstance(item, Shard)]
        with LevelDbReader(source) as reader:
            for shard in self.shards:
                self._shard(reader, shard)

    def _shard(self, reader: LevelDbReader, shard: Shard) -> None:
        seen = 0
        for batch in reader.read(self.plan, shard, batch_size=300):
            if isinstance(batch, Part):
                self.parts.append(batch)
                continue
            assert batch.rows.tolist() == list(range(seen, seen + len(batch)))
            seen += len(batch)
            for row, key in enumerate(batch.keys):
                assert raw_of(key) not in self.records
                values = batch.columns["data"].values
                self.records[raw_of(key)] = b"" if values[row] is None else np.asarray(values[row]).tobytes()
                if row in batch.problems:
                    self.problems[key] = batch.problems[row].code
        assert seen == shard.count

    def is_named(self, key: bytes) -> bool:
        """Whether a part names an interval of keys that holds this one, or the record itself has a problem."""
        return text_of(key) in self.problems or any(_spans(part, key) for part in self.parts if "last" in part.evidence)

    def holds_against(self, truth: Records) -> None:
        """Every record is read byte-equal or named; none is invented."""
        for key, value in truth.items():
            if self.is_named(key):
                continue
            assert self.records.get(key) == value[8:32], key
        for key, pixels in self.records.items():
            assert text_of(key) in self.problems or pixels == truth[key][8:32], key


def _spans(part: Part, key: bytes) -> bool:
    """Whether the interval of a part holds a key."""
    if "after" in part.evidence:
        return raw_of(part.evidence["after"]) < key <= raw_of(part.evidence["last"])
    return raw_of(part.evidence["first"]) <= key <= raw_of(part.evidence["last"])


def tables(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in (".ldb", ".sst"))


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def outside(folder: Path) -> list[tuple[str, int, int, bytes]]:
    return [(path.name, path.stat().st_mtime_ns, path.stat().st_mode, path.read_bytes()) for path in sorted(folder.iterdir())]


def test_sound_tables_make_one_shard_and_a_damaged_one_its_own(tmp_path: Path, sound: Path) -> None:
    """Ranges without damage go together up to the size of a shard; what a damaged table holds is measured apart, and every record is counted once."""
    assert len(tables(sound)) > 10
    assert len(Read(sound).shards) == 1
    shutil.copytree(sound, tmp_path / "db")
    flip(tables(tmp_path / "db")[5], 80)
    read = Read(tmp_path / "db")
    assert 1 < len(read.shards) < len(tables(sound))
    firsts = [shard.first for shard in read.shards]
    counts = [shard.count or 0 for shard in read.shards]
    assert firsts == [sum(counts[:at]) for at in range(len(counts))]
    assert len(read.records) == sum(counts)


def test_sound_database_is_read_whole(sound: Path, ten_thousand: Records) -> None:
    """All records come in key order, the shards count exactly, and nothing is accused."""
    read = Read(sound)
    assert list(read.records) == sorted(ten_thousand)
    read.holds_against(ten_thousand)
    assert (read.parts, read.problems, read.survey.count) == ([], {}, 10_000)
    assert [shard.first for shard in read.shards] == list(np.cumsum([0, *(shard.count or 0 for shard in read.shards)])[:-1])


@pytest.mark.parametrize("compression", [None, "snappy"])
@pytest.mark.parametrize("bloom", [0, 10])
def test_settings_of_tables(tmp_path: Path, compression: str | None, bloom: int) -> None:
    """Plain and snappy tables, with and without a filter, are read, and the copy has the same settings."""
    records = {key_of(number): datum(number % 3) for number in range(2000)}
    read = Read(build(tmp_path / "db", records, compression=compression, bloom_filter_bits=bloom))
    read.holds_against(records)
    assert read.survey.settings == {"compression": compression, "bloom_filter": bool(bloom)}
    assert read.parts == []


def test_sst_names_are_tables(tmp_path: Path, sound: Path, ten_thousand: Records) -> None:
    """Tables of old LevelDBs are called .sst."""
    shutil.copytree(sound, tmp_path / "db")
    for path in tables(tmp_path / "db"):
        path.rename(path.with_suffix(".sst"))
    read = Read(tmp_path / "db")
    read.holds_against(ten_thousand)
    assert read.parts == []


def test_source_is_left_alone(tmp_path: Path, sound: Path) -> None:
    """Bytes, names and times stay, also in a folder without write permission, and no scratch is left."""
    folder, scratch = tmp_path / "db", tmp_path / "scratch"
    shutil.copytree(sound, folder)
    scratch.mkdir()
    folder.chmod(0o555)
    before = outside(folder)
    try:
        with LevelDbReader(folder, tmp=scratch) as reader:
            survey = reader.survey(DataConfig())
            plan = Plan(str(folder), "leveldb", survey.layout, survey.fields, survey.settings)
            assert sum(1 for _ in reader.digests(plan)) == 10_000
        assert outside(folder) == before
        assert list(scratch.iterdir()) == []
    finally:
        folder.chmod(0o755)


@pytest.mark.parametrize("seed", range(6))
def test_flipped_bits_in_tables(tmp_path: Path, sound: Path, ten_thousand: Records, seed: int) -> None:
    """Whatever bits flip in tables (data, index, footer): each record is read byte-equal or lies in a named interval; none is invented."""
    shutil.copytree(sound, tmp_path / "db")
    chance = random.Random(seed)
    for _ in range(chance.choice([1, 4, 12])):
        path = chance.choice(tables(tmp_path / "db"))
        flip(path, chance.randrange(path.stat().st_size * 8))
    read = Read(tmp_path / "db")
    read.holds_against(ten_thousand)
    assert read.parts


def test_loss_is_no_larger_than_its_blocks(tmp_path: Path, sound: Path, ten_thousand: Records) -> None:
    """Two bits flipped in one data block cost the records of that block alone."""
    shutil.copytree(sound, tmp_path / "db")
    for bit in (8 * 5000, 8 * 5010):
        flip(tables(tmp_path / "db")[1], bit)
    read = Read(tmp_path / "db")
    read.holds_against(ten_thousand)
    assert [part.code for part in read.parts] == ["part-damaged"]
    assert 0 < len(ten_thousand) - len(read.records) < 120


def test_neighbouring_blocks_zeroed(tmp_path: Path, sound: Path, ten_thousand: Records) -> None:
    """A hole of zeros over the end of one table and the beginning of the next costs what it covers."""
    shutil.copytree(sound, tmp_path / "db")
    one, two = tables(tmp_path / "db")[1:3]
    data = bytearray(two.read_bytes())
    data[:9000] = bytes(9000)
    two.write_bytes(data)
    data = bytearray(one.read_bytes())
    data[24_000:33_000] = bytes(9000)
    one.write_bytes(data)
    read = Read(tmp_path / "db")
    read.holds_against(ten_thousand)
    assert len(read.records) > 9000


@pytest.mark.parametrize("how", ["missing", "empty", "half", "last byte"])
def test_lost_table_is_named_by_its_range(tmp_path: Path, sound: Path, ten_thousand: Records, how: str) -> None:
    """A table that is missing or cut off is named with the range that the MANIFEST knows; the others are read."""
    shutil.copytree(sound, tmp_path / "db")
    path = tables(tmp_path / "db")[2]
    data = path.read_bytes()
    path.unlink()
    if how != "missing":
        path.write_bytes(data[: {"empty": 0, "half": len(data) // 2, "last byte": len(data) - 1}[how]])
    read = Read(tmp_path / "db")
    read.holds_against(ten_thousand)
    assert [part.code for part in read.parts] == ["part-record-missing" if how == "missing" else "part-truncated"]
    assert len(read.records) > 7000


@pytest.mark.parametrize("lost", ["CURRENT", "MANIFEST", "both", "MANIFEST bit", "MANIFEST empty", "CURRENT newline"])
def test_lost_manifest_is_said_and_tables_are_read(tmp_path: Path, sound: Path, ten_thousand: Records, lost: str) -> None:
    """Without CURRENT or MANIFEST, LevelDB opens nothing; here the loss is named and all records come."""
    shutil.copytree(sound, tmp_path / "db")
    manifest = next((tmp_path / "db").glob("MANIFEST-*"))
    if lost in ("CURRENT", "both"):
        (tmp_path / "db" / "CURRENT").unlink()
    if lost in ("MANIFEST", "both"):
        manifest.unlink()
    if lost == "MANIFEST bit":
        flip(manifest, 800)
    if lost == "CURRENT newline":
        (tmp_path / "db" / "CURRENT").write_text(manifest.name)
    if lost == "MANIFEST empty":
        manifest.write_bytes(b"")
    assert LevelDbReader.recognises(tmp_path / "db")
    read = Read(tmp_path / "db")
    read.holds_against(ten_thousand)
    assert len(read.records) == 10_000
    assert read.parts


def test_manifest_cut_at_a_record(tmp_path: Path, layered: tuple[Path, dict[bytes, bytes]]) -> None:
    """A MANIFEST that ends early but between two records is older than the tables: it is said, and replaced and deleted records stay so."""
    shutil.copytree(layered[0], tmp_path / "db")
    manifest = next((tmp_path / "db").glob("MANIFEST-*"))
    data = manifest.read_bytes()
    manifest.write_bytes(data[: 7 + int.from_bytes(data[4:6], "little")])
    read = Read(tmp_path / "db")
    assert read.parts
    assert set(read.records) == set(layered[1])
    read.holds_against(layered[1])


def test_manifest_and_a_block_lost(tmp_path: Path, sound: Path, ten_thousand: Records) -> None:
    """A damaged first block of a table whose range no MANIFEST tells is named all the same."""
    shutil.copytree(sound, tmp_path / "db")
    next((tmp_path / "db").glob("MANIFEST-*")).unlink()
    flip(tables(tmp_path / "db")[1], 8000)
    read = Read(tmp_path / "db")
    assert {part.code for part in read.parts} == {"part-record-missing", "part-damaged"}
    missing = set(ten_thousand) - set(read.records)
    assert 0 < len(missing) < 120
    assert all(pixels == ten_thousand[key][8:32] for key, pixels in read.records.items())


def test_records_in_the_log_alone(tmp_path: Path, ten_thousand: Records) -> None:
    """What stands in no table yet is read."""
    folder = build(tmp_path / "db", ten_thousand, compact=False, write_buffer_size=1 << 26)
    assert tables(folder) == []
    before = outside(folder)
    read = Read(folder)
    read.holds_against(ten_thousand)
    assert (len(read.records), read.parts, read.survey.count) == (10_000, [], 10_000)
    assert outside(folder) == before


@pytest.mark.parametrize("seed", range(5))
def test_flipped_bits_in_the_log(tmp_path: Path, ten_thousand: Records, seed: int) -> None:
    """The parts count exactly the records that damage inside the log cost; the rest is read."""
    folder = build(tmp_path / "db", ten_thousand, compact=False, write_buffer_size=1 << 26)
    log = next(folder.glob("*.log"))
    chance = random.Random(seed)
    for _ in range(3):
        flip(log, chance.randrange(4000, log.stat().st_size * 8 - 8000))
    read = Read(folder)
    lost = 10_000 - len(read.records)
    assert all(pixels == ten_thousand[key][8:32] for key, pixels in read.records.items())
    assert {part.code for part in read.parts} == {"part-damaged"}
    assert sum(part.lost_records or 0 for part in read.parts) == lost
    assert 1 <= lost <= 6


def test_log_cut_at_half(tmp_path: Path, ten_thousand: Records) -> None:
    """A log that ends inside a record is part-truncated, and every record before the cut is read."""
    folder = build(tmp_path / "db", ten_thousand, compact=False, write_buffer_size=1 << 26)
    log = next(folder.glob("*.log"))
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2 + 5])
    read = Read(folder)
    assert [(part.code, part.lost_records) for part in read.parts] == [("part-truncated", None)]
    assert list(read.records) == sorted(ten_thousand)[: len(read.records)]
    assert 4900 < len(read.records) < 5100


def test_room_set_aside_in_a_log_is_no_damage(tmp_path: Path, ten_thousand: Records) -> None:
    """Zeros behind the last record are what a mapped log leaves, no lost records."""
    folder = build(tmp_path / "db", ten_thousand, compact=False, write_buffer_size=1 << 26)
    with next(folder.glob("*.log")).open("ab") as log:
        log.write(bytes(65536))
    assert Read(folder).parts == []


def test_missing_log_is_said(tmp_path: Path, sound: Path) -> None:
    """The log that the MANIFEST names may have held the last writes."""
    shutil.copytree(sound, tmp_path / "db")
    next((tmp_path / "db").glob("*.log")).unlink()
    assert [part.code for part in Read(tmp_path / "db").parts] == ["part-record-missing"]


def overwritten(folder: Path, truth: dict[bytes, bytes]) -> None:
    """Overlapping tables: every 10th record replaced, every 25th deleted, then every 50th + 3 replaced in the log; truth follows."""
    database = plyvel.DB(str(folder), compression=None)
    for number in range(0, 10_000, 10):
        truth[key_of(number)] = datum(number + 50_000)
        database.put(key_of(number), truth[key_of(number)])
    for number in range(5, 10_000, 25):
        truth.pop(key_of(number), None)
        database.delete(key_of(number))
    database.close()
    database = plyvel.DB(str(folder), compression=None)
    for number in range(3, 10_000, 50):
        truth[key_of(number)] = datum(number + 90_000)
        database.put(key_of(number), truth[key_of(number)])
    database.close()


@pytest.fixture(scope="module")
def layered(tmp_path_factory: pytest.TempPathFactory, sound: Path, ten_thousand: Records) -> tuple[Path, dict[bytes, bytes]]:
    folder, truth = tmp_path_factory.mktemp("leveldb") / "layered", dict(ten_thousand)
    shutil.copytree(sound, folder)
    overwritten(folder, truth)
    return folder, truth


def test_overlapping_tables(layered: tuple[Path, dict[bytes, bytes]]) -> None:
    """Replaced values are new, deleted records stay away."""
    read = Read(layered[0])
    assert set(read.records) == set(layered[1])
    read.holds_against(layered[1])
    assert (read.parts, read.problems) == ([], {})


@pytest.mark.parametrize("seed", range(8))
def test_replaced_values_never_come_back_as_current(tmp_path: Path, layered: tuple[Path, dict[bytes, bytes]], seed: int) -> None:
    """Where damage may have taken the newest value of a key, the older one, if it is shown at all, carries a problem; so do deleted records."""
    folder, truth = tmp_path / "db", layered[1]
    shutil.copytree(layered[0], folder)
    chance = random.Random(seed)
    newest = tables(folder)[-1]
    if seed == 0:
        newest.unlink()
    elif seed == 1:
        flip(newest, (newest.stat().st_size - 100) * 8)  # the index
    else:
        for _ in range(4):
            path = chance.choice([newest, newest, *tables(folder)])
            flip(path, chance.randrange(path.stat().st_size * 8 - 400))
    read = Read(folder)
    read.holds_against(truth)
    assert read.parts
    assert set(read.problems.values()) <= {"record-checksum-mismatch"}
    for number in range(3, 10_000, 50):  # newer than every table: sure, whatever is lost below
        assert text_of(key_of(number)) not in read.problems
        assert read.records[key_of(number)] == truth[key_of(number)][8:32]


def test_unsupported_compression(tmp_path: Path, sound: Path, ten_thousand: Records) -> None:
    """A zstd block is unsupported, not corrupt."""
    from datascrub.readers.leveldb_format.numbers import masked_crc
    from datascrub.readers.leveldb_format.tables import Table

    shutil.copytree(sound, tmp_path / "db")
    path = tables(tmp_path / "db")[0]
    table = Table(path)
    block = table.blocks[3]
    table.close()
    data = bytearray(path.read_bytes())
    end = block.offset + block.size
    data[end] = 2
    data[end + 1 : end + 5] = struct.pack("<I", masked_crc(bytes(data[block.offset : end + 1])))
    path.write_bytes(data)
    read = Read(tmp_path / "db")
    read.holds_against(ten_thousand)
    assert [part.code for part in read.parts] == ["part-unsupported"]


def test_all_damaged_is_an_error_that_says_why(tmp_path: Path) -> None:
    """Six records in one damaged block: nothing can be read, and the error names the checksum."""
    folder = build(tmp_path / "db", {key_of(number): datum(number) for number in range(6)})
    flip(tables(folder)[0], 800)
    with pytest.raises(SourceError, match="checksum mismatch"):
        Read(folder)


def test_held_lock_is_refused_and_a_stale_one_is_not(tmp_path: Path) -> None:
    """A database that another process has open ends with what to do; the LOCK file alone is no fault."""
    folder = build(tmp_path / "db", {key_of(number): datum(number) for number in range(6)})
    assert len(Read(folder).records) == 6
    program = "import plyvel, sys; db = plyvel.DB(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(SourceError, match="open in another process") as caught:
            Read(folder)
        other.communicate()
    assert caught.value.fix


def test_other_comparator_is_refused(tmp_path: Path) -> None:
    """Keys in another order than bytewise can't be cut into ranges."""
    plyvel.DB(str(tmp_path / "db"), create_if_missing=True, comparator=lambda a, b: (a < b) - (a > b), comparator_name=b"backwards").close()
    with pytest.raises(SourceError, match="comparator backwards"):
        Read(tmp_path / "db")


def test_empty_database(tmp_path: Path) -> None:
    """A database without records is a source that can't be scanned."""
    with pytest.raises(SourceError, match="empty"):
        Read(build(tmp_path / "db", {}))


def test_recognised_by_content(tmp_path: Path, sound: Path) -> None:
    """A folder of other things, a file, and RocksDB's folder are no LevelDB."""
    assert LevelDbReader.recognises(sound)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "000005.ldb").write_bytes(b"no table" * 20)
    assert not LevelDbReader.recognises(tmp_path / "other")
    assert not LevelDbReader.recognises(tmp_path / "other" / "000005.ldb")
    assert not LevelDbReader.recognises(tmp_path / "absent")
    shutil.copytree(sound, tmp_path / "rocks")
    (tmp_path / "rocks" / "IDENTITY").write_text("x")
    assert not LevelDbReader.recognises(tmp_path / "rocks")


def test_missing_package_names_its_cure(tmp_path: Path, sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without plyvel the error says what to install, and a LevelDB is still recognised."""
    monkeypatch.setitem(sys.modules, "plyvel", None)
    assert LevelDbReader.recognises(sound)
    with pytest.raises(MissingPackageError) as caught:
        LevelDbReader(sound).survey(DataConfig())
    assert "pip install plyvel" in caught.value.fix
    assert "datascrub" not in caught.value.fix


def copied(source: Path, destination: Path, drop: frozenset[str]) -> tuple[dict[bytes, bytes], int, int]:
    with LevelDbReader(source) as reader:
        survey = reader.survey(DataConfig())
        plan = Plan(str(source), "leveldb", survey.layout, survey.fields, survey.settings)
        report = reader.copy_clean(plan, destination, drop, CopyOptions(), lambda count: None)
    with LevelDbReader(destination) as reader:
        import xxhash

        state = xxhash.xxh3_128()
        for _, each in reader.digests(plan):
            state.update(each)
        assert state.hexdigest() == report.digest
    shutil.copytree(destination, destination.with_suffix(".opened"))
    database = plyvel.DB(str(destination.with_suffix(".opened")))
    held = dict(database)
    database.close()
    return held, report.kept, report.dropped


def test_cleaned_copy(tmp_path: Path, sound: Path, ten_thousand: Records) -> None:
    """The copy is the source without the dropped keys, byte for byte, and has the source's compression."""
    drop = frozenset(text_of(key_of(number)) for number in (0, 17, 9999))
    held, kept, dropped = copied(sound, tmp_path / "clean", drop)
    assert held == {key: value for key, value in ten_thousand.items() if text_of(key) not in drop}
    assert (kept, dropped) == (9997, 3)


def test_copy_with_nothing_dropped_is_equal(tmp_path: Path) -> None:
    """Binary keys and metadata records are copied too."""
    records = {bytes([number, 0, 255]): datum(number) for number in range(200)} | {b"__len__": b"200"}
    held, kept, _ = copied(build(tmp_path / "db", records, compression="snappy"), tmp_path / "clean", frozenset())
    assert (held, kept) == (records, 200)


def test_copy_of_text_recognition_pairs(tmp_path: Path) -> None:
    """Dropping a pair renumbers the rest without a gap and corrects num-samples."""
    picture = b"\x89PNG\r\n\x1a\n" + b"rest of a picture"
    records = {b"num-samples": b"20"}
    for number in range(1, 21):
        records |= {b"image-%09d" % number: picture + b"%d" % number, b"label-%09d" % number: b"word %d" % number}
    held, kept, dropped = copied(build(tmp_path / "db", records), tmp_path / "clean", frozenset({"image-000000003"}))
    assert (kept, dropped, held[b"num-samples"], len(held)) == (19, 1, b"19", 39)
    assert (held[b"image-000000003"], held[b"label-000000003"]) == (picture + b"4", b"word 4")


def test_value_over_the_limit(tmp_path: Path) -> None:
    """A record larger than the limit is named with its size and its bytes are not handed on."""
    folder = build(tmp_path / "db", {key_of(number): datum(number) for number in range(20)} | {b"5": bytes(5000)})
    plan = Read(folder, DataConfig(layout="caffe-datum")).plan
    with LevelDbReader(folder, limits=Limits(max_record_bytes=1000)) as reader:
        items = [item for shard in reader.shards(plan) if isinstance(shard, Shard) for item in reader.read(plan, shard)]
    problems = {item.keys[row]: problem.code for item in items if not isinstance(item, Part) for row, problem in item.problems.items()}
    assert problems == {"5": "record-too-large"}


def test_copy_to_a_place_that_can_not_be_written(tmp_path: Path, sound: Path) -> None:
    """A destination that fails is a CopyError."""
    (tmp_path / "file").write_bytes(b"")
    with LevelDbReader(sound) as reader, pytest.raises(CopyError):
        survey = reader.survey(DataConfig())
        plan = Plan(str(sound), "leveldb", survey.layout, survey.fields, survey.settings)
        reader.copy_clean(plan, tmp_path / "file" / "clean", frozenset(), CopyOptions(), lambda count: None)


def test_shadows_of_killed_processes_are_swept(tmp_path: Path, sound: Path) -> None:
    """An old shadow that nobody has open goes; a fresh one, and one in use, stay."""
    for name in ("old", "fresh"):
        (tmp_path / f"datascrub-leveldb-{name}").mkdir()
    os.utime(tmp_path / "datascrub-leveldb-old", (0, 0))
    with LevelDbReader(sound, tmp=tmp_path) as reader:
        reader.survey(DataConfig())
        assert len(list(tmp_path.iterdir())) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["datascrub-leveldb-fresh"]


def test_shadow_goes_with_its_process(tmp_path: Path, sound: Path) -> None:
    """A process that ends without closing its reader leaves no shadow behind."""
    program = (
        "import sys; from pathlib import Path; from datascrub.config import DataConfig; from datascrub.readers.leveldb import LevelDbReader\n"
        "reader = LevelDbReader(Path(sys.argv[1]), tmp=Path(sys.argv[2])); reader.survey(DataConfig()); print(len(list(reader.tmp.iterdir())))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(sound), str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
    assert list(tmp_path.iterdir()) == []


def test_fetch(tmp_path: Path, sound: Path) -> None:
    """One sample by its key; a key that is not there, or stands in a damaged block, is said."""
    shutil.copytree(sound, tmp_path / "db")
    read = Read(tmp_path / "db")
    with LevelDbReader(tmp_path / "db") as reader:
        batch, raw = reader.fetch(read.plan, "00000042")
        assert (batch.keys, raw) == (["00000042"], datum(42))
        for wrong in ("nothing", "0xzz"):
            with pytest.raises(UsageError):
                reader.fetch(read.plan, wrong)
    flip(tables(tmp_path / "db")[0], 80)
    with LevelDbReader(tmp_path / "db") as reader, pytest.raises(UsageError, match="checksum"):
        reader.fetch(read.plan, text_of(next(iter(sorted(read.records)))))


def test_rows_and_untouched(sound: Path) -> None:
    """Only the rows asked for come, and an untouched one is named without its bytes."""
    read = Read(sound)
    with LevelDbReader(sound) as reader:
        (batch,) = list(reader.read(read.plan, read.shards[-1], rows=frozenset({3, 5}), untouched=frozenset({5})))
    assert not isinstance(batch, Part)
    assert batch.rows.tolist() == [3, 5]
    assert batch.columns["data"].values[1] is None
    assert batch.columns["data"].values[0] is not None


def test_fingerprint_sees_a_writer(tmp_path: Path, sound: Path) -> None:
    """Another state of the folder is another fingerprint; LOCK and LOG do not count."""
    shutil.copytree(sound, tmp_path / "db")
    before = LevelDbReader(tmp_path / "db").fingerprint()
    (tmp_path / "db" / "LOG").write_text("talk")
    assert LevelDbReader(tmp_path / "db").fingerprint() == before
    with next((tmp_path / "db").glob("*.log")).open("ab") as log:
        log.write(b"x")
    assert LevelDbReader(tmp_path / "db").fingerprint() != before


def mnist(folder: Path) -> Iterator[tuple[bytes, int]]:
    """(pixels, label) of an idx pair."""
    pixels = gzip.decompress((folder / "t10k-images-idx3-ubyte.gz").read_bytes())[16:]
    labels = (folder / "t10k-labels-idx1-ubyte").read_bytes()[8:]
    for number, label in enumerate(labels):
        yield pixels[number * 784 : (number + 1) * 784], label


@pytest.mark.corpus
def test_mnist_of_caffe_equals_idx(corpus: Path) -> None:
    """Caffe's own LevelDB of MNIST holds MNIST's test files, sample for sample."""
    source = corpus / "leveldb" / "caffe-mnist-test-leveldb"
    read = Read(source)
    assert (read.parts, read.problems) == ([], {})
    truth = list(mnist(corpus / "idx" / "mnist-t10k"))
    with LevelDbReader(source) as reader:
        labels = [
            int(label)
            for shard in read.shards
            for batch in reader.read(read.plan, shard)
            if not isinstance(batch, Part)
            for label in batch.columns["label"].values
        ]
    assert list(zip(read.records.values(), labels, strict=True)) == truth
