"""What all rows share: where data lie, how often something is measured, and what a line of the table says."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.clock import Took, python, run

_LEAST = 20
"""samples below which a set is no set"""


@dataclass(frozen=True)
class Data:
    """A made data set: its name, how many samples it has at scale 1, and what makes it."""

    name: str
    count: int
    make: Callable[[Path, int], None]
    suffix: str = ""


@dataclass(frozen=True)
class Line:
    """One line of the table: value is a median, low and high what was met.

    unit: x (our speed through the other's), s, MB. times: what the value comes from, medians of seconds (or MB) by name.
    at_least, at_most: the target. note: why there is no value, where there is none.
    """

    row: str
    what: str
    samples: int = 0
    values: tuple[float, ...] = ()
    unit: str = "x"
    at_least: float | None = None
    at_most: float | None = None
    times: tuple[tuple[str, float], ...] = ()
    note: str = ""

    @property
    def value(self) -> float | None:
        return statistics.median(self.values) if self.values else None

    @property
    def is_met(self) -> bool | None:
        if self.value is None or self.at_least is self.at_most:
            return None
        return (self.at_least is None or self.value >= self.at_least) and (self.at_most is None or self.value <= self.at_most)

    def as_dict(self) -> dict[str, object]:
        """Plain JSON values."""
        return {
            "row": self.row, "what": self.what, "samples": self.samples, "value": _short(self.value), "unit": self.unit,
            "low": _short(min(self.values, default=None)), "high": _short(max(self.values, default=None)),
            "at_least": self.at_least, "at_most": self.at_most, "is_met": self.is_met,
            "times": {name: _short(value) for name, value in self.times}, "note": self.note,
        }  # fmt: skip


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


@dataclass(frozen=True)
class Bench:
    """How to measure. photos: a folder of real JPEGs in place of the made ones, or None."""

    folder: Path
    scale: float = 1.0
    rounds: int = 5
    processes: int = 2
    photos: Path | None = None

    def data(self, data: Data) -> tuple[Path, int]:
        """(place, samples) of a data set, made where it is not there yet, and read once, so that all find it in the page cache."""
        if self.photos is not None and data.name == "jpegs":
            place, count = self.photos, sum(file.is_file() for file in self.photos.rglob("*"))
        else:
            count = max(_LEAST, round(data.count * self.scale))
            place = self.folder / f"{data.name}-{count}{data.suffix}"
            if not place.exists():
                aside = place.with_name("making-" + place.name)
                remove(aside)
                data.make(aside, count)
                aside.rename(place)
        _read(place)
        return place, count

    def scan(self, place: Path, out: Path, *more: object, workers: int | None = None, looks_at_memory: bool = False) -> Took:
        """A scan with everything on."""
        words = ("scan", place, "--out", out, "--workers", workers or self.processes, "--fail-on", "never", *more)
        return run(python("datascrub", *words), looks_at_memory=looks_at_memory)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder beside the data, gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="scratch-", dir=self.folder) as folder:
            yield Path(folder)

    def turns(self, works: Sequence[Callable[[], Took]]) -> list[list[Took]]:
        """What each work took in each round; in a round all take their turn, so that a busy moment of the machine meets all."""
        rounds = [[work() for work in works] for _ in range(self.rounds)]
        return [list(its) for its in zip(*rounds, strict=True)]


def ratios(others: Sequence[Took], ours: Sequence[Took]) -> tuple[float, ...]:
    """How many times as fast as the other we were, round by round."""
    return tuple(other.wall_s / our.wall_s for other, our in zip(others, ours, strict=True))


def median_s(name: str, its: Sequence[Took]) -> tuple[tuple[str, float], ...]:
    """The medians of wall and CPU seconds under two names."""
    wall, cpu = (statistics.median(getattr(each, what) for each in its) for what in ("wall_s", "cpu_s"))
    return (f"{name}_s", wall), (f"{name}_cpu_s", cpu)


def remove(place: Path) -> None:
    """A file or folder that may be there."""
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def _read(place: Path) -> None:
    for file in place.rglob("*") if place.is_dir() else [place]:
        if file.is_file():
            with file.open("rb", buffering=0) as held:
                while held.read(1 << 22):
                    pass
