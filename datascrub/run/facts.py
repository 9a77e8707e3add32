"""Facts on disk: numpy columns -> Parquet, one row a sample, one STRUCT column a field; and the view that judges read.

NULL means "not measured" and nothing else: a NaN would become NULL on the way, so none is let in.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from datascrub.rules import Measurement
from datascrub.rules.columns import field_of, struct
from datascrub.rules.expression import literal, quoted
from datascrub.run.folder import RunFolder

if TYPE_CHECKING:
    import duckdb

_PLACE = {"shard": "INTEGER", "row": "BIGINT", "key": "VARCHAR", "file": "VARCHAR", "offset": "BIGINT", "stamp": "VARCHAR"}
_PLAIN = {"BOOLEAN": bool, "BIGINT": np.int64, "DOUBLE": np.float64}

Schema = Mapping[str, Mapping[str, Measurement]]
"""field -> measurement -> what it is"""


@dataclass
class FactsTable:
    """Measurements of a shard, gathered batch by batch."""

    schema: Schema
    place: dict[str, list[np.ndarray]]
    values: dict[tuple[str, str], list[np.ndarray]]

    @classmethod
    def empty(cls, schema: Schema) -> FactsTable:
        return cls(schema, {name: [] for name in _PLACE}, {(f, m): [] for f, its in schema.items() for m in its})

    def add(self, place: Mapping[str, np.ndarray], measured: Mapping[str, Mapping[str, np.ndarray]], count: int) -> None:
        """One batch: its place columns, and for each field the measurements; what is not given is NULL."""
        for name, chunks in self.place.items():
            chunks.append(place[name])
        for (field, name), chunks in self.values.items():
            column = measured.get(field, {}).get(name)
            chunks.append(_nulls(count, self.schema[field][name].type) if column is None else column)

    def write(self, place: Path, metadata: Mapping[str, Any], taken: Unchanged | None = None) -> None:
        """Write the Parquet file aside and rename it; metadata is kept in it as JSON under "account". taken: rows that come from an earlier run.

        metadata["first"], where it is known, is the number of row 0 in the source.
        """
        columns = _Columns()
        selects = [f"{columns.put(_joined(chunks, _PLACE[name]), _PLACE[name])} AS {quoted(name)}" for name, chunks in self.place.items()]
        for field, its in self.schema.items():
            members = ", ".join(
                f"{quoted(name)} := {columns.put(_joined(self.values[field, name], what.type), what.type)}" for name, what in its.items()
            )
            selects.append(f"struct_pack({members}) AS {struct(field)}")
        aside = place.with_name(place.name + ".part")
        connection = _writer(os.getpid())
        connection.register("columns", columns.held)
        note = literal(json.dumps(metadata, default=str))
        rows = f"SELECT {', '.join(selects)} FROM columns"
        if taken is not None:
            shard = metadata["shard"]
            rows = f"({rows} UNION ALL BY NAME SELECT {shard}::INTEGER AS shard, {taken.registered(connection)}) ORDER BY row"
            rows = f"SELECT * FROM {rows}"
        first = metadata.get("first")
        rows = f"SELECT {'NULL::BIGINT' if first is None else f'{first} + row'} AS number, * FROM ({rows})"
        connection.execute(f"COPY ({rows}) TO {literal(str(aside))} (FORMAT parquet, KV_METADATA {{account: {note}}})")
        connection.unregister("columns")
        aside.replace(place)


class _Columns:
    """Columns on their way to DuckDB; one that holds a single value travels as a literal, since most text columns do and texts are what costs."""

    def __init__(self) -> None:
        self.held: dict[str, np.ndarray] = {}

    def put(self, column: np.ndarray, type_: str) -> str:
        """The SQL that stands for the column."""
        value = _single(column) if self.held else _MANY  # the first is always held: the rows must come from somewhere
        if value is None:
            return f"NULL::{type_}"
        return self._hold(column, type_) if value is _MANY else f"{literal(value)}::{type_}"

    def _hold(self, column: np.ndarray, type_: str) -> str:
        name = f"c{len(self.held)}"
        self.held[name] = column
        return f"{name}::{type_}"


_MANY = object()


def _single(column: np.ndarray) -> Any:
    """The one value of a column (None for NULL), or _MANY."""
    if not len(column):
        return _MANY
    if column.dtype == object:
        first = column[0]
        same = (first is None or isinstance(first, str)) and column.tolist().count(first) == len(column)
        return first if same else _MANY
    mask = np.ma.getmaskarray(column)
    if mask.all():
        return None
    if mask.any() or column.dtype.kind == "f":  # a float's literal would have to be exact
        return _MANY
    data = np.ma.getdata(column)
    return data[0].item() if (data == data[0]).all() else _MANY


@functools.lru_cache(maxsize=1)
def _writer(process: int) -> duckdb.DuckDBPyConnection:
    """The connection that this process writes with: opening one takes longer than writing a shard."""
    return connect(threads=1)


def _nulls(count: int, type_: str) -> np.ndarray:
    dtype = _PLAIN.get(type_)
    return np.full(count, None, object) if dtype is None else np.ma.MaskedArray(np.zeros(count, dtype), np.ones(count, bool))


def _joined(chunks: Sequence[np.ndarray], type_: str) -> np.ndarray:
    dtype = _PLAIN.get(type_)
    if not chunks:
        return np.empty(0, object if dtype is None else dtype)
    has_nulls = any(isinstance(chunk, np.ma.MaskedArray) for chunk in chunks)
    joined: np.ndarray = np.ma.concatenate(chunks) if has_nulls else np.concatenate(chunks)  # type: ignore[no-untyped-call]  # numpy.ma has no types
    if joined.dtype.kind == "f" and not np.isfinite(joined.data if isinstance(joined, np.ma.MaskedArray) else joined).all():
        # A NaN would silently become NULL, and an infinity compare as a number: both would hide what a rule should see.
        data = np.ma.getdata(joined)
        joined = np.ma.MaskedArray(np.where(np.isfinite(data), data, 0), np.ma.getmaskarray(joined) | ~np.isfinite(data))
    return joined


@dataclass(frozen=True)
class Earlier:
    """The facts of a finished run, to be looked up by key and stamp. with_parts: files of the source of which it named parts."""

    files: tuple[str, ...]
    with_parts: frozenset[str]

    @classmethod
    def of(cls, run: RunFolder) -> Earlier | None:
        """None where the run did not come to its end."""
        measured = run.measured()
        if measured is None or measured["reasons"]:
            return None
        return cls(tuple(fact_files(run)), frozenset(part["file"] for part in measured["parts"] if part["file"]))

    def find(self, keys: Sequence[str | None], stamps: Sequence[str | None], count: int) -> Unchanged:
        """Of a shard whose rows these are, in order."""
        rows = [row for row in range(len(keys)) if keys[row] is not None and stamps[row] is not None]
        if not rows:
            return Unchanged(self, {"row": np.empty(0, np.int64)}, 0, count)
        wanted = {
            "row": np.array(rows, np.int64),
            "key": np.array([keys[row] for row in rows], object),
            "stamp": np.array([stamps[row] for row in rows], object),
        }
        low, high = (literal(str(border)) for border in (min(wanted["key"]), max(wanted["key"])))
        source = f"wanted JOIN (SELECT * FROM {self._read} WHERE key BETWEEN {low} AND {high}) AS earlier USING (key, stamp)"
        return self._unchanged(wanted, source, count)

    def find_whole(self, stamp: str) -> Unchanged | None:
        """Of a shard that has one stamp for all rows; None where the run has none of it."""
        where = f"SELECT row_number() OVER (ORDER BY number) - 1 AS row, number FROM {self._read} WHERE stamp = {literal(stamp)} ORDER BY number"
        held = _writer(os.getpid()).execute(where).fetchnumpy()
        if not len(held["row"]):
            return None
        wanted = {"row": held["row"].astype(np.int64), "number": held["number"].astype(np.int64)}
        source = f"wanted JOIN (SELECT * FROM {self._read} WHERE stamp = {literal(stamp)}) AS earlier USING (number)"
        return self._unchanged(wanted, source, len(held["row"]))

    @property
    def _read(self) -> str:
        return f"(SELECT * EXCLUDE (shard, row) FROM read_parquet({file_list(self.files)}))"

    def _unchanged(self, wanted: dict[str, np.ndarray], source: str, count: int) -> Unchanged:
        connection = _writer(os.getpid())
        connection.register("wanted", wanted)
        # What had a problem is looked at again: it may have been the machine's.
        found = connection.execute(f"SELECT row, record.size_bytes AS size FROM {source} WHERE record.problem IS NULL ORDER BY row").fetchnumpy()
        connection.unregister("wanted")
        kept = np.isin(wanted["row"], found["row"])
        return Unchanged(self, {name: column[kept] for name, column in wanted.items()}, int(found["size"].sum()), count, source)


@dataclass(frozen=True)
class Unchanged:
    """The rows of a shard that an earlier run has measured. count: rows of the shard."""

    earlier: Earlier
    wanted: Mapping[str, np.ndarray]
    size_bytes: int
    count: int
    source: str = ""

    @property
    def rows(self) -> frozenset[int]:
        return frozenset(self.wanted["row"].tolist())

    def registered(self, connection: duckdb.DuckDBPyConnection) -> str:
        """What follows SELECT to have these rows with all that was measured of them."""
        connection.register("wanted", dict(self.wanted))
        return f"row, earlier.* EXCLUDE (number) FROM {self.source}"


def connect(threads: int | None = None, room: Room | None = None) -> duckdb.DuckDBPyConnection:
    """A database in memory, in a room of its own where that is given."""
    import duckdb

    config: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    if threads is not None:
        config["threads"] = threads
    if room is not None:
        config |= room.config()
    return duckdb.connect(config=config)


@dataclass(frozen=True)
class Room:
    """What a question about the set may take: so much memory, the rest lies in files. A few hundred thousand samples need no file.

    spill: where the files lie, gone when the connection is closed. is_little: as little memory as will do in most cases; else what the machine,
    or its control group, gives.
    """

    spill: str | None
    is_little: bool = True

    def config(self) -> dict[str, Any]:
        """The settings of DuckDB."""
        # Each connection needs a folder of its own: their files have the same names.
        place = Path(self.spill or tempfile.gettempdir()) / f"datascrub-spill-{os.getpid()}-{next(_SPILLS)}"
        return {"temp_directory": str(place), **({"memory_limit": LITTLE, "threads": LITTLE_THREADS} if self.is_little else {})}


LITTLE = "96MB"
"""below it DuckDB fails on a million samples, above it their scan takes more memory than that of a tenth of them"""
LITTLE_THREADS = 2
"""each takes memory of its own"""
_SPILLS = itertools.count()


def fact_files(run: RunFolder) -> list[str]:
    return sorted(str(file) for file in run.facts.glob("*.parquet"))


def open_facts(run: RunFolder, is_little: bool = True) -> duckdb.DuckDBPyConnection:
    """A connection with the view `facts`: number, key, file, offset, and one STRUCT a field, of what is measured so far. is_little: see Room.

    External access is off and the configuration locked afterwards: SQL of a user's rule reads these facts and nothing else.
    """
    connection = connect(room=Room(run.spill, is_little))
    connection.execute("SET preserve_insertion_order = true")
    connection.execute("SET parquet_metadata_cache = true")
    if fact_files(run):
        connection.execute(f"CREATE VIEW facts AS SELECT * EXCLUDE (stamp) FROM ({numbered_facts(run)})")
    connection.execute(f"SET allowed_directories = [{literal(str(run.facts))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def plain_facts(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
    """The view `facts` with each field under its own name, for people; a name that differs from another by its capitals alone keeps its column's."""
    selects, taken = list[str](), set[str]()
    for column in connection.table("facts").columns:
        name = field_of(column) if field_of(column).lower() not in taken else column
        taken.add(name.lower())
        selects.append(f"{quoted(column)} AS {quoted(name)}")
    return connection.sql(f"SELECT {', '.join(selects)} FROM facts")


