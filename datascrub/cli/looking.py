"""show, rules, facts, explain, selftest: one sample, and what there is to know."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from datascrub.cli.options import configured, known_rule
from datascrub.cli.saying import say
from datascrub.errors import UsageError

if TYPE_CHECKING:
    pass


def show(args: argparse.Namespace) -> int:
    from datascrub import api
    from datascrub.report import text

    seen = api.look(args.source, args.key, configured(args), run=args.run)
    if args.bytes:
        try:
            Path(args.bytes).write_bytes(seen.raw)
        except OSError as error:
            raise UsageError(f"can't write {args.bytes}: {error.strerror}", fix="give a file in a folder that is there") from error
    if args.image:
        from datascrub.report.picture import write_png

        write_png(Path(args.image), seen.picture, seen.encoded)
    say(text.look(seen))
    return 0


def rules(args: argparse.Namespace) -> int:
    from datascrub.registry import catalogue
    from datascrub.report import text

    say(text.rule_lines([(code, entry.rule, entry.validator.name()) for code, entry in catalogue().items()]))
    return 0


def facts(args: argparse.Namespace) -> int:
    from datascrub.registry import validators
    from datascrub.report import text

    for kind in validators():
        say(text.measurements(kind.name(), sorted(kind.roles), kind.measures))
    return 0


def explain(args: argparse.Namespace) -> int:
    from datascrub.config import Config
    from datascrub.registry import catalogue
    from datascrub.report import text

    known_rule(args.code, Config())
    entry = catalogue()[args.code]
    say(text.page(args.code, entry.rule, entry.validator.__doc__ or "", entry.validator().parameters()))
    return 0


def selftest(args: argparse.Namespace) -> int:
    from datascrub import api

    missed = api.selftest()
    say("\n".join(missed) if missed else "every known-bad input is seen, no healthy one is accused")
    return 4 if missed else 0
