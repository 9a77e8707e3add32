"""What a person reads in the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from datascrub.keys import printable
from datascrub.model import Finding, Kind
from datascrub.plan import Plan
from datascrub.rules import Measurement, PartRule, RowRule, Rule, SetRule


def recognised(plan: Plan, count: int | None, is_exact: bool, size_bytes: int, labels: Sequence[Any], notes: Sequence[str]) -> str:
    """What the source is: container, records, layout, fields, roles."""
    about = "" if count is None else f"{'' if is_exact else 'about '}{count:,} samples, "
    layout = f", layout {plan.layout}" if plan.layout else ""
    lines = [f"{printable(plan.source)}", f"  {plan.container}{layout}: {about}{size(size_bytes)}; task {plan.task}"]
    width = max((len(field.name) for field in plan.fields), default=0)
    for field in plan.fields:
        held = field.kind.value if field.kind is not Kind.ARRAY else f"{field.dtype or 'numbers'} {shape(field.shape)}"
        lines.append(f"  {printable(field.name):{width}}  {field.role.value:6}  {held}")
    if labels:
        shown = ", ".join(printable(str(label)) for label in labels[:12])
        lines.append(f"  labels met: {shown}{', …' if len(labels) > 12 else ''}")
    lines += [f"  note: {printable(note)}" for note in notes]
    return "\n".join(lines)


def shape(its: Sequence[int] | None) -> str:
    if its is None:
        return "of differing shape"
    return "x".join(map(str, its)) if its else "scalar"


def size(count: int) -> str:
    """Bytes for people."""
    value = float(count)
    for unit in ("bytes", "KB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.1f} {unit}"
        value /= 1000
    raise AssertionError


def forecast(size_bytes: int, workers: int) -> str:
    """A rough time, from 100 MB of encoded images a second and core."""
    seconds = size_bytes / 100e6 / workers
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def summary(told: Mapping[str, Any]) -> str:
    """The table of rules that fired, the account, and what was not checked."""
    lines = [f"A FLOOD HAS A CAUSE: {printable(told['flood'])}", ""] if told["flood"] else []
    records = told["account"]["records"]
    if told["rules"]:
        rows = [("code", "severity", "samples", "share", "first")]
        for rule in told["rules"]:
            count = rule["samples"] or rule["findings"]
            share = f"{rule['samples'] / records:.1%}" if rule["samples"] and records else ("set" if rule["first"] == [None] else "part")
            first = ", ".join(printable(key) for key in rule["first"] if key is not None) or printable(rule["says"])
            rows.append((rule["code"], rule["severity"], f"{count:,}", share, first))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        for row in rows:
            lines.append(f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}  {row[4]}")
        lines.append("")
    else:
        lines += ["no rule fired", ""]
    account = told["account"]
    lines.append(f"{records:,} records = {account['kept']:,} kept + {account['quarantined']:,} quarantined + {account['unreadable']:,} unreadable")
    if account["lost_bytes"] or account["parts_of_unknown_size"]:
        unknown = f", and {account['parts_of_unknown_size']:,} parts of unknown size" if account["parts_of_unknown_size"] else ""
        lines.append(f"lost beside them: {account['lost_bytes']:,} bytes{unknown}")
    lines += [f"INCOMPLETE: {reason}" for reason in told["incomplete_because"]]
    if not told["complete"] and not told["incomplete_because"]:
        lines.append("a part of the source was measured, as asked for")
    if told["not_checked"]:
        lines += ["not checked:", *_by_reason(told["not_checked"])]
    return "\n".join(lines)


def _by_reason(not_checked: Sequence[str]) -> list[str]:
    """One line for each reason, with the rules that it holds back, each with its field, or the number of its fields."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for each in not_checked:
        rule, _, reason = each.partition(": ")
        code, _, field = rule.partition(" on ")
        reasons.setdefault(reason, {}).setdefault(code, []).append(field)
    return [f"  {printable(reason)}: {printable(', '.join(map(_with_fields, rules.items())))}" for reason, rules in reasons.items()]


def _with_fields(rule: tuple[str, Sequence[str]]) -> str:
    code, fields = rule
    if len(fields) > 1:
        return f"{code} ({len(fields)} fields)"
    return f"{code} on {fields[0]}" if fields[0] else code


def finding(each: Finding) -> str:
    """One finding in a line."""
    where = printable(each.key) if each.key is not None else "the set"
    its_field = f" [{printable(each.field)}]" if each.field else ""
    return f"{each.severity.value:7}  {each.code}  {where}{its_field}  {printable(each.message)}"


def rule_lines(entries: Sequence[tuple[str, Rule, str]]) -> str:
    """The catalogue: code, severity, scope, validator."""
    rows = [(code, rule.severity.value, scope_of(rule), validator) for code, rule, validator in entries]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "\n".join(f"{a:{widths[0]}}  {b:{widths[1]}}  {c:{widths[2]}}  {d}" for a, b, c, d in rows)


def measurements(validator: str, roles: Sequence[str], measures: Mapping[str, Measurement]) -> str:
    """What a validator measures, and on fields of which roles."""
    lines = [f"{validator} (on {', '.join(roles)})"]
    for name, what in measures.items():
        about = ", ".join(part for part in (what.type, what.unit, what.range) if part)
        lines.append(f"  {name} ({about}): {what.says}")
    return "\n".join(lines)


def scope_of(rule: Rule) -> str:
    """sample, part or set."""
    if isinstance(rule, RowRule):
        return "sample"
    return rule.scope if isinstance(rule, SetRule) else "part" if isinstance(rule, PartRule) else "set"


def page(code: str, rule: Rule, text: str, parameters: Mapping[str, Any]) -> str:
    """The page of a rule: its own lines first, then the page of its validator."""
    lines = [f"{code}: {rule.severity.value}, about a {scope_of(rule)}", f"  says: {rule.says}"]
    if rule.fix:
        lines.append(f"  what to do: {rule.fix}")
    lines += ["", textwrap.dedent(text).strip()]
    if parameters:
        lines += ["", "Parameters: " + ", ".join(f"{name} = {value!r}" for name, value in parameters.items())]
    return "\n".join(lines)