def numbered_facts(run: RunFolder) -> str:
    """A SELECT of all that is measured so far, the stamp of each sample too."""
    held = f"read_parquet({file_list(fact_files(run))})"
    if run.measured() is not None:
        return f"SELECT * EXCLUDE (shard, row) FROM {held}"
    return f"SELECT row_number() OVER (ORDER BY shard, row) - 1 AS number, * EXCLUDE (number, shard, row) FROM {held}"


def file_list(files: Iterable[str]) -> str:
    """Names of files as a list in SQL."""
    return "[" + ", ".join(literal(file) for file in files) + "]"


def accounts(run: RunFolder) -> list[dict[str, Any]]:
    """The account that each shard's file carries, in the order of shards."""
    return [account for _, account in accounts_by_file(run)]


def accounts_by_file(run: RunFolder) -> list[tuple[str, dict[str, Any]]]:
    """(file, the account that it carries) of each shard, in order."""
    files = fact_files(run)
    if not files:
        return []
    with _writer(os.getpid()).cursor() as connection:
        rows = connection.execute(
            f"SELECT file_name, value FROM parquet_kv_metadata({file_list(files)}) WHERE key = 'account' ORDER BY file_name"
        ).fetchall()
    return [(file if isinstance(file, str) else bytes(file).decode(), json.loads(bytes(value).decode("utf-8"))) for file, value in rows]


