"""Scans against the loops that people write instead, on the same data with as many processes."""

from __future__ import annotations

import importlib.util
import json
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import containers, pictures
from benchmarks.bench import Bench, Data, Line, median_s, ratios
from benchmarks.clock import Took, python, run
from benchmarks.peers import PEERS


@dataclass(frozen=True)
class Against:
    """A peer, how many times its speed is wanted, and the package that it needs and that the scan does not."""

    peer: str
    at_least: float
    package: str | None = None


@dataclass(frozen=True)
class Comparison:
    """A data set, and the loops that the scan of it is held against."""

    data: Data
    peers: tuple[Against, ...]

    @property
    def name(self) -> str:
        return self.data.name

    def lines(self, bench: Bench) -> Iterator[Line]:
        """A line for each peer; the scan takes its turn among them once a round."""
        place, count = bench.data(self.data)
        here = [each for each in self.peers if each.package is None or importlib.util.find_spec(each.package) is not None]

        def scan() -> Took:
            with bench.scratch() as folder:
                return bench.scan(place, folder / "run")

        works = [lambda name=each.peer: run(python("benchmarks.peers", name, place, bench.processes)) for each in here]  # type: ignore[misc]  # bound in the loop
        *others, ours = bench.turns([*works, scan])
        for each in self.peers:
            what = f"{each.peer}: {(PEERS[each.peer].__doc__ or '').splitlines()[0]}"
            if each not in here:
                yield Line(self.name, what, count, at_least=each.at_least, note=f"{each.package} is not installed")
                continue
            its = others[here.index(each)]
            bare_s = statistics.median(json.loads(took.said)["bare_s"] for took in its)
            times = (*median_s("scan", ours), *median_s("loop", its), ("bare_loop_s", bare_s))
            yield Line(self.name, what, count, ratios(its, ours), at_least=each.at_least, times=times)


COMPARISONS = (
    Comparison(
        Data("jpegs", 5_000, pictures.make_jpegs), (Against("pillow", 1.2), Against("floor", 0.65), Against("cleanvision", 10.0, "cleanvision"))
    ),
    Comparison(Data("pngs", 5_000, pictures.make_pngs), (Against("pillow", 0.8),)),
    Comparison(Data("lmdb", 200_000, containers.make_lmdb, ".lmdb"), (Against("lmdb", 1.2),)),
    Comparison(Data("leveldb", 200_000, containers.make_leveldb), (Against("leveldb", 1.0),)),
    Comparison(Data("hdf5", 200_000, containers.make_hdf5, ".h5"), (Against("hdf5", 0.3),)),
    Comparison(Data("tfrecord-photos", 5_000, containers.make_tfrecord_photos), (Against("tfdata_photos", 1.2, "tensorflow"),)),
    Comparison(Data("tfrecord-small", 1_000_000, containers.make_tfrecord_small), (Against("tfdata_small", 1.0, "tensorflow"),)),
)
