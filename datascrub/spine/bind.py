"""Rules bound to the fields of a plan: parameters filled in, conditions compiled; what can't be asked is told apart."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from datascrub.config import Config, RuleConfig
from datascrub.errors import UsageError
from datascrub.model import DOMAIN, OBJECTS, RECORD, Field, Role, Severity
from datascrub.plan import Plan
from datascrub.registry import catalogue, validators
from datascrub.rules import PartRule, RowRule, SetRule
from datascrub.rules.columns import struct
from datascrub.rules.expression import Condition, compile_condition, quoted
from datascrub.rules.rows import names_in
from datascrub.validators.base import Validator

REPEATS = "{repeats}"
"""in the SQL of a question: the samples whose whole content stands more than once, a table of number and hash"""


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
    """A set rule on one field, its SQL ready but for {repeats}; parameters: the $names that it uses.

    content: SQL for the hash of all that makes up a sample; {repeats} are the samples whose content stands more than once.
    """

    rule: SetRule
    field: Field
    severity: Severity
    sql: str
    parameters: Mapping[str, Any]
    content: str = "NULL"


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
            parameters = {**plan.declared(), **plan.declared_of(field.name), **own}
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
                    bound = _bound_set(rule, field, severity, plan, parameters, measures)
                    if isinstance(bound, str):
                        not_checked.append(bound)
                    elif bound is not None:
                        sets.append(bound)
    not_checked += [f"domain on {name}: not measured in this run; scan again" for name in _unmeasured_domains(plan)]
    sets += [_own_rule(code, its, plan) for code, its in sorted(config.rules.items()) if its.where is not None and its.enabled]
    return Bound(tuple(rows), tuple(sets), _part_severities(config), tuple(dict.fromkeys(not_checked)))


def _unmeasured_domains(plan: Plan) -> list[str]:
    """Fields whose values were declared after they were measured."""
    measured = {field.name for field in plan.fields if DOMAIN in field.declared}
    return [name for name, its in plan.data.fields.items() if its.is_domain and name not in measured]


def _names_of(plan: Plan) -> dict[str, str]:
    """Name -> column, of what a rule of the user's own may speak of: the fields, and the roles that one field alone has."""
    made: dict[str, str] = {}
    taken = {"number", "key", "file", "offset", "record"}
    fields = [(field.name, field.name) for field in plan.fields if field.role is not Role.IGNORE]
    roles = [(role.value, plan.fields_of(role)[0].name) for role in Role if len(plan.fields_of(role)) == 1]
    for name, field in fields + roles:
        if name.lower() not in taken:
            made[name] = struct(field)
            taken.add(name.lower())
    return made


