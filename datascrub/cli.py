"""The command line: parse, call the library, print, return a code. No logic."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datascrub import __version__
from datascrub.errors import DatascrubError, UsageError

if TYPE_CHECKING:
    from datascrub.api import Run
    from datascrub.config import Config
    from datascrub.run.plan_file import RunPlan
    from datascrub.several import Several

_DATA_FLAGS = (
    "classes", "ignore-labels", "task", "precision", "batch-size", "loader", "layout", "masks", "annotations", "annotation-format", "decoders",
)  # fmt: skip

_NETWORK_FLAGS = {"device": "network.device", "backward": "network.backward", "preprocess": "preprocess.call"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    from datascrub.engines.local import Interrupts

    try:
        args = _parser().parse_args(argv)
        with Interrupts():
            code: int = args.command(args)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output had enough
        _hush()
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


def _tell(text: str = "") -> None:
    """Say it where somebody listens: work that is under way does not end because nobody does."""
    try:
        _say(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _hush()


def _hush() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="datascrub", description="Finds the samples that break training, before training.")
    parser.add_argument("--version", action="version", version=f"datascrub {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    scan = commands.add_parser("scan", help="measure every sample of a data set, name the bad ones")
    scan.add_argument("source", nargs="?")
    scan.add_argument("--split", action="append", default=[], metavar="NAME=SOURCE", help="a split of the set, in place of SOURCE; once for each")
    scan.add_argument("--paired", action="append", default=[], metavar="SOURCE", help="a source that is read beside the first, as its label maps")
    scan.add_argument("--out", metavar="RUN", help="the run folder (default: NAME.datascrub in the working directory)")
    scan.add_argument("--clean", metavar="DEST", help="write a cleaned copy in the same container")
    scan.add_argument("--workers", type=int, metavar="N", help="worker processes (default: the cores that may be used)")
    scan.add_argument("--limit", type=int, metavar="N", help="measure N samples only, spread over the source")
    scan.add_argument("--sample", metavar="SHARE", help="measure a share only, as 1%% or 0.01")
    scan.add_argument("--seed", type=int, default=0, help="of --limit and --sample (default 0)")
    scan.add_argument("--reread", action="store_true", help="measure all anew, though a finished run holds the same samples")
    scan.add_argument("--since", metavar="RUN", help="take over what this run measured of unchanged samples (default: the run that is replaced)")
    scan.add_argument("--paranoid", action="store_true", help="tell unchanged samples by their bytes, not by sizes and times of files")
    scan.add_argument(
        "--backend", choices=("auto", "torch", "tensorflow", "numpy"), default="auto", help="of the dummy network (default auto: a GPU, else numpy)"
    )
    scan.add_argument("--device", metavar="NAME", help="of the dummy network: auto, cpu, gpu, cuda, cuda:1, mps")
    scan.add_argument("--backward", action="store_true", help="gradients of the dummy network too")
    scan.add_argument("--preprocess", metavar="PKG.MOD:FN", help="a function of your own, from array to array, before the dummy network")
    scan.add_argument("--exact-statistics", action="store_true", help="measure mean and deviation of each channel exactly, for `datascrub info RUN`")
    scan.add_argument("--load", action="append", default=[], metavar="FILE", help="a file of validators of your own")
    scan.add_argument("--tmp", metavar="DIR", help="where shadow copies and scratch lie")
    _fail_on(scan)
    _review(scan)
    _config(scan)
    _copy_options(scan)
    scan.set_defaults(command=_scan)

    info = commands.add_parser(
        "info", help="what a source is; of a run, the set as a whole: classes, splits, sizes, formats, ranges, mean and deviation"
    )
    info.add_argument("source", metavar="SOURCE|RUN")
    info.add_argument("--json", action="store_true")
    _config(info)
    info.set_defaults(command=_info)

    findings = commands.add_parser("findings", help="the findings of a run, also of a running or broken one")
    findings.add_argument("run")
    findings.add_argument("--rule", metavar="CODE")
    findings.add_argument("--severity", choices=("error", "warning", "info"), help="only findings of this severity; error for what a copy leaves out")
    findings.add_argument("--format", choices=("text", "csv", "jsonl", "keys"), default="text")
    findings.add_argument("-0", "--null", action="store_true", help="with --format keys: end each key with a NUL, for xargs -0")
    findings.set_defaults(command=_findings)

    judge = commands.add_parser("judge", help="judge a run anew from its facts, with other thresholds, severities, rules")
    judge.add_argument("run")
    _fail_on(judge)
    _review(judge)
    _config(judge)
    judge.set_defaults(command=_judge)

    accept = commands.add_parser("accept", help="remember that findings were looked at and are meant: later scans and judges leave them out")
    accept.add_argument("run")
    accept.add_argument("keys", nargs="*", metavar="KEY", help="of the samples or parts; none for what the rule says of the set")
    accept.add_argument("--rule", metavar="CODE", help="the rule whose findings are accepted")
    accept.add_argument("--all", action="store_true", help="accept all findings of the rule, or of the run")
    accept.add_argument("--why", required=True, metavar="TEXT", help="the reason, for whoever asks later")
    accept.add_argument("--until", metavar="DATE", help="the last day on which it counts, as 2027-01-31")
    accept.add_argument("--config", metavar="TOML", help="datascrub.toml, beside which the decisions lie")
    _accepted(accept)
    accept.set_defaults(command=_accept)

    clean = commands.add_parser("clean", help="write a cleaned copy from a finished run")
    clean.add_argument("run")
    clean.add_argument("--to", required=True, metavar="DEST")
    clean.add_argument("--tmp", metavar="DIR")
    _copy_options(clean)
    clean.set_defaults(command=_clean)

    show = commands.add_parser("show", help="one sample: fields, measurements, findings, its picture")
    show.add_argument("source")
    show.add_argument("key")
    show.add_argument("--run", metavar="RUN", help="the run whose findings on it are shown (default: the source's own run folder, if there is one)")
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

    rehearse = commands.add_parser("rehearse", help="every sample through your own model: which make it NaN, in which module, alone or in a batch")
    rehearse.add_argument("source")
    rehearse.add_argument("--model", required=True, metavar="PKG.MOD:FACTORY", help="gives the torch module")
    rehearse.add_argument("--loss", metavar="PKG.MOD:FN", help="of outputs and targets (default: the mean square of the outputs)")
    rehearse.add_argument("--weights", metavar="FILE", help="safetensors, or a state dict of torch")
    rehearse.add_argument("--inputs", default="", metavar="FIELD,…", help="what the model is called with (default: images and arrays)")
    rehearse.add_argument("--targets", default="", metavar="FIELD,…", help="what the loss is called with beside the outputs (default: labels)")
    rehearse.add_argument("--device", default="auto", metavar="NAME", help="auto, cpu, cuda, cuda:1, mps")
    rehearse.add_argument("--preprocess", metavar="PKG.MOD:FN", help="a function of your own, from array to array, before the model")
    rehearse.add_argument("--json", action="store_true", help="one object a line")
    rehearse.add_argument("--tmp", metavar="DIR", help="where shadow copies and scratch lie")
    _config(rehearse)
    rehearse.set_defaults(command=_rehearse)

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
    choices = ("error", "warning", "info", "new-error", "new-warning", "never")
    parser.add_argument("--fail-on", choices=choices, default="error", help="exit 1 from this severity on; new-…: of what the baseline does not have")


def _review(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--baseline", metavar="RUN", help="a run to compare with: findings new, gone, kept, by content and rule")
    _accepted(parser)


def _accepted(parser: argparse.ArgumentParser) -> None:
    help_ = "the file of accepted findings (default: datascrub-accepted.csv beside --config, else in the working directory)"
    parser.add_argument("--accepted", metavar="FILE", help=help_)


def _copy_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--link", choices=("copy", "hard", "sym", "reflink"), default="copy", help="how untouched files reach the copy")
    parser.add_argument("--only-changed", action="store_true", help="write only the files that a quarantined record was taken from")
    parser.add_argument("--drop-unreadable", action="store_true", help="leave out samples that could not be read, instead of refusing")
    parser.add_argument("--max-quarantine", default="10%", metavar="SHARE|N", help="refuse a copy that would leave out more (default 10%%)")


def _configured(args: argparse.Namespace, base: Config | None = None) -> Config:
    from datascrub.config import load

    overrides: dict[str, Any] = {}
    for text in args.set:
        name, mark, value = text.partition("=")
        if not mark:
            raise UsageError(f"--set {text} is no KEY=VALUE", fix="as in --set data.classes=10")
        overrides[name] = value
    for name in _DATA_FLAGS:
        value = getattr(args, name.replace("-", "_"))
        if value is not None and name == "precision" and "," in value:  # several: to be compared
            overrides["network.precisions"] = value.split(",")
        elif value is not None:
            overrides[f"data.{name.replace('-', '_')}"] = value
    for name, key in _NETWORK_FLAGS.items():
        if getattr(args, name, None):
            overrides[key] = getattr(args, name)
    if getattr(args, "exact_statistics", False):
        overrides["data.exact_statistics"] = True
    if getattr(args, "accepted", None):
        overrides["accepted"] = args.accepted
    return load(Path(args.config) if args.config else None, overrides, base)


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
    from datascrub.api import check_destination
    from datascrub.progress import Terminal
    from datascrub.report import text
    from datascrub.spine.account import exit_code

    config = _configured(args)
    most = _most(args.max_quarantine)
    if args.clean:
        check_destination(args.source, args.clean, is_partial=args.limit is not None or args.sample is not None)
    terminal = Terminal(_tell)
    run = _scanner(args)(
        out=args.out,
        config=config,
        workers=args.workers,
        backend=args.backend,
        limit=args.limit,
        share=_share(args.sample, "--sample") if args.sample else None,
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
    _tell()
    _tell(text.summary(run.summary))
    _tell(f"run folder: {run.path}")
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
        _tell(f"cleaned copy: {name}: {report.kept:,} samples, {report.dropped:,} left out, {verified}")
        for note in (*report.notes, *(f"stale: {each}" for each in report.stale)):
            _tell(f"  {note}")


def _info(args: argparse.Namespace) -> int:
    import json

    from datascrub import api, several
    from datascrub.report import text
    from datascrub.report.statistics import statistics
    from datascrub.review import is_run, statistics_of

    if several.is_several(args.source):
        each = {member.name: statistics_of(run.path) for member, run in several.Several.open(args.source).runs()}
        _say(json.dumps(each, indent=1, ensure_ascii=False) if args.json else "\n\n".join(statistics(told) for told in each.values()))
        return 0
    if is_run(args.source):
        told = statistics_of(args.source)
        _say(json.dumps(told, indent=1, ensure_ascii=False) if args.json else statistics(told))
        return 0
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

    from datascrub import several
    from datascrub.report import text

    run = several.open_run(args.run)
    if args.rule is not None:
        _known_rule(args.rule, run.config)
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
            _say(key, end="\0" if args.null else "\n")
    else:
        for each in found:
            _say(json.dumps(each.as_dict(), ensure_ascii=False, default=str) if args.format == "jsonl" else text.finding(each))
    return 0


def _known_rule(code: str, config: Config) -> None:
    """Raises UsageError where no rule has this code."""
    import difflib

    from datascrub.registry import catalogue

    known = [*catalogue(), *config.rules]
    if code not in known:
        near = difflib.get_close_matches(code, known, 1, 0.5)
        raise UsageError(f"no rule is called {code}", fix=f"did you mean {near[0]}?" if near else "see `datascrub rules`")


def _judge(args: argparse.Namespace) -> int:
    from datascrub import api, several
    from datascrub.report import text
    from datascrub.run.folder import RunFolder

    run: api.Run | several.Several
    if several.is_several(args.run):
        run = several.judge(args.run, _configured(args, several.Several.open(args.run).config), args.fail_on, args.baseline)
    else:
        run = api.judge(args.run, _configured(args, RunFolder(Path(args.run)).plan().config()), args.fail_on, args.baseline)
    _tell(text.summary(run.summary))
    return run.exit_code


def _accept(args: argparse.Namespace) -> int:
    from datascrub.config import load
    from datascrub.report import text
    from datascrub.review import accept
    from datascrub.spine.accepted import day

    named = {"accepted": args.accepted} if args.accepted else {}
    config = load(Path(args.config) if args.config else None, named) if args.config or args.accepted else None
    until = day(args.until, "--until") if args.until else None
    made = accept(args.run, args.keys, rule=args.rule, every=args.all, why=args.why, until=until, config=config)
    _tell(text.acceptance(str(made.place), len(made.decisions), made.by_key, made.unseen))
    return 0


def _clean(args: argparse.Namespace) -> int:
    from datascrub.progress import Terminal

    _copy(Path(args.run), args.to, args, _most(args.max_quarantine), Terminal(_tell))
    return 0


def _show(args: argparse.Namespace) -> int:
    from datascrub import api
    from datascrub.report import text

    seen = api.look(args.source, args.key, _configured(args), run=args.run)
    if args.bytes:
        try:
            Path(args.bytes).write_bytes(seen.raw)
        except OSError as error:
            raise UsageError(f"can't write {args.bytes}: {error.strerror}", fix="give a file in a folder that is there") from error
    if args.image:
        from datascrub.report.picture import write_png

        write_png(Path(args.image), seen.picture, seen.encoded)
    _say(text.look(seen))
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


def _rehearse(args: argparse.Namespace) -> int:
    import json

    from datascrub.keys import printable
    from datascrub.rehearsal import Cast, rehearse

    config = _configured(args)
    cast = Cast(
        args.model,
        args.loss,
        args.weights,
        inputs=tuple(filter(None, args.inputs.split(","))),
        targets=tuple(filter(None, args.targets.split(","))),
        batch_size=config.data.batch_size or Cast.batch_size,
        device=args.device,
        precision=config.data.precision,
    )
    shown = (lambda it: _say(json.dumps(it.as_dict(), ensure_ascii=False))) if args.json else (lambda it: _say(printable(str(it))))
    done = rehearse(args.source, cast, config, tmp=args.tmp, on_trouble=shown)
    if not args.json:
        _say(f"{done.samples:,} samples, {len(done.troubles):,} troubles")
    if done.not_run:
        print(f"note: {done.not_run:,} samples can't be given to the model; a scan names them", file=sys.stderr)  # noqa: T201  the command's own voice
    if done.stopped:
        print(f"note: stopped: {done.stopped}", file=sys.stderr)  # noqa: T201  likewise
    return 4 if done.stopped or (done.not_run and not done.troubles) else int(bool(done.troubles))


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
    from datascrub.config import Config
    from datascrub.registry import catalogue
    from datascrub.report import text

    _known_rule(args.code, Config())
    entry = catalogue()[args.code]
    _say(text.page(args.code, entry.rule, entry.validator.__doc__ or "", entry.validator().parameters()))
    return 0
