"""One run on disk: where everything lies, who holds it, and how far it got."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from datascrub.errors import IncompleteError, UsageError
from datascrub.run.plan_file import RunPlan, from_json

_RESULTS = ("plan.json", "facts", "listing.json", "findings.parquet", "quarantine.csv", "changes.csv", "summary.json")
_OURS = {name + end for name in (*_RESULTS, "run.lock", "notes", "previous", "facts.new", "facts.old") for end in ("", ".part")}
DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)


class RunFolder:
    """The folder of a run. A shard whose facts file is in place is done; nothing else is state."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.plan_file = path / "plan.json"
        self.facts = path / "facts"
        self.findings = path / "findings.parquet"
        self.quarantine = path / "quarantine.csv"
        self.changes = path / "changes.csv"
        self.summary_file = path / "summary.json"
        self.notes = path / "notes"
        self.previous = path / "previous"
        self.spill: str | None = None
        """where questions about a large set may put what memory does not hold; None where the machine keeps what is temporary"""
        self._lock: IO[bytes] | None = None

    # -- who holds it ---------------------------------------------------------------------------------------------------------------

    def create(self) -> None:
        """Make the folder. Raises UsageError where it holds something that is no run, or can't be written."""
        try:
            if self.path.exists() and (not self.path.is_dir() or any(entry.name not in _OURS for entry in self.path.iterdir())):
                raise UsageError(f"{self.path} exists and is no run folder", fix="choose another with --out")
            if not self.path.exists():
                self.path.mkdir(parents=True)
                self._make_rooms()
            (self.path / "run.lock").touch()
        except OSError as error:
            raise UsageError(f"can't write the run folder {self.path}: {error.strerror}", fix="choose a place with --out") from error

    def hold(self) -> None:
        """Take the run for this process until release; a lock of the kernel, gone with the process however it ends.

        Raises UsageError where another process holds it.
        """
        self._lock = (self.path / "run.lock").open("ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            self._lock = None
            raise UsageError(f"another scan is live in {self.path}", fix="wait for it, or choose another folder with --out") from None

    def release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make and hold the folder for as long as a block runs, healed from what a kill may have left.

        Raises IncompleteError where it can't be written any more.
        """
        self.create()
        self.hold()
        try:
            with self.writing():
                self.heal()
                yield
        finally:
            self.release()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Say a full disk, or another failure to write here, as what it is."""
        import duckdb

        try:
            yield
        except OSError as error:
            raise self._unwritten(error.strerror or str(error)) from error
        except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
            known = (os.strerror(number) for number in DISK)
            raise self._unwritten(next((each for each in known if each in str(error)), str(error).partition("\n")[0])) from error

    def _unwritten(self, why: str) -> IncompleteError:
        return IncompleteError(f"can't go on in the run folder {self.path}: {why}", fix="make room or give access; the same command goes on then")

    # -- what it holds --------------------------------------------------------------------------------------------------------------

    def plan(self) -> RunPlan:
        """The plan of this run. Raises UsageError where the folder is no run."""
        try:
            return from_json(json.loads(self.plan_file.read_text("utf-8")))
        except FileNotFoundError:
            raise UsageError(f"{self.path} is no run folder", fix="give the folder that a scan wrote (NAME.datascrub)") from None
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"the plan in {self.path} can't be read: {error}", fix="scan again") from error

    def write_plan(self, plan: RunPlan) -> None:
        self.write_json(self.plan_file, plan.as_json())

    def summary(self) -> dict[str, Any] | None:
        """The summary of a finished run, else None."""
        try:
            made: dict[str, Any] = json.loads(self.summary_file.read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return made

    def write_json(self, place: Path, value: Mapping[str, Any]) -> None:
        """Write aside, then rename: a file that is there is whole."""
        aside = place.with_name(place.name + ".part")
        aside.write_text(json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n", "utf-8")
        aside.replace(place)

    def shard_file(self, number: int) -> Path:
        return self.facts / f"shard-{number:06d}.parquet"

    def note_file(self, number: int) -> Path:
        return self.notes / f"{number:06d}.note"

    def condemned_file(self, number: int) -> Path:
        """Rows of a shard that ended whole runs."""
        return self.notes / f"{number:06d}.json"

    def measured(self) -> dict[str, Any] | None:
        """The account of the whole measuring, where it came to its end, else None."""
        try:
            made: dict[str, Any] = json.loads((self.facts / "measured.json").read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return made

    def write_listing(self, shards: int, parts: list[dict[str, Any]]) -> None:
        """The end of the listing: how many shards there are, and the parts that it met."""
        self.write_json(self.path / "listing.json", {"shards": shards, "parts": parts})

    def listed_parts(self) -> list[dict[str, Any]]:
        """The parts that the listing met; none while it is not at its end."""
        try:
            return list(json.loads((self.path / "listing.json").read_text("utf-8"))["parts"])
        except FileNotFoundError:
            return []

    # -- its lives ------------------------------------------------------------------------------------------------------------------

    def retire(self) -> None:
        """Move what is here to previous/, to make place for a new run of the same source."""
        (self.path / "previous.part").mkdir()
        self._retire()
        self._make_rooms()

    def _retire(self) -> None:
        aside = self.path / "previous.part"
        for name in _RESULTS:
            if (self.path / name).exists():
                (self.path / name).rename(aside / name)
        shutil.rmtree(self.previous, ignore_errors=True)
        aside.rename(self.previous)
        shutil.rmtree(self.notes, ignore_errors=True)

    def heal(self) -> None:
        """Finish or undo what a kill left between two renames of the compaction or of a retirement."""
        compacted, old = self.path / "facts.new", self.path / "facts.old"
        if compacted.exists() and old.exists() and not self.facts.exists():
            compacted.rename(self.facts)
        shutil.rmtree(compacted, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
        if (self.path / "previous.part").exists():
            self._retire()
        for aside in (*self.path.glob("*.part"), *self.facts.glob("*.part")):
            aside.unlink(missing_ok=True)
        self._make_rooms()

    def _make_rooms(self) -> None:
        self.facts.mkdir(exist_ok=True)
        self.notes.mkdir(exist_ok=True)

    def swap_facts(self, compacted: Path) -> None:
        """Put the compacted facts in the place of the shards' files."""
        old = self.path / "facts.old"
        self.facts.rename(old)
        compacted.rename(self.facts)
        shutil.rmtree(old)
        shutil.rmtree(self.notes, ignore_errors=True)
