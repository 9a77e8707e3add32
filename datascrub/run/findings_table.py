"""Findings as a judge says them, gathered on disk where they are many: counted, ordered and written without being held in memory."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from datascrub.model import Finding, Scope, Severity
from datascrub.rules.expression import literal
from datascrub.run.facts import Room, connect
from datascrub.run.findings import COLUMNS, Row, read_rows
from datascrub.run.folder import RunFolder

if TYPE_CHECKING:
    import duckdb

_AT_ONCE = 5_000
"""findings that are held as Python's objects, at about 2 KB each"""
_ROWS_WRITTEN = 20_480
"""that are held while a file is written; DuckDB's usual six times as many take more memory than all the rest"""
_FIRST = 3
"""keys that a count names"""
_SCHEMA = ", ".join(f"{name} {'BIGINT' if name == 'number' else 'VARCHAR'}" for name in COLUMNS)
_IS_ERROR = f"severity = {literal(Severity.ERROR.value)}"


def _case(column: str, ranks: dict[str, int]) -> str:
    return f"CASE {column} {' '.join(f'WHEN {literal(value)} THEN {rank}' for value, rank in ranks.items())} END"


_RANK = _case("severity", {each.value: each.rank for each in Severity})
_PLACE_OF_SCOPE = _case("scope", {Scope.SET.value: 0, Scope.PART.value: 1, Scope.SAMPLE.value: 2})


@dataclass(frozen=True)
class Fired:
    """How often one rule fires, on one field or on all. samples: that it names; others: findings on parts and the set; collected: samples that these
    speak of. said: the first sentence; first: its key; is_set: whether the set itself has a finding of it; severity: the worst."""

    samples: int
    others: int
    collected: int
    said: str
    first: str | None
    is_set: bool
    severity: Severity

    @property
    def count(self) -> int:
        """Samples; else what one finding of the set says of them; else findings."""
        return max(self.samples, self.collected) or self.others


