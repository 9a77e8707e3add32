"""scan, clean: a data set measured, judged, copied."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datascrub.cli.options import configured, most_of, share_of
from datascrub.cli.saying import tell
from datascrub.errors import DatascrubError, UsageError

if TYPE_CHECKING:
    from datascrub.api import Run
    from datascrub.several import Several


def scan(args: argparse.Namespace) -> int:
    from datascrub.engines.processes import start

    start("datascrub.spine.preload", tmp=args.tmp)  # before the imports below: the server of children imports its own meanwhile
    from datascrub.api import check_destination
    from datascrub.progress import Terminal
    from datascrub.report import text
    from datascrub.spine.account import exit_code

    config = configured(args)
    most = most_of(args.max_quarantine)
    if args.clean:
        check_destination(args.source, args.clean, is_partial=args.limit is not None or args.sample is not None)
    terminal = Terminal(tell)
    run = _scanner(args)(
        out=args.out,
        config=config,
        workers=args.workers,
        backend=args.backend,
        limit=args.limit,
        share=share_of(args.sample, "--sample") if args.sample else None,
        seed=args.seed,
        reread=args.reread,
        since=args.since,
        by_content=args.paranoid,
        fail_on=args.fail_on,
        tmp=args.tmp,
        load=args.load,
        **({"baseline": args.baseline} if args.baseline else {}),
        watcher=terminal,
    )
    tell()
    tell(text.summary(run.summary))
    tell(f"run folder: {run.path}")
    if not args.clean:
        return run.exit_code
    try:
        _copy(run.path, args.clean, args, most, terminal)
    except DatascrubError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201  the command's own voice
        return exit_code(run.summary, args.fail_on, was_copy_refused=True)
    return run.exit_code


def _scanner(args: argparse.Namespace) -> Callable[..., Run | Several]:
    """The call that scans what the arguments name: one source, the splits of a set, or sources that are read side by side."""
    from datascrub import api, several

    if args.split and (args.source or args.paired):
        raise UsageError("--split names the sources; no other is given beside it", fix="as in scan --split train=a.lmdb --split val=b.lmdb")
    if (args.paired or args.split) and (args.baseline or args.fail_on.startswith("new-")):
        raise UsageError("--baseline compares the runs of one source", fix="scan the sources, then judge the run of each with --baseline")
    if args.split:
        splits: dict[str, str] = {}
        for text in args.split:
            name, mark, source = text.partition("=")
            if not mark or not source or name in splits:
                raise UsageError(f"--split {text} is no NAME=SOURCE of its own name", fix="as in --split train=a.lmdb --split val=b.lmdb")
            splits[name] = source
        return functools.partial(several.scan_splits, splits)
    if not args.source:
        raise UsageError("scan needs a source", fix="give the path of a data set, or --split NAME=SOURCE for each split")
    if args.paired:
        return functools.partial(several.scan_pairs, [args.source, *args.paired])
    return functools.partial(api.scan, args.source)


def _copy(run: Path, destination: str, args: argparse.Namespace, most: float | int, terminal: Any) -> None:
    from datascrub import api, several

    options = {
        "link": args.link,
        "only_changed": args.only_changed,
        "drop_unreadable": args.drop_unreadable,
        "max_quarantine": most,
        "tmp": args.tmp,
        "watcher": terminal,
    }
    if several.is_several(run):
        made = {f"{destination} ({name})": report for name, report in several.clean(run, destination, **options).items()}
    else:
        made = {destination: api.clean(run, destination, **options)}
    for name, report in made.items():
        verified = "verified by reading back" if report.kept else "nothing in it to read back"
        tell(f"cleaned copy: {name}: {report.kept:,} samples, {report.dropped:,} left out, {verified}")
        for note in (*report.notes, *(f"stale: {each}" for each in report.stale)):
            tell(f"  {note}")


def clean(args: argparse.Namespace) -> int:
    from datascrub.progress import Terminal

    _copy(Path(args.run), args.to, args, most_of(args.max_quarantine), Terminal(tell))
    return 0
