"""Who hears how a scan goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from datascrub.run.plan_file import RunPlan

if TYPE_CHECKING:
    pass


class Watcher:
    """Hears how a scan goes on; the command line prints it. Every method may be left as it is."""

    def recognised(self, run_plan: RunPlan, run: Path, workers: int) -> None:
        """The source was recognised, and measuring is about to begin."""

    def reused(self, run_plan: RunPlan, measured_at: str) -> None:
        """A finished run of the unchanged source answers; nothing is read again."""

    def advanced(self, records: int, errors: int) -> None:
        """So many more samples were measured, so many of them with errors."""

    def copied(self, records: int) -> None:
        """So many more samples were copied."""

    def finished(self) -> None:
        """Measuring, or copying, came to its end."""
