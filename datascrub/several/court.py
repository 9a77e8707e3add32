"""The questions that concern several sources, and the partners of what one of them leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from datascrub.config import Config, RuleConfig
from datascrub.model import Finding, Scope, Severity
from datascrub.plan import Plan
from datascrub.rules import AcrossRule
from datascrub.rules.rows import sentence
from datascrub.several.member import PAIRS, SPLITS, Drops, Member
from datascrub.several.view import open_view
from datascrub.spine.bind import with_thresholds
from datascrub.validators.paired_sources import PairedSources
from datascrub.validators.split_leakage import SplitLeakage, across_questions

COMMON_SHARE, COMMON_LEAST = 0.5, 3
"""a rule that names more than this share of a source, and three samples, says one thing about it"""


class Court:
    """The facts of all sources on one connection, and the questions to them."""

    def __init__(self, path: Path, kind: str, members: Sequence[Member], plans: Sequence[Plan]) -> None:
        self.kind, self.members, self.plans = kind, members, plans
        self.view = open_view(path, kind, members, plans)
        self.connection, self.by = self.view.connection, self.view.by
        self.not_checked: list[str] = []

    def __enter__(self) -> Court:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def findings(self, config: Config) -> Iterator[tuple[int | None, Finding]]:
        """(number, finding) of every question that concerns more than one source."""
        validator = with_thresholds(SplitLeakage if self.kind == SPLITS else PairedSources, config.rules)
        declared = {**self.plans[0].declared(), **validator.parameters()}
        turns: list[dict[str, Any]] = [{}]
        if self.kind == PAIRS:
            turns = [{"first": self.members[0].name, "other": other.name, "by": self.by} for other in self.members[1:]]
        for rule in across_questions(validator.rules()):
            settings = config.rules.get(rule.code, RuleConfig())
            if not settings.enabled:
                self.not_checked.append(f"{rule.code}: switched off")
                continue
            if self._lacks(rule):
                continue
            for turn in turns:
                yield from self._ask(rule, settings, {**declared, **turn})

    def _lacks(self, rule: AcrossRule) -> bool:
        """Whether the sources have nothing that the question could be asked of, which is told."""
        needed = [word for word in ("{field}", "{label}") if word in rule.sql and word not in self.view.compared]
        if needed:
            what = "no picture or array field that fits the others'" if needed[0] == "{field}" else "not one label field in each source"
            self.not_checked.append(f"{rule.code} across sources: {what}")
        return bool(needed)

    def _ask(self, rule: AcrossRule, settings: RuleConfig, parameters: Mapping[str, Any]) -> Iterator[tuple[int | None, Finding]]:
        sql = rule.sql.replace("{field}", "sample").replace("{label}", "label")
        used = {name: _plain(parameters[name]) for name in dict.fromkeys(re.findall(r"\$(\w+)", sql))}
        result = self.connection.execute(sql, used or None)
        names = [column[0] for column in result.description]
        rows = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
        usual = settings.severity or rule.severity
        for row in rows:
            given = row.pop("severity", None)
            row["its"] = usual if settings.severity or not given else Severity(given)
        if rule.scope == "sample" and len(rows) >= COMMON_LEAST and len(rows) > COMMON_SHARE * self._smallest():
            yield None, self._common(rule, usual, rows)
            return
        keys = self._keys([row["number"] for row in rows]) if rule.scope == "sample" else {}
        for row in rows:
            severity, number = row.pop("its"), row.pop("number", None) if rule.scope == "sample" else None
            message = sentence(rule.says, row)
            if number is None:
                yield None, Finding(None, rule.code, severity, None, message, row, Scope.SET)
            else:
                split, plain = keys[number]
                yield number, Finding(f"{split}:{plain}", rule.code, severity, None, message, {"source": split, "key": plain, **row})

    def _common(self, rule: AcrossRule, severity: Severity, rows: Sequence[Mapping[str, Any]]) -> Finding:
        """One finding where most of a source is so: that has a cause of its own, and no sample is blamed."""
        first = dict(rows[0])
        split, plain = self._keys([first["number"]])[first["number"]]
        evidence = {"samples": len(rows), "first_key": f"{split}:{plain}"}
        message = f"{len(rows):,} samples, most of a source; the first, {split}:{plain}: {sentence(rule.says, first)}"
        return Finding(None, rule.code, severity, None, message, evidence, Scope.SET)

    def _smallest(self) -> int:
        found = self.connection.execute("SELECT count(*) FROM facts GROUP BY split ORDER BY 1 LIMIT 1").fetchall()
        return int(found[0][0]) if found else 0

    def _keys(self, numbers: Sequence[int]) -> dict[int, tuple[str, str]]:
        """number -> (source, key there)."""
        made: dict[int, tuple[str, str]] = {}
        for start in range(0, len(numbers), 50_000):
            some = ", ".join(str(int(number)) for number in numbers[start : start + 50_000])
            found = self.connection.execute(f"SELECT number, split, plain FROM facts WHERE number IN ({some})").fetchall()
            made |= {number: (split, plain) for number, split, plain in found}
        return made

    def with_partners(self, drops: Drops) -> dict[str, dict[str, tuple[str, str]]]:
        """What each source leaves out, and the partners of it in the others."""
        made = {member.name: dict(drops.get(member.name, {})) for member in self.members}
        bad: dict[str, list[str]] = {"split": [], "plain": []}
        for name, its in drops.items():
            bad["split"] += [name] * len(its)
            bad["plain"] += list(its)
        if not bad["plain"]:
            return made
        self.connection.register("bad", {name: np.array(column, object) for name, column in bad.items()})
        rows = self.connection.execute(
            "SELECT b.split, b.plain, a.split, a.plain FROM facts AS a JOIN bad ON bad.split = a.split AND bad.plain = a.plain"
            " JOIN facts AS b ON b.pair = a.pair AND b.split <> a.split ORDER BY a.number"
        ).fetchall()
        self.connection.unregister("bad")
        for split, plain, of, its in rows:
            codes = drops[of][its][0]
            made[split].setdefault(plain, (codes, f"its partner {of}:{its} is left out"))
        return made


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
