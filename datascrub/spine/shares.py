"""What follows for the set from how often a rule fires: counts that the owner sets a limit to, and warnings that most likely have one cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from datascrub.config import RuleConfig
from datascrub.model import Finding, Scope, Severity
from datascrub.spine.identity import Row

LIMIT = "limit"
"""in the evidence of a finding that the owner's own limit made"""
LOUD_LEAST = 10
"""samples that a rule fires on at least to be loud: a third of six samples is no habit"""


@dataclass
class _Fired:
    """How often one rule fires on one field. said: the first sentence; first: the first key; is_set: whether the set itself has a finding of it."""

    numbers: set[int] = field(default_factory=set)
    others: int = 0
    collected: int = 0
    said: str = ""
    first: str | None = None
    is_set: bool = False
    severity: Severity = Severity.INFO

    def add(self, number: int | None, finding: Finding) -> None:
        if not self.said or (number is not None and not self.numbers):
            self.said, self.first = finding.message, finding.key
        if number is not None:
            self.numbers.add(number)
        else:
            self.others += 1
            self.is_set |= finding.scope is Scope.SET
            its = finding.evidence.get("samples")
            self.collected += its if isinstance(its, int) else 0
        if finding.severity is not self.severity and finding.severity.rank > self.severity.rank:
            self.severity = finding.severity

    @property
    def count(self) -> int:
        """Samples; else what one finding of the set says of them; else findings."""
        return max(len(self.numbers), self.collected) or self.others


def loud(rows: Sequence[Row], total: int, share: float) -> list[Row]:
    """One finding of the set for each warning that fires on more than `share` of the samples, unless the set has one already."""
    made: list[Row] = []
    for (code, its_field), fired in sorted(_fired(rows).items(), key=lambda item: (item[0][0], item[0][1] or "")):
        count = len(fired.numbers)
        if fired.severity is Severity.WARNING and not fired.is_set and count >= LOUD_LEAST and count > share * total:
            said = (
                f"{count:,} of {total:,} samples ({count / total:.0%}), which has one cause rather than many; the first, {fired.first}: {fired.said}"
            )
            evidence = {"samples": count, "of": total, "first_key": fired.first}
            made.append((None, Finding(None, code, Severity.WARNING, its_field, said, evidence, Scope.SET)))
    return made


def over_limits(rows: Sequence[Row], total: int, rules: Mapping[str, RuleConfig]) -> list[Row]:
    """One finding of the set for each rule that reaches its fail_if (an error) or its warn_if (a warning)."""
    made: list[Row] = []
    for code, its in sorted(rules.items()):
        if not its.is_counted:
            continue
        fired = _Fired()
        for number, finding in rows:
            if finding.code == code:
                fired.add(number, finding)
        for name, limit, severity in (("fail_if", its.fail_if, Severity.ERROR), ("warn_if", its.warn_if, Severity.WARNING)):
            if limit is not None and fired.count and fired.count >= (limit * total if isinstance(limit, float) else limit):
                made.append((None, _over(code, severity, fired, total, f"{name} = {limit if isinstance(limit, int) else f'{limit:.10g}'}")))
                break
    return made


def _over(code: str, severity: Severity, fired: _Fired, total: int, limit: str) -> Finding:
    share = f" ({fired.count / total:.2%})" if total else ""
    said = f"{fired.count:,} of {total:,} samples{share} reach {limit}; the first: {fired.said}"
    return Finding(None, code, severity, None, said, {"samples": fired.count, "of": total, LIMIT: limit}, Scope.SET)


def _fired(rows: Sequence[Row]) -> dict[tuple[str, str | None], _Fired]:
    made: dict[tuple[str, str | None], _Fired] = {}
    for number, finding in rows:
        made.setdefault((finding.code, finding.field), _Fired()).add(number, finding)
    return made


def worst_counted(rows: Sequence[Row], over: Sequence[Row], rules: Mapping[str, RuleConfig]) -> Severity | None:
    """The worst severity that counts: rules with a limit count by the limit alone."""
    counted = {code for code, its in rules.items() if its.is_counted}
    severities = [finding.severity for _, finding in rows if finding.code not in counted]
    return max([*severities, *(finding.severity for _, finding in over)], key=lambda it: it.rank, default=None)
