"""A mapped source counts as what is in hand of it, and not as all that was ever read."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable
from pathlib import Path

import lmdb
import pytest

from datascrub.engines.isolated import call
from datascrub.spine.mapped import let_go
from tests.spine import mapping

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is mapped is told by Linux alone")

MEGABYTE = 1 << 20


def test_pages_that_were_read_are_given_back(tmp_path: Path) -> None:
    """What was read of a mapped file is no part of this process's memory afterwards, and reads as before."""
    (tmp_path / "file").write_bytes(b"abcd" * (8 * MEGABYTE))
    with (tmp_path / "file").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        view = memoryview(mapped)
        held = [len(set(view[::4096])), mapping.mapped_bytes(tmp_path)]
        let_go()
        held.append(mapping.mapped_bytes(tmp_path))
        assert (held[0], held[1] > 30 * MEGABYTE, held[2]) == (1, True, 0)
        assert view[-4:] == b"abcd"
        view.release()


@pytest.mark.parametrize("work", [mapping.after_each_shard, mapping.while_listing, mapping.while_copying])
def test_work_on_a_mapped_set_keeps_little_of_it(tmp_path: Path, work: Callable[[str, str], list[int]]) -> None:
    """After each shard that is measured or listed, and whenever a copy says how far it is, none of an LMDB's pages counts as the worker's."""
    source = tmp_path / "set.lmdb"
    with lmdb.open(str(source), map_size=1 << 28, subdir=False, lock=False) as env, env.begin(write=True) as transaction:
        for number in range(20_000):
            transaction.put(b"%08d" % number, b"\x08\x01\x10\x08\x18\x08\x22\x40" + bytes([number % 251]) * 64 + b"\x28\x01")
    held = call(work, str(source), str(tmp_path))
    assert len(held) > 1
    assert max(held) < MEGABYTE / 10
