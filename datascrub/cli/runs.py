"""findings, judge, accept, info: what a run came to."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datascrub.cli.options import configured, known_rule
from datascrub.cli.saying import say, tell

if TYPE_CHECKING:
    from datascrub.run.plan_file import RunPlan


def info(args: argparse.Namespace) -> int:
    import json

    from datascrub import api, several
    from datascrub.report import text
    from datascrub.report.statistics import statistics
    from datascrub.review import is_run, statistics_of

    if several.is_several(args.source):
        each = {member.name: statistics_of(run.path) for member, run in several.Several.open(args.source).runs()}
        say(json.dumps(each, indent=1, ensure_ascii=False) if args.json else "\n\n".join(statistics(told) for told in each.values()))
        return 0
    if is_run(args.source):
        told = statistics_of(args.source)
        say(json.dumps(told, indent=1, ensure_ascii=False) if args.json else statistics(told))
        return 0
    plan = api.survey(args.source, configured(args))
    if args.json:
        say(json.dumps(plan.as_json(), indent=1, ensure_ascii=False))
    else:
        say(_recognised(plan, text))
    return 0


def _recognised(plan: RunPlan, text: Any) -> str:
    return str(text.recognised(plan.plan, plan.count, plan.is_count_exact, plan.size_bytes, plan.labels, plan.notes))


def findings(args: argparse.Namespace) -> int:
    import csv
    import json

    from datascrub import several
    from datascrub.report import text

    run = several.open_run(args.run)
    if args.rule is not None:
        known_rule(args.rule, run.config)
    found = (each for each in run.findings(args.rule) if args.severity in (None, each.severity.value))
    if args.format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(("key", "code", "severity", "field", "message", "evidence", "scope"))
        for each in found:
            told = each.as_dict()
            writer.writerow([*list(told.values())[:5], json.dumps(told["evidence"], ensure_ascii=False, default=str), told["scope"]])
    elif args.format == "keys":
        # A finding may name another file of its sample, as its mask; what is listed leads back to samples.
        for key in dict.fromkeys(each.evidence.get("sample_key", each.key) for each in found if each.key is not None and each.scope == "sample"):
            say(key, end="\0" if args.null else "\n")
    else:
        for each in found:
            say(json.dumps(each.as_dict(), ensure_ascii=False, default=str) if args.format == "jsonl" else text.finding(each))
    return 0


def judge(args: argparse.Namespace) -> int:
    from datascrub import api, several
    from datascrub.report import text
    from datascrub.run.folder import RunFolder

    run: api.Run | several.Several
    if several.is_several(args.run):
        run = several.judge(args.run, configured(args, several.Several.open(args.run).config), args.fail_on, args.baseline)
    else:
        run = api.judge(args.run, configured(args, RunFolder(Path(args.run)).plan().config()), args.fail_on, args.baseline)
    tell(text.summary(run.summary))
    return run.exit_code


def accept(args: argparse.Namespace) -> int:
    from datascrub.config import load
    from datascrub.report import text
    from datascrub.review import accept
    from datascrub.spine.accepted import day

    named = {"accepted": args.accepted} if args.accepted else {}
    config = load(Path(args.config) if args.config else None, named) if args.config or args.accepted else None
    until = day(args.until, "--until") if args.until else None
    made = accept(args.run, args.keys, rule=args.rule, every=args.all, why=args.why, until=until, config=config)
    tell(text.acceptance(str(made.place), len(made.decisions), made.by_key, made.unseen))
    return 0
