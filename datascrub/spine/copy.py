"""A cleaned copy: written aside, read back through the reader, verified, renamed. It appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import xxhash

from datascrub.errors import CopyError
from datascrub.plan import Plan
from datascrub.readers import CopyOptions, CopyReport
from datascrub.registry import reader_named

PULSE_S = 0.2
"""how often a child tells that it goes on"""


def check_destination(source: Path | None, destination: Path) -> None:
    """Raises CopyError where the destination exists, or lies inside the source (None where there is more than one)."""
    if destination.exists() or destination.is_symlink():
        raise CopyError(f"{destination} exists", fix="choose a destination that does not exist")
    if source is not None and source.resolve() in destination.absolute().parents:
        raise CopyError(f"{destination} lies inside the source", fix="choose a destination beside it")


def prepare(source: Path, destination: Path, size_bytes: int) -> Path:
    """The place aside the destination where the copy is written. Raises CopyError where the destination exists or has no room."""
    check_destination(source, destination)
    aside = destination.with_name(f".{destination.name}.part")
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        remove(aside)
        free = shutil.disk_usage(destination.parent).free
        if not os.access(destination.parent, os.W_OK):
            raise CopyError(f"can't write to {destination.parent}", fix="choose another destination")
    except OSError as error:
        raise CopyError(f"can't write to {destination.parent}: {error.strerror}", fix="choose another destination") from error
    if free < size_bytes:
        raise CopyError(
            f"{destination.parent} has {free:,} bytes free, and the copy may need {size_bytes:,}", fix="make room, or choose another place"
        )
    return aside


def remove(place: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def write_copy(plan: Plan, aside: str, drop: frozenset[str], options: CopyOptions, tmp: str | None, tell: Callable[[int], None]) -> CopyReport:
    """Write the copy, and tell how many more samples are done; meant for a child process."""
    pulse = _Pulse(tell)
    with reader_named(plan.container)(Path(plan.source), limits=plan.limits, tmp=Path(tmp) if tmp else None) as reader:
        report = reader.copy_clean(plan, Path(aside), drop, options, pulse.add)
    pulse.flush()
    return report


def read_back(plan: Plan, aside: str, tmp: str | None, tell: Callable[[int], None]) -> tuple[int, str]:
    """(samples, digest of their digests) of a copy, read anew through the reader; meant for a child process, and tells how it goes on."""
    kind, pulse = reader_named(plan.container), _Pulse(tell)
    with kind(Path(aside), limits=plan.limits, tmp=Path(tmp) if tmp else None) as reader:
        survey = reader.survey(replace(plan.data, layout=plan.layout))
        copied = replace(plan, source=aside, settings=survey.settings)
        rolling, count = xxhash.xxh3_128(), 0
        for _, digest in reader.digests(copied):
            rolling.update(digest)
            count += 1
            pulse.add(1)
    return count, rolling.hexdigest()


class _Pulse:
    """Tells how many more samples are done, a few times a second: a sign of life, and no flood of them."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell, self._count, self._told = tell, 0, 0.0

    def add(self, count: int) -> None:
        self._count += count
        if time.monotonic() - self._told > PULSE_S:
            self.flush()

    def flush(self) -> None:
        self._tell(self._count)
        self._count, self._told = 0, time.monotonic()


def verify(report: CopyReport, found: tuple[int, str], aside: Path) -> None:
    """Hold what was read back against what was read from the source. Raises CopyError, and removes the copy, where they differ."""
    count, digest = found
    if count != report.kept or digest != report.digest:
        remove(aside)
        raise CopyError(
            f"the copy did not read back as it was written: {count:,} samples of {report.kept:,}"
            + ("" if count != report.kept else ", with other contents"),
            fix="run the command again; if it happens twice, look at the disk",
        )


def publish(aside: Path, destination: Path) -> None:
    """Rename the verified copy to its place."""
    aside.rename(destination)
