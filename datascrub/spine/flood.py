"""What the samples of a large quarantine have in common: the same bytes, one folder, one minute in which their files were written."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import numpy as np

from datascrub.rules.expression import quoted
from datascrub.run.facts import Room, connect, numbered_facts
from datascrub.run.folder import RunFolder

SHARE = 0.5
"""what fewer of them share is no common cause"""
_MINUTE_NS = 60_000_000_000


def common_cause(run: RunFolder, numbers: Sequence[int]) -> str:
    """One clause for each thing that most samples of these numbers share, "" for none. Says nothing of what nearly the whole set shares."""
    with connect(room=Room(run.spill)) as connection:
        connection.register("chosen", {"number": np.asarray(numbers, np.int64)})
        connection.execute(f"CREATE VIEW facts AS {numbered_facts(run)}")
        columns = connection.execute("DESCRIBE facts").fetchall()
        hashes = [f"{quoted(name)}.hash" for name, kind, *_ in columns if "hash VARCHAR" in kind.replace('"', "")]
        asked = {
            "folder": "CASE WHEN contains(key, '/') THEN regexp_replace(key, '/[^/]*$', '') END",
            "bytes": f"coalesce({', '.join(hashes)})" if hashes else "NULL::VARCHAR",
            # Where a sample is a file, its stamp begins with the size, the time in ns and the inode.
            "minute": rf"""TRY_CAST(regexp_extract(stamp, '^(?:\["?)?\d+ (\d+) \d+', 1) AS BIGINT) // {_MINUTE_NS}""",
        }
        told = []
        for name, expression in asked.items():
            query = f"""
                SELECT value, count(*) FILTER (is_chosen) AS inside, count(*) FILTER (NOT is_chosen) AS outside
                FROM (SELECT {expression} AS value, number IN (SELECT number FROM chosen) AS is_chosen FROM facts)
                WHERE value IS NOT NULL GROUP BY value ORDER BY inside DESC, value LIMIT 1"""
            row = connection.execute(query).fetchone()
            # What the samples beside them share just as much is the way of the set.
            if row is not None and row[1] >= SHARE * len(numbers) and row[1] > SHARE * (row[1] + row[2]):
                told.append(_clause(name, *row))
    return "".join(f"; {clause}" for clause in told)


def _clause(name: str, value: str | int, inside: int, outside: int) -> str:
    if name == "bytes":
        return f"{inside:,} of them hold the same bytes"
    if name == "folder":
        return f"{inside:,} of them lie in {value}"
    minute = datetime.datetime.fromtimestamp(int(value) * 60, datetime.UTC)
    return f"the files of {inside:,} of them were written in one minute, {minute:%Y-%m-%d %H:%M} UTC"
