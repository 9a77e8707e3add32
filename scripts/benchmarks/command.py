"""Hold scans against what they replace, in one run on the same data; or show where the time of a scan goes.

    scripts/bench [--only WORD] [--scale SHARE] [--rounds N] [--processes N] [--photos DIR] [--data FOLDER] [--json] [--stages]

Data are made once, from a seed, and kept outside the tree (--data, default datascrub-bench in the temporary folder; all rows at full scale take some
10 GB and an hour). Whatever a line compares takes its turn in each round; printed are medians, with the least and the most. "x" is how many times as
fast the scan is, whole command against whole command; the loops' time without their imports stands beside it. Absolute times move from machine to
machine: read the ratios. Peers are no part of the package: a row whose peer is not installed says so. Run it with a Python that holds the package.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from benchmarks import stages
from benchmarks.against_loops import COMPARISONS
from benchmarks.bench import Bench, Line
from benchmarks.on_its_own import ROWS

_PACKAGES = ("datascrub-ml", "numpy", "pillow", "simplejpeg", "duckdb", "lmdb", "plyvel", "h5py", "tensorflow-cpu", "tensorflow", "cleanvision")


def main() -> int:
    """Measure the rows that are asked for."""
    args = _parser().parse_args()
    args.data.mkdir(parents=True, exist_ok=True)
    bench = Bench(args.data.absolute(), args.scale, args.rounds, args.processes, args.photos)
    _print(machine(), args.json)
    if args.stages:
        for comparison in COMPARISONS:
            if args.only in comparison.name:
                place, count = bench.data(comparison.data)
                _print({"row": comparison.name, "samples": count, **stages.profile(place)}, args.json)
        return 0
    for row in (*COMPARISONS, *ROWS):
        if args.only in row.name:
            for line in row.lines(bench):
                if args.json:
                    _print(line.as_dict(), True)
                else:
                    print(_text(line), flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ", ".join(row.name for row in (*COMPARISONS, *ROWS))
    parser.add_argument("--only", default="", metavar="WORD", help=f"only rows whose name holds this: {names}")
    parser.add_argument("--scale", type=float, default=1.0, metavar="SHARE", help="share of the samples")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    parser.add_argument("--photos", type=Path, metavar="DIR", help="real JPEGs in place of the made ones")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "datascrub-bench", metavar="FOLDER")
    parser.add_argument("--json", action="store_true", help="one object a line")
    parser.add_argument("--stages", action="store_true", help="where the time of a scan goes, by stage; no loops are run")
    return parser


def machine() -> dict[str, object]:
    """What the numbers were measured on."""
    versions = {}
    for name in _PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        "date": time.strftime("%Y-%m-%d"), "processor": _processor(), "cores": len(os.sched_getaffinity(0)), "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(), "versions": versions,
    }  # fmt: skip


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _print(told: dict[str, object], is_json: bool) -> None:
    print(json.dumps(told) if is_json else "\n".join(f"{name:14} {_plain(value)}" for name, value in told.items()) + "\n", flush=True)


def _plain(value: object) -> str:
    if not isinstance(value, dict):
        return str(value)
    width = max(map(len, value), default=0)
    return "".join(f"\n    {name:{width}}  {_stage(its) if isinstance(its, dict) else its}" for name, its in value.items())


def _stage(its: dict[str, float]) -> str:
    return f"{its['cpu_s']:8.3f} s {its['share']:6.1%} {its['us_a_sample']:10.2f} us a sample"


def _text(line: Line) -> str:
    target = f">= {line.at_least:g}" if line.at_least is not None else f"<= {line.at_most:g}" if line.at_most is not None else "-"
    verdict = {True: "met", False: "MISSED", None: ""}[line.is_met]
    value = f"{line.value:.3g} ({min(line.values):.3g} to {max(line.values):.3g})" if line.value is not None else line.note
    times = "  ".join(f"{name} {its:.3g}" for name, its in line.times)
    samples = f"{line.samples:,}" if line.samples else ""
    return f"{line.row:16} {samples:>9}  {value:>26} {line.unit:2} {target:>8} {verdict:6}  {line.what}\n{'':18}{times}"
