"""Why a batch fails: one sample that spoils any company, a few that fail only together, or a batch that lacks something. By trying parts of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from datascrub.guards.sighting import Sighting
from datascrub.rehearsal.samples import Sample
from datascrub.rehearsal.trouble import Trouble

Rows = Sequence[Sample]
_MOST_SHOWN = 5


class Doctor:
    """Tries parts of a batch that failed.

    fails: (stage, detail) of a batch, None where it is sound. where: the first module where it began.
    company: samples that are sound together; from an earlier batch, or found in this one.
    """

    def __init__(self, fails: Callable[[Rows], tuple[str, str] | None], where: Callable[[Rows], Sighting | None], mode: str) -> None:
        self._fails, self._where, self._mode = fails, where, mode

    def examine(self, batch: Rows, company: Rows) -> list[Trouble]:
        """What is wrong with a batch that failed."""
        company = company or self._sound_part(batch)
        if not company and len(batch) == 1:
            return [self._told(batch, batch, "sample", "no other sample has its shape: it was tried alone", is_alone=True)]
        if not company:
            return [self._told(batch, batch, "all", "every part of the batch fails, down to each sample alone: the model, its weights or its loss?")]
        together = {sample.key for sample in company}
        guilty = self._guilty([sample for sample in batch if sample.key not in together], company)
        names = {sample.key for sample in guilty}
        made = [self._sample(each, company) for each in guilty]
        rest = [sample for sample in batch if sample.key not in names]
        if rest and self._fails(rest):
            made.append(self._without_guilt(rest, company))
        return made

    def _sound_part(self, batch: Rows) -> Rows:
        """The larger sound half of a half of a half …; empty where every single sample fails."""
        parts = [batch]
        while parts and len(parts[0]) > 1:
            parts = [half for part in parts for half in (part[: len(part) // 2], part[len(part) // 2 :])]
            for part in parts:
                if part and not self._fails(part):
                    return part
        return ()

    def _guilty(self, rows: Rows, company: Rows) -> list[Sample]:
        """Those that each spoil a sound company."""
        if not rows or not self._fails([*company, *rows]):
            return []
        if len(rows) == 1:
            return list(rows)
        return [*self._guilty(rows[: len(rows) // 2], company), *self._guilty(rows[len(rows) // 2 :], company)]

    def _sample(self, sample: Sample, company: Rows) -> Trouble:
        is_alone = self._fails([sample]) is not None
        seen = [sample] if is_alone else [*company, sample]
        return self._told((sample,), seen, "sample", "the sample alone does it" if is_alone else "the sample does it, in company alone", is_alone)

    def _without_guilt(self, rest: Rows, company: Rows) -> Trouble:
        joined = [sample for sample in company if sample.key not in {each.key for each in rest}]
        if joined and not self._fails([*rest, *joined]):
            cure = _least(joined, lambda some: not self._fails([*rest, *some]))
            return self._told(rest, rest, "lack", _lack(rest, cure))
        few = _least(rest, lambda some: self._fails(some) is not None)
        if len(few) > 1:
            return self._told(few, few, "company", f"no sample alone does it, these {len(few)} together do")
        return self._told(rest, rest, "lack", "the batch as a whole does it: none of its samples spoils another batch")

    def _told(self, samples: Rows, seen: Rows, kind: str, says: str, is_alone: bool = False) -> Trouble:
        """The trouble of `samples`, as it shows in a run of `seen`."""
        stage, detail = self._fails(seen) or ("output", "")
        where = None if stage == "raises" else self._where(seen)
        began = where.told() if where is not None else detail
        return Trouble(tuple(sample.key for sample in samples), kind, (self._mode,), stage, f"{began}; {says}" if began else says, is_alone, where)


def _least(rows: Rows, holds: Callable[[Rows], bool]) -> Rows:
    """A part of rows of which nothing can be left out, if it is still to hold."""
    size = len(rows) // 2
    while size >= 1:
        start = 0
        while start < len(rows) and len(rows) > 1:
            fewer = [*rows[:start], *rows[start + size :]]
            if fewer and holds(fewer):
                rows = fewer
            else:
                start += size
        size //= 2
    return rows


def _lack(rest: Rows, cure: Rows) -> str:
    there = {sample.label for sample in rest}
    absent = sorted({sample.label for sample in cure if sample.label is not None} - there)
    joined = ", ".join(sample.key for sample in cure[:_MOST_SHOWN])
    if absent and None not in there:
        which = ", ".join(map(str, absent[:_MOST_SHOWN]))
        return f"class {which} is absent from this batch of {len(rest):,}: it is sound once {joined} joins it"
    return f"a statistic of this batch of {len(rest):,}: it is sound once {joined} joins it"
