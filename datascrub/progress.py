"""How a scan goes on, in the terminal: what was recognised on stdout, a progress bar on stderr, quiet where stderr is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from datascrub.api import Watcher
from datascrub.report import text
from datascrub.run.plan_file import RunPlan


class Terminal(Watcher):
    """Prints for a person."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say, self.errors = say, 0
        self.bar: Any = None

    def recognised(self, run_plan: RunPlan, run: Path, workers: int) -> None:
        self.say(text.recognised(run_plan.plan, run_plan.count, run_plan.is_count_exact, run_plan.size_bytes, run_plan.labels, run_plan.notes))
        forecast = text.forecast(run_plan.plan, run_plan.count, run_plan.size_bytes, workers)
        self.say(f"  {forecast} with {workers} workers; dummy network on {run_plan.backend}")
        self._start(run_plan.count)

    def reused(self, run_plan: RunPlan, measured_at: str) -> None:
        self.say(f"nothing read again, measured at {measured_at} (--reread measures anew)")

    def _start(self, total: int | None) -> None:
        from tqdm import tqdm

        self.bar = tqdm(total=total, unit=" samples", file=sys.stderr, disable=not sys.stderr.isatty(), leave=False)

    def advanced(self, records: int, errors: int) -> None:
        self.errors += errors
        if self.bar is not None:
            self.bar.update(records)
            self.bar.set_postfix_str(f"{self.errors:,} with errors", refresh=False)

    def copied(self, records: int) -> None:
        if self.bar is None:
            self._start(None)
        self.bar.update(records)

    def finished(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None
