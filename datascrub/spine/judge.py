"""Facts -> findings. Conditions on a row in one pass over the set, then one query for each question about the set; never a byte of the source."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from datascrub.config import Config
from datascrub.model import MASK_KEY, Finding, Scope, Severity
from datascrub.rules.columns import struct
from datascrub.rules.expression import quoted
from datascrub.rules.rows import sentence
from datascrub.run.facts import accounts, fact_files, open_facts
from datascrub.run.folder import RunFolder
from datascrub.run.plan_file import RunPlan
from datascrub.spine.bind import REPEATS, Bound, BoundRow, BoundSet, bind
from datascrub.spine.questions import ask

if TYPE_CHECKING:
    import duckdb

COMMON_LEAST = 3
"""samples that a rule fires on before it says something about the set"""
RARE_SHARE = 0.01
RARE_SINGLE_OF = 10
"""one single sample of ten and more is the odd one out, and so is at most 1 % of a larger set"""


class Judge:
    """Judges what a run has measured so far. is_little: with as little memory as will do in most cases (Room)."""

    def __init__(self, run: RunFolder, run_plan: RunPlan, config: Config, is_little: bool = True) -> None:
        self.run, self.plan, self.is_little = run, run_plan.plan, is_little
        self.bound: Bound = bind(run_plan.plan, config)
        self.not_checked: list[str] = list(self.bound.not_checked)
        self.total = 0
        self._with_repeats: duckdb.DuckDBPyConnection | None = None

    def findings(self) -> Iterator[tuple[int | None, Finding]]:
        """(number of the sample or None, finding), the questions to the set first, since some explain what rows show."""
        yield from ((None, finding) for finding in self._parts())
        if not fact_files(self.run):
            return
        with open_facts(self.run, self.is_little) as connection:
            counts = self._counts(connection)
            said = [each for question in self.bound.sets for each in self._set_findings(connection, question)]
            explained = {(finding.code, finding.field) for _, finding in said}
            yield from said
            # Rules that share a code tell one fault: whether it is common is a question to all of them.
            of_code = Counter[tuple[str, str]]()
            for bound, fired in zip(self.bound.rows, counts, strict=True):
                of_code[bound.rule.code, bound.field.name] += fired
            for bound, fired in zip(self.bound.rows, counts, strict=True):
                if fired and (bound.rule.unless, bound.field.name) not in explained:
                    yield from self._row_findings(connection, bound, fired, of_code[bound.rule.code, bound.field.name])

    def _counts(self, connection: duckdb.DuckDBPyConnection) -> list[int]:
        filters = [f"count(*) FILTER ({bound.condition.sql(struct(bound.field.name))})" for bound in self.bound.rows]
        counted = connection.execute(f"SELECT {', '.join(['count(*)', *filters])} FROM facts").fetchall()[0]
        self.total = counted[0]
        return list(counted[1:])

    def _row_findings(self, connection: duckdb.DuckDBPyConnection, bound: BoundRow, fired: int, alike: int) -> Iterator[tuple[int | None, Finding]]:
        is_common = bound.rule.common == "set" and alike >= COMMON_LEAST and alike > bound.rule.common_share * self.total
        column = struct(bound.field.name)
        members = "".join(f", {column}.{quoted(name)}" for name in bound.reads)
        where = bound.condition.sql(column)
        named = f"{column}.mask_key" if MASK_KEY in bound.field.declared else "NULL"
        query = f"SELECT number, key, {named}{members} FROM facts WHERE {where} ORDER BY number{' LIMIT 1' if is_common else ''}"
        severity = self._rarely(bound, fired)
        for number, key, file, *values in _rows(connection, query):
            told = dict(zip(bound.reads, values, strict=True))
            message = sentence(bound.rule.says, {**bound.parameters, **told})
            evidence = {name: told.get(name, bound.parameters.get(name)) for name in bound.rule.evidence}
            if is_common:
                evidence |= {"samples": fired, "of": self.total, "first_key": key}
                message = f"{fired:,} of {self.total:,} samples; the first: {message}"
                yield None, Finding(None, bound.rule.code, bound.severity, bound.field.name, message, evidence, Scope.SET)
            else:
                if file is not None:  # the mask is at fault, and the sample goes with it
                    evidence["sample_key"] = key
                yield number, Finding(file or key, bound.rule.code, severity, _field_name(bound), message, evidence)

    def _rarely(self, bound: BoundRow, fired: int) -> Severity:
        is_rare = (fired == 1 and self.total >= RARE_SINGLE_OF) or fired <= RARE_SHARE * self.total
        return bound.rule.rare if bound.rule.rare is not None and is_rare and bound.severity is bound.rule.severity else bound.severity

    def _set_findings(self, connection: duckdb.DuckDBPyConnection, question: BoundSet) -> Iterator[tuple[int | None, Finding]]:
        if self.total < question.rule.minimum:
            self.not_checked.append(f"{question.rule.code} on {question.field.name}: needs {question.rule.minimum:,} samples")
            return
        rows = self._answers(connection, question)
        numbers = [row["number"] for row in rows if row["number"] is not None] if question.rule.scope == "sample" else []
        keys = self._keys(connection, numbers)
        for row in rows:
            number = row.pop("number", None) if question.rule.scope == "sample" else None
            given = row.pop("severity", None)
            severity = Severity(given) if given and question.severity is question.rule.severity else question.severity
            message = sentence(question.rule.says, {**question.parameters, **row})
            named = row.pop("key", None) if question.rule.scope == "sample" else None
            key, scope = (named or keys[number], Scope.SAMPLE) if number is not None else (None, Scope.SET)
            if number is not None and key != keys[number]:
                row["sample_key"] = keys[number]
            yield number, Finding(key, question.rule.code, severity, question.field.name, message, row, scope)

    def _answers(self, connection: duckdb.DuckDBPyConnection, question: BoundSet) -> list[dict[str, Any]]:
        """The rows of the answer; where they need more memory than most questions do, asked again with what the machine has."""
        import duckdb

        try:
            return self._asked(connection, question)
        except duckdb.OutOfMemoryException:
            if not self.is_little:
                raise
            with open_facts(self.run, is_little=False) as wide:
                return self._asked(wide, question)

    def _asked(self, connection: duckdb.DuckDBPyConnection, question: BoundSet) -> list[dict[str, Any]]:
        if REPEATS in question.sql and connection is not self._with_repeats:
            # Made once for several questions, which begin with it. Numbers in place of texts first, which take a third of the memory; contents that
            # share one by chance are told apart by the questions.
            told = f"(SELECT number, {question.content} AS hash FROM facts) WHERE hash IS NOT NULL"
            suspects = f"SELECT hash(hash) FROM {told} GROUP BY ALL HAVING count(*) > 1"
            connection.execute(f"CREATE OR REPLACE TEMP TABLE repeats AS SELECT number, hash FROM {told} AND hash(hash) IN ({suspects})")
            self._with_repeats = connection
        result = ask(connection, dataclasses.replace(question, sql=question.sql.replace(REPEATS, "repeats")))
        names = [column[0] for column in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

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
