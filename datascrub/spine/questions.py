"""The questions to the set, asked of facts without a row before anything is measured: a wrong condition must not wait for the end of a scan."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from datascrub.config import Config
from datascrub.errors import UsageError
from datascrub.plan import Plan
from datascrub.registry import catalogue
from datascrub.rules.columns import struct
from datascrub.rules.expression import quoted
from datascrub.run.facts import Schema, connect
from datascrub.run.folder import DISK
from datascrub.spine.bind import BoundSet, bind
from datascrub.spine.station import schema_of

if TYPE_CHECKING:
    import duckdb


def check_questions(plan: Plan, config: Config) -> None:
    """Raises UsageError where the configuration names what does not exist, or holds a condition that can't be asked."""
    own = [question for question in bind(plan, config).sets if question.rule.code not in catalogue()]
    if not own:
        return  # the house's own are known to be questions
    schema = schema_of(plan)
    with connect(threads=1) as connection:
        columns = ["number BIGINT", "key VARCHAR", "file VARCHAR", '"offset" BIGINT']
        for name, measures in schema.items():
            members = ", ".join(f"{quoted(each)} {its.type}" for each, its in measures.items())
            columns.append(f"{struct(name)} STRUCT({members})")
        connection.execute(f"CREATE TABLE facts ({', '.join(columns)})")
        for question in own:
            ask(connection, question, schema)


def ask(connection: duckdb.DuckDBPyConnection, question: BoundSet, schema: Schema | None = None) -> duckdb.DuckDBPyConnection:
    """The answer of the facts to a question. Raises UsageError where it is no single SELECT, or can't be asked."""
    import duckdb

    try:
        statements = connection.extract_statements(question.sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise UsageError(f"the condition of {question.rule.code} is no condition, but {len(statements)} statements", fix="give one condition")
        return connection.execute(question.sql, dict(question.parameters) or None)
    except duckdb.OutOfMemoryException:  # not the condition's fault: it can be asked again with more
        raise
    except duckdb.Error as error:
        if isinstance(error, duckdb.IOException) and any(os.strerror(number) in str(error) for number in DISK):
            raise  # nor is a full disk
        says = str(error).splitlines()[0]
        raise UsageError(f"the condition of {question.rule.code} can't be asked: {says}", fix=_cure(says, schema)) from error


def _cure(says: str, schema: Schema | None) -> str:
    met = re.search(r'column "?(\w+)"? not found', says)
    holders = [field for field, its in (schema or {}).items() if met and met[1] in its]
    if met and holders:
        return f"did you mean {holders[0]}.{met[1]}?"
    return "see `datascrub facts` for what is measured; a fact is named with its field, as in image.width"
