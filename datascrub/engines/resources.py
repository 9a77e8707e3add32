"""What this process may use: cores and memory, as affinity and control groups (v2 and v1, a group and all above it) allow."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import resource
import select
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

WORKER_BYTES = 512 << 20
"""what one worker is planned with: numpy, decoders, a batch of 32 MB in a few forms, and the largest pictures"""
LEAST_BYTES = 256 << 20
"""below it a worker does not come up at all: then the control group may as well say so itself"""
_MOUNTS = Path("/proc/self/mountinfo")
_GROUPS = Path("/proc/self/cgroup")


def default_workers() -> int:
    """As many workers as cores may be used and memory holds beside the main process, at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return max(1, min(cores, _quota() or cores, memory_bytes() // WORKER_BYTES - 1))


def worker_bytes(workers: int) -> int:
    """The memory that each of so many workers may take, so that they and the main process stay below the limit together."""
    return max(LEAST_BYTES, memory_bytes() // (workers + 1))


def memory_bytes() -> int:
    """Memory of the machine, or the least limit of the control groups that this process is in."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [_number(folder / name) for folder, name in _places({"": "memory.max", "memory": "memory.limit_in_bytes"})]
    return min([whole, *(limit for limit in limits if limit is not None)])


def _quota() -> int | None:
    """Whole cores of the least CPU quota of the control groups, rounded up; None without one."""
    quotas = [_quota_of(folder, name) for folder, name in _places({"": "cpu.max", "cpu": "cpu.cfs_quota_us"})]
    return min((max(1, -(-quota // period)) for quota, period in filter(None, quotas)), default=None)


def _quota_of(folder: Path, name: str) -> tuple[int, int] | None:
    """(microseconds of CPU, in so many microseconds) that a group may use; None where it is not limited."""
    if name == "cpu.max":
        words = _read(folder / name).split()
        return (int(words[0]), int(words[1])) if len(words) == 2 and all(word.isdecimal() for word in words) else None
    quota, period = _number(folder / name), _number(folder / "cpu.cfs_period_us")  # a quota of -1 is none
    return (quota, period) if quota and period else None


def _places(names: dict[str, str]) -> Iterator[tuple[Path, str]]:
    """(folder, file name) of each control group that holds this process, from its own up to the root that is mounted.

    names: the file to look for by controller, "" for version 2. A container often sees its own group as the root; a batch system or a service
    does not, and the limit may stand on any level.
    """
    mounts = list(_mounts())
    for line in _read(_GROUPS).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        for controller in controllers.split(","):
            for root, place, known in mounts if controller in names else ():
                if controller in known:
                    folder = place / _below(PurePosixPath(root), PurePosixPath(group))
                    yield from ((each, names[controller]) for each in (folder, *folder.parents) if each == place or place in each.parents)


def _below(root: PurePosixPath, group: PurePosixPath) -> PurePosixPath:
    """A group, seen from the root that is mounted; the root itself where the group is not mounted here, for then the root is all that can be seen."""
    return group.relative_to(root) if group.is_relative_to(root) and ".." not in group.parts else PurePosixPath()


def _mounts() -> Iterator[tuple[str, Path, frozenset[str]]]:
    """(group that is its root, where it is mounted, controllers) of each mounted tree of control groups; the controller of version 2 is ""."""
    for line in _read(_MOUNTS).splitlines():
        before, _, behind = line.partition(" - ")
        fields, kind = before.split(), behind.split()
        if len(fields) > 4 and len(kind) > 2 and kind[0] in {"cgroup", "cgroup2"}:
            yield fields[3], Path(fields[4]), frozenset(kind[2].split(",") if kind[0] == "cgroup" else ("",))


def _number(place: Path) -> int | None:
    text = _read(place).strip()
    return int(text) if text.isdecimal() else None


def _read(place: Path) -> str:
    with suppress(OSError):
        return place.read_text("utf-8", "surrogateescape")
    return ""


def hush() -> None:
    """Send what C libraries print on standard error nowhere (libtiff floods it); errors of ours travel through the pipe.

    DATASCRUB_DEBUG keeps it.
    """
    if not os.environ.get("DATASCRUB_DEBUG"):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)


def live_with_parent() -> None:
    """Let the kernel kill this process when the one that asked for it ends, however it ends; and leave the terminal's Ctrl-C to that one.

    The parent by birth is the fork server, so PR_SET_PDEATHSIG would watch the wrong one. A pipe that only the asking process holds open closes
    with it, and the kernel then sends SIGKILL: no thread that a decoder could hold up.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is None or not hasattr(fcntl, "F_SETSIG"):
        return
    fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(parent.sentinel, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, fcntl.fcntl(parent.sentinel, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([parent.sentinel], [], [], 0)[0]:  # it ended before we watched
        os.kill(os.getpid(), signal.SIGKILL)


def confine(limit_bytes: int | None) -> None:
    """Hold this process's private memory below a limit, and let it leave no core file when it dies."""
    hush()
    live_with_parent()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limit_bytes is not None:
        # RLIMIT_DATA counts what is private and writable; RLIMIT_AS would count a mapped LMDB of terabytes too.
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = limit_bytes if hard == resource.RLIM_INFINITY else min(limit_bytes, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
