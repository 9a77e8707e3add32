"""By what a finding is known again in another run: what its sample holds, wherever it stands and whatever it is called."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import xxhash

from datascrub.model import Finding, Role, Scope
from datascrub.plan import Plan
from datascrub.registry import catalogue
from datascrub.rules import RowRule, Rule
from datascrub.rules.columns import field_of, struct
from datascrub.run.facts import fact_files, open_facts
from datascrub.run.folder import RunFolder

Row = tuple[int | None, Finding]
"""(number of the sample or None, finding)"""
_SHOWN = 40
"""characters of a label that stand in a content as they are; a longer one stands as its hash"""
_AT_ONCE = 50_000


@dataclass(frozen=True, order=True)
class Identity:
    """The rule, and what it speaks of: the content of a sample; its key where nothing of it has a hash, or where it is a part; the field of a set."""

    code: str
    content: str = ""
    key: str = ""
    field: str = ""

    @classmethod
    def of(cls, finding: Finding, content: str) -> Identity:
        """content: as contents() tells it, "" where there is none."""
        if finding.scope is Scope.SET:
            return cls(finding.code, field=finding.field or "")
        return cls(finding.code, content) if content else cls(finding.code, key=finding.key or "")


@dataclass(frozen=True)
class _Held:
    """What one sample holds: field -> hash of its bytes, and its label as a text, None where it is no single value."""

    hashes: Mapping[str, str]
    label: str | None


def contents(run: RunFolder, plan: Plan, rows: Sequence[Row]) -> list[str]:
    """Of each finding the content that it speaks of; "" for parts, the set, and samples of which nothing has a hash.

    The hash of the finding's own field; else the hashes of all fields of the sample, followed by the evidence of a condition on the field ("~…").
    Where the rule looks at labels, the label belongs to it ("=cat"): another label is another case.
    """
    numbers = sorted({number for number, _ in rows if number is not None})
    held = _held(run, plan, numbers) if numbers and fact_files(run) else {}
    rules = {code: entry.rule for code, entry in catalogue().items()}
    labels = frozenset(field.name for field in plan.fields_of(Role.LABEL))
    return [
        "" if number is None else _content(finding, held.get(number), rules.get(finding.code), finding.field in labels) for number, finding in rows
    ]


def _content(finding: Finding, held: _Held | None, rule: Rule | None, is_of_label: bool) -> str:
    if held is None or not held.hashes:
        return ""
    own = held.hashes.get(finding.field or "")
    made = own or "+".join(held.hashes[name] for name in sorted(held.hashes))
    if (is_of_label or "{label}" in getattr(rule, "sql", "")) and held.label is not None:
        return f"{made}={held.label if len(held.label) <= _SHOWN and held.label.isprintable() else _digest(held.label)}"
    if own is None and isinstance(rule, RowRule):
        return f"{made}~{_digest(json.dumps(finding.evidence, default=str, sort_keys=True))}"
    return made


def _digest(text: str) -> str:
    return xxhash.xxh3_64_hexdigest(text.encode("utf-8", "surrogatepass"))


def _held(run: RunFolder, plan: Plan, numbers: Sequence[int]) -> dict[int, _Held]:
    made: dict[int, _Held] = {}
    with open_facts(run) as connection:
        members = measured_members(connection)
        hashed = [name for name, its in members.items() if "hash" in its]
        labels = [field.name for field in plan.fields_of(Role.LABEL)]
        label = label_text(labels[0]) if len(labels) == 1 and "value" in members.get(labels[0], ()) else "NULL"
        if not hashed:
            return made
        columns = ", ".join(f"{struct(name)}.hash" for name in hashed)
        for some in _pieces(numbers):
            query = f"SELECT number, {label}, {columns} FROM facts WHERE number IN (SELECT unnest($numbers::BIGINT[]))"
            for number, text, *hashes in connection.execute(query, {"numbers": some}).fetchall():
                known = {name: each for name, each in zip(hashed, hashes, strict=True) if each}
                made[number] = _Held(known, text)
    return made


def _pieces(numbers: Sequence[int]) -> Iterable[list[int]]:
    return ([int(number) for number in numbers[start : start + _AT_ONCE]] for start in range(0, len(numbers), _AT_ONCE))


def measured_members(connection: Any) -> dict[str, dict[str, str]]:
    """field -> measurement -> its type in SQL, of the facts that are there."""
    table = connection.table("facts")
    types = zip(table.columns, table.types, strict=True)
    return {field_of(name): {member: str(of) for member, of in its.children} for name, its in types if its.id == "struct"}


def label_text(field: str) -> str:
    """SQL for a label that is a single value, as a text; NULL else."""
    column = struct(field)
    return f"coalesce({column}.text, {column}.value::VARCHAR, {column}.number::VARCHAR)"
