"""Where the time of a scan goes: the same scan in one process, each stage under a stopwatch of CPU time.

A stage that runs inside another one is taken off it: a picture is decoded when the first validator asks for it, and a layout decodes while a shard is
read. What no stage claims is "other".
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.clock import python, run

_OF_DERIVED = {"pictures": "decode", "summary": "measure: summary", "small-pixels": "measure: small-pixels"}


def profile(place: Path) -> dict[str, object]:
    """CPU seconds and shares by stage, of a scan in a process of its own."""
    told: dict[str, object] = json.loads(run(python("benchmarks.stages", place)).said.splitlines()[-1])
    return told


class Stopwatch:
    """CPU seconds by stage, each without the stages inside it."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._names, self._since = ["other"], 0.0

    @contextmanager
    def at(self, stage: str) -> Iterator[None]:
        """Inside, the time is the stage's."""
        self._book()
        self._names.append(stage)
        try:
            yield
        finally:
            self._book()
            self._names.pop()

    def started(self) -> None:
        """All before was the start: the interpreter, and what is imported at once."""
        self.spent["start"] = self._since = time.process_time()

    def _book(self) -> None:
        now = time.process_time()
        self.spent[self._names[-1]] = self.spent.get(self._names[-1], 0.0) + now - self._since
        self._since = now

    def wrap(self, owner: Any, name: str, stage: str) -> None:
        """Have a function or method counted as a stage; of one that yields, the steps to each item."""
        inner = getattr(owner, name)

        def timed(*args: Any, **options: Any) -> Any:
            with self.at(stage):
                made = inner(*args, **options)
            return self._steps(made, stage) if isinstance(made, Iterator) else made

        setattr(owner, name, timed)

    def _steps(self, items: Iterator[Any], stage: str) -> Iterator[Any]:
        while True:
            with self.at(stage):
                try:
                    item = next(items)
                except StopIteration:
                    return
            yield item


def watch(watch: Stopwatch) -> None:
    """Put the stopwatch on every stage."""
    from datascrub import registry
    from datascrub.api import scanning
    from datascrub.model import Column
    from datascrub.run.facts import FactsTable

    for reader in registry.readers():
        watch.wrap(reader, "read", "read")
        watch.wrap(reader, "shards", "list")
        watch.wrap(reader, "stamps", "stamps")
    for layout in registry.layouts():
        watch.wrap(layout, "decode", "decode: layout")
    for validator in registry.validators():
        name = validator.name()
        watch.wrap(validator, "measure", "network" if name == "dummy-network" else f"measure: {name}")
    watch.wrap(FactsTable, "add", "write")
    watch.wrap(FactsTable, "write", "write")
    for name, stage in (("_surveyed", "survey"), ("selftest", "self-test"), ("compact", "compact"), ("judge_into", "judge")):
        watch.wrap(scanning, name, stage)
    derive = Column.derive

    def derived(column: Column, name: str, make: Callable[[Column], Any]) -> Any:
        with watch.at(_OF_DERIVED.get(name, f"measure: {name}")):
            return derive(column, name, make)

    Column.derive = derived  # type: ignore[method-assign]


def in_one_process() -> None:
    """Have a scan do all its work here: nothing is isolated, and nothing waits."""
    from datascrub.api import scanning
    from datascrub.engines.local import Local

    scanning.call = lambda function, *args, **_: function(*args)  # type: ignore[assignment]
    # To its end at once: LMDB lets a process open a file once, so the listing has to let go of it before the first shard is read.
    scanning.stream = lambda function, *args, **_: iter(list(function(*args)))  # type: ignore[assignment]
    Local.map = lambda self, function, tasks, again: map(function, tasks)  # type: ignore[method-assign]


def main() -> None:
    import tempfile

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from datascrub import api

    in_one_process()
    stopwatch = Stopwatch()
    watch(stopwatch)
    stopwatch.started()
    with tempfile.TemporaryDirectory() as folder:
        records = api.scan(sys.argv[1], out=Path(folder) / "run", fail_on="never").summary["account"]["records"]
    whole = time.process_time()
    spent = sorted(stopwatch.spent.items(), key=lambda item: -item[1])
    stages = {name: {"cpu_s": round(its, 4), "share": round(its / whole, 4), "us_a_sample": round(its / records * 1e6, 2)} for name, its in spent}
    sys.stdout.write(json.dumps({"cpu_s": round(whole, 3), "us_a_sample": round(whole / records * 1e6, 2), "stages": stages}) + "\n")


if __name__ == "__main__":
    main()
