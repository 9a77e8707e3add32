"""Laws over every validator and every rule that the registry finds."""

from __future__ import annotations

import collections
import inspect
import re
import string
from pathlib import Path

import duckdb
import numpy as np
import pytest

from datascrub import registry
from datascrub.config import TASKS, DataConfig, FieldConfig
from datascrub.model import Kind, Role, Severity
from datascrub.plan import Plan
from datascrub.rules import AcrossRule, Measurement, PartRule, RowRule, Rule, SetRule
from datascrub.rules.expression import compile_condition, quoted
from datascrub.rules.rows import sentence
from datascrub.validators.base import Validator

NUMBERS = {"BOOLEAN": bool, "BIGINT": np.int64, "DOUBLE": np.float64}
CODES = Path(__file__).with_name("codes.txt")
HEADINGS = ("What it finds", "Why it breaks training", "Example", "What to do", "Parameters and facts")
FIELDS = {"x": FieldConfig((0.0, 1.0), positive=True, nonzero=True, exp=True, zeros=0.5)}
PLAN = Plan("set", "lmdb", None, (), data=DataConfig(classes=10, batch_size=32, loader="pillow", fields=FIELDS), task=TASKS[0])
DECLARED = {**PLAN.declared(), **PLAN.declared_of("x")}


def all_rules() -> list[tuple[Validator, Rule]]:
    return [(kind(), rule) for kind in registry.validators() for rule in kind().rules()]


def named(pairs: list[tuple[Validator, Rule]]) -> list[object]:
    return [pytest.param(validator, rule, id=rule.code) for validator, rule in pairs]


every_validator = pytest.mark.parametrize("kind", registry.validators(), ids=lambda kind: kind.__name__)
every_rule = pytest.mark.parametrize(("validator", "rule"), named(all_rules()))
every_row_rule = pytest.mark.parametrize(("validator", "rule"), named([(v, r) for v, r in all_rules() if isinstance(r, RowRule)]))


def fields_of(text: str) -> set[str]:
    """The names that a sentence fills in."""
    return {name.split(".")[0].split("[")[0] for _, name, _, _ in string.Formatter().parse(text) if name}


@every_validator
def test_page(kind: type[Validator]) -> None:
    """A validator's docstring is its page: first a sentence, then the five headings in their order."""
    page = inspect.getdoc(kind) or ""
    places = [re.search(rf"(?m)^[#*\s]*{heading}\b", page) for heading in HEADINGS]
    assert [heading for heading, place in zip(HEADINGS, places, strict=True) if place is None] == []
    starts = [place.start() for place in places if place is not None]
    assert starts == sorted(starts)
    assert starts[0] > 0


@every_validator
def test_file(kind: type[Validator]) -> None:
    """A validator stands alone in the file of its name, under which `from datascrub.validators import …` looks for it."""
    assert kind.__module__ == f"datascrub.validators.{kind.name().replace('-', '_')}" or not kind.__module__.startswith("datascrub.")


def test_codes_are_unique() -> None:
    """No code stands for two faults: rules that share one are of one validator, and equally severe."""
    holders: dict[str, set[tuple[type[Validator], Severity]]] = collections.defaultdict(set)
    for validator, rule in all_rules():
        holders[rule.code].add((type(validator), rule.severity))
    assert [code for code, its in holders.items() if len(its) > 1] == []


def test_codes_are_locked() -> None:
    """A code that was released stays; a new one is added to tests/laws/codes.txt, and the line is its promise."""
    locked = CODES.read_text().split()
    codes = {rule.code for _, rule in all_rules()}
    assert sorted(set(locked) - codes) == [], "a released code is gone: keep the rule, or move the code to a list of retired ones"
    assert sorted(codes - set(locked)) == [], "new codes: add these lines to tests/laws/codes.txt"
    assert locked == sorted(set(locked))


