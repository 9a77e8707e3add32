"""A set as a whole, from its facts: classes, splits, sizes, formats, shapes, ranges, and the statistics that a normalisation needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from datascrub.model import Field, Role, Severity
from datascrub.plan import Plan
from datascrub.rules.columns import struct
from datascrub.run.facts import fact_files, open_facts
from datascrub.run.findings import read_numbered
from datascrub.run.folder import RunFolder
from datascrub.spine.identity import label_text, measured_members
from datascrub.validators.split_leakage import SPLIT

if TYPE_CHECKING:
    import duckdb

MOST_CLASSES = 65_536
"""more different labels are numbers or names of their own, and no classes"""
MOST_SHAPES = 50
_DIGITS = 12
"""significant digits told: the last ones of a sum depend on the order of its terms"""


def statistics(run: RunFolder) -> dict[str, Any]:
    """What is known of the set, over the samples that are kept: those without an error; plain JSON values.

    fields: for each field by what was measured of it. An entry that nothing was measured for is left out.
    """
    plan = run.plan().plan
    left_out = (
        sorted({n for n, finding in read_numbered(run) if n is not None and finding.severity is Severity.ERROR}) if run.findings.exists() else []
    )
    made: dict[str, Any] = {
        "source": plan.source,
        "container": plan.container,
        "task": plan.task,
        "samples": 0,
        "kept": 0,
        "splits": {},
        "fields": {},
    }
    if not fact_files(run):
        return made
    with open_facts(run) as connection:
        connection.execute("CREATE TEMP TABLE left_out AS SELECT unnest($numbers::BIGINT[]) AS number", {"numbers": left_out})
        connection.execute("CREATE TEMP VIEW kept AS SELECT * FROM facts WHERE number NOT IN (SELECT number FROM left_out)")
        asked = _Asked(connection, plan)
        made["samples"] = asked.one("SELECT count(*) FROM facts")[0]
        made["kept"] = asked.one("SELECT count(*) FROM kept")[0]
        made["splits"] = dict(asked.rows(f"SELECT {SPLIT} AS split, count(*) FROM kept WHERE split IS NOT NULL GROUP BY 1 ORDER BY 1"))
        members = measured_members(connection)
        made["size_bytes"] = asked.spread(f"{struct('record')}.size_bytes") if "record" in members else None
        for field in plan.fields:
            told = asked.field(field, members[field.name]) if field.name in members else {}
            if told:
                made["fields"][field.name] = {"role": field.role.value, **told}
    return made


@dataclass(frozen=True)
class _Asked:
    """Questions to the samples that are kept."""

    connection: duckdb.DuckDBPyConnection
    plan: Plan

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()

    def one(self, query: str) -> tuple[Any, ...]:
        return self.rows(query)[0]

    def field(self, field: Field, measured: Mapping[str, str]) -> dict[str, Any]:
        """Entry by entry, where the measurements that it needs are there."""
        column = struct(field.name)
        entries: Sequence[tuple[str, tuple[str, ...], Callable[[], Any]]] = (
            ("classes", ("kind", "text", "value", "number"), lambda: self.classes(field.name)),
            ("numbers", ("kind", "number"), lambda: self.numbers(field.name)),
            ("formats", ("format",), lambda: self.counts(f"{column}.format")),
            ("kinds", ("pixel_kind",), lambda: self.counts(f"{column}.pixel_kind")),
            ("width", ("width",), lambda: self.spread(f"{column}.width")),
            ("height", ("height",), lambda: self.spread(f"{column}.height")),
            ("sizes", ("width", "height"), lambda: self.counts(f"{column}.width || ' x ' || {column}.height")),
            ("shapes", ("shape",), lambda: self.counts(f"{column}.shape")),
            ("types", ("dtype",), lambda: self.counts(f"{column}.dtype")),
            ("characters", ("characters",), lambda: self.spread(f"{column}.characters")),
            ("boxes", ("box_count",), lambda: self.spread(f"{column}.box_count")),
            ("range", ("minimum", "maximum"), lambda: self.range(column)),
            ("all_values", ("size", "nan_count", "inf_count", "mean", "deviation"), lambda: self.all_values(column)),
            ("gray", ("gray_mean", "gray_deviation", "gray_low", "gray_high"), lambda: self.gray(column)),
            ("channels", ("channel_size", "channel_mean", "channel_deviation"), lambda: self.channels(column)),
        )
        is_label = field.role is Role.LABEL
        told = {name: ask() for name, needs, ask in entries if set(needs) <= set(measured) and not (is_label and name == "characters")}
        return {name: its for name, its in told.items() if its}

    def counts(self, value: str) -> dict[str, int]:
        """The most frequent values, at most fifty, and behind them how many samples hold another one."""
        counted = self.rows(f"SELECT {value} AS value, count(*) AS n FROM kept WHERE value IS NOT NULL GROUP BY 1 ORDER BY n DESC, value")
        told = {str(each): count for each, count in counted[:MOST_SHAPES]}
        rest = sum(count for _, count in counted[MOST_SHAPES:])
        return told | ({f"{len(counted) - MOST_SHAPES:,} others": rest} if rest else {})

    def spread(self, value: str) -> dict[str, Any] | None:
        least, median, most, total, count = self.one(
            f"SELECT min(v), quantile_disc(v, 0.5), max(v), sum(v)::HUGEINT, count(v) FROM (SELECT {value} AS v FROM kept)"
        )
        return {"least": least, "median": median, "most": most, "mean": _rounded(total / count), "total": int(total)} if count else None

    def is_label(self, name: str) -> str:
        return f"({struct(name)}.text IS NOT NULL OR {struct(name)}.value IS NOT NULL)"

    def task_has_classes(self, name: str) -> bool:
        """Whether the labels of a field are few different texts or whole numbers, and not declared to be targets."""
        query = f"SELECT count(DISTINCT {label_text(name)}) FROM kept WHERE {self.is_label(name)}"
        return self.plan.task != "regression" and 0 < self.one(query)[0] <= MOST_CLASSES

    def classes(self, name: str) -> dict[str, dict[str, int]] | None:
        """label -> samples, and of each split; None where labels are no classes."""
        if not self.task_has_classes(name):
            return None
        column, text, where = struct(name), label_text(name), self.is_label(name)
        query = (
            f"SELECT {text} AS label, {SPLIT} AS split, count(*) AS n, any_value({column}.value) AS v FROM kept WHERE {where} GROUP BY label, split"
        )
        made: dict[str, dict[str, int]] = {}
        for label, split, count, _ in self.rows(f"SELECT * FROM ({query}) ORDER BY v, label, split"):
            its = made.setdefault(self.name_of(label), {"samples": 0})
            its["samples"] += count
            if split is not None:
                its[split] = count
        return made

    def numbers(self, name: str) -> dict[str, Any] | None:
        """Range, mean and deviation of labels that are numbers and no classes."""
        if self.task_has_classes(name):
            return None
        number = f"{struct(name)}.number"
        least, most = self.one(f"SELECT min({number}), max({number}) FROM kept")
        told = self.pooled(f"SELECT 1::DOUBLE AS n, {number} AS m, 0::DOUBLE AS d FROM kept WHERE {number} IS NOT NULL")
        return None if told is None else {"least": least, "most": most, **told}

    def name_of(self, label: str) -> str:
        """A number with its declared name beside it."""
        names = self.plan.data.classes
        is_named = isinstance(names, tuple) and label.isdecimal() and int(label) < len(names)
        return f"{label} ({names[int(label)]})" if is_named and isinstance(names, tuple) else label

    def range(self, struct: str) -> dict[str, Any] | None:
        least, most = self.one(f"SELECT min({struct}.minimum), max({struct}.maximum) FROM kept")
        return None if least is None else {"least": least, "most": most}

    def all_values(self, struct: str) -> dict[str, Any] | None:
        """Mean and deviation of all finite values together, from those of the samples."""
        size = f"({struct}.size - {struct}.nan_count - {struct}.inf_count)"
        one = f"SELECT {size}::DOUBLE AS n, {struct}.mean AS m, {struct}.deviation AS d FROM kept WHERE {struct}.mean IS NOT NULL"
        return self.pooled(one)

    def gray(self, struct: str) -> dict[str, Any] | None:
        """Of the gray pixels at reduced size, each picture counting once."""
        one = f"SELECT 1::DOUBLE AS n, {struct}.gray_mean AS m, {struct}.gray_deviation AS d FROM kept WHERE {struct}.gray_mean IS NOT NULL"
        told = self.pooled(one)
        if told is not None:
            told["low"], told["high"] = self.one(f"SELECT min({struct}.gray_low), max({struct}.gray_high) FROM kept")
        return told

    def channels(self, struct: str) -> list[dict[str, Any]]:
        """For each number of channels: mean and deviation of each channel over all its values; exact."""
        lengths = self.rows(f"SELECT len({struct}.channel_mean) AS c, count(*) FROM kept WHERE c IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1")
        made = []
        for length, samples in lengths:
            each = [
                self.pooled(
                    f"SELECT {struct}.channel_size::DOUBLE AS n, {struct}.channel_mean[{at}] AS m, {struct}.channel_deviation[{at}] AS d"
                    f" FROM kept WHERE len({struct}.channel_mean) = {length}"
                )
                for at in range(1, length + 1)
            ]
            told = [one for one in each if one is not None]
            made.append(
                {"channels": length, "samples": samples, "mean": [one["mean"] for one in told], "deviation": [one["deviation"] for one in told]}
            )
        return made

    def pooled(self, one: str) -> dict[str, Any] | None:
        """Mean and deviation of the whole from size n, mean m and deviation d of each sample: the spread within samples, and between them."""
        mean, total = self.one(f"SELECT fsum(n * m) / sum(n), sum(n) FROM ({one}) WHERE n > 0")
        if mean is None or not math.isfinite(mean):
            return None
        variance = self.one(f"SELECT fsum(n * (d * d + (m - {mean!r}) * (m - {mean!r}))) / {total!r} FROM ({one}) WHERE n > 0")[0]
        return {"mean": _rounded(mean), "deviation": _rounded(math.sqrt(max(variance, 0.0))) if math.isfinite(variance) else None}


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
