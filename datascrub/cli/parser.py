"""The commands and their options."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from datascrub import __version__
from datascrub.cli import looking, runs, scanning, training
from datascrub.cli.options import add_accepted, add_config, add_copy_options, add_fail_on, add_review

if TYPE_CHECKING:
    pass


def parser() -> argparse.ArgumentParser:
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
    scan.add_argument("--bar-codes", action="store_true", help="search every picture for bar codes, not only those in two tones (slow)")
    scan.add_argument("--load", action="append", default=[], metavar="FILE", help="a file of validators of your own")
    scan.add_argument("--tmp", metavar="DIR", help="where shadow copies and scratch lie")
    add_fail_on(scan)
    add_review(scan)
    add_config(scan)
    add_copy_options(scan)
    scan.set_defaults(command=scanning.scan)

    info = commands.add_parser(
        "info", help="what a source is; of a run, the set as a whole: classes, splits, sizes, formats, ranges, mean and deviation"
    )
    info.add_argument("source", metavar="SOURCE|RUN")
    info.add_argument("--json", action="store_true")
    add_config(info)
    info.set_defaults(command=runs.info)

    findings = commands.add_parser("findings", help="the findings of a run, also of a running or broken one")
    findings.add_argument("run")
    findings.add_argument("--rule", metavar="CODE")
    findings.add_argument("--severity", choices=("error", "warning", "info"), help="only findings of this severity; error for what a copy leaves out")
    findings.add_argument("--format", choices=("text", "csv", "jsonl", "keys"), default="text")
    findings.add_argument("-0", "--null", action="store_true", help="with --format keys: end each key with a NUL, for xargs -0")
    findings.set_defaults(command=runs.findings)

    judge = commands.add_parser("judge", help="judge a run anew from its facts, with other thresholds, severities, rules")
    judge.add_argument("run")
    add_fail_on(judge)
    add_review(judge)
    add_config(judge)
    judge.set_defaults(command=runs.judge)

    accept = commands.add_parser("accept", help="remember that findings were looked at and are meant: later scans and judges leave them out")
    accept.add_argument("run")
    accept.add_argument("keys", nargs="*", metavar="KEY", help="of the samples or parts; none for what the rule says of the set")
    accept.add_argument("--rule", metavar="CODE", help="the rule whose findings are accepted")
    accept.add_argument("--all", action="store_true", help="accept all findings of the rule, or of the run")
    accept.add_argument("--why", required=True, metavar="TEXT", help="the reason, for whoever asks later")
    accept.add_argument("--until", metavar="DATE", help="the last day on which it counts, as 2027-01-31")
    accept.add_argument("--config", metavar="TOML", help="datascrub.toml, beside which the decisions lie")
    add_accepted(accept)
    accept.set_defaults(command=runs.accept)

    clean = commands.add_parser("clean", help="write a cleaned copy from a finished run")
    clean.add_argument("run")
    clean.add_argument("--to", required=True, metavar="DEST")
    clean.add_argument("--tmp", metavar="DIR")
    add_copy_options(clean)
    clean.set_defaults(command=scanning.clean)

    show = commands.add_parser("show", help="one sample: fields, measurements, findings, its picture")
    show.add_argument("source")
    show.add_argument("key")
    show.add_argument("--run", metavar="RUN", help="the run whose findings on it are shown (default: the source's own run folder, if there is one)")
    show.add_argument("--image", metavar="PNG", help="write its picture")
    show.add_argument("--bytes", metavar="FILE", help="write its record as stored")
    add_config(show)
    show.set_defaults(command=looking.show)

    locate = commands.add_parser("locate", help="from the log to the sample: the records of one training step, with their findings")
    locate.add_argument("source")
    locate.add_argument("--iteration", type=int, required=True, metavar="N", help="from 0, as Caffe's log counts")
    locate.add_argument("--batch-size", type=int, required=True, metavar="B", help="samples of one forward pass on one device")
    locate.add_argument("--iter-size", type=int, default=1, metavar="K", help="forward passes of one step (default 1)")
    locate.add_argument("--gpus", type=int, default=1, metavar="G", help="devices that share the records (default 1)")
    locate.add_argument("--epoch", type=int, metavar="E", help="the data begin anew with each epoch, and N counts in it")
    locate.add_argument("--resumed-at", type=int, default=0, metavar="N", help="iteration of the snapshot that the training went on from")
    locate.add_argument("--run", metavar="RUN", help="the run of the source (default: NAME.datascrub)")
    locate.set_defaults(command=training.locate)

    kept = commands.add_parser("kept", help="write the samples that a run keeps as a list, for a training that reads one")
    kept.add_argument("run")
    kept.add_argument("--to", required=True, metavar="FILE")
    kept.add_argument("--format", choices=("keys", "positions", "index", "caffe"), default="keys")
    kept.set_defaults(command=training.kept)

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
    add_config(rehearse)
    rehearse.set_defaults(command=training.rehearse)

    lint = commands.add_parser("lint-net", help="what makes a Caffe network or solver definition diverge")
    lint.add_argument("files", nargs="+", metavar="PROTOTXT")
    lint.add_argument("--classes", type=int, metavar="N", help="how many classes the labels know")
    lint.set_defaults(command=training.lint_net)

    selftest = commands.add_parser("selftest", help="known-bad inputs before the decoders of this machine; each scan does it too")
    selftest.set_defaults(command=looking.selftest)
    rules = commands.add_parser("rules", help="the catalogue of rules")
    rules.set_defaults(command=looking.rules)
    facts = commands.add_parser("facts", help="what is measured: name, type, unit, range")
    facts.set_defaults(command=looking.facts)
    explain = commands.add_parser("explain", help="the page of a rule")
    explain.add_argument("code")
    explain.set_defaults(command=looking.explain)
    return parser
