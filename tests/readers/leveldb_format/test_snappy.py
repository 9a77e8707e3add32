"""The snappy decoder on blocks that LevelDB wrote, and on bytes that are none."""

from __future__ import annotations

import contextlib
from pathlib import Path

import plyvel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datascrub.readers.leveldb_format.numbers import FormatError
from datascrub.readers.leveldb_format.snappy import inflate
from datascrub.readers.leveldb_format.tables import Table, entries


def test_blocks_of_leveldb(tmp_path: Path) -> None:
    """Literals of all lengths, near, far and overlapping copies: every value of a compressed table comes out as it went in."""
    values = {b"%04d" % number: (b"ab" * number + bytes(range(256)) * (number % 7) + b"z" * (number * 3)) for number in range(300)}
    values |= {b"9999": bytes(range(256)) * 300}
    database = plyvel.DB(str(tmp_path / "db"), create_if_missing=True, compression="snappy")
    for key, value in values.items():
        database.put(key, value)
    database.compact_range()
    database.close()
    found: dict[bytes, bytes] = {}
    for path in sorted((tmp_path / "db").glob("*.ldb")):
        table, data = Table(path), path.read_bytes()
        for block in table.blocks:
            stored = data[block.offset : block.offset + block.size]
            plain = inflate(stored, 1 << 20) if data[block.offset + block.size] == 1 else stored
            found |= {key[:-8]: value for key, value in entries(plain)}
        table.close()
    assert found == values


@given(st.binary(max_size=200))
def test_foreign_bytes(data: bytes) -> None:
    """Any bytes give bytes or FormatError."""
    with contextlib.suppress(FormatError):
        assert len(inflate(data, 1 << 16)) <= 1 << 16


def test_bomb_is_refused() -> None:
    """A declared length over the limit is refused before anything is inflated."""
    with pytest.raises(FormatError, match="declares"):
        inflate(b"\xff\xff\xff\xff\x0f" + b"\x00a", 1 << 20)