def _own_rule(code: str, settings: RuleConfig, plan: Plan) -> BoundSet:
    """A rule of the user's own: a condition in SQL on the facts of a sample.

    The name of a role stands for its field where there is one such field.
    """
    if code in catalogue():
        raise UsageError(f"[rules.{code}] is a rule of datascrub's, and can't be given another condition", fix="give your rule a name of its own")
    aliases = "".join(f", {column} AS {quoted(name)}" for name, column in _names_of(plan).items())
    says = settings.says if settings.says is not None else str(settings.where).replace("{", "{{").replace("}", "}}")
    try:
        told = "".join(f", {name} AS {quoted(name)}" for name in names_in(says) if name not in ("number", "severity"))
    except ValueError as error:
        raise UsageError(
            f"the sentence of [rules.{code}] can't be filled in: {error}", fix="write {{ for a brace, {image.width} for a fact"
        ) from error
    rule = SetRule(
        code=code,
        severity=settings.severity or Severity.WARNING,
        says=says,
        sql=f"SELECT number{told} FROM (SELECT *{aliases} FROM facts) AS facts WHERE ({settings.where}\n) ORDER BY number",
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
            if name in kind.measured_with:
                raise UsageError(
                    f"[rules.{rule.code}] {name} is what {kind.name()} measures with, and no threshold", fix=f"see `datascrub explain {rule.code}`"
                )
            given[name] = _of_kind(getattr(plain, name), value, f"[rules.{rule.code}] {name}")
    return dataclasses.replace(plain, **given) if given else plain


def _of_kind(plain: Any, value: Any, place: str) -> Any:
    """A threshold of the kind that it has in the validator. Raises UsageError where it is of another."""
    if isinstance(plain, (tuple, list)):
        values = value if isinstance(value, list) else [value]
        return tuple(_of_kind(plain[0], each, place) if plain else each for each in values)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if (
        plain is None
        or type(plain) is type(value)
        or (isinstance(plain, float) and is_number)
        or (isinstance(plain, int) and is_number and value == int(value))
    ):
        return type(plain)(value) if isinstance(plain, (int, float)) and is_number else value
    wanted = {bool: "true or false", int: "a whole number", float: "a number"}.get(type(plain), "a text")
    raise UsageError(f"{place} is {wanted} as {plain!r}, not {value!r}")


def _check(config: Config) -> None:
    for code, settings in config.rules.items():
        if code not in catalogue() and settings.where is None:
            near = difflib.get_close_matches(code, catalogue(), 1, 0.5)
            raise UsageError(f"unknown rule [rules.{code}]", fix=f"did you mean {near[0]}?" if near else "see `datascrub rules`")


def _names(says: str) -> set[str]:
    return set(re.findall(r"\{(\w+)", says))


def _content(plan: Plan) -> list[str]:
    """The fields that make up what a sample is: pictures first, then arrays, then texts; texts alone are words that repeat, and no content."""
    fields = [field.name for role in (Role.IMAGE, Role.ARRAY, Role.TEXT) for field in plan.fields_of(role) if OBJECTS not in field.declared]
    return fields if plan.fields_of(Role.IMAGE, Role.ARRAY) else []


def _whole(content: Sequence[str]) -> str:
    """SQL for the hash of all of them; NULL where the first is not compared."""
    if len(content) < 2:
        return f"{struct(content[0])}.hash" if content else "NULL"
    hashes = [f"{struct(name)}.hash" for name in content]
    return f"CASE WHEN {hashes[0]} IS NOT NULL THEN concat_ws('|', {', '.join(f'coalesce({each}, chr(45))' for each in hashes)}) END"


def _bound_set(
    rule: SetRule, field: Field, severity: Severity, plan: Plan, parameters: Mapping[str, Any], measures: frozenset[str]
) -> BoundSet | str | None:
    """The question on this field, or why it can't be asked; None where it is asked of another field."""
    content = _content(plan)
    if REPEATS in rule.sql and (not content or content[0] != field.name):
        return None  # asked once, of the first of the fields that make up a sample
    sql = rule.sql.replace("{field}", struct(field.name))
    sql = sql.replace("{is_alone}", "true" if len(content) == 1 else "false")
    for role in (Role.LABEL, Role.IMAGE, Role.MASK):
        if f"{{{role.value}}}" in sql:
            beside = plan.fields_of(role)
            if len(beside) != 1:
                return f"{rule.code} on {field.name}: the set has {'no' if not beside else 'more than one'} {role.value} field"
            sql = sql.replace(f"{{{role.value}}}", struct(beside[0].name))
    if absent := [name for name in rule.needs if name not in measures]:
        return f"{rule.code} on {field.name}: {absent[0]} is not measured"
    used = dict.fromkeys(re.findall(r"\$(\w+)", sql))
    unknown = [name for name in used if name not in parameters]
    if unknown:
        raise UsageError(f"the SQL of {rule.code} uses ${unknown[0]}, which is no parameter")
    return BoundSet(rule, field, severity, sql, {name: _plain(parameters[name]) for name in used}, _whole(content))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _part_severities(config: Config) -> dict[str, Severity | None]:
    made: dict[str, Severity | None] = {}
    for code, entry in catalogue().items():
        if isinstance(entry.rule, PartRule):
            settings = config.rules.get(code, RuleConfig())
            made[code] = (settings.severity or entry.rule.severity) if settings.enabled else None
    return made
