"""The command line: parse, call the library, print, return a code. No logic."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from datascrub.cli.parser import parser
from datascrub.cli.saying import hush
from datascrub.errors import DatascrubError

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    from datascrub.engines.local import Interrupts

    try:
        args = parser().parse_args(argv)
        with Interrupts():
            code: int = args.command(args)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output had enough
        hush()
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
