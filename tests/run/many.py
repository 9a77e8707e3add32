"""Many findings, and the memory that they take; meant for a child process."""

from __future__ import annotations

import resource
from pathlib import Path

from datascrub.model import Finding, Severity
from datascrub.run.findings_table import FindingsTable
from datascrub.run.folder import RunFolder


def memory_for(place: str, count: int) -> int:
    """The most bytes that this process has held when so many findings are gathered and written."""
    run = RunFolder(Path(place))
    run.create()
    says = "the picture ends too early: ends before its last pixel, in row {}"
    rows = ((n, Finding(f"train/{n:08d}.jpg", "image-truncated", Severity.ERROR, "image", says.format(n), {"row": n})) for n in range(count))
    table = FindingsTable(rows, place)
    table.write(run)
    table.counts()
    assert sum(1 for _ in table.quarantined()) == count
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
