"""Facts -> findings. Conditions on a row in one pass over the set, then one query for each question about the set; never a byte of the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from datascrub.config import Config
from datascrub.errors import UsageError
from datascrub.model import Finding, Scope, Severity
from datascrub.rules.expression import quoted
from datascrub.rules.rows import sentence
from datascrub.run.facts import accounts, fact_files, open_facts
from datascrub.run.findings import FindingsTable
from datascrub.run.folder import RunFolder
from datascrub.run.plan_file import RunPlan
from datascrub.spine.bind import Bound, BoundRow, BoundSet, bind

if TYPE_CHECKING:
    import duckdb

COMMON_SHARE = 0.5
"""a rule that says something about the set fires on more than this share of it"""
COMMON_LEAST = 3
RARE_SHARE = 0.01
RARE_SINGLE_OF = 10
"""one single sample of ten and more is the odd one out, and so is at most 1 % of a larger set"""


class Judge:
    """Judges what a run has measured so far."""

    def __init__(self, run: RunFolder, run_plan: RunPlan, config: Config) -> None:
        self.run, self.plan = run, run_plan.plan
        self.is_complete = run.measured() is not None and run_plan.choice.is_everything
        self.bound: Bound = bind(run_plan.plan, config)
        self.not_checked: list[str] = list(self.bound.not_checked)
        self.total = 0

    def findings(self) -> Iterator[tuple[int | None, Finding]]:
        """(number of the sample or None, finding), the questions to the set first, since some explain what rows show."""
        yield from ((None, finding) for finding in self._parts())
        if not fact_files(self.run):
            return
        with open_facts(self.run) as connection:
            counts = self._counts(connection)
            said = [each for question in self.bound.sets for each in self._set_findings(connection, question)]
            explained = {(finding.code, finding.field) for _, finding in said}
            yield from said
            for bound, fired in zip(self.bound.rows, counts, strict=True):
                if fired and (bound.rule.unless, bound.field.name) not in explained:
                    yield from self._row_findings(connection, bound, fired)

    def _counts(self, connection: duckdb.DuckDBPyConnection) -> list[int]:
        filters = [f"count(*) FILTER ({bound.condition.sql(quoted(bound.field.name))})" for bound in self.bound.rows]
        counted = connection.execute(f"SELECT {', '.join(['count(*)', *filters])} FROM facts").fetchall()[0]
        self.total = counted[0]
        return list(counted[1:])

    def _row_findings(self, connection: duckdb.DuckDBPyConnection, bound: BoundRow, fired: int) -> Iterator[tuple[int | None, Finding]]:
        is_common = bound.rule.common == "set" and fired >= COMMON_LEAST and fired > COMMON_SHARE * self.total
        struct = quoted(bound.field.name)
        members = "".join(f", {struct}.{quoted(name)}" for name in bound.reads)
        where = bound.condition.sql(struct)
        query = f"SELECT number, key{members} FROM facts WHERE {where} ORDER BY number{' LIMIT 1' if is_common else ''}"
        severity = self._rarely(bound, fired)
        for number, key, *values in _rows(connection, query):
            told = dict(zip(bound.reads, values, strict=True))
            message = sentence(bound.rule.says, {**bound.parameters, **told})
            evidence = {name: told.get(name, bound.parameters.get(name)) for name in bound.rule.evidence}
            if is_common:
                evidence |= {"samples": fired, "of": self.total, "first_key": key}
                message = f"{fired:,} of {self.total:,} samples; the first: {message}"
                yield None, Finding(None, bound.rule.code, bound.severity, bound.field.name, message, evidence, Scope.SET)
            else:
                yield number, Finding(key, bound.rule.code, severity, _field_name(bound), message, evidence)

    def _rarely(self, bound: BoundRow, fired: int) -> Severity:
        is_rare = (fired == 1 and self.total >= RARE_SINGLE_OF) or fired <= RARE_SHARE * self.total
        return bound.rule.rare if bound.rule.rare is not None and is_rare and bound.severity is bound.rule.severity else bound.severity

    def _set_findings(self, connection: duckdb.DuckDBPyConnection, question: BoundSet) -> Iterator[tuple[int | None, Finding]]:
        if self.total < question.rule.minimum:
            self.not_checked.append(f"{question.rule.code} on {question.field.name}: needs {question.rule.minimum:,} samples")
            return
        try:
            result = connection.execute(question.sql, dict(question.parameters) or None)
        except duckdb_errors() as error:
            raise UsageError(
                f"the condition of {question.rule.code} can't be asked: {str(error).splitlines()[0]}",
                fix="see `datascrub facts` for what is measured",
            ) from error
        names = [column[0] for column in result.description]
        rows = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
        numbers = [row["number"] for row in rows if row["number"] is not None] if question.rule.scope == "sample" else []
        keys = self._keys(connection, numbers)
        for row in rows:
            number = row.pop("number", None) if question.rule.scope == "sample" else None
            given = row.pop("severity", None)
            severity = Severity(given) if given and question.severity is question.rule.severity else question.severity
            message = sentence(question.rule.says, {**question.parameters, **row})
            named = row.pop("key", None) if question.rule.scope == "sample" else None
            key, scope = (named or keys[number], Scope.SAMPLE) if number is not None else (None, Scope.SET)
            yield number, Finding(key, question.rule.code, severity, question.field.name, message, row, scope)

    def _keys(self, connection: duckdb.DuckDBPyConnection, numbers: Sequence[int]) -> dict[int, str]:
        made: dict[int, str] = {}
        for start in range(0, len(numbers), 50_000):
            some = ", ".join(str(int(number)) for number in numbers[start : start + 50_000])
            made |= dict(connection.execute(f"SELECT number, key FROM facts WHERE number IN ({some})").fetchall())
        return made

    def _parts(self) -> Iterator[Finding]:
        for part in parts_of(self.run):
            severity = self.bound.parts[part["code"]]
            if severity is not None:
                evidence = {**part["evidence"], "lost_bytes": part["lost_bytes"], "lost_records": part["lost_records"]}
                yield Finding(part["key"], part["code"], severity, None, part["says"], evidence, Scope.PART)


def duckdb_errors() -> tuple[type[Exception], ...]:
    """What DuckDB raises for a query that is wrong."""
    import duckdb

    return (duckdb.Error,)


def _field_name(bound: BoundRow) -> str | None:
    return None if bound.field.name == "record" else bound.field.name


def _rows(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[tuple[Any, ...]]:
    result = connection.cursor().execute(query)
    while some := result.fetchmany(10_000):
        yield from some


def parts_of(run: RunFolder) -> list[dict[str, Any]]:
    """All parts that the listing and the shards met, in the order of the source."""
    measured = run.measured()
    if measured is not None:
        return list(measured["parts"])
    listed = run.listed_parts()
    return listed + [part for account in accounts(run) for part in account["parts"]]


def judge(run: RunFolder, run_plan: RunPlan, config: Config) -> tuple[FindingsTable, Judge]:
    """All findings of what a run has measured, in a table sorted for reading."""
    table = FindingsTable()
    court = Judge(run, run_plan, config)
    for number, finding in court.findings():
        table.add(number, finding)
    return table, court
