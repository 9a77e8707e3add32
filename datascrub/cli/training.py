"""locate, kept, rehearse, lint-net: what stands between the data and a training."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from datascrub.cli.options import configured
from datascrub.cli.saying import say

if TYPE_CHECKING:
    pass


def locate(args: argparse.Namespace) -> int:
    from datascrub.keys import printable
    from datascrub.locate import Consumption, locate
    from datascrub.report import text

    consumption = Consumption(args.iteration, args.batch_size, args.iter_size, args.gpus, args.epoch, args.resumed_at)
    step = locate(args.source, consumption, args.run)
    for sample in step.samples:
        turn = "".join(
            f"  {name} {value}" for name, value, most in (("gpu", sample.gpu, args.gpus), ("pass", sample.turn, args.iter_size)) if most > 1
        )
        say(f"{sample.number:>10}  {printable(sample.key)}{turn}")
        for each in sample.findings:
            say(f"            {text.finding(each)}")
    for note in step.notes:
        say(f"note: {note}")
    return 0


def kept(args: argparse.Namespace) -> int:
    from datascrub.handover import write_list

    say(f"{write_list(args.run, Path(args.to), args.format):,} samples are kept: {args.to}")
    return 0


def rehearse(args: argparse.Namespace) -> int:
    import json

    from datascrub.keys import printable
    from datascrub.rehearsal import Cast, rehearse

    config = configured(args)
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
    shown = (lambda it: say(json.dumps(it.as_dict(), ensure_ascii=False))) if args.json else (lambda it: say(printable(str(it))))
    done = rehearse(args.source, cast, config, tmp=args.tmp, on_trouble=shown)
    if not args.json:
        say(f"{done.samples:,} samples, {len(done.troubles):,} troubles")
    if done.not_run:
        print(f"note: {done.not_run:,} samples can't be given to the model; a scan names them", file=sys.stderr)  # noqa: T201  the command's own voice
    if done.stopped:
        print(f"note: stopped: {done.stopped}", file=sys.stderr)  # noqa: T201  likewise
    return 4 if done.stopped or (done.not_run and not done.troubles) else int(bool(done.troubles))


def lint_net(args: argparse.Namespace) -> int:
    from datascrub.netlint import lint_file

    remarks = [(file, remark) for file in args.files for remark in lint_file(Path(file), args.classes)]
    for file, remark in remarks:
        say(f"{file}:{remark}")
    return int(any(remark.severity == "error" for _, remark in remarks))
