"""Rules bound to the fields of a plan: parameters filled in, conditions compiled; what can't be asked is told apart."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from datascrub.config import Config, RuleConfig
from datascrub.errors import UsageError
from datascrub.model import RECORD, Field, Role, Severity
from datascrub.plan import Plan
from datascrub.registry import catalogue, validators
from datascrub.rules import PartRule, RowRule, SetRule
from datascrub.rules.expression import Condition, compile_condition, quoted
from datascrub.validators.base import Validator


@dataclass(frozen=True)
class BoundRow:
    """A row rule on one field. reads: the measurements that a finding needs for its sentence and evidence."""

    rule: RowRule
    field: Field
    severity: Severity
    condition: Condition
    parameters: Mapping[str, Any]
    reads: tuple[str, ...]


@dataclass(frozen=True)
class BoundSet:
    """A set rule on one field, its SQL ready; parameters: the $names that it uses."""

    rule: SetRule
    field: Field
    severity: Severity
    sql: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Bound:
    """All rules of a plan. parts: code of a part -> its severity, None where switched off. not_checked: rule, field and why it can't be asked."""

    rows: tuple[BoundRow, ...]
    sets: tuple[BoundSet, ...]
    parts: Mapping[str, Severity | None]
    not_checked: tuple[str, ...]


def bind(plan: Plan, config: Config) -> Bound:
    """Every rule of every validator, on every field that it applies to. Raises UsageError where the configuration names what does not exist."""
    _check(config)
    rows: list[BoundRow] = []
    sets: list[BoundSet] = []
    not_checked: list[str] = []
    made = [with_thresholds(kind, config.rules) for kind in validators()]
    for field in (RECORD, *plan.fields):
        if field.role is Role.IGNORE:
            continue
        its = [v for v in made if v.applies(field)]
        measures = frozenset(name for v in its for name in v.measures)
        for validator in its:
            own = {name: value for name, value in validator.parameters().items() if value is not None}
            parameters = {**plan.declared(), **own}
            for rule in validator.rules():
                settings = config.rules.get(rule.code, RuleConfig())
                if not settings.enabled:
                    not_checked.append(f"{rule.code}: switched off")
                    continue
                severity = settings.severity or rule.severity
                if isinstance(rule, RowRule):
                    condition = compile_condition(rule.where, measures, parameters)
                    if not condition.missing:
                        reads = tuple(sorted((_names(rule.says) | set(rule.evidence)) & measures))
                        rows.append(BoundRow(rule, field, severity, condition, parameters, reads))
                elif isinstance(rule, SetRule):
                    bound = _bound_set(rule, field, severity, plan, parameters)
                    if isinstance(bound, str):
                        not_checked.append(bound)
                    else:
                        sets.append(bound)
    sets += [_own_rule(code, its, plan) for code, its in sorted(config.rules.items()) if its.where is not None and its.enabled]
    return Bound(tuple(rows), tuple(sets), _part_severities(config), tuple(dict.fromkeys(not_checked)))


def _own_rule(code: str, settings: RuleConfig, plan: Plan) -> BoundSet:
    """A rule of the user's own: a condition in SQL on the facts of a sample.

    The name of a role stands for its field where there is one such field.
    """
    if code in catalogue():
        raise UsageError(f"[rules.{code}] is a rule of datascrub's, and can't be given another condition", fix="give your rule a name of its own")
    names = {field.name.lower() for field in plan.fields}
    roles = [(role, plan.fields_of(role)) for role in Role if role.value not in names]
    aliases = "".join(f", {quoted(fields[0].name)} AS {quoted(role.value)}" for role, fields in roles if len(fields) == 1)
    rule = SetRule(
        code=code,
        severity=settings.severity or Severity.WARNING,
        says=settings.says or str(settings.where),
        sql=f"SELECT number FROM (SELECT *{aliases} FROM facts) AS facts WHERE {settings.where} ORDER BY number",
        scope="sample",
    )
    return BoundSet(rule, RECORD, rule.severity, rule.sql, {})


def with_thresholds(kind: type[Validator], rules: Mapping[str, RuleConfig]) -> Validator:
    """A validator with the parameters that the configuration of its rules sets."""
    plain = kind()
    known = {f.name for f in dataclasses.fields(kind)}
    given: dict[str, Any] = {}
    for rule in plain.rules():
        for name, value in (rules[rule.code].thresholds if rule.code in rules else {}).items():
            if name not in known:
                near = difflib.get_close_matches(name, known, 1, 0.5)
                raise UsageError(
                    f"unknown key [rules.{rule.code}] {name}",
                    fix=f"did you mean {near[0]}?" if near else f"its parameters: {', '.join(sorted(known)) or 'none'}; and severity, enabled",
                )
            given[name] = value
    return dataclasses.replace(plain, **given) if given else plain


def _check(config: Config) -> None:
    for code, settings in config.rules.items():
        if code not in catalogue() and settings.where is None:
            near = difflib.get_close_matches(code, catalogue(), 1, 0.5)
            raise UsageError(f"unknown rule [rules.{code}]", fix=f"did you mean {near[0]}?" if near else "see `datascrub rules`")


def _names(says: str) -> set[str]:
    return set(re.findall(r"\{(\w+)", says))


def _bound_set(rule: SetRule, field: Field, severity: Severity, plan: Plan, parameters: Mapping[str, Any]) -> BoundSet | str:
    sql = rule.sql.replace("{field}", quoted(field.name))
    for role in (Role.LABEL, Role.IMAGE):
        if f"{{{role.value}}}" in sql:
            beside = plan.fields_of(role)
            if len(beside) != 1:
                return f"{rule.code} on {field.name}: the set has {'no' if not beside else 'more than one'} {role.value} field"
            sql = sql.replace(f"{{{role.value}}}", quoted(beside[0].name))
    used = dict.fromkeys(re.findall(r"\$(\w+)", sql))
    unknown = [name for name in used if name not in parameters]
    if unknown:
        raise UsageError(f"the SQL of {rule.code} uses ${unknown[0]}, which is no parameter")
    return BoundSet(rule, field, severity, sql, {name: _plain(parameters[name]) for name in used})


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _part_severities(config: Config) -> dict[str, Severity | None]:
    made: dict[str, Severity | None] = {}
    for code, entry in catalogue().items():
        if isinstance(entry.rule, PartRule):
            settings = config.rules.get(code, RuleConfig())
            made[code] = (settings.severity or entry.rule.severity) if settings.enabled else None
    return made
