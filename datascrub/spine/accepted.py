"""Reviewed decisions: findings that a person has looked at and accepts, in a small table beside the data; and what they keep quiet."""

from __future__ import annotations

import csv
import datetime
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from datascrub.config import ACCEPTED, Config
from datascrub.errors import UsageError
from datascrub.run.findings import Row
from datascrub.run.findings_table import FindingsTable
from datascrub.spine.identity import Identity

HEADER = ("rule", "key", "content", "field", "why", "accepted", "until")
UNSEEN = frozenset({"record-unreadable", "part-unreadable", "sample-not-checked"})
"""rules that say that something could not be looked at: nobody can have reviewed it"""


@dataclass(frozen=True)
class Decision:
    """One line: a rule, and what it may find there without saying so.

    content: what the sample holds (see spine.identity), and empty where nothing of it has a hash: its key stands for it then. key: for people, where
    there is a content. field: of a finding of the set, which has neither key nor content. until: the last day on which it counts.
    """

    rule: str
    key: str
    content: str
    field: str
    why: str
    accepted: datetime.date
    until: datetime.date | None = None

    @property
    def identity(self) -> Identity:
        if self.content:
            return Identity(self.rule, self.content)
        return Identity(self.rule, key=self.key) if self.key else Identity(self.rule, field=self.field)

    def is_in_force(self, today: datetime.date) -> bool:
        return self.until is None or today <= self.until


def place_of(config: Config) -> Path:
    """Where the decisions lie."""
    return Path(config.accepted or ACCEPTED)


def read_decisions(place: Path) -> list[Decision]:
    """The decisions of a file; none where there is no such file. Raises UsageError with the line that can't be read."""
    try:
        with place.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in HEADER if name not in (reader.fieldnames or ())]
            if missing:
                raise UsageError(f"{place} lacks the column {missing[0]}", fix=f"its first line is {','.join(HEADER)}")
            return [_decision(row, place, reader.line_num) for row in reader]
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"can't read the accepted findings in {place}: {getattr(error, 'strerror', None) or error}") from error


def _decision(row: Mapping[str, str | None], place: Path, line: int) -> Decision:
    told = {name: row[name] or "" for name in HEADER}
    if not told["rule"]:
        raise UsageError(f"{place}, line {line}: no rule", fix="write the code of a rule in its first column, or remove the line")
    until = day(told["until"], f"{place}, line {line}: until") if told["until"] else None
    accepted = day(told["accepted"], f"{place}, line {line}: accepted")
    return Decision(told["rule"], told["key"], told["content"], told["field"], told["why"], accepted, until)


def day(text: str, place: str) -> datetime.date:
    """A date as 2027-01-31. Raises UsageError."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{place} is a date, not {text!r}", fix="as in 2027-01-31") from None


def remember(place: Path, decisions: Iterable[Decision]) -> None:
    """Add decisions to a file, in the place of earlier ones about the same. Raises UsageError where it can't be written."""
    kept = {each.identity: each for each in (*read_decisions(place), *decisions)}
    aside = place.with_name(place.name + ".part")
    try:
        with aside.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(HEADER)
            for each in sorted(kept.values(), key=lambda it: (it.rule, it.key, it.content, it.field)):
                writer.writerow((each.rule, each.key, each.content, each.field, each.why, each.accepted, each.until or ""))
        aside.replace(place)
    except OSError as error:
        raise UsageError(f"can't write {place}: {error.strerror}", fix="name another file with --accepted") from error


@dataclass(frozen=True)
class Review:
    """What became of findings under decisions: the count of those that are quiet, and the decisions that hold today."""

    told: dict[str, Any]
    in_force: frozenset[Identity]


def review(
    place: Path,
    decisions: Sequence[Decision],
    table: FindingsTable,
    of_set: Sequence[Row],
    identities: Callable[[Sequence[Row]], list[Identity]],
    today: datetime.date,
) -> Review:
    """Take the findings that a decision in force accepts out of the table; those under an expired one speak again.

    of_set: what else is said of the set. told: findings and samples that are quiet, by rule; findings whose decision has expired; decisions that
    meet nothing.
    """
    in_force = frozenset(each.identity for each in decisions if each.is_in_force(today))
    expired = {each.identity for each in decisions} - in_force
    rules, quiet, met, count_expired = Counter[str](), list[np.ndarray](), set[Identity](), 0
    # Without a decision none of them is looked at.
    for known, rows in itertools.chain(table.pieces(), [(np.empty(0, np.int64), list(of_set))]) if decisions else ():
        its = identities(rows)
        is_quiet = [identity in in_force and identity.code not in UNSEEN for identity in its]
        rules.update(finding.code for (_, finding), is_left_out in zip(rows, is_quiet, strict=True) if is_left_out)
        met |= in_force.intersection(its)
        count_expired += sum(identity in expired for identity in its)
        if len(known):
            quiet.append(known[np.array(is_quiet, bool)])
    told = {
        "file": str(place),
        "findings": rules.total(),
        "samples": table.remove(np.concatenate(quiet)) if quiet else 0,
        "rules": dict(sorted(rules.items())),
        "expired": count_expired,
        "unused": len(in_force - met),
    }
    return Review(told, in_force)
