"""Reviewed decisions: findings that a person has looked at and accepts, in a small table beside the data; and what they keep quiet."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datascrub.config import ACCEPTED, Config
from datascrub.errors import UsageError
from datascrub.spine.identity import Identity, Row

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
    """What became of findings under decisions: those that speak, the count of those that do not, and the decisions that hold today."""

    spoken: list[Row]
    told: dict[str, Any]
    in_force: frozenset[Identity]


def review(place: Path, decisions: Sequence[Decision], rows: Sequence[Row], identities: Sequence[Identity], today: datetime.date) -> Review:
    """Leave out the findings that a decision in force accepts; those under an expired one speak again.

    identities: of the rows. told: findings and samples that are quiet, by rule; findings whose decision has expired; decisions that meet nothing.
    """
    in_force = frozenset(each.identity for each in decisions if each.is_in_force(today))
    expired = {each.identity for each in decisions} - in_force
    is_quiet = [identity in in_force and identity.code not in UNSEEN for identity in identities]
    quiet = [row for row, left_out in zip(rows, is_quiet, strict=True) if left_out]
    rules: dict[str, int] = {}
    for _, finding in quiet:
        rules[finding.code] = rules.get(finding.code, 0) + 1
    told = {
        "file": str(place),
        "findings": len(quiet),
        "samples": len({number for number, _ in quiet if number is not None}),
        "rules": dict(sorted(rules.items())),
        "expired": sum(identity in expired for identity in identities),
        "unused": len(in_force - set(identities)),
    }
    return Review([row for row, left_out in zip(rows, is_quiet, strict=True) if not left_out], told, in_force)
