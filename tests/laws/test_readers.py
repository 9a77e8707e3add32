"""Laws over every reader, each on the damaged set of its container."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from datascrub import api, registry
from datascrub.config import Config, DataConfig
from datascrub.model import Batch, Shard
from datascrub.plan import Plan
from datascrub.readers import CopyOptions, Reader

SETS = {"image-folder": "photos", "lmdb": "photos.lmdb", "leveldb": "photos.leveldb", "hdf5": "photos.h5", "tfrecord": "photos.tfrecord"}
CONFIG = Config(DataConfig(classes=6))


@pytest.fixture(scope="module", params=SETS)
def source(request: pytest.FixtureRequest, fixtures: Path) -> Path:
    if request.param == "leveldb" and importlib.util.find_spec("plyvel") is None:
        pytest.skip("plyvel has no wheel for this machine")
    return fixtures / SETS[request.param]


@pytest.fixture(scope="module")
def plan(source: Path) -> Plan:
    return api.survey(source, CONFIG).plan


@pytest.fixture
def reader(plan: Plan) -> Iterator[Reader]:
    with registry.reader_named(plan.container)(Path(plan.source)) as opened:
        yield opened


def shards_of(reader: Reader, plan: Plan) -> list[Shard]:
    return [piece for piece in reader.shards(plan) if isinstance(piece, Shard)]


def samples(reader: Reader, plan: Plan, **options: Any) -> list[tuple[Any, ...]]:
    """(shard, row, key, size, what is wrong) of every sample, in order."""
    made = []
    for shard in shards_of(reader, plan):
        for batch in reader.read(plan, shard, **options):
            if isinstance(batch, Batch):
                wrong = [batch.problems.get(row) for row in range(len(batch))]
                made += list(zip([shard.number] * len(batch), batch.rows.tolist(), batch.keys, batch.sizes.tolist(), wrong, strict=True))
    return made


def outside(place: Path) -> dict[str, tuple[int, bytes | None]]:
    """Names, times and bytes of all that lies at a place."""
    files = [place, *sorted(place.rglob("*"))] if place.is_dir() else [place]
    return {str(file): (file.stat().st_mtime_ns, file.read_bytes() if file.is_file() else None) for file in files}


def test_every_container_has_its_reader(plan: Plan, source: Path) -> None:
    """The set is recognised as what it is."""
    assert SETS[plan.container] == source.name


def test_shards_are_disjoint_and_complete(reader: Reader, plan: Plan) -> None:
    """Each sample is in one shard, under a key of its own; numbers and counts that shards declare are right; listing twice gives the same shards."""
    shards, found = shards_of(reader, plan), samples(reader, plan)
    assert [shard.number for shard in shards] == list(range(len(shards)))
    assert shards == shards_of(reader, plan)
    keys = [key for _, _, key, _, _ in found]
    assert len(set(keys)) == len(keys) >= 110
    for shard in shards:
        rows = [row for number, row, *_ in found if number == shard.number]
        assert rows == list(range(len(rows)))
        assert shard.count in (None, len(rows))


@pytest.mark.parametrize("batch_size", [1, 7])
def test_batches_do_not_matter(reader: Reader, plan: Plan, batch_size: int) -> None:
    """The same samples with the same problems come in batches of any size."""
    assert samples(reader, plan, batch_size=batch_size) == samples(reader, plan)


def test_chosen_rows(reader: Reader, plan: Plan) -> None:
    """With rows given, just these come, under the numbers that they have in the whole."""
    rows = frozenset({0, 3, 50})
    assert samples(reader, plan, rows=rows) == [sample for sample in samples(reader, plan) if sample[1] in rows]


def test_untouched_rows(reader: Reader, plan: Plan) -> None:
    """A row that killed a process before is still named, at its place; all others are as ever."""
    untouched = samples(reader, plan, untouched=frozenset({3}))
    assert [sample[:3] for sample in untouched] == [sample[:3] for sample in samples(reader, plan)]


def test_a_key_leads_back(reader: Reader, plan: Plan) -> None:
    """What is fetched by its key is that sample, with that problem."""
    found = samples(reader, plan)
    for _, _, key, size, wrong in (found[0], found[50], found[-1]):
        batch, raw = reader.fetch(plan, key)
        assert (batch.keys, batch.problems.get(0)) == ([key], wrong)
        assert len(raw) == size


def test_digests_follow_the_samples(reader: Reader, plan: Plan) -> None:
    """Digests come in the order of the samples, one for each readable one."""
    assert [key for key, _ in reader.digests(plan)] == [key for _, _, key, _, _ in samples(reader, plan)]


@pytest.mark.parametrize("dropped", [(), (0,), (5, 119 // 2)])
def test_copy(reader: Reader, plan: Plan, source: Path, tmp_path: Path, dropped: tuple[int, ...]) -> None:
    """A copy holds each sample but the dropped ones, byte for byte, in the same order; with nothing dropped, all of them."""
    before = list(reader.digests(plan))
    drop = frozenset(before[number][0] for number in dropped)
    place = tmp_path / source.name
    report = reader.copy_clean(plan, place, drop, CopyOptions(), lambda done: None)
    copied = api.survey(place, CONFIG).plan
    with registry.reader_named(copied.container)(place) as again:
        digests = [digest for _, digest in again.digests(copied)]
    assert digests == [digest for key, digest in before if key not in drop]
    assert (report.kept, report.dropped) == (len(before) - len(drop), len(drop))


def test_scan(source: Path, tmp_path: Path) -> None:
    """One worker and small batches, two workers and large ones: the same facts and findings; and the source is as it was."""
    before = outside(source)
    runs = [
        api.scan(source, out=tmp_path / "a", config=CONFIG, workers=1, batch_size=5, backend="numpy"),
        api.scan(source, out=tmp_path / "b", config=CONFIG, workers=2, batch_size=1024, backend="numpy"),
    ]
    assert outside(source) == before
    one, two = ([finding.as_dict() for finding in run.findings()] for run in runs)
    assert one == two
    one_facts, two_facts = (run.facts.order("number").fetchall() for run in runs)
    assert one_facts == two_facts
    assert runs[0].summary["account"] == runs[1].summary["account"]
