"""Logs: what is written is walked again, and foreign bytes raise nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from datascrub.readers.leveldb_format.log import Entry, Gap, walk, written


@given(st.lists(st.integers(0, 70_000), max_size=6))
def test_written_records_are_walked(sizes: list[int]) -> None:
    """Records of any size, over several 32 KiB blocks too, come back whole."""
    records = [bytes([1 + number]) * size for number, size in enumerate(sizes)]
    found = list(walk(b"".join(written(records))))
    assert [item.data if isinstance(item, Entry) else item for item in found] == records


@given(st.binary(max_size=400))
def test_foreign_bytes_are_gaps(data: bytes) -> None:
    """Bytes that are no log give gaps that lie in the file, and no entry."""
    for item in walk(data):
        assert isinstance(item, Gap)
        assert 0 <= item.offset < item.offset + item.size <= len(data)


@given(st.integers(0, 5 * 1007 - 1))
def test_each_byte_matters(at: int) -> None:
    """One changed byte costs the record it stands in, no other, and the gap covers exactly that record."""
    records = [bytes([65 + number]) * 1000 for number in range(5)]
    data = bytearray(b"".join(written(records)))
    data[at] ^= 0x10
    found = list(walk(bytes(data)))
    assert [item.data for item in found if isinstance(item, Entry)] == [record for number, record in enumerate(records) if number != at // 1007]
    assert [(item.offset, item.size) for item in found if isinstance(item, Gap)] == [(at // 1007 * 1007, 1007)]
