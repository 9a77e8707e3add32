"""LMDB: recognised, listed, read and copied, whole and damaged."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import lmdb
import pytest
import xxhash

from datascrub.config import DataConfig
from datascrub.errors import SourceError, UsageError
from datascrub.layouts.protobuf import message
from datascrub.model import Batch, Limits, Part, Shard
from datascrub.plan import Plan
from datascrub.readers.base import CopyOptions
from datascrub.readers.lmdb import LmdbReader

PNG = b"\x89PNG\r\n\x1a\n"


def picture(seed: int, size: int = 60) -> bytes:
    return PNG + random.Random(seed).randbytes(size)


def write(
    path: Path, items: Iterable[tuple[bytes, bytes]], name: bytes | None = None, *, version: int = 0, subdir: bool = True, **flags: Any
) -> Path:
    environment = lmdb.open(str(path), map_size=1 << 26, lock=False, subdir=subdir, max_dbs=8, lib_version=version, sync=False)
    database = environment.open_db(name, **flags)
    with environment.begin(write=True, db=database) as transaction:
        for key, value in items:
            transaction.put(key, value)
    environment.close()
    return path


def contents(path: Path, name: bytes | None = None) -> list[tuple[bytes, bytes]]:
    with lmdb.open(str(path), readonly=True, lock=False, subdir=path.is_dir(), max_dbs=8) as environment:
        database = environment.open_db(name, create=False) if name else None
        with environment.begin(db=database) as transaction:
            return [(bytes(key), bytes(value)) for key, value in transaction.cursor()]


def plan_of(reader: LmdbReader, **declared: Any) -> Plan:
    survey = reader.survey(DataConfig(**declared))
    return Plan(str(reader.source), "lmdb", survey.layout, survey.fields, survey.settings, reader.fingerprint(), limits=reader.limits)


def read(path: Path, *, batch_size: int = 1024, limits: Limits = Limits()) -> tuple[list[str], dict[str, str], list[Part]]:
    """(keys, codes of problems by key, parts) of a whole source; shards must be disjoint, complete and as they say."""
    keys: list[str] = []
    problems: dict[str, str] = {}
    parts: list[Part] = []
    with LmdbReader(path, limits=limits) as reader:
        plan = plan_of(reader)
        for shard in reader.shards(plan):
            if isinstance(shard, Part):
                parts.append(shard)
                continue
            assert shard.first == len(keys)
            for batch in reader.read(plan, shard, batch_size=batch_size):
                assert isinstance(batch, Batch) and batch.rows.tolist() == list(range(len(keys) - shard.first, len(keys) - shard.first + len(batch)))
                keys += batch.keys
                problems.update({batch.keys[row]: problem.code for row, problem in batch.problems.items()})
            assert len(keys) - shard.first == shard.count
    assert len(set(keys)) == len(keys)
    return keys, problems, parts


def copy(path: Path, destination: Path, drop: Iterable[str] = ()) -> Any:
    """The report of a copy, whose digest is that of the copy read back."""
    with LmdbReader(path) as reader:
        report = reader.copy_clean(plan_of(reader), destination, frozenset(drop), CopyOptions(), lambda _: None)
    state = xxhash.xxh3_128()
    with LmdbReader(destination) as reader:
        for _, digest in reader.digests(plan_of(reader)):
            state.update(digest)
    assert state.hexdigest() == report.digest
    return report


@pytest.mark.parametrize("subdir", [True, False])
@pytest.mark.parametrize("version", [0, 1])
def test_a_scan_leaves_the_source_as_it_was(tmp_path: Path, subdir: bool, version: int) -> None:
    """Directory or single file, of both formats, without a lock file and read-only: all is read, and nothing in or beside it changes."""
    source = tmp_path / "home"
    source.mkdir()
    data = write(source / "set.db", [(b"%04d" % place, picture(place)) for place in range(3000)], subdir=subdir, version=version)
    for path in [*source.rglob("*"), source]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = {path: (path.stat(), path.is_file() and path.read_bytes()) for path in source.rglob("*")}
    assert LmdbReader.recognises(data)
    keys, problems, parts = read(data, batch_size=100)
    after = {path: (path.stat(), path.is_file() and path.read_bytes()) for path in source.rglob("*")}
    assert keys == [f"{place:04d}" for place in range(3000)] and not problems and not parts
    assert {path: (its[0].st_mtime_ns, its[0].st_size, its[1]) for path, its in before.items()} == {
        path: (its[0].st_mtime_ns, its[0].st_size, its[1]) for path, its in after.items()
    }
    for path in [source, *source.rglob("*")]:
        path.chmod(0o755)


@pytest.mark.parametrize("size", [60, 20_000])
@pytest.mark.parametrize("version", [0, 1])
def test_a_truncated_file_is_told_before_it_is_mapped(tmp_path: Path, size: int, version: int) -> None:
    """A file cut anywhere, its last page alone included, is refused with the sizes; mapping it would end the process by SIGBUS."""
    source = write(tmp_path / "x", [(b"%04d" % place, picture(place, size)) for place in range(40)], version=version)
    path = source / "data.mdb"
    whole = path.read_bytes()
    for held in (len(whole) // 2, len(whole) - 4096, len(whole) - 1):
        path.write_bytes(whole[:held])
        with LmdbReader(source) as reader, pytest.raises(SourceError, match="truncated"):
            reader.survey(DataConfig())


def test_an_empty_database_and_a_foreign_one_are_refused(tmp_path: Path) -> None:
    """No record, no bytes, a damaged meta page: each is a SourceError, and a text file is no LMDB."""
    source = write(tmp_path / "x", [])
    with LmdbReader(source) as reader, pytest.raises(SourceError, match="holds no samples"):
        reader.survey(DataConfig())
    whole = bytearray((source / "data.mdb").read_bytes())
    whole[:4096] = bytes(4096)
    for bad in (b"", bytes(whole)):
        (source / "data.mdb").write_bytes(bad)
        assert LmdbReader.recognises(source)
        with LmdbReader(source) as reader, pytest.raises(SourceError):
            reader.survey(DataConfig())
    (tmp_path / "text").write_text("no database")
    assert not LmdbReader.recognises(tmp_path / "text") and not LmdbReader.recognises(tmp_path / "nothing")


def in_child(work: Callable[[], None]) -> int:
    """Signal or exit code of a child that does the work: what kills it must not kill the tests."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001  # a child of a test ends here, whatever happened
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("version", [0, 1])
def test_a_damaged_page_costs_its_own_interval_of_keys(tmp_path: Path, version: int) -> None:
    """Pages zeroed or random, which kill a plain reader, cost the records of that page: the interval is named, the rest is read, none is invented."""
    source = write(tmp_path / "x", [(b"%08d" % place, picture(place, 300)) for place in range(1500)], version=version)
    path = source / "data.mdb"
    whole, all_keys, chance = path.read_bytes(), {f"{place:08d}" for place in range(1500)}, random.Random(3)

    def scan() -> None:
        keys, _, parts = read(source)
        damaged = [part for part in parts if part.code == "part-damaged"]
        lost = all_keys - set(keys)
        assert not set(keys) - all_keys
        for key in lost:
            assert any((part.key.split("..")[0] or "0") <= key and (not part.key.split("..")[1] or key < part.key.split("..")[1]) for part in damaged)
        assert len(lost) <= 12

    with LmdbReader(source) as reader:
        root = reader.store.outline.main.root
    for trial in range(16):
        page = chance.choice([page for page in range(2, len(whole) // 4096) if page != root])
        damaged = bytearray(whole)
        damaged[page * 4096 : page * 4096 + 4096] = bytes(4096) if trial % 2 else chance.randbytes(4096)
        path.write_bytes(damaged)
        assert in_child(scan) == 0, f"page {page}"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_damaged_page_among_the_values_of_one_key_costs_that_key(tmp_path: Path) -> None:
    """Where the many values of a key stand on pages of their own, damage there leaves the other keys whole."""
    source = write(tmp_path / "x", [(b"k%d" % (place % 3), picture(place, 100)) for place in range(900)], b"s", dupsort=True)
    path = source / "data.mdb"
    whole = path.read_bytes()
    with LmdbReader(source) as reader:
        tree = reader.store.tree(reader.store.databases()[0])
        roots = {key: its.root for leaf in reader.store.pages.leaves(tree) for key, its in reader.store.pages.trees(leaf.page).items()}

    def scan() -> None:
        keys, problems, parts = read(source)
        assert len(keys) == 600 and not problems
        assert sum(part.code == "part-damaged" for part in parts) == 1

    assert len(roots) == 3
    for root in roots.values():
        assert root is not None
        path.write_bytes(whole[: root * 4096] + bytes(4096) + whole[root * 4096 + 4096 :])
        assert in_child(scan) == 0


def test_records_of_named_databases_go_by_their_names(tmp_path: Path) -> None:
    """Keys of several databases are unique and lead back, even where they would read alike; the names are no samples."""
    source = write(tmp_path / "x", [(b"a", picture(1)), (b"b/c", picture(2))], b"samples")
    write(source, [(b"c", picture(3))], b"samples/b")
    write(source, [(b"samples/a", picture(4)), (b"other", picture(5)), (b"0xff", picture(6)), (b"\xff\xfe", picture(7))])
    keys, problems, parts = read(source)
    assert not problems and not parts
    assert {"samples/a", "samples/b/c", "other"} <= set(keys) and len(keys) == 7
    with LmdbReader(source) as reader:
        plan = plan_of(reader)
        records = {reader.fetch(plan, key)[1] for key in keys}
        assert records == {picture(seed) for seed in range(1, 8)}
        assert reader.fetch(plan, "samples/a")[1] == picture(1)
        for nobody in ("samples", "nothing", "samples/nothing", "0xzz", ""):
            with pytest.raises(UsageError):
                reader.fetch(plan, nobody)


def test_a_key_with_several_values_is_said_once(tmp_path: Path) -> None:
    """In a dupsort database each value is a sample with a number behind its key, and one warning names the doubled keys."""
    items = [(b"a#1", picture(1)), (b"b", picture(2)), (b"b", picture(3)), (b"c", picture(4))]
    source = write(tmp_path / "x", items, b"s", dupsort=True)
    keys, problems, parts = read(source)
    assert keys == ["s/a#1#0", "s/b#0", "s/b#1", "s/c#0"] and not problems
    assert [part.code for part in parts] == ["part-duplicate-key"]
    with LmdbReader(source) as reader:
        assert {reader.fetch(plan_of(reader), f"s/b#{number}")[1] for number in (0, 1)} == {picture(2), picture(3)}
    copy(source, tmp_path / "copy", ["s/b#0"])
    assert len(contents(tmp_path / "copy", b"s")) == 3
    with lmdb.open(str(tmp_path / "copy"), readonly=True, lock=False, max_dbs=2) as environment, environment.begin() as transaction:
        assert environment.open_db(b"s", transaction, create=False).flags(transaction)["dupsort"]


def pairs(count: int, without: Iterable[bytes] = (), says: bytes | None = None) -> list[tuple[bytes, bytes]]:
    made = [(b"num-samples", says or b"%d" % count)]
    made += [(b"image-%09d" % place, picture(place)) for place in range(1, count + 1)]
    made += [(b"label-%09d" % place, b"word %d" % place) for place in range(1, count + 1)]
    return [(key, value) for key, value in made if key not in set(without)]


def test_a_pair_without_its_picture_or_label_is_named(tmp_path: Path) -> None:
    """Both go by the key of the picture; a pair that lacks both is a part, and the count is held against what is there."""
    source = write(tmp_path / "x", pairs(9, [b"image-000000003", b"label-000000005", b"image-000000007", b"label-000000007"]))
    keys, problems, parts = read(source)
    assert len(keys) == 8 and problems == {"image-000000003": "record-companion-missing", "image-000000005": "record-companion-missing"}
    named = {part.code: part.key for part in parts}
    assert named == {"part-count-mismatch": "num-samples", "part-record-missing": "image-000000007", "part-not-a-sample": "num-samples"}


def test_a_count_far_over_the_pairs_is_one_part(tmp_path: Path) -> None:
    """num-samples of a writer that died says so once, and thousands of missing pairs in a row are one range."""
    source = write(tmp_path / "x", [*pairs(5, says=b"100"), *[(b"image-000009000", picture(9)), (b"label-000009000", b"w")]])
    _, problems, parts = read(source)
    assert not problems
    assert [(part.code, part.key) for part in parts if part.code != "part-not-a-sample"] == [
        ("part-count-mismatch", "num-samples"),
        ("part-record-missing", "image-000000006..image-000008999"),
    ]


def test_the_copy_of_pairs_is_renumbered_and_counted(tmp_path: Path) -> None:
    """Kept pairs are consecutive from 1 with their own labels, and num-samples is right; the same copy has the same bytes."""
    source = write(tmp_path / "x", pairs(6, [b"image-000000003"]))
    report = copy(source, tmp_path / "copy", ["image-000000003", "image-000000005"])
    kept = dict(contents(tmp_path / "copy"))
    assert report.kept == 4 and report.dropped == 2 and kept[b"num-samples"] == b"4" and len(kept) == 9
    assert [(kept[b"image-%09d" % new], kept[b"label-%09d" % new]) for new in range(1, 5)] == [
        (picture(old), b"word %d" % old) for old in (1, 2, 4, 6)
    ]
    copy(source, tmp_path / "again", ["image-000000003", "image-000000005"])
    assert (tmp_path / "copy/data.mdb").read_bytes() == (tmp_path / "again/data.mdb").read_bytes()
    _, problems, parts = read(tmp_path / "copy")
    assert not problems and [part.code for part in parts] == ["part-not-a-sample"]


@pytest.mark.parametrize("version", [0, 1])
def test_the_copy_is_the_source_without_what_is_dropped(tmp_path: Path, version: int) -> None:
    """Nothing dropped: record for record the same, in the same format, beside lists and all; with some dropped, just those are gone."""
    items = [(b"%05d" % place, picture(place, place % 9000)) for place in range(2000)]
    source = write(tmp_path / "x", items, version=version)
    (source / "meta_info.txt").write_text("".join(f"{place:05d}.png (1,1,3) 1\n" for place in range(2000)))
    (source / "notes.md").write_text("made in 2019")
    assert not copy(source, tmp_path / "all").stale
    assert contents(tmp_path / "all") == items and sorted(path.name for path in (tmp_path / "all").iterdir()) == [
        "data.mdb",
        "meta_info.txt",
        "notes.md",
    ]
    report = copy(source, tmp_path / "some", ["00007", "01999"])
    assert contents(tmp_path / "some") == [item for item in items if item[0] not in (b"00007", b"01999")]
    assert len((tmp_path / "some/meta_info.txt").read_text().splitlines()) == 1998 and report.stale[0].startswith("notes.md")
    with LmdbReader(tmp_path / "some") as reader:
        assert reader.store.outline.version == (3 if version else 1)


def test_flags_and_counts_survive_a_copy(tmp_path: Path) -> None:
    """integerkey databases keep their order, and a plain __len__ is corrected."""
    source = write(tmp_path / "x", [(place.to_bytes(8, "little"), picture(place)) for place in (1, 256, 70_000)], b"n", integerkey=True)
    keys, _, _ = read(source)
    copy(source, tmp_path / "copy", [keys[0]])
    assert [int.from_bytes(key, "little") for key, _ in contents(tmp_path / "copy", b"n")] == [256, 70_000]
    source = write(tmp_path / "y", [(b"__len__", b"3"), *[(b"k%d" % place, picture(place)) for place in range(3)]])
    copy(source, tmp_path / "counted", ["k1"])
    assert dict(contents(tmp_path / "counted"))[b"__len__"] == b"2"


def test_rows_untouched_and_large_ones_are_named_without_their_bytes(tmp_path: Path) -> None:
    """Only the rows asked for come; an untouched row is named without value or problem; one over the limit is record-too-large."""
    source = write(tmp_path / "x", [(b"%d" % place, picture(place, 900 if place == 4 else 60)) for place in range(6)])
    with LmdbReader(source, limits=Limits(max_record_bytes=500)) as reader:
        plan = plan_of(reader)
        (shard,) = (each for each in reader.shards(plan) if isinstance(each, Shard))
        (batch,) = reader.read(plan, shard, rows=frozenset({1, 3, 4}), untouched=frozenset({3}))
        assert isinstance(batch, Batch) and batch.keys == ["1", "3", "4"] and batch.rows.tolist() == [1, 3, 4]
        assert batch.columns["image"].values == [picture(1), None, None]
        assert {row: problem.code for row, problem in batch.problems.items()} == {2: "record-too-large"}


def test_keys_out_of_order_lose_no_record(tmp_path: Path) -> None:
    """In a page whose keys are out of order a search goes astray: every record is named, those that can't be looked up any more as damaged."""
    source = write(tmp_path / "x", [(b"%08d" % place, picture(place)) for place in range(5)])
    data = source / "data.mdb"
    data.write_bytes(data.read_bytes().replace(b"00000002", bytes(8)))
    keys, problems, _ = read(source)
    assert [key for key in keys if key.startswith("0000")] == ["00000000", "00000001", "00000003", "00000004"] and len(keys) == 5
    assert set(problems.values()) == {"record-unparsable"} and {"00000000", "00000001"} <= set(problems)


def test_page_numbers_beyond_all_files_are_refused(tmp_path: Path) -> None:
    """Meta pages that claim more pages than a file can have, and a root among them, are a truncated file, not a fault of ours."""
    source = write(tmp_path / "x", [(b"%d" % place, picture(place)) for place in range(3)])
    data = bytearray((source / "data.mdb").read_bytes())
    for page in (0, 4096):
        at = page + data[page : page + 4096].index((0xBEEFC0DE).to_bytes(4, "little")) + 24
        data[at + 88 : at + 96] = data[at + 96 : at + 104] = (1 << 60).to_bytes(8, "little")  # root of the main tree, and last page
    (source / "data.mdb").write_bytes(data)
    with pytest.raises(SourceError, match="truncated"), LmdbReader(source) as reader:
        reader.fingerprint()


def test_pickles_are_said_once_and_not_loaded(tmp_path: Path) -> None:
    """A set of pickles is one part that names them; its records have no problem of their own."""
    source = write(tmp_path / "x", [(b"%d" % place, b"\x80\x02K\x01.") for place in range(4)])
    keys, problems, parts = read(source)
    assert len(keys) == 4 and not problems and [part.code for part in parts] == ["part-layout-unknown"] and "pickle" in parts[0].says


def test_raw_datums_are_dense_through_the_reader(tmp_path: Path) -> None:
    """Small raw records reach the validators as one block for each batch."""
    value = message("caffe.Datum")(channels=3, height=2, width=2, data=bytes(range(12)), label=4).SerializeToString()
    source = write(tmp_path / "x", [(b"%08d" % place, value) for place in range(300)])
    with LmdbReader(source) as reader:
        plan = plan_of(reader)
        batches = [batch for shard in reader.shards(plan) if isinstance(shard, Shard) for batch in reader.read(plan, shard)]
    assert all(isinstance(batch, Batch) and batch.columns["data"].is_dense and batch.columns["label"].is_dense for batch in batches)


@pytest.mark.corpus
@pytest.mark.skipif("DATASCRUB_CORPUS" not in os.environ, reason="DATASCRUB_CORPUS names no folder")
@pytest.mark.parametrize(("name", "count"), [("real-esrgan/gt.lmdb", 2), ("real-esrgan/lq.lmdb", 2), ("tensorflow-io", 10)])
def test_public_databases_are_healthy(name: str, count: int) -> None:
    """Real sets of two projects are read without a word against them."""
    keys, problems, parts = read(Path(os.environ["DATASCRUB_CORPUS"]) / "lmdb" / name)
    assert len(keys) == count and not problems and not parts
