"""The facts of shards put together when a scan has come to its end: fewer files, final numbers, the account of the whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datascrub.rules.expression import literal
from datascrub.run.facts import accounts_by_file, connect, file_list
from datascrub.run.folder import RunFolder

ROWS_A_FILE = 100_000
ROWS_TO_STAY = 2048
FILES_TO_STAY = 500
"""shards of so many rows are not put together with others, as long as there are not many more files than that"""


def compact(run: RunFolder, measured: Mapping[str, Any]) -> None:
    """Put small shards together to files of some 100,000 rows, give all rows their final numbers, and put the account of the whole beside them.

    A large shard whose rows have their final numbers already stays as it is: it takes longer to write again than it ever saves.
    """
    place = run.path / "facts.new"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    first = 0
    for written, group in enumerate(_groups(_shards(run))):
        target = place / f"facts-{written:06d}.parquet"
        if group[0].is_final(first):
            _link(Path(group[0].file), target)
        else:
            # A connection for each: what one keeps would add up, and memory is to hold one group and never the set.
            with connect(threads=1) as connection:
                connection.execute("SET preserve_insertion_order = true")
                files = [each.file for each in group]
                connection.execute(f"COPY ({_numbered(files, first)}) TO {literal(str(target))} (FORMAT parquet)")
        first += sum(each.rows for each in group)
    run.write_json(place / "measured.json", measured)
    run.swap_facts(place)


@dataclass(frozen=True)
class _ShardFile:
    """The facts of a shard. first: the number that its first row got, where it was known and the file is large."""

    file: str
    rows: int
    first: int | None

    def is_final(self, first: int) -> bool:
        """Whether it may stay as it is, where its first row is to have this number."""
        return self.first == first


def _shards(run: RunFolder) -> Iterator[_ShardFile]:
    held = accounts_by_file(run)
    least = max(ROWS_TO_STAY, sum(account["records"] for _, account in held) // FILES_TO_STAY)
    for file, account in held:
        rows = account["records"]
        is_whole = rows == account.get("expected")  # a row that is lost is a gap in the numbers
        yield _ShardFile(file, rows, account.get("first") if is_whole and rows >= least else None)


def _groups(shards: Iterable[_ShardFile]) -> Iterator[list[_ShardFile]]:
    """The shards, in order, that make one file together; one alone where it is large."""
    group: list[_ShardFile] = []
    rows = first = 0
    for shard in shards:
        if group and (rows + shard.rows > ROWS_A_FILE or shard.is_final(first)):
            yield group
            group, rows = [], 0
        group.append(shard)
        rows, first = rows + shard.rows, first + shard.rows
        if shard.is_final(first - shard.rows):
            yield group
            group, rows = [], 0
    if group:
        yield group


def _link(file: Path, target: Path) -> None:
    try:
        os.link(file, target)
    except OSError:  # a file system without links
        shutil.copyfile(file, target)


def _numbered(files: Sequence[str], first: int) -> str:
    """A SELECT of the rows of some shards in order, numbered from `first`: sorted once, then counted; an ordered window would sort again."""
    rows = f"SELECT * EXCLUDE (number) FROM read_parquet({file_list(files)}) ORDER BY shard, row"
    return f"SELECT row_number() OVER () - 1 + {first} AS number, * FROM ({rows})"
