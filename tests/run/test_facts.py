"""Facts on disk say what was measured: NULL means not measured, and nothing else."""

from pathlib import Path

import duckdb
import numpy as np
import pytest

from datascrub.rules import Measurement
from datascrub.run.compact import compact
from datascrub.run.facts import FactsTable, accounts, open_facts
from datascrub.run.folder import RunFolder

SCHEMA = {
    'da"ta': {
        "count": Measurement("BIGINT", "a number"),
        "share": Measurement("DOUBLE", "a share"),
        "is_ok": Measurement("BOOLEAN", "a fact"),
        "text": Measurement("VARCHAR", "a text"),
        "sizes": Measurement("BIGINT[]", "numbers"),
    }
}
TEXTS = ["plain", None, "new\nline", "NUL\0inside", "quote\"'s", "猫", "", "\\x00"]


def place(shard: int, count: int) -> dict[str, np.ndarray]:
    keys = np.array([f"k{shard}-{i}" for i in range(count)], object)
    return {
        "shard": np.full(count, shard, np.int32),
        "row": np.arange(count),
        "key": keys,
        "file": np.full(count, None, object),
        "offset": np.ma.MaskedArray(np.zeros(count, np.int64), True),
        "stamp": np.array([f"stamp {i}" for i in range(count)], object),
    }


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "set.datascrub")
    folder.create()
    return folder


def write(run: RunFolder, shard: int, count: int, **account: int) -> None:
    table = FactsTable.empty(SCHEMA)
    share = np.array([0.5, np.nan, np.inf, -np.inf, 1e308, -0.0, 5e-324, 1.0])[:count]
    sizes = np.empty(count, object)
    sizes[:] = [[1, 2], None, [], [3], None, [4], [5], [6]][:count]
    columns = {
        "count": np.ma.MaskedArray(np.array([1, 2, 3, -(2**63), 2**63 - 1, 0, 7, 8][:count]), [i == 1 for i in range(count)]),
        "share": share,
        "is_ok": np.ma.MaskedArray(np.ones(count, bool), [i == 2 for i in range(count)]),
        "text": np.array(TEXTS[:count], object),
        "sizes": sizes,
    }
    table.add(place(shard, count), {'da"ta': columns}, count)
    table.write(run.shard_file(shard), {"shard": shard, "records": count, **account})


def test_values_round_trip(run: RunFolder) -> None:
    """Numbers, masked numbers, odd texts and lists come back as they were; a non-finite number is NULL, never a number."""
    write(run, 0, 8)
    with open_facts(run) as connection:
        rows = connection.execute('SELECT f.count, f.share, f.is_ok, f.text, f.sizes FROM (SELECT "da""ta." AS f FROM facts)').fetchall()
    assert [row[0] for row in rows] == [1, None, 3, -(2**63), 2**63 - 1, 0, 7, 8]
    assert [row[1] for row in rows] == [0.5, None, None, None, 1e308, 0.0, 5e-324, 1.0]
    assert [row[2] for row in rows] == [True, True, None, True, True, True, True, True]
    assert [row[3] for row in rows] == TEXTS
    assert [row[4] for row in rows] == [[1, 2], None, [], [3], None, [4], [5], [6]]


def test_numbers_follow_shards_not_time(run: RunFolder) -> None:
    """Samples are numbered in the order of shards, in whatever order these landed, and keep their numbers when the facts are compacted."""
    write(run, 2, 3)
    write(run, 0, 2)
    write(run, 1, 4)
    query = "SELECT number, key FROM facts ORDER BY number"
    with open_facts(run) as connection:
        before = connection.execute(query).fetchall()
    assert [key for _, key in before] == ["k0-0", "k0-1", "k1-0", "k1-1", "k1-2", "k1-3", "k2-0", "k2-1", "k2-2"]
    assert [account["records"] for account in accounts(run)] == [2, 4, 3]
    compact(run, {"parts": []})
    with open_facts(run) as connection:
        assert connection.execute(query).fetchall() == before


def test_a_large_shard_stays_as_it_is(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compacting leaves the file of a large shard with its final numbers alone; behind a lost row, numbers are given anew."""
    monkeypatch.setattr("datascrub.run.compact.ROWS_TO_STAY", 4)
    for shard, (count, expected, first) in enumerate([(2, 2, 0), (5, 5, 2), (1, 1, 7), (1, 1, 8), (4, 5, 9), (6, 6, 14)]):
        write(run, shard, count, expected=expected, first=first)
    with open_facts(run) as connection:
        before = connection.execute("SELECT number, key FROM facts ORDER BY number").fetchall()
    assert [number for number, _ in before] == list(range(19))
    of_shards = {file.stat().st_ino: file.name for file in run.facts.iterdir()}
    compact(run, {"parts": []})
    files = sorted(run.facts.glob("*.parquet"))
    assert [of_shards.get(file.stat().st_ino) for file in files] == [None, "shard-000001.parquet", None]
    with open_facts(run) as connection:
        assert connection.execute("SELECT number, key FROM facts ORDER BY number").fetchall() == before


@pytest.mark.parametrize(
    "sql", ["SELECT * FROM read_text('/etc/hostname')", "COPY facts TO '/tmp/out.csv'", "SET enable_external_access = true", "INSTALL httpfs"]
)
def test_sql_reaches_nothing_but_facts(run: RunFolder, sql: str) -> None:
    """The SQL of a rule can't read files, write files outside the run, or unlock the configuration."""
    write(run, 0, 2)
    with open_facts(run) as connection, pytest.raises(duckdb.Error):
        connection.execute(sql)