class FindingsTable:
    """Findings as rows, in a database that lies in files where it grows: memory holds some thousands of them, however many there are.

    spill: where these files lie, see RunFolder.spill.
    """

    def __init__(self, rows: Iterable[Row] = (), spill: str | None = None) -> None:
        self._connection = connect(room=Room(spill))
        self._connection.execute("SET threads = 1")  # each sorts in memory of its own
        self._steps = ["SET memory_limit = '400MB'", "SET memory_limit = '1600MB'", "RESET memory_limit"]
        self._connection.execute(f"CREATE TABLE findings (seq BIGINT, {_SCHEMA})")
        self._waiting: list[Row] = []
        self._count = 0
        self._is_ordered = False
        self.extend(rows)

    def close(self) -> None:
        self._connection.close()

    def add(self, number: int | None, finding: Finding) -> None:
        self._waiting.append((number, finding))
        self._is_ordered = False
        if len(self._waiting) >= _AT_ONCE:
            self._put()

    def extend(self, rows: Iterable[Row]) -> None:
        for number, finding in rows:
            self.add(number, finding)

    def clear(self) -> None:
        self._waiting, self._is_ordered = [], False
        self._connection.execute("DELETE FROM findings")

    def _put(self) -> None:
        """Move what waits in memory into the database."""
        rows, self._waiting = self._waiting, []
        if not rows:
            return
        columns: dict[str, np.ndarray] = {
            "seq": np.arange(self._count, self._count + len(rows)),
            "number": np.ma.MaskedArray([n or 0 for n, _ in rows], [n is None for n, _ in rows], dtype=np.int64),
            "key": _texts(f.key for _, f in rows),
            "code": _texts(f.code for _, f in rows),
            "severity": _texts(f.severity.value for _, f in rows),
            "field": _texts(f.field for _, f in rows),
            "message": _texts(f.message for _, f in rows),
            "evidence": _texts(json.dumps(f.evidence, default=str, sort_keys=True) for _, f in rows),
            "scope": _texts(f.scope.value for _, f in rows),
        }
        self._connection.register("columns", columns)
        self._execute(f"INSERT INTO findings SELECT seq, {', '.join(COLUMNS)} FROM columns")
        self._connection.unregister("columns")
        self._count += len(rows)

    def _execute(self, sql: str, *values: Any) -> duckdb.DuckDBPyConnection:
        """Where many millions of findings need more memory than others do, they get it in steps, and what the machine gives in the end; see Room."""
        import duckdb

        while True:
            try:
                return self._connection.execute(sql, values or None)
            except duckdb.OutOfMemoryException:
                if not self._steps:
                    raise
                self._connection.execute(self._steps.pop(0))

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        self._put()
        return self._execute(sql, *values).fetchall()

    # -- in the order in which they came --------------------------------------------------------------------------------------------

    def pieces(self) -> Iterator[tuple[np.ndarray, list[Row]]]:
        """(how remove() knows them, findings), some thousands at a time, in the order in which they came."""
        self._put()
        for low in range(0, self._count, _AT_ONCE):
            known = self._execute(f"SELECT seq FROM findings WHERE seq >= {low} AND seq < {low + _AT_ONCE} ORDER BY seq").fetchnumpy()
            yield known["seq"], list(read_rows(self._connection, f"findings WHERE seq >= {low} AND seq < {low + _AT_ONCE} ORDER BY seq"))

    def rows(self) -> Iterator[Row]:
        """In the order in which they came."""
        return (row for _, some in self.pieces() for row in some)

    def remove(self, known: np.ndarray) -> int:
        """Leave findings out, as pieces() told them; how many samples they speak of."""
        self._connection.register("quiet", {"seq": known})
        where = "WHERE seq IN (SELECT seq FROM quiet)"
        samples: int = self._rows(f"SELECT count(DISTINCT number) FROM findings {where}")[0][0]
        self._execute(f"DELETE FROM findings {where}")
        self._connection.unregister("quiet")
        self._is_ordered = False
        return samples

    # -- what they come to ----------------------------------------------------------------------------------------------------------

    def fired(self, code: str | None = None) -> dict[tuple[str, str | None], Fired]:
        """(rule, field) -> how often it fires; of one rule over all fields, under None, where `code` is given."""
        by = "code, field" if code is None else "code, NULL"
        told = "{'says': message, 'key': key}"
        of_set = f"scope = {literal(Scope.SET.value)}"
        query = f"""
            SELECT {by}, count(DISTINCT number), count(*) FILTER (number IS NULL),
                coalesce(sum(CASE WHEN number IS NULL THEN TRY_CAST(json_extract_string(evidence, '$.samples') AS BIGINT) END), 0),
                coalesce(arg_min({told}, seq) FILTER (number IS NOT NULL), arg_min({told}, seq)), bool_or({of_set}), max({_RANK})
            FROM findings {"" if code is None else "WHERE code = ?"} GROUP BY ALL ORDER BY 1, 2 NULLS FIRST"""
        ranked = {each.rank: each for each in Severity}
        return {
            (its, field): Fired(samples, others, int(collected), first["says"], first["key"], is_set, ranked[rank])
            for its, field, samples, others, collected, first, is_set, rank in self._rows(query, *([] if code is None else [code]))
        }

    def severities(self) -> list[tuple[str, Severity]]:
        """Each (rule, severity) that there is."""
        return [(code, Severity(its)) for code, its in self._rows("SELECT DISTINCT code, severity FROM findings ORDER BY ALL")]

    def counts(self) -> list[dict[str, Any]]:
        """For each code and severity: how many findings, and the first keys, in the order of reading."""
        self._order()
        keys = f"""
            SELECT code, severity, key FROM ordered GROUP BY code, severity, key
            QUALIFY row_number() OVER (PARTITION BY code, severity ORDER BY min(place)) <= {_FIRST} ORDER BY min(place)"""
        first: dict[tuple[str, str], list[str | None]] = {}
        for code, severity, key in self._rows(keys):
            first.setdefault((code, severity), []).append(key)
        query = f"""
            SELECT code, severity, count(*), count(DISTINCT number), count(*) FILTER (scope = {literal(Scope.PART.value)}), arg_min(message, place)
            FROM ordered GROUP BY code, severity ORDER BY min(place)"""
        return [
            {"code": code, "severity": severity, "findings": count, "samples": samples, "parts": parts, "first": first[code, severity], "says": says}
            for code, severity, count, samples, parts, says in self._rows(query)
        ]

    # -- in the order of reading ----------------------------------------------------------------------------------------------------

    def _order(self) -> None:
        """Have the table `ordered`, with each finding's place.

        By how much harm, and how sure: the worst severity first; in it the set, parts, samples; of these the rules that fire most often where they
        are errors, and the rarest where they are not; then by code and in the order of the source.
        """
        self._put()
        if self._is_ordered:
            return
        # Many errors are much harm. A warning that many samples share is likely their custom; one among thousands is a surer sign.
        self._execute(f"""
            CREATE OR REPLACE TABLE ordered AS SELECT row_number() OVER () AS place, * FROM (
                SELECT {", ".join(COLUMNS)} FROM findings JOIN (
                    SELECT severity, scope, code, CASE WHEN {_IS_ERROR} THEN -count(*) ELSE count(*) END AS weight FROM findings
                    GROUP BY severity, scope, code
                ) USING (severity, scope, code)
                ORDER BY {_RANK} DESC, {_PLACE_OF_SCOPE}, weight, code, coalesce(number, 0), coalesce(key, ''), coalesce(field, ''), message, seq
            )""")
        self._is_ordered = True

    def ordered(self) -> Iterator[Row]:
        """In the order of reading."""
        self._order()
        return read_rows(self._connection, "ordered")

    def write(self, run: RunFolder) -> None:
        """Write findings.parquet aside and rename it."""
        self._order()
        aside = run.findings.with_name(run.findings.name + ".part")
        self._execute(f"COPY (SELECT {', '.join(COLUMNS)} FROM ordered) TO {literal(str(aside))} (FORMAT parquet, ROW_GROUP_SIZE {_ROWS_WRITTEN})")
        aside.replace(run.findings)

    def quarantined(self, unreadable: str = "record-unreadable") -> Iterator[tuple[int, list[Finding]]]:
        """(number, its errors) of each sample that a cleaned copy leaves out, by number; unreadable ones are counted apart."""
        self._order()
        self._execute(f"""
            CREATE OR REPLACE TABLE errors AS
                SELECT {", ".join(COLUMNS)} FROM ordered WHERE number IS NOT NULL AND {_IS_ERROR} ORDER BY number, place""")
        for number, rows in itertools.groupby(read_rows(self._connection, "errors"), key=lambda row: row[0]):
            its = [finding for _, finding in rows]
            if number is not None and all(finding.code != unreadable for finding in its):
                yield number, its

    def quarantined_numbers(self, unreadable: str = "record-unreadable") -> np.ndarray:
        """The numbers of these samples, in order."""
        self._put()
        query = f"""
            SELECT number FROM findings WHERE number IS NOT NULL AND {_IS_ERROR}
            GROUP BY number HAVING NOT bool_or(code = {literal(unreadable)}) ORDER BY number"""
        made: np.ndarray = self._execute(query).fetchnumpy()["number"]
        return made


def _texts(values: Iterable[str | None]) -> np.ndarray:
    items: Sequence[str | None] = list(values)
    made = np.empty(len(items), object)
    made[:] = items
    return made
