"""Options that several commands share, and what they come to."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datascrub.errors import UsageError

if TYPE_CHECKING:
    from datascrub.config import Config


DATA_FLAGS = (
    "classes", "ignore-labels", "task", "precision", "batch-size", "loader", "layout", "masks", "annotations", "annotation-format", "decoders",
)  # fmt: skip

NETWORK_FLAGS = {"device": "network.device", "backward": "network.backward", "preprocess": "preprocess.call"}


def add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="TOML", help="datascrub.toml")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="one key of the configuration, as data.classes=10")
    for name in DATA_FLAGS:
        parser.add_argument(f"--{name}", metavar="VALUE", help=f"data.{name.replace('-', '_')}")


def add_fail_on(parser: argparse.ArgumentParser) -> None:
    choices = ("error", "warning", "info", "new-error", "new-warning", "never")
    parser.add_argument("--fail-on", choices=choices, default="error", help="exit 1 from this severity on; new-…: of what the baseline does not have")


def add_review(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--baseline", metavar="RUN", help="a run to compare with: findings new, gone, kept, by content and rule")
    add_accepted(parser)


def add_accepted(parser: argparse.ArgumentParser) -> None:
    help_ = "the file of accepted findings (default: datascrub-accepted.csv beside --config, else in the working directory)"
    parser.add_argument("--accepted", metavar="FILE", help=help_)


def add_copy_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--link", choices=("copy", "hard", "sym", "reflink"), default="copy", help="how untouched files reach the copy")
    parser.add_argument("--only-changed", action="store_true", help="write only the files that a quarantined record was taken from")
    parser.add_argument("--drop-unreadable", action="store_true", help="leave out samples that could not be read, instead of refusing")
    parser.add_argument("--max-quarantine", default="10%", metavar="SHARE|N", help="refuse a copy that would leave out more (default 10%%)")


def configured(args: argparse.Namespace, base: Config | None = None) -> Config:
    from datascrub.config import SWITCHES, load

    overrides: dict[str, Any] = {}
    for text in args.set:
        name, mark, value = text.partition("=")
        if not mark:
            raise UsageError(f"--set {text} is no KEY=VALUE", fix="as in --set data.classes=10")
        overrides[name] = value
    for name in DATA_FLAGS:
        value = getattr(args, name.replace("-", "_"))
        if value is not None and name == "precision" and "," in value:  # several: to be compared
            overrides["network.precisions"] = value.split(",")
        elif value is not None:
            overrides[f"data.{name.replace('-', '_')}"] = value
    for name, key in NETWORK_FLAGS.items():
        if getattr(args, name, None):
            overrides[key] = getattr(args, name)
    overrides |= {f"data.{name}": True for name in SWITCHES if getattr(args, name, False)}
    if getattr(args, "accepted", None):
        overrides["accepted"] = args.accepted
    return load(Path(args.config) if args.config else None, overrides, base)


def share_of(text: str, name: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise UsageError(f"{name} is a share as 1% or 0.01, not {text}")
    return share


def most_of(text: str) -> float | int:
    return int(text) if text.isdecimal() else share_of(text, "--max-quarantine")


def known_rule(code: str, config: Config) -> None:
    """Raises UsageError where no rule has this code."""
    import difflib

    from datascrub.registry import catalogue

    known = [*catalogue(), *config.rules]
    if code not in known:
        near = difflib.get_close_matches(code, known, 1, 0.5)
        raise UsageError(f"no rule is called {code}", fix=f"did you mean {near[0]}?" if near else "see `datascrub rules`")
