"""What a container or a batch system allows, read from files as the kernel writes them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from datascrub.engines import resources
from datascrub.engines.isolated import call
from datascrub.errors import ChildDiedError
from tests.engines import faulty

GB = 1 << 30
WHOLE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

V2 = "30 23 0:28 {root} {at} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MEMORY = "35 31 0:32 {root} {at} rw,relatime - cgroup cgroup rw,memory\n"
V1_CPU = "32 31 0:29 {root} {at} rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for trees of control groups; tell() names the group that holds this process."""
    monkeypatch.setattr(resources, "_MOUNTS", tmp_path / "mountinfo")
    monkeypatch.setattr(resources, "_GROUPS", tmp_path / "cgroup")
    return tmp_path


def tell(place: Path, mounts: str, group: str) -> None:
    (place / "mountinfo").write_text("22 1 8:1 / / rw - ext4 /dev/root rw\n" + mounts)
    (place / "cgroup").write_text(group)


def put(place: Path, **values: str) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        (place / name.replace("__", ".")).write_text(value + "\n")


def test_container_of_version_2(groups: Path) -> None:
    """The own group is the root that is mounted: its limit and quota hold."""
    put(groups / "v2", memory__max=str(2 * GB), cpu__max="150000 100000")
    tell(groups, V2.format(root="/", at=groups / "v2"), "0::/\n")
    assert resources.memory_bytes() == min(2 * GB, WHOLE)
    assert resources._quota() == 2
    assert resources.default_workers() <= 2


def test_limit_of_a_group_above(groups: Path) -> None:
    """A service or a batch job sees the whole tree; the least limit between its own group and the root holds."""
    put(groups / "v2" / "slurm", memory__max=str(GB), cpu__max="max 100000")
    put(groups / "v2" / "slurm" / "job_7", memory__max="max", cpu__max="50000 100000")
    put(groups / "v2" / "other", memory__max="4096")
    tell(groups, V2.format(root="/", at=groups / "v2"), "0::/slurm/job_7\n")
    assert resources.memory_bytes() == min(GB, WHOLE)
    assert resources._quota() == 1


@pytest.mark.parametrize("root", ["/", "/docker/abc"])
def test_container_of_version_1(groups: Path, root: str) -> None:
    """Each controller has a tree of its own, seen whole or from the own group on."""
    inside = "docker/abc" if root == "/" else "."
    put(groups / "memory" / inside, memory__limit_in_bytes=str(3 * GB))
    put(groups / "cpu" / inside, cpu__cfs_quota_us="250000", cpu__cfs_period_us="100000")
    mounts = V1_MEMORY.format(root=root, at=groups / "memory") + V1_CPU.format(root=root, at=groups / "cpu")
    tell(groups, mounts, "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n0::/\n")
    assert resources.memory_bytes() == min(3 * GB, WHOLE)
    assert resources._quota() == 3


def test_no_limit_is_none(groups: Path) -> None:
    """ "max", a quota of -1 and version 1's largest number limit nothing; nor does a machine without control groups, or files that can't be read."""
    put(groups / "memory", memory__limit_in_bytes="9223372036854771712")
    put(groups / "cpu", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    tell(groups, V1_MEMORY.format(root="/", at=groups / "memory") + V1_CPU.format(root="/", at=groups / "cpu"), "5:memory:/\n4:cpu,cpuacct:/\n")
    assert (resources.memory_bytes(), resources._quota()) == (WHOLE, None)
    tell(groups, V2.format(root="/", at=groups / "gone"), "0::/../elsewhere\n")
    assert (resources.memory_bytes(), resources._quota()) == (WHOLE, None)
    tell(groups, "", "")
    assert (resources.memory_bytes(), resources._quota()) == (WHOLE, None)


def test_workers_and_main_process_stay_below_the_limit(groups: Path) -> None:
    """What the default workers and the main process may take together is at most what the group allows: a kernel may end them all for one."""
    for gigabytes in (1, 2, 3, 64):
        put(groups / "v2", memory__max=str(gigabytes * GB))
        tell(groups, V2.format(root="/", at=groups / "v2"), "0::/\n")
        workers = resources.default_workers()
        assert (workers + 1) * resources.worker_bytes(workers) <= resources.memory_bytes()
        assert workers >= 1


def test_child_that_wants_all_memory_is_told(groups: Path) -> None:
    """A child that opens a source is held below half of the memory: what it asks for beyond is an error, not the end of the container."""
    put(groups / "v2", memory__max=str(GB))
    tell(groups, V2.format(root="/", at=groups / "v2"), "0::/\n")
    with pytest.raises(ChildDiedError) as caught:
        call(faulty.take, 2 * GB)
    assert caught.value.cause == "MemoryError"
    assert call(faulty.take, GB // 8) == GB // 8
