"""A run of millions of samples without their data: the facts of a small one, multiplied."""

from __future__ import annotations

import json
from pathlib import Path

from datascrub.rules import SetRule
from datascrub.run.compact import ROWS_A_FILE

_OF_BYTES = {"hash": "md5({} || '-' || copy)", "pixel_hash": "md5({} || '-' || copy)", "perceptual_hash": "(hash({}, copy) >> 1)::BIGINT"}
"""measurements that tell contents apart: copies would all be duplicates of each other"""


def multiply(run: Path, count: int) -> None:
    """Give a finished run `count` samples: each sample again and again, under other keys and with other contents."""
    import duckdb

    facts = run / "facts"
    files = sorted(facts.glob("*.parquet"))
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE few AS SELECT * FROM read_parquet({[str(file) for file in files]})")
        few = connection.execute("SELECT count(*) FROM few").fetchall()[0][0]
        described = connection.execute("SELECT column_name, column_type FROM (DESCRIBE few)").fetchall()
        columns = ", ".join(_column(name, kind) for name, kind in described)
        for file in files:
            file.unlink()
        for start in range(0, count, ROWS_A_FILE):
            stop = min(count, start + ROWS_A_FILE)
            rows = f"SELECT range AS place, range % {few} AS of, range // {few} AS copy FROM range({start}, {stop})"
            made = f"SELECT {columns} FROM ({rows}) JOIN few ON few.number = of ORDER BY place"
            connection.execute(f"COPY ({made}) TO '{facts}/facts-{start // ROWS_A_FILE:06d}.parquet' (FORMAT parquet)")
    account = json.loads((facts / "measured.json").read_text())
    (facts / "measured.json").write_text(json.dumps(account | {"records": count}))


def _column(name: str, kind: str) -> str:
    if name == "number":
        return "place AS number"
    if name == "key":
        return "key || '-' || copy AS key"
    if not kind.startswith("STRUCT"):
        return f'"{name}"'
    members = [member.strip().split()[0].strip('"') for member in kind.removeprefix("STRUCT(").removesuffix(")").split(",")]
    told = ", ".join(f'"{member}" := ' + _OF_BYTES.get(member, "{}").format(f'"{name}"."{member}"') for member in members)
    return f'struct_pack({told}) AS "{name}"'


def without_questions_to_the_set(file: Path) -> Path:
    """A configuration that leaves the rules of a row alone."""
    from datascrub.registry import catalogue

    off = [code for code, entry in catalogue().items() if isinstance(entry.rule, SetRule)]
    file.write_text("".join(f"[rules.{code}]\nenabled = false\n" for code in off))
    return file