def sound_shards(run: RunFolder) -> set[int]:
    """Numbers of the shards whose facts are in place and whole; a file that is not (a crash of the machine can leave one) is removed."""
    sound = set[int]()
    for file in run.facts.glob("shard-*.parquet"):
        number = int(file.stem.removeprefix("shard-"))
        if _is_sound(file, number):
            sound.add(number)
        else:
            file.unlink()
    return sound


def _is_sound(file: Path, number: int) -> bool:
    """Whether every row can be read, and the account that the file carries is of this shard and of as many rows."""
    import duckdb

    connection = _writer(os.getpid())
    place = literal(str(file))
    try:
        kept = connection.execute(f"SELECT value FROM parquet_kv_metadata({place}) WHERE key = 'account'").fetchall()
        rows = connection.execute(f"SELECT count(*), count(COLUMNS(*)) FROM read_parquet({place})").fetchall()[0][0]
    except duckdb.Error:
        return False
    account = json.loads(bytes(kept[0][0]).decode("utf-8")) if kept else {}
    return account.get("shard") == number and account.get("records") == rows


def count_rows(run: RunFolder) -> int:
    """Samples that have facts."""
    files = fact_files(run)
    if not files:
        return 0
    with _writer(os.getpid()).cursor() as connection:
        count: int = connection.execute(f"SELECT count(*) FROM read_parquet({file_list(files)})").fetchall()[0][0]
    return count
