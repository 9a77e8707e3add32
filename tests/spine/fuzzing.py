"""Damaged copies of real sets, each read and measured as a worker would; used by scripts/fuzz and by a test."""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from datascrub.config import Config
from datascrub.engines.local import Died, Local
from datascrub.errors import SourceError
from datascrub.model import Part, Shard
from datascrub.registry import reader_named
from datascrub.run.folder import RunFolder
from datascrub.run.plan_file import Choice
from datascrub.spine.account import Measured
from datascrub.spine.measure import measure_shard
from datascrub.spine.survey import make_plan, survey_source
from datascrub.spine.task import ShardTask

LIMIT_S = 60.0
SCRATCH = "fuzz"
SAY_EVERY = 500


@dataclass
class Input:
    """One damaged copy: of which set, by which seed, in which folder."""

    source: str
    seed: int
    folder: str

    def is_stuck(self, began: float) -> bool:
        return time.monotonic() - began > LIMIT_S


@dataclass
class Outcome:
    """kind: measured, refused (SourceError, with a reason) or unaccounted (records that nobody told of)."""

    source: str
    seed: int
    kind: str
    said: str = ""


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Flips, holes, cuts, splices and insertions, one to four of them."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        if not made:
            break
        at, length = chance.randrange(len(made)), min(chance.choice((1, 2, 4, 16, 64, 512, 4096)), len(made))
        match chance.randrange(6):
            case 0:
                made[at] ^= 1 << chance.randrange(8)
            case 1:
                made[at : at + length] = bytes(len(made[at : at + length]))
            case 2:
                made[at : at + length] = chance.randbytes(len(made[at : at + length]))
            case 3:
                del made[at:]
            case 4:
                start = chance.randrange(len(made))
                made[at : at + length] = made[start : start + length]
            case _:
                made[at:at] = chance.randbytes(chance.choice((1, 4, 8, 100)))
    return bytes(made)


def write_damaged(source: Path, place: Path, chance: random.Random) -> None:
    """A copy of a set with one to three of its files damaged."""
    if source.is_file():
        place.write_bytes(damaged(source.read_bytes(), chance))
        return
    shutil.copytree(source, place)
    files = sorted(file for file in place.rglob("*") if file.is_file())
    for file in chance.sample(files, min(len(files), chance.randint(1, 3))):
        file.write_bytes(damaged(file.read_bytes(), chance))


def try_one(task: Input) -> Outcome:
    """Survey, list and measure one damaged copy, as the children of a scan do. Whatever is raised but SourceError is a fault."""
    folder = Path(task.folder) / f"{SCRATCH}-{task.seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    place = folder / Path(task.source).name
    try:
        write_damaged(Path(task.source), place, random.Random(task.seed))
        try:
            container, found, fingerprint = survey_source(str(place), Config(), str(folder))
        except SourceError as error:
            return Outcome(task.source, task.seed, "refused", error.what)
        run = RunFolder(folder / "run")
        run.create()
        run_plan = make_plan(str(place), container, found, fingerprint, Config(), Choice(), "numpy")
        run.write_plan(run_plan)
        measured = Measured()
        for account in _measured(run, run_plan.plan, folder):
            measured.add(account)
        return Outcome(task.source, task.seed, "unaccounted" if measured.reasons else "measured", "; ".join(measured.reasons))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measured(run: RunFolder, plan: object, folder: Path) -> Iterator[dict[str, object]]:
    with reader_named(plan.container)(Path(plan.source), limits=plan.limits, tmp=folder) as reader:  # type: ignore[attr-defined]  # a Plan
        pieces = list(reader.shards(plan))  # type: ignore[arg-type]  # likewise
    for piece in pieces:
        assert isinstance(piece, (Part, Shard))
        if isinstance(piece, Shard):
            yield vars(measure_shard(ShardTask(str(run.path), piece, tmp=str(folder))))


def fuzz(
    sources: Sequence[Path], folder: Path, count: int, seed: int, workers: int = 2, say: Callable[[str], None] | None = None
) -> tuple[Counter[str], list[str]]:
    """(how many ended how, the faults: each with its set and seed). say: hears of each fault, and now and then how far it is."""
    kinds: Counter[str] = Counter()
    faults: list[str] = []

    def fault(task: Input | Outcome, what: str) -> None:
        faults.append(f"{Path(task.source).name} seed {task.seed}: {what}")
        if say is not None:
            say(faults[-1])

    def again(died: Died) -> list[Input]:
        shutil.rmtree(folder / f"{SCRATCH}-{died.task.seed}", ignore_errors=True)
        is_fault = died.cause.startswith("raised ") or died.cause in ("timeout", "MemoryError")
        kinds["fault" if is_fault else f"child ended by {died.cause}"] += 1
        if is_fault:
            fault(died.task, died.cause)
        return []

    inputs = (Input(str(sources[number % len(sources)]), seed * 1_000_003 + number, str(folder)) for number in range(count))
    for outcome in Local(workers, 2 << 30).map(try_one, inputs, again):
        kinds[outcome.kind] += 1
        if outcome.kind == "unaccounted":
            fault(outcome, outcome.said)
        if say is not None and kinds.total() % SAY_EVERY == 0:
            say(f"{kinds.total():,} of {count:,} inputs: {told(kinds)}")
    return kinds, faults


def told(kinds: Counter[str]) -> str:
    """The counts in one line."""
    return ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
