"""What is held against a scan of one's own, against the machine's own commands, or against a number."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import containers, facts, pictures
from benchmarks.bench import Bench, Data, Line, median_s, ratios, remove
from benchmarks.clock import Took, python, run

_JPEGS = Data("jpegs", 5_000, pictures.make_jpegs)
_JUDGED, _TIMES = 1_000, 2_000
"""pictures that are really measured, and how often their facts are then taken"""
_CHANGED = 0.001
"""share of a folder's files that change before the third scan"""
_MB = 1e6


@dataclass(frozen=True)
class Row:
    """A row of the table that is no comparison with a loop."""

    name: str
    lines: Callable[[Bench], Iterator[Line]]


def again(bench: Bench) -> Iterator[Line]:
    """A second scan of the same folder, and one after a few files changed."""
    place, count = bench.data(Data("small-jpegs", 200_000, pictures.make_small_jpegs))
    first, unchanged, changed = list[Took](), list[Took](), list[Took]()
    for _ in range(bench.rounds):
        with bench.scratch() as folder:
            first.append(bench.scan(place, folder / "run"))
            unchanged.append(bench.scan(place, folder / "run"))
            for file in sorted(place.rglob("*.jpg"))[:: round(1 / _CHANGED)]:
                file.write_bytes(file.read_bytes())  # another time of change, and all the same to the next round
            changed.append(bench.scan(place, folder / "run"))
    times = (*median_s("first", first), *median_s("unchanged", unchanged), *median_s("changed", changed))
    yield Line("again", "second scan of an unchanged folder, through the first", count, ratios(first, unchanged), at_least=50.0, times=times)
    yield Line("again", f"scan after {_CHANGED:.1%} of the files changed, through the first", count, ratios(first, changed), times=times)


def judge(bench: Bench) -> Iterator[Line]:
    """Judging the facts of two million pictures, of which one in a thousand is cut."""
    place, few = bench.data(Data("judged", _JUDGED, _make_judged))
    count = few * _TIMES
    with bench.scratch() as folder:
        bench.scan(place, folder / "run")
        facts.multiply(folder / "run", count)
        every = python("datascrub", "judge", folder / "run", "--fail-on", "never")
        rows = [*every, "--config", str(facts.without_questions_to_the_set(folder / "rows.toml"))]
        took = bench.turns([lambda: run(rows), lambda: run(every)])
    for what, its, most in zip(("all rules of a row", "all rules"), took, (1.0, 4.0), strict=True):
        yield Line("judge", what, count, tuple(each.wall_s for each in its), "s", at_most=most, times=median_s("judge", its))


def _make_judged(place: Path, count: int) -> None:
    pictures.make_jpegs(place, count)
    file = next(place.rglob("*.jpg"))
    file.write_bytes(file.read_bytes()[:20_000])


def copy(bench: Bench) -> Iterator[Line]:
    """A cleaned copy, verified, against cp and cmp."""
    place, count = bench.data(Data("large-lmdb", 40_000, containers.make_large_lmdb, ".lmdb"))
    file = place / "data.mdb"
    with bench.scratch() as folder:
        bench.scan(place, folder / "run")

        def cleaned() -> Took:
            remove(folder / "clean.lmdb")
            return run(python("datascrub", "clean", folder / "run", "--to", folder / "clean.lmdb"))

        def copied() -> Took:
            remove(folder / "copy.mdb")
            return run(["sh", "-c", 'cp "$1" "$2" && cmp "$1" "$2"', "sh", str(file), str(folder / "copy.mdb")])

        others, ours = bench.turns([copied, cleaned])
    times = (*median_s("clean", ours), *median_s("cp_cmp", others))
    what = f"cleaned copy of {file.stat().st_size / 1e9:.2g} GB of LMDB: cp and cmp"
    yield Line("copy", what, count, ratios(others, ours), at_least=0.3, times=times)


def start(bench: Bench) -> Iterator[Line]:
    """What starting costs beyond the interpreter."""
    bare, imported, helped = ([sys.executable, "-c", "pass"], [sys.executable, "-c", "import datascrub"], python("datascrub", "--help"))
    took = bench.turns([lambda: run(bare), lambda: run(imported), lambda: run(helped)])
    for what, its, most in zip(("import datascrub", "datascrub --help"), took[1:], (0.10, 0.15), strict=True):
        more = tuple(our.wall_s - other.wall_s for our, other in zip(its, took[0], strict=True))
        yield Line("start", f"{what}, beyond python -c pass", 0, more, "s", at_most=most, times=(*median_s("ours", its), *median_s("bare", took[0])))


def ten(bench: Bench) -> Iterator[Line]:
    """The least that a scan takes."""
    with bench.scratch() as folder:
        pictures.make_jpegs(folder / "ten", 10)
        its = [bench.scan(folder / "ten", folder / f"run-{number}") for number in range(bench.rounds)]
    yield Line("ten", "scan of 10 samples", 10, tuple(each.wall_s for each in its), "s", at_most=1.0, times=median_s("scan", its))


def memory(bench: Bench) -> Iterator[Line]:
    """What the main process and all workers hold together, on pictures and on ten times as many small samples."""
    place, count = bench.data(_JPEGS)
    yield Line(
        "memory",
        "JPEG folder, main process and workers together",
        count,
        tuple(each.peak_bytes / _MB for each in _looked_at(bench, place)),
        "MB",
        at_most=400.0,
    )
    few, many = (bench.data(Data("tiny-lmdb", each, containers.make_tiny_lmdb, ".lmdb")) for each in (100_000, 1_000_000))
    peaks = [[each.peak_own_bytes / _MB for each in _looked_at(bench, place)] for place, _ in (few, many)]
    grown = tuple(more / less for less, more in zip(*peaks, strict=True))
    times = tuple((f"{name}_mb", statistics.median(its)) for name, its in zip(("few", "many"), peaks, strict=True))
    yield Line("memory", f"{many[1]:,} small samples through {few[1]:,}, mapped files aside", many[1], grown, at_most=1.1, times=times)


def _looked_at(bench: Bench, place: Path) -> list[Took]:
    made = []
    for _ in range(bench.rounds):
        with bench.scratch() as folder:
            made.append(bench.scan(place, folder / "run", looks_at_memory=True))
    return made


def workers(bench: Bench) -> Iterator[Line]:
    """Two workers against one."""
    place, count = bench.data(_JPEGS)

    def scan(workers: int) -> Took:
        with bench.scratch() as folder:
            return bench.scan(place, folder / "run", workers=workers)

    one, two = bench.turns([lambda: scan(1), lambda: scan(2)])
    times = (*median_s("one", one), *median_s("two", two))
    yield Line("workers", "JPEG folder, two workers through one", count, ratios(one, two), at_least=1.8, times=times)


ROWS = tuple(Row(each.__name__, each) for each in (again, judge, copy, start, ten, memory, workers))
