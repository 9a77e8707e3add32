"""What a person reads in the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from datascrub.keys import printable
from datascrub.model import Finding, Kind, Severity
from datascrub.plan import Plan
from datascrub.rules import AcrossRule, Measurement, PartRule, RowRule, Rule, SetRule

NEXT = """If training still goes NaN with data that are clean, look next at:
  rate: a tenth of it, with a warm-up, or the gradients clipped    loss: a logarithm, root or division at 0; cross entropy from logits
  initialisation: by fan-in, and inputs normalised                 epsilon: 1e-8 is 0 in float16
  precision: loss scaling, bfloat16, or float32 for a while        layers: a norm over one value, a softmax over nothing, an exponential
FiniteGuard (datascrub.guards) names the first layer, and the samples in hand; `datascrub lint-net` reads Caffe's definitions."""


if TYPE_CHECKING:
    from datascrub.spine.look import Look

_LONG = 72
"""characters of a measurement beyond which its beginning says enough"""


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


def forecast(plan: Plan, count: int | None, size_bytes: int, workers: int) -> str:
    """A rough time, from what a core does in a second: 60 MB of encoded pictures, and 1,500 of them; 250 MB of numbers, and 50,000 samples."""
    is_encoded = any(field.kind is Kind.ENCODED for field in plan.fields)
    bytes_a_second, samples_a_second = (60e6, 1500) if is_encoded else (250e6, 50_000)
    seconds = 1 + (size_bytes / bytes_a_second + (count or 0) / samples_a_second) / workers
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
            share = f"{rule['samples'] / records:.1%}" if rule["samples"] and records else ("set" if rule["first"][:1] == [None] else "part")
            is_of_set = rule["first"][:1] == [None]
            first = printable(rule["says"]) if is_of_set else ", ".join(printable(key) for key in rule["first"] if key is not None)
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
    if told["taken_over"]:
        lines.append(f"{told['taken_over']:,} of them were measured by an earlier run and have not changed since")
    lines += [*_accepted(told.get("accepted")), *_compared(told.get("baseline"))]
    lines += [f"INCOMPLETE: {reason}" for reason in told["incomplete_because"]]
    if not told["complete"] and not told["incomplete_because"]:
        lines.append("a part of the source was measured, as asked for")
    if told["not_checked"]:
        lines += ["not checked:", *_by_reason(told["not_checked"])]
    if told["complete"] and told["worst"] != Severity.ERROR:
        lines += ["", NEXT]
    return "\n".join(lines)


def _accepted(told: Mapping[str, Any] | None) -> list[str]:
    """What reviewed decisions leave out, and which of them need a look."""
    if not told:
        return []
    lines = []
    if told["findings"]:
        rules = ", ".join(f"{code} {count:,}" for code, count in told["rules"].items())
        lines.append(f"accepted, and left out: {told['findings']:,} ({rules})")
    if told["expired"]:
        lines.append(f"accepted once, and told again since the decision has expired: {told['expired']:,}")
    if told["unused"]:
        lines.append(f"accepted, and not met any more: {told['unused']:,}")
    return lines


def _compared(told: Mapping[str, Any] | None) -> list[str]:
    """New, gone and kept against the baseline, with the worst of the new and the gone."""
    if not told:
        return []
    lines = [f"against {printable(told['run'])}: {told['new']:,} findings are new, {told['gone']:,} gone, {told['kept']:,} kept (changes.csv)"]
    for change in ("new", "gone"):
        first = told[f"first_{change}"]
        lines += [f"  {change}: {printable(it['code'])}  {printable(it['key'] or 'the set')}  {printable(it['message'])}" for it in first]
        if told[change] > len(first):
            lines.append(f"  {change}: … and {told[change] - len(first):,} more")
    return lines


def acceptance(place: str, decisions: int, by_key: int, unseen: int) -> str:
    """What accept wrote."""
    lines = [f"decisions written to {printable(place)}: {decisions:,}; the next scan or `datascrub judge RUN` goes by them"]
    if by_key:
        lines.append(f"  by key alone, since nothing of the sample has a hash: {by_key:,}; they hold for whatever stands there later")
    if unseen:
        lines.append(f"  left as they are: {unseen:,}, which say that something could not be looked at, or go by a limit of your own")
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


def look(seen: Look) -> str:
    """One sample: findings first, then what it holds, then what was measured of it."""
    lines = [printable(seen.key), *(f"  {finding(each)}" for each in seen.findings)]
    if not seen.findings:
        lines.append("  no finding" if seen.run else "  no finding on this sample alone")
    lines.append(
        f"  as judged in {printable(seen.run)}" if seen.run else "  rules that need the whole set were not asked: no run of the source is at hand"
    )
    lines += ["", *(f"  {printable(name)}: {printable(value)}" for name, value in seen.values.items())]
    for name, its in seen.measured.items():
        lines += [f"    {printable(name)}.{measure} = {_measured(value)}" for measure, value in its.items() if value is not None]
    return "\n".join(lines)


def _measured(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    told = printable(str(value))
    return told if len(told) <= _LONG else f"{told[:32]}… ({len(told):,} characters)"


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
    return rule.scope if isinstance(rule, (SetRule, AcrossRule)) else "part" if isinstance(rule, PartRule) else "set"


def page(code: str, rule: Rule, text: str, parameters: Mapping[str, Any]) -> str:
    """The page of a rule: its own lines first, then the page of its validator."""
    lines = [f"{code}: {rule.severity.value}, about a {scope_of(rule)}", f"  says: {rule.says}"]
    if rule.fix:
        lines.append(f"  what to do: {rule.fix}")
    lines += ["", textwrap.dedent(text).strip()]
    if parameters:
        lines += ["", "Parameters: " + ", ".join(f"{name} = {value!r}" for name, value in parameters.items())]
    return "\n".join([*lines, "", NEXT])
