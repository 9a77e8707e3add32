"""One command under a clock: its wall time, the CPU time of it and all its descendants, and the most memory that they held together."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
_PR_SET_CHILD_SUBREAPER = 36
_LOOK_S = 0.05


@dataclass(frozen=True)
class Took:
    """wall_s; cpu_s: user and system; peak_bytes: the largest sum of proportional set sizes that was met, 0 where nobody looked; said: its output.

    peak_own_bytes: the same without the pages of mapped files, which are those of the system's cache: an LMDB shows there as far as it was read.
    """

    wall_s: float
    cpu_s: float
    peak_bytes: int
    said: str
    peak_own_bytes: int = 0


def python(*words: object) -> list[str]:
    """The command that this interpreter runs a module with."""
    return [sys.executable, "-m", *map(str, words)]


def run(command: Sequence[str], *, looks_at_memory: bool = False, fails_with: Sequence[int] = (0,)) -> Took:
    """Run a command to its end, and to that of whatever it leaves behind. Ends the benchmark where the command fails."""
    # The server that workers are forked from outlives the scan by a moment: it has to come to us to be counted.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before, start = _cpu_s(), time.perf_counter()
    child = subprocess.Popen(command, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    look = _Look(child.pid)
    if looks_at_memory:
        look.start()
    said, complained = child.communicate()
    wall_s = time.perf_counter() - start
    look.is_over = True
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    if child.returncode not in fails_with:
        sys.exit(f"{' '.join(command)} ended with {child.returncode}:\n{said}{complained}")
    return Took(wall_s, _cpu_s() - before, look.peak_bytes, said, look.peak_own_bytes)


def _environment() -> Mapping[str, str]:
    places = [str(ROOT), str(ROOT / "scripts"), *filter(None, [os.environ.get("PYTHONPATH")])]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {
        "PYTHONPATH": os.pathsep.join(places),
        # An installed package brings its bytecode; a clone has none, and gets none here.
        "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "datascrub-bench-bytecode"),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
    }


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class _Look(threading.Thread):
    """Adds up, again and again, what a process and its descendants hold; what they share counts once."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.peak_bytes, self.peak_own_bytes, self.is_over = pid, 0, 0, False

    def run(self) -> None:
        while not self.is_over:
            held = [_proportional_bytes(pid) for pid in _family(self.pid)]
            self.peak_bytes = max(self.peak_bytes, sum(whole for whole, _ in held))
            self.peak_own_bytes = max(self.peak_own_bytes, sum(own for _, own in held))
            time.sleep(_LOOK_S)


def _family(pid: int) -> list[int]:
    """A process and all its descendants."""
    parents: dict[int, int] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            with suppress(OSError):
                parents[int(place.name)] = int((place / "stat").read_text().rpartition(") ")[2].split()[1])
    family = [pid]
    for each in family:
        family += [child for child, parent in parents.items() if parent == each]
    return family


def _proportional_bytes(pid: int) -> tuple[int, int]:
    """(all that a process holds, what it holds beside mapped files)."""
    with suppress(OSError, ValueError):
        lines = (Path("/proc") / str(pid) / "smaps_rollup").read_text().splitlines()
        held = {name: int(rest.split()[0]) << 10 for name, _, rest in (line.partition(":") for line in lines if line.startswith("Pss"))}
        return held["Pss"], held["Pss"] - held.get("Pss_File", 0)
    return 0, 0