@every_rule
def test_rule_is_named_for_the_fault(validator: Validator, rule: Rule) -> None:
    """A code is lower-case words joined by hyphens; the severity is one of three; a rule says what is wrong and what to do."""
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.code)
    assert isinstance(rule.severity, Severity)
    assert rule.says.strip()
    assert rule.fix.strip()


def test_measurements_meet_once() -> None:
    """No two validators give one field a measurement of the same name."""
    taken: dict[tuple[Role, Kind, str], str] = {}
    clashes = []
    for kind in registry.validators():
        for role in kind.roles:
            for held in kind.kinds:
                for name in kind.measures:
                    other = taken.setdefault((role, held, name), kind.__name__)
                    if other != kind.__name__:
                        clashes.append(f"{name} of {role} {held}: {other} and {kind.__name__}")
    assert clashes == []


@every_validator
def test_measurements(kind: type[Validator]) -> None:
    """A measurement has a name that SQL and conditions can read, a type of the facts, and a sentence."""
    for name, measurement in kind.measures.items():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
        assert measurement.type.removesuffix("[]") in {"BOOLEAN", "BIGINT", "DOUBLE", "VARCHAR"}
        assert measurement.says.strip()
        assert name not in kind().parameters()


@every_rule
def test_sentence(validator: Validator, rule: Rule) -> None:
    """A sentence is filled from the validator's measurements, its parameters, what is declared, and for the set what its SQL returns."""
    text = sentence(rule.says, {})
    assert text.strip()
    if isinstance(rule, RowRule):
        measured = set(measures_beside(validator))
        assert fields_of(rule.says) - measured - set(validator.parameters()) - set(DECLARED) == set()
        assert set(rule.evidence) <= measured


def measures_beside(validator: Validator) -> dict[str, Measurement]:
    """The measurements of all validators that may meet on a field of this one: its conditions may read them."""
    beside = [kind for kind in registry.validators() if kind.roles & validator.roles and kind.kinds & validator.kinds]
    return {name: what for kind in beside for name, what in kind.measures.items()}


@every_row_rule
def test_condition(validator: Validator, rule: RowRule) -> None:
    """A condition compiles, knows all its names, binds in SQL, and numpy and DuckDB answer alike where nothing was measured."""
    measured = measures_beside(validator)
    condition = compile_condition(rule.where, frozenset(measured), {**DECLARED, **validator.parameters()})
    assert condition.missing <= {*DECLARED, *validator.parameters()}
    members = ", ".join(f"{quoted(name)} := NULL::{what.type}" for name, what in measured.items())
    answer = duckdb.sql(f"SELECT {condition.sql('field')} FROM (SELECT struct_pack({members}) AS field)").fetchall()
    blank = {
        name: np.array([None], object) if what.type not in NUMBERS else np.ma.masked_all(1, NUMBERS[what.type]) for name, what in measured.items()
    }
    assert condition.numpy(blank).tolist() == [answer[0][0]]
    assert rule.common in {"sample", "set"}


@pytest.mark.parametrize(("validator", "rule"), named([(v, r) for v, r in all_rules() if isinstance(r, SetRule)]))
def test_question(validator: Validator, rule: SetRule) -> None:
    """A question to the set reads measurements of its field and says whether it speaks of samples or of the set."""
    assert set(rule.needs) <= set(measures_beside(validator))
    assert rule.scope in {"sample", "set"}
    assert "{field}" in rule.sql or "{repeats}" in rule.sql


def test_kinds_of_rules() -> None:
    """Every rule is a condition on a row, a question to the set or to several sets, or names a part."""
    assert [rule.code for _, rule in all_rules() if not isinstance(rule, (RowRule, SetRule, AcrossRule, PartRule))] == []


def test_readers_and_layouts_have_one_name_each() -> None:
    """Container and layout names are unique: plans keep them."""
    for kinds in (registry.readers(), registry.layouts()):
        names = [kind.name for kind in kinds]
        assert len(names) == len(set(names))
