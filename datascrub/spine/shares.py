"""What follows for the set from how often a rule fires: counts that the owner sets a limit to, and warnings that most likely have one cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from datascrub.config import RuleConfig
from datascrub.model import Finding, Scope, Severity
from datascrub.run.findings import Row
from datascrub.run.findings_table import FindingsTable, Fired

LIMIT = "limit"
"""in the evidence of a finding that the owner's own limit made"""
LOUD_LEAST = 10
"""samples that a rule fires on at least to be loud: a third of six samples is no habit"""


def loud(table: FindingsTable, total: int, share: float) -> list[Row]:
    """One finding of the set for each warning that fires on more than `share` of the samples, unless the set has one already."""
    made: list[Row] = []
    for (code, its_field), fired in table.fired().items():
        count = fired.samples
        if fired.severity is Severity.WARNING and not fired.is_set and count >= LOUD_LEAST and count > share * total:
            said = (
                f"{count:,} of {total:,} samples ({count / total:.0%}), which has one cause rather than many; the first, {fired.first}: {fired.said}"
            )
            evidence = {"samples": count, "of": total, "first_key": fired.first}
            made.append((None, Finding(None, code, Severity.WARNING, its_field, said, evidence, Scope.SET)))
    return made


def over_limits(table: FindingsTable, total: int, rules: Mapping[str, RuleConfig]) -> list[Row]:
    """One finding of the set for each rule that reaches its fail_if (an error) or its warn_if (a warning)."""
    made: list[Row] = []
    for code, its in sorted(rules.items()):
        if not its.is_counted:
            continue
        fired = table.fired(code).get((code, None))
        if fired is None:
            continue
        for name, limit, severity in (("fail_if", its.fail_if, Severity.ERROR), ("warn_if", its.warn_if, Severity.WARNING)):
            if limit is not None and fired.count >= (limit * total if isinstance(limit, float) else limit):
                made.append((None, _over(code, severity, fired, total, f"{name} = {limit if isinstance(limit, int) else f'{limit:.10g}'}")))
                break
    return made


def _over(code: str, severity: Severity, fired: Fired, total: int, limit: str) -> Finding:
    share = f" ({fired.count / total:.2%})" if total else ""
    said = f"{fired.count:,} of {total:,} samples{share} reach {limit}; the first: {fired.said}"
    return Finding(None, code, severity, None, said, {"samples": fired.count, "of": total, LIMIT: limit}, Scope.SET)


def worst_counted(table: FindingsTable, over: Sequence[Row], rules: Mapping[str, RuleConfig]) -> Severity | None:
    """The worst severity that counts: rules with a limit count by the limit alone."""
    counted = {code for code, its in rules.items() if its.is_counted}
    severities = [severity for code, severity in table.severities() if code not in counted]
    return max([*severities, *(finding.severity for _, finding in over)], key=lambda it: it.rank, default=None)
