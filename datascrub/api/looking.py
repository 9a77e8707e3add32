"""One sample of a source."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING

from datascrub.config import Config
from datascrub.engines.isolated import call
from datascrub.engines.scratch import scratch_in
from datascrub.network.choose import settings_of
from datascrub.run.findings import findings_of
from datascrub.run.folder import RunFolder
from datascrub.spine.look import Look, look_at
from datascrub.spine.survey import locate

if TYPE_CHECKING:
    pass
from datascrub.api.runs import default_run_folder
from datascrub.api.scanning import survey


def look(
    source: str | os.PathLike[str],
    key: str,
    config: Config | None = None,
    tmp: str | None = None,
    run: str | os.PathLike[str] | None = None,
) -> Look:
    """One sample, measured on the spot, with the findings of a run of the source: of the one named, else of its own run folder.

    Without a run it is judged alone. Raises UsageError where the source has no such key.
    """
    folder = RunFolder(Path(run) if run is not None else default_run_folder(locate(os.fspath(source))))
    if run is not None:
        folder.plan()  # raises where there is none
    with scratch_in(tmp) as scratch:
        network = {name: value for name, value in settings_of(config or Config()).items() if name != "device"}
        run_plan = survey(source, config, scratch)
        seen = call(look_at, run_plan.plan, key, "numpy", scratch, network)
    if folder.findings.exists() and folder.plan().plan.source == run_plan.plan.source:
        return dataclasses.replace(seen, findings=tuple(findings_of(folder, seen.key)), run=str(folder.path))
    return seen
