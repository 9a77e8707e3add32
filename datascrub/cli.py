"""The command line: parse, call the library, print, return a code. No logic."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datascrub import __version__
from datascrub.errors import DatascrubError, UsageError

if TYPE_CHECKING:
    from datascrub.config import Config
    from datascrub.run.plan_file import RunPlan

_DATA_FLAGS = (
    "classes", "ignore-labels", "task", "precision", "batch-size", "loader", "layout", "masks", "annotations", "annotation-format",
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    from datascrub.engines.local import Interrupts

    try:
        args = _parser().parse_args(argv)
        with Interrupts():
            code: int = args.command(args)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except DatascrubError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201  the command's own voice
        return error.exit_code
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)  # noqa: T201  likewise
        return 4
    except Exception as error:  # a fault of ours must never look like a verdict on the data (exit code 1)
        print(f"error: a fault of datascrub's own: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201  likewise
        if os.environ.get("DATASCRUB_DEBUG"):
            raise
        print("  fix: run it again with DATASCRUB_DEBUG=1 and report what it prints", file=sys.stderr)  # noqa: T201  likewise
        return 70
    return code


def _say(text: str = "", *, end: str = "\n") -> None:
    sys.stdout.write(text + end)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="datascrub", description="Finds the samples that break training, before training.")
    parser.add_argument("--version", action="version", version=f"datascrub {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    scan = commands.add_parser("scan", help="measure every sample of a data set, name the bad ones")
    scan.add_argument("source")
    scan.add_argument("--out", metavar="RUN", help="the run folder (default: NAME.datascrub in the working directory)")
    scan.add_argument("--clean", metavar="DEST", help="write a cleaned copy in the same container")
    scan.add_argument("--workers", type=int, metavar="N", help="worker processes (default: the cores that may be used)")
    scan.add_argument("--limit", type=int, metavar="N", help="measure N samples only, spread over the source")
    scan.add_argument("--sample", metavar="SHARE", help="measure a share only, as 1%% or 0.01")
    scan.add_argument("--seed", type=int, default=0, help="of --limit and --sample (default 0)")
    scan.add_argument("--reread", action="store_true", help="measure anew, though a finished run of the unchanged source is there")
    scan.add_argument(
        "--backend", choices=("auto", "torch", "tensorflow", "numpy"), default="auto", help="of the dummy network (default auto: a GPU, else numpy)"
    )
    scan.add_argument("--load", action="append", default=[], metavar="FILE", help="a file of validators of your own")
    scan.add_argument("--tmp", metavar="DIR", help="where shadow copies and scratch lie")
    _fail_on(scan)
    _config(scan)
    _copy_options(scan)
    scan.set_defaults(command=_scan)

    info = commands.add_parser("info", help="what a source is: container, records, layout, fields, roles")
    info.add_argument("source")
    info.add_argument("--json", action="store_true")
    _config(info)
    info.set_defaults(command=_info)

    findings = commands.add_parser("findings", help="the findings of a run, also of a running or broken one")
    findings.add_argument("run")
    findings.add_argument("--rule", metavar="CODE")
    findings.add_argument("--format", choices=("text", "csv", "jsonl", "keys"), default="text")
    findings.add_argument("-0", "--null", action="store_true", help="with --format keys: end each key with a NUL, for xargs -0")
    findings.set_defaults(command=_findings)

    judge = commands.add_parser("judge", help="judge a run anew from its facts, with other thresholds, severities, rules")
    judge.add_argument("run")
    _fail_on(judge)
    _config(judge)
    judge.set_defaults(command=_judge)

    clean = commands.add_parser("clean", help="write a cleaned copy from a finished run")
    clean.add_argument("run")
    clean.add_argument("--to", required=True, metavar="DEST")
    clean.add_argument("--tmp", metavar="DIR")
    _copy_options(clean)
    clean.set_defaults(command=_clean)

    show = commands.add_parser("show", help="one sample: fields, measurements, findings, its picture")
    show.add_argument("source")
    show.add_argument("key")
    show.add_argument("--image", metavar="PNG", help="write its picture")
    show.add_argument("--bytes", metavar="FILE", help="write its record as stored")
    _config(show)
    show.set_defaults(command=_show)

    locate = commands.add_parser("locate", help="from the log to the sample: the records of one training step, with their findings")
    locate.add_argument("source")
    locate.add_argument("--iteration", type=int, required=True, metavar="N", help="from 0, as Caffe's log counts")
    locate.add_argument("--batch-size", type=int, required=True, metavar="B", help="samples of one forward pass on one device")
    locate.add_argument("--iter-size", type=int, default=1, metavar="K", help="forward passes of one step (default 1)")
    locate.add_argument("--gpus", type=int, default=1, metavar="G", help="devices that share the records (default 1)")
    locate.add_argument("--epoch", type=int, metavar="E", help="the data begin anew with each epoch, and N counts in it")
    locate.add_argument("--resumed-at", type=int, default=0, metavar="N", help="iteration of the snapshot that the training went on from")
    locate.add_argument("--run", metavar="RUN", help="the run of the source (default: NAME.datascrub)")
    locate.set_defaults(command=_locate)

    kept = commands.add_parser("kept", help="write the samples that a run keeps as a list, for a training that reads one")
    kept.add_argument("run")
    kept.add_argument("--to", required=True, metavar="FILE")
    kept.add_argument("--format", choices=("keys", "positions", "index", "caffe"), default="keys")
    kept.set_defaults(command=_kept)

    lint = commands.add_parser("lint-net", help="what makes a Caffe network or solver definition diverge")
    lint.add_argument("files", nargs="+", metavar="PROTOTXT")
    lint.add_argument("--classes", type=int, metavar="N", help="how many classes the labels know")
    lint.set_defaults(command=_lint_net)

    selftest = commands.add_parser("selftest", help="known-bad inputs before the decoders of this machine; each scan does it too")
    selftest.set_defaults(command=_selftest)
    rules = commands.add_parser("rules", help="the catalogue of rules")
    rules.set_defaults(command=_rules)
    facts = commands.add_parser("facts", help="what is measured: name, type, unit, range")
    facts.set_defaults(command=_facts)
    explain = commands.add_parser("explain", help="the page of a rule")
    explain.add_argument("code")
    explain.set_defaults(command=_explain)
    return parser


def _config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="TOML", help="datascrub.toml")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="one key of the configuration, as data.classes=10")
    for name in _DATA_FLAGS:
        parser.add_argument(f"--{name}", metavar="VALUE", help=f"data.{name.replace('-', '_')}")


def _fail_on(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fail-on", choices=("error", "warning", "info", "never"), default="error", help="exit 1 from this severity on")


def _copy_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--link", choices=("copy", "hard", "sym", "reflink"), default="copy", help="how untouched files reach the copy")
    parser.add_argument("--only-changed", action="store_true", help="write only the files that a quarantined record was taken from")
    parser.add_argument("--drop-unreadable", action="store_true", help="leave out samples that could not be read, instead of refusing")
    parser.add_argument("--max-quarantine", default="10%", metavar="SHARE|N", help="refuse a copy that would leave out more (default 10%%)")


def _configured(args: argparse.Namespace) -> Config:
    from datascrub.config import load

    overrides: dict[str, Any] = {}
    for text in args.set:
        name, mark, value = text.partition("=")
        if not mark:
            raise UsageError(f"--set {text} is no KEY=VALUE", fix="as in --set data.classes=10")
        overrides[name] = value
    for name in _DATA_FLAGS:
        value = getattr(args, name.replace("-", "_"))
        if value is not None:
            overrides[f"data.{name.replace('-', '_')}"] = value
    return load(Path(args.config) if args.config else None, overrides)


def _share(text: str, name: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise UsageError(f"{name} is a share as 1% or 0.01, not {text}")
    return share


def _most(text: str) -> float | int:
    return int(text) if text.isdecimal() else _share(text, "--max-quarantine")


def _scan(args: argparse.Namespace) -> int:
    from datascrub import api
    from datascrub.progress import Terminal
    from datascrub.report import text
    from datascrub.spine.account import exit_code

    config = _configured(args)
    if args.workers is not None and args.workers < 1:
        raise UsageError(f"--workers is at least 1, not {args.workers}")
    if args.limit is not None and args.limit < 1:
        raise UsageError(f"--limit is at least 1, not {args.limit}")
    most = _most(args.max_quarantine)
    terminal = Terminal(_say)
    run = api.scan(
        args.source,
        out=args.out,
        config=config,
        workers=args.workers,
        backend=args.backend,
        limit=args.limit,
        share=_share(args.sample, "--sample") if args.sample else None,
        seed=args.seed,
        reread=args.reread,
        fail_on=args.fail_on,
        tmp=args.tmp,
        load=args.load,
        watcher=terminal,
    )
    _say()
    _say(text.summary(run.summary))
    _say(f"run folder: {run.path}")
    if not args.clean:
        return run.exit_code
    try:
        _copy(run.path, args.clean, args, most, terminal)
    except DatascrubError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201  the command's own voice
        return exit_code(run.summary, args.fail_on, was_copy_refused=True)
    return run.exit_code


def _copy(run: Path, destination: str, args: argparse.Namespace, most: float | int, terminal: Any) -> None:
    from datascrub import api

    report = api.clean(
        run,
        destination,
        link=args.link,
        only_changed=args.only_changed,
        drop_unreadable=args.drop_unreadable,
        max_quarantine=most,
        tmp=args.tmp,
        watcher=terminal,
    )
    _say(f"cleaned copy: {destination}: {report.kept:,} samples, {report.dropped:,} left out, verified by reading back")
    for note in (*report.notes, *(f"stale: {each}" for each in report.stale)):
        _say(f"  {note}")


def _info(args: argparse.Namespace) -> int:
    import json

    from datascrub import api
    from datascrub.report import text

    plan = api.survey(args.source, _configured(args))
    if args.json:
        _say(json.dumps(plan.as_json(), indent=1, ensure_ascii=False))
    else:
        _say(_recognised(plan, text))
    return 0


def _recognised(plan: RunPlan, text: Any) -> str:
    return str(text.recognised(plan.plan, plan.count, plan.is_count_exact, plan.size_bytes, plan.labels, plan.notes))


def _findings(args: argparse.Namespace) -> int:
    import csv
    import json

    from datascrub import api
    from datascrub.report import text

    found = api.Run.open(args.run).findings(args.rule)
    if args.format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(("key", "code", "severity", "field", "message", "evidence", "scope"))
        for each in found:
            told = each.as_dict()
            writer.writerow([*list(told.values())[:5], json.dumps(told["evidence"], ensure_ascii=False, default=str), told["scope"]])
    elif args.format == "keys":
        for key in dict.fromkeys(each.key for each in found if each.key is not None and each.scope == "sample"):
            _say(key, end="\0" if args.null else "\n")
    else:
        for each in found:
            _say(json.dumps(each.as_dict(), ensure_ascii=False, default=str) if args.format == "jsonl" else text.finding(each))
    return 0


def _judge(args: argparse.Namespace) -> int:
    from datascrub import api
    from datascrub.report import text

    run = api.judge(args.run, _configured(args), args.fail_on)
    _say(text.summary(run.summary))
    return run.exit_code


def _clean(args: argparse.Namespace) -> int:
    from datascrub.progress import Terminal

    _copy(Path(args.run), args.to, args, _most(args.max_quarantine), Terminal(_say))
    return 0


def _show(args: argparse.Namespace) -> int:
    from datascrub import api
    from datascrub.keys import printable
    from datascrub.report import text

    seen = api.look(args.source, args.key, _configured(args))
    _say(printable(seen.key))
    for name, value in seen.values.items():
        _say(f"  {printable(name)}: {printable(value)}")
    for name, its in seen.measured.items():
        for measure, value in its.items():
            if value is not None:
                _say(f"    {printable(name)}.{measure} = {printable(str(value))}")
    for each in seen.findings:
        _say(text.finding(each))
    if args.bytes:
        Path(args.bytes).write_bytes(seen.raw)
    if args.image:
        from datascrub.report.picture import write_png

        write_png(Path(args.image), seen.picture, seen.encoded)
    return 0


def _locate(args: argparse.Namespace) -> int:
    from datascrub.keys import printable
    from datascrub.locate import Consumption, locate
    from datascrub.report import text

    consumption = Consumption(args.iteration, args.batch_size, args.iter_size, args.gpus, args.epoch, args.resumed_at)
    step = locate(args.source, consumption, args.run)
    for sample in step.samples:
        turn = "".join(
            f"  {name} {value}" for name, value, most in (("gpu", sample.gpu, args.gpus), ("pass", sample.turn, args.iter_size)) if most > 1
        )
        _say(f"{sample.number:>10}  {printable(sample.key)}{turn}")
        for each in sample.findings:
            _say(f"            {text.finding(each)}")
    for note in step.notes:
        _say(f"note: {note}")
    return 0


def _kept(args: argparse.Namespace) -> int:
    from datascrub.handover import write_list

    _say(f"{write_list(args.run, Path(args.to), args.format):,} samples are kept: {args.to}")
    return 0


def _lint_net(args: argparse.Namespace) -> int:
    from datascrub.netlint import lint_file

    remarks = [(file, remark) for file in args.files for remark in lint_file(Path(file), args.classes)]
    for file, remark in remarks:
        _say(f"{file}:{remark}")
    return int(any(remark.severity == "error" for _, remark in remarks))


def _selftest(args: argparse.Namespace) -> int:
    from datascrub import api

    missed = api.selftest()
    _say("\n".join(missed) if missed else "every known-bad input is seen, no healthy one is accused")
    return 4 if missed else 0


def _rules(args: argparse.Namespace) -> int:
    from datascrub.registry import catalogue
    from datascrub.report import text

    _say(text.rule_lines([(code, entry.rule, entry.validator.name()) for code, entry in catalogue().items()]))
    return 0


def _facts(args: argparse.Namespace) -> int:
    from datascrub.registry import validators
    from datascrub.report import text

    for kind in validators():
        _say(text.measurements(kind.name(), sorted(kind.roles), kind.measures))
    return 0


def _explain(args: argparse.Namespace) -> int:
    import difflib

    from datascrub.registry import catalogue
    from datascrub.report import text

    entry = catalogue().get(args.code)
    if entry is None:
        near = difflib.get_close_matches(args.code, catalogue(), 1, 0.5)
        raise UsageError(f"no rule is called {args.code}", fix=f"did you mean {near[0]}?" if near else "see `datascrub rules`")
    _say(text.page(args.code, entry.rule, entry.validator.__doc__ or "", entry.validator().parameters()))
    return 0
