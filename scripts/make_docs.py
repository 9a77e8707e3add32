#!/usr/bin/env python3
"""Write what the registry knows into README.md (the table of rules, between its markers) and docs/rules.md (every validator's page).

make_docs.py            write
make_docs.py --check    write nothing; exit 1 and name the files that are stale
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from datascrub import registry  # noqa: E402  the clone beside this script, not what may be installed
from datascrub.report.text import scope_of  # noqa: E402  likewise
from datascrub.rules import RowRule, Rule  # noqa: E402  likewise
from datascrub.validators.base import Validator  # noqa: E402  likewise

BEGIN, END = "<!-- rules: made by scripts/make_docs.py -->", "<!-- end of rules -->"
SEVERITIES = ("error", "warning", "info")


def plain(says: str) -> str:
    """A sentence without its numbers, safe in a cell of a table."""
    return re.sub(r"\{[^{}]*\}", "…", says).replace("|", "\\|").replace("<", "&lt;")


def row(rule: Rule) -> str:
    severity = rule.severity.value
    if isinstance(rule, RowRule) and rule.rare is not None:
        severity += f", {rule.rare.value} where it is the odd one out"
    return f"| `{rule.code}` | {severity} | {scope_of(rule)} | {plain(rule.says)} | {plain(rule.fix)} |"


HEAD = ["| rule | severity | about a | says | what to do |", "|---|---|---|---|---|"]


def rules_table() -> str:
    """Every rule: errors first, then by code."""
    rules = sorted((entry.rule for entry in registry.catalogue().values()), key=lambda rule: (SEVERITIES.index(rule.severity.value), rule.code))
    return "\n".join([*HEAD, *map(row, rules)])


def facts_table(kind: type[Validator]) -> Sequence[str]:
    if not kind.measures:
        return []
    lines = [f"| `{name}` | {what.type.lower()} | {what.unit} | {plain(what.range)} | {plain(what.says)} |" for name, what in kind.measures.items()]
    return ["", "| fact | type | unit | range | says |", "|---|---|---|---|---|", *lines]


def page(kind: type[Validator]) -> str:
    """A validator: its docstring, its rules, the facts that it measures, its parameters."""
    validator = kind()
    lines = [f"## {kind.name()}", "", inspect.getdoc(kind) or "", "", *HEAD, *(row(rule) for rule in validator.rules()), *facts_table(kind)]
    parameters = [f"`{name}` = {value!r}" for name, value in validator.parameters().items()]
    if parameters:
        lines += ["", "Parameters: " + ", ".join(parameters) + "."]
    return "\n".join(lines)


def reference() -> str:
    title = "# Rules\n\nMade by scripts/make_docs.py from the validators themselves; `datascrub explain CODE` prints the same page in a terminal.\n"
    return "\n\n".join([title.rstrip(), *(page(kind) for kind in registry.validators())]) + "\n"


def readme(text: str) -> str:
    """The README with the table between its markers made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{rules_table()}\n{END}{after}"


def documents() -> Mapping[Path, str]:
    """File -> what it should hold."""
    return {ROOT / "README.md": readme((ROOT / "README.md").read_text("utf-8")), ROOT / "docs" / "rules.md": reference()}


def main(arguments: Sequence[str]) -> int:
    stale = {file: text for file, text in documents().items() if not file.exists() or file.read_text("utf-8") != text}
    if "--check" in arguments:
        for file in stale:
            print(f"{file.relative_to(ROOT)} is stale: run scripts/make_docs.py")
        return 1 if stale else 0
    for file, text in stale.items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
