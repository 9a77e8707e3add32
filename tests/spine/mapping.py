"""What a process maps of a source while it works on it, as the kernel tells; meant for a child process."""

from __future__ import annotations

from pathlib import Path

from datascrub.config import Config
from datascrub.model import Shard
from datascrub.readers import CopyOptions
from datascrub.run.folder import RunFolder
from datascrub.run.plan_file import Choice, RunPlan
from datascrub.spine.copy import read_back, write_copy
from datascrub.spine.listing import list_shards
from datascrub.spine.measure import measure_shard
from datascrub.spine.survey import make_plan, survey_source
from datascrub.spine.task import ShardTask


def mapped_bytes(place: Path) -> int:
    """Bytes of files at or below a place that this process has mapped and in hand."""
    held, is_of_place = 0, False
    for line in Path("/proc/self/smaps").read_text("utf-8").splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            is_of_place = words[-1].startswith(str(place))
        elif is_of_place and words[0] == "Rss:":
            held += int(words[1]) << 10
    return held


def _planned(source: str, tmp: str) -> RunPlan:
    container, found, fingerprint = survey_source(source, Config(), tmp)
    return make_plan(source, container, found, fingerprint, Config(), Choice(), "numpy")


def after_each_shard(source: str, tmp: str) -> list[int]:
    run_plan, folder = _planned(source, tmp), RunFolder(Path(tmp) / "run")
    folder.create()
    folder.write_plan(run_plan)
    held = []
    for shard in list(list_shards(run_plan.plan, tmp)):
        assert isinstance(shard, Shard)
        measure_shard(ShardTask(str(folder.path), shard, tmp=tmp))
        held.append(mapped_bytes(Path(source)))
    return held


def while_listing(source: str, tmp: str) -> list[int]:
    return [mapped_bytes(Path(source)) for _ in list_shards(_planned(source, tmp).plan, tmp)]


def while_copying(source: str, tmp: str) -> list[int]:
    plan, aside, held = _planned(source, tmp).plan, str(Path(tmp) / "aside"), list[int]()
    write_copy(plan, aside, frozenset(), CopyOptions(), tmp, lambda _: held.append(mapped_bytes(Path(source))))
    read_back(plan, aside, tmp, lambda _: held.append(mapped_bytes(Path(aside))))
    return held
