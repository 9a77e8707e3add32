"""What this process may use: cores and memory, as affinity and control group (v2, then v1) allow."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import resource
import select
import signal
from contextlib import suppress
from pathlib import Path

WORKER_BYTES = 512 << 20
"""what one worker is planned with: numpy, decoders, a batch of 32 MB in a few forms, and the largest pictures"""
_CGROUP = Path("/sys/fs/cgroup")


def default_workers() -> int:
    """As many workers as cores may be used and memory holds, at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return max(1, min(cores, _quota() or cores, memory_bytes() // WORKER_BYTES))


def worker_bytes(workers: int) -> int:
    """The memory that each of so many workers may take, one share left for the main process."""
    return max(WORKER_BYTES, memory_bytes() // (workers + 1))


def memory_bytes() -> int:
    """Memory of the machine, or the control group's limit where that is less."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [_number(_CGROUP / "memory.max"), _number(_CGROUP / "memory" / "memory.limit_in_bytes")]
    return min([whole, *(limit for limit in limits if limit is not None)])


def _quota() -> int | None:
    """Whole cores of the control group's CPU quota, rounded up; None without one."""
    text = _read(_CGROUP / "cpu.max").split()
    if len(text) == 2 and text[0].isdecimal():
        return max(1, -(-int(text[0]) // int(text[1])))
    quota, period = _number(_CGROUP / "cpu" / "cpu.cfs_quota_us"), _number(_CGROUP / "cpu" / "cpu.cfs_period_us")
    return max(1, -(-quota // period)) if quota and period else None


def _number(place: Path) -> int | None:
    text = _read(place).strip()
    return int(text) if text.isdecimal() else None


def _read(place: Path) -> str:
    with suppress(OSError):
        return place.read_text()
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
